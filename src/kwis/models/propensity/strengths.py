"""How far a repair may go from the given propensities: the spread of each term, chosen by the likelihood of
held-out actions.

Spreads are powers of the square root of ten. From a start that suits most logs the search goes up and down,
one term after the other, in steps of ten and then of its root, for as long as held-out actions become more
likely; at last each term is tried without. Freedom has a price: a spread larger by one step must make all
held-out actions together more likely by a quarter of a unit of log-likelihood. Less is no evidence, and where
the actions do not tell, rare actions are better left near the given propensities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kwis.models.propensity.penalised import Coefficients, Shrunk
from kwis.typing import Floats

START = {"actions": -2, "context": -4, "curved": -1}
_LOWEST, _HIGHEST = -8, 3
_ROUNDS = 2
_TOLERANCE = 1e-6  # differences of held-out loss that decide anything are larger
_PRICE = 0.25

Exponents = tuple[int | None, ...]


class Judge(Protocol):
    """Rows that were held out."""

    def logs(self, coefficients: Coefficients) -> Floats:
        """``(n,)`` log-likelihood of what happened in each row."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutPart:
    """One split: rows held out, their mass, and what learns from the others."""

    held: Judge
    mass: Floats
    others: Shrunk


@dataclass(slots=True, eq=False)
class StrengthSearch:
    """Held-out log-likelihood of every choice of spreads that was tried.

    Attributes
    ----------
    sizes
        Columns of each block of the design, in order.
    parts
        The splits; a row may be held out in one of them or in none.
    """

    sizes: Mapping[str, int]
    parts: tuple[HeldOutPart, ...]
    tried: dict[Exponents, tuple[Floats, ...]] = field(default_factory=dict)
    fits: dict[Exponents, tuple[Coefficients, ...]] = field(default_factory=dict)

    def logs(self, exponents: Exponents) -> tuple[Floats, ...]:
        """Log-likelihood of every held-out row, by part."""
        if exponents not in self.tried:
            spread = self.spread(exponents)
            # The choice tried last is a neighbour, so its coefficients are a good start.
            starts = self.fits[next(reversed(self.fits))] if self.fits else (None,) * len(self.parts)
            pairs = zip(self.parts, starts, strict=True)
            fits = [
                part.others.fit(spread, start, tolerance=_TOLERANCE, threads=True) for part, start in pairs
            ]
            self.fits[exponents] = tuple(fits)
            self.tried[exponents] = tuple(
                part.held.logs(fit) for part, fit in zip(self.parts, fits, strict=True)
            )
        return self.tried[exponents]

    def loss(self, exponents: Exponents) -> float:
        """Mean of ``-log p`` over the held-out mass."""
        total = sum(
            float(part.mass @ logs) for part, logs in zip(self.parts, self.logs(exponents), strict=True)
        )
        return -total / sum(float(part.mass.sum()) for part in self.parts)

    def cost(self, exponents: Exponents) -> float:
        """Minus the log-likelihood of all held-out rows, and the price of freedom."""
        rows = sum(len(part.mass) for part in self.parts)
        return rows * self.loss(exponents) + _PRICE * sum(
            power - _LOWEST + 1 for power in exponents if power is not None
        )

    def spread(self, exponents: Exponents) -> Floats:
        """``(D,)`` spread of every column of the design."""
        values = [0.0 if power is None else 10 ** (power / 2) for power in exponents]
        return np.repeat(values, np.array(list(self.sizes.values()), dtype=np.int64))

    def best(self) -> Exponents:
        """The spreads that make held-out actions most likely: straight terms first, then the curved one on
        top of them.
        """
        names = list(self.sizes)
        straight = [place for place, name in enumerate(names) if name != "curved"]
        found: Exponents = tuple(None if name == "curved" else START[name] for name in names)
        found = self._climbed(found, straight)
        if "curved" in names:
            found = self._curved(found, names.index("curved"))
        for place in range(len(names)):
            without = (*found[:place], None, *found[place + 1 :])
            if self.cost(without) <= self.cost(found):
                found = without
        return found

    def _curved(self, found: Exponents, place: int) -> Exponents:
        """With the curved term where it helps at its start, and every spread looked at once more."""
        bent = (*found[:place], START["curved"], *found[place + 1 :])
        return self._climbed(bent, range(len(found)), step=1) if self.cost(bent) < self.cost(found) else found

    def _climbed(self, found: Exponents, places: range | list[int], step: int = 2) -> Exponents:
        while step >= 1:
            for _ in range(_ROUNDS):
                before = found
                for place in places:
                    found = self._along(found, place, step)
                if found == before:
                    break
            step //= 2
        return found

    def _along(self, found: Exponents, place: int, step: int) -> Exponents:
        """The best along one term; a direction is left at the first step that does not help."""
        for move in (step, -step):
            moved = False
            while (power := found[place]) is not None and _LOWEST <= power + move <= _HIGHEST:
                further = (*found[:place], power + move, *found[place + 1 :])
                if self.cost(further) >= self.cost(found):
                    break
                found, moved = further, True
            if moved:
                break
        return found
