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
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kwis.data.distributions import TOLERANCE
from kwis.data.read.limits import COLUMNS, LINE_BYTES, opened, refuse_gzip_expansion
from kwis.errors import InputError
from kwis.typing import Floats

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIRS = re.compile(rf"\d{{1,18}}:{_NUMBER}(?:,\d{{1,18}}:{_NUMBER})*")
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
    refuse_gzip_expansion(path)
    first = [line for _, line in islice(_lines(path), _FIRST_LINES)]
    return bool(first) and all(_parsed(line) is not None for line in first)


def read_predictions(path: str) -> Predictions:
    """The predictions of a file."""
    positions, probabilities, counts = array("q"), array("d"), array("q")
    tags: list[str] = []
    for number, line in _lines(path):
        parsed = _parsed(line)
        if parsed is None:
            raise InputError(
                f"{path!r} must hold predictions of Vowpal Wabbit, got {line!r} at line {number}"
            )
        shares, tag = parsed
        if max(shares) >= COLUMNS:
            raise InputError(
                f"{path!r} must have at most {COLUMNS:,} actions, got number {max(shares):.10g} at line "
                f"{number}"
            )
        total = sum(shares.values())
        if abs(total - 1) > max(TOLERANCE, _ROUNDED * len(shares)) or min(shares.values()) < 0:
            raise InputError(
                f"{path!r} must hold probabilities that sum to 1, got {line!r} at line {number}; predict "
                "with --cb_explore_adf or --cb_explore to have them"
            )
        positions.extend(shares)
        probabilities.extend(share / total for share in shares.values())
        counts.append(len(shares))
        tags += [tag] if tag else []
    if not counts:
        raise InputError(f"{path!r} must hold predictions, got none")
    shares_of_all = np.zeros((len(counts), 1 + max(positions)))
    shares_of_all[np.repeat(np.arange(len(counts)), counts), positions] = probabilities
    return Predictions(shares_of_all, tuple(tags) if len(tags) == len(counts) else ())


def _lines(path: str) -> Iterator[tuple[int, str]]:
    with opened(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES + 1), b""), 1):
            if len(line) > LINE_BYTES:
                raise InputError(
                    f"{path!r} must have lines of at most {LINE_BYTES:,} bytes, and line {number} is longer"
                )
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
