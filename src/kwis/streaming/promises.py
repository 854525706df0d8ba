"""What targets would do, summed over rows by action: whether an action was ever logged is known only after
the last row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.streaming.values import Labels
from kwis.typing import Floats

Shares = Mapping[str, Floats]
"""From the text of a label to the probability of that action in every row."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Probability that a target gives to one action: in how many rows, and summed over all interactions.

    The part that is ``barred`` is in rows in which the logger could not take that action.
    """

    rows: int = 0
    mass: float = 0.0
    barred_rows: int = 0
    barred_mass: float = 0.0

    def __add__(self, other: Promise) -> Promise:
        return Promise(
            self.rows + other.rows,
            self.mass + other.mass,
            self.barred_rows + other.barred_rows,
            self.barred_mass + other.barred_mass,
        )


Promises = dict[Any, Promise]
"""By action."""


def promised_by_choice(choice: Labels, mass: Floats, logger: Shares) -> Promises:
    """Of a target that takes one action in every row; ``logger`` is empty where only its probability of the
    logged action is known.
    """
    barred = np.zeros(mass.size)
    for code, label in enumerate(choice.names):
        if str(label) in logger:
            barred[(choice.codes == code) & (logger[str(label)] == 0)] = 1
    sums = [
        np.bincount(choice.codes, counted, len(choice.names))
        for counted in (np.ones(mass.size), mass, barred, barred * mass)
    ]
    return {
        label: Promise(int(rows), float(total), int(barred_rows), float(barred_mass))
        for label, rows, total, barred_rows, barred_mass in zip(choice.names, *sums, strict=True)
    }


def promised_by_shares(shares: Shares, mass: Floats, logger: Shares) -> Promises:
    """Of a target whose probability of every action is known."""
    return {label: _promise(share, mass, logger.get(label)) for label, share in shares.items()}


def _promise(share: Floats, mass: Floats, logged: Floats | None) -> Promise:
    barred = np.zeros(share.size) if logged is None else share * (logged == 0)
    return Promise(
        int(np.count_nonzero(share)), float(mass @ share), int(np.count_nonzero(barred)), float(mass @ barred)
    )


def ceiling_by_choice(choice: Labels, logger: Shares) -> float:
    """Largest weight that a target that takes one action in every row can have; infinite where the logger's
    distribution is not known.
    """
    if not logger:
        return np.inf
    return ceiling_by_shares(
        {str(label): (choice.codes == code).astype(np.float64) for code, label in enumerate(choice.names)},
        logger,
    )


def ceiling_by_shares(shares: Shares, logger: Shares) -> float:
    """The same of a target whose probability of every action is known; what the logger could not do has no
    weight.
    """
    if not logger:
        return np.inf
    possible = (
        (share[logger[label] > 0], logger[label][logger[label] > 0])
        for label, share in shares.items()
        if label in logger
    )
    return max((float((share / chance).max()) for share, chance in possible if share.size), default=0.0)


def together(one: Promises, other: Promises) -> Promises:
    """Sums over the rows of both."""
    return {
        label: one.get(label, Promise()) + other.get(label, Promise())
        for label in (*one, *(new for new in other if new not in one))
    }
