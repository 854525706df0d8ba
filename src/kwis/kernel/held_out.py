"""Folds and scores of cross-validation, shared by every plan of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kwis.runtime.threads import row_blocks
from kwis.stats.sums import sum_of_others
from kwis.typing import Bandwidth, Floats, Ints

_SMALL_FOLD = 64  # rows; blocks of smaller folds are predicted together
_LEAST_MASS = 1e-30  # of the largest: single precision holds it, and no row is without neighbours


@dataclass(frozen=True, slots=True)
class BlockJob:
    """Rows to predict, the rows to predict them from, and which of these pairs share a fold (None: none
    does).
    """

    held_out: Ints
    rest: Ints
    own: NDArray[np.bool_] | None = None

    def without_own(self, pairs: Floats, value: float) -> Floats:
        """``pairs`` (held_out, rest) with those of the same fold set to ``value``."""
        if self.own is not None:
            pairs[self.own] = value
        return pairs


@dataclass(frozen=True, slots=True)
class Folds:
    """Rows of each fold. ``share`` weighs a row so that the score is the mean over folds of the fold means.

    ``mass`` is how often each row counts, 1 for the row that counts most.
    """

    labels: Ints
    members: tuple[Ints, ...]
    mass: Floats
    share: Floats

    @classmethod
    def of(cls, labels: Ints, mass: Floats | None = None) -> Folds:
        sizes = np.bincount(labels)
        members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
        counted = np.ones(labels.size) if mass is None else np.maximum(mass / mass.max(), _LEAST_MASS)
        return cls(
            labels, tuple(members), counted, counted / (sizes.size * np.bincount(labels, counted)[labels])
        )

    @property
    def even(self) -> bool:
        """Whether every row counts alike."""
        return bool((self.mass == 1).all())

    def others(self, fold: int) -> Ints:
        return np.flatnonzero(self.labels != fold)

    @property
    def small(self) -> bool:
        """Whether folds are so small, down to single rows, that going through them one by one would
        be slow.
        """
        return len(self.members) * _SMALL_FOLD > self.labels.size

    def blocks(self, rows_per_block: int) -> list[Ints]:
        """All rows in blocks of at most so many, of one fold each unless folds are small."""
        parts = [np.arange(self.labels.size)] if self.small else self.members
        return [part[rows] for part in parts for rows in row_blocks(len(part), rows_per_block)]

    def job(self, held_out: Ints) -> BlockJob:
        """What predicts a block. Made when the block's turn comes: all of them together would take memory for
        all pairs of rows.
        """
        if self.small:
            return BlockJob(held_out, np.arange(self.labels.size), self.labels[held_out, None] == self.labels)
        return BlockJob(held_out, self.others(int(self.labels[held_out[0]])))

    def score_of_mean(self, weight: Floats) -> float:
        """Score at an infinite bandwidth: each fold is predicted by the mean of the others. ``weight`` is
        centred, so sums lose nothing.
        """
        mass, load = np.bincount(self.labels, self.mass), np.bincount(self.labels, self.mass * weight)
        others = sum_of_others(load) / sum_of_others(mass)
        return float(np.sum(self.share * (weight - others[self.labels]) ** 2))


@dataclass(frozen=True, slots=True)
class Score:
    """Cross-validated squared error, its gradient in ``log h`` and the number of rows without a neighbour."""

    value: float
    gradient: Floats
    isolated: int = 0

    @classmethod
    def total(cls, parts: Sequence[Score]) -> Score:
        return cls(
            float(np.sum([part.value for part in parts])),
            np.sum([part.gradient for part in parts], axis=0),
            sum(part.isolated for part in parts),
        )


@runtime_checkable
class Reducible(Protocol):
    """A plan that has a quicker, less precise form."""

    def rough(self) -> CrossValidation:
        """The same, quicker, and precise enough to locate a minimum."""


@runtime_checkable
class Sampled(Protocol):
    """A plan that can score some of the rows only, and many weight vectors at once; scores of a vector do not
    depend on the others.
    """

    def sampled_scan(self, weights: Floats, bandwidths: Floats) -> Floats:
        """``(parts, bandwidths, vectors)`` sums over the parts of a random sample of rows, of which the score
        is the sum over all rows, for the columns of ``weights``.
        """

    def scan_many(self, weights: Floats, bandwidths: Floats, wanted: Floats) -> Floats:
        """``(bandwidths, vectors)`` scores where they are ``wanted``, nan elsewhere; those of a vector do not
        depend on what others want.
        """


class CrossValidation(Protocol):
    """How a plan of the engine answers for one set of contexts and folds."""

    def score(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        """Score of one shared bandwidth (gradient of shape ``(1,)``) or of one per feature (``(d,)``)."""

    def scan(self, weight: Floats, bandwidths: Floats) -> Floats:
        """Scores at the shared bandwidths of a :func:`halving_grid`."""


def halving_grid(largest: float, count: int) -> Floats:
    """Bandwidths from ``largest`` down, each ``sqrt(2)`` below the one before: squaring an RBF kernel at one
    gives it at the next.
    """
    return largest * 2.0 ** (-np.arange(count) / 2)


def rough_grid(largest: float, count: int) -> Floats:
    """The same from ``largest`` down but for the first three, which halve: where kernels are that flat,
    scores hardly bend.
    """
    return largest * 2.0 ** (-np.append([0.0, 1.0, 2.0], 2 + np.arange(1, count - 2) / 2))
