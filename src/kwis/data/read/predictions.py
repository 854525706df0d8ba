"""Vowpal Wabbit's prediction files (``vw -p``), one decision per line; blank lines between decisions are
skipped.

==========================  ====================================================  =========================
line                        options                                               meaning
==========================  ====================================================  =========================
``0:0.8,2:0.1,1:0.1 tag``   ``--cb_explore_adf``                                  probability by position,
                                                                                  from 0
``0.8 0.1 0.1 tag``         ``--cb_explore K``                                    probability of each action
``3 tag``                   ``--cb K``                                            the action, from 1
==========================  ====================================================  =========================

``--cb_adf`` prints costs in the form of the first line, best action first; these are refused, as they are no
probabilities. The tag is optional; where every line has one it can serve as the key of the decision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kwis.data.distributions import TOLERANCE
from kwis.data.read.limits import opened
from kwis.errors import InputError
from kwis.typing import Floats

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIRS = re.compile(rf"\d+:{_NUMBER}(?:,\d+:{_NUMBER})*")
_PLAIN = re.compile(_NUMBER)
_FIRST_LINES = 20
_ROUNDED = 5e-7
"""What printing six digits can change a probability by."""


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Decisions of a policy, in the order of the file.

    Attributes
    ----------
    shares
        ``(n, K)`` probability of the action at each position.
    tags
        The tag of every decision; none if a decision has none.
    """

    shares: Floats
    tags: tuple[str, ...]


def are_predictions(path: str) -> bool:
    """Whether the first lines of a file look like predictions."""
    with opened(path) as file:
        lines = [
            line.decode("utf-8", "replace").strip()
            for line, _ in zip(file, range(_FIRST_LINES), strict=False)
        ]
    filled = [line for line in lines if line]
    return bool(filled) and all(_parsed(line) is not None for line in filled)


def read_predictions(path: str) -> Predictions:
    """The predictions of a file."""
    rows: list[dict[int, float]] = []
    tags: list[str] = []
    for number, line in _lines(path):
        parsed = _parsed(line)
        if parsed is None:
            raise InputError(
                f"{path!r} must hold predictions of Vowpal Wabbit, got {line!r} at line {number}"
            )
        shares, tag = parsed
        total = sum(shares.values())
        if abs(total - 1) > max(TOLERANCE, _ROUNDED * len(shares)) or min(shares.values()) < 0:
            raise InputError(
                f"{path!r} must hold probabilities that sum to 1, got {line!r} at line {number}; predict "
                "with --cb_explore_adf or --cb_explore to have them"
            )
        rows.append({place: share / total for place, share in shares.items()})
        tags += [tag] if tag else []
    if not rows:
        raise InputError(f"{path!r} must hold predictions, got none")
    width = 1 + max(place for row in rows for place in row)
    shares_of_all = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        shares_of_all[i, list(row)] = list(row.values())
    return Predictions(shares_of_all, tuple(tags) if len(tags) == len(rows) else ())


def _lines(path: str) -> Iterator[tuple[int, str]]:
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            text = line.decode("utf-8", "replace").strip()
            if text:
                yield number, text


def _parsed(line: str) -> tuple[dict[int, float], str] | None:
    """Probability by position, and the tag; None for a line that is no prediction."""
    first, _, rest = line.partition(" ")
    if _PAIRS.fullmatch(first):
        pairs = (pair.split(":") for pair in first.split(","))
        return {int(place): float(share) for place, share in pairs}, rest.strip()
    words = line.split()
    count = next((i for i, word in enumerate(words) if not _PLAIN.fullmatch(word)), len(words))
    if count == 0 or len(words) - count > 1:
        return None
    numbers, tag = [float(word) for word in words[:count]], "".join(words[count:])
    if count == 1:
        whole = numbers[0].is_integer() and numbers[0] >= 1
        return ({int(numbers[0]) - 1: 1.0}, tag) if whole else None
    if (
        count == 2
        and not tag
        and abs(sum(numbers) - 1) > TOLERANCE
        and numbers[0].is_integer()
        and numbers[0] >= 1
    ):
        return {int(numbers[0]) - 1: 1.0}, words[1]  # an action and a tag that is a number
    return dict(enumerate(numbers)), tag
