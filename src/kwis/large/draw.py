"""The two samples of the approximate estimator: neighbours, and rows to be checked."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from kwis.kernel.sampling import neighbour_chance, systematic
from kwis.large.frame import Frame, Rows
from kwis.large.source import Block
from kwis.typing import Floats, Ints

_NEIGHBOURS, _CHECKED, _SUBSET = 1, 2, 3  # streams of random numbers
_BINS, _BINS_PER_OCTAVE = 4096, 8
# share of an average term that every row counts when rows to check are chosen, even one of no weight
_FLOOR = 0.25


def _generator(seed: int, stream: int, number: int) -> np.random.Generator:
    """Random numbers of one block: the same whoever works on it."""
    return np.random.default_rng([seed, stream, number])


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Sampled rows that stand for all; ``vectors`` are ``c / pi`` and ``c w / pi``, ``block`` and ``row``
    where each comes from.
    """

    context: Floats
    vectors: Floats
    block: Ints
    row: Ints

    def __len__(self) -> int:
        return int(self.row.size)


def joined(*parts: Neighbours) -> Neighbours:
    """Task: samples of several blocks as one."""
    return Neighbours(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("context", "vectors", "block", "row")
        )
    )


def draw_neighbours(block: Block, number: int, frame: Frame, size: int, seed: int) -> Neighbours:
    """Task: this block's share of a sample of about ``size`` rows."""
    rows = frame.load(block)
    chance = neighbour_chance(rows.mass, rows.weight, size, frame.mass, frame.mean_weight)
    taken = systematic(chance, rows.weight, _generator(seed, _NEIGHBOURS, number))
    counted = (rows.mass / chance)[taken]
    vectors = np.column_stack([counted, counted * rows.weight[taken]])
    return Neighbours(rows.context[taken], vectors, np.full(taken.size, number), taken)


def stratified(block: Block, number: int, frame: Frame, size: int, seed: int) -> Rows:
    """Task: this block's share of about ``size`` rows, all equally likely, spread evenly over blocks and
    sizes of weights.
    """
    rows = frame.load(block)
    taken = systematic(
        np.full(rows.n, min(size / frame.n, 1.0)), rows.weight, _generator(seed, _SUBSET, number)
    )
    return take(rows, taken)


def take(rows: Rows, taken: Ints) -> Rows:
    return Rows(rows.context[taken], rows.weight[taken], rows.reward[taken], rows.mass[taken])


def joined_rows(*parts: Rows) -> Rows:
    """Task: rows of several blocks as one."""
    return Rows(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("context", "weight", "reward", "mass")
        )
    )


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Rows to check: their weights applied so far, ranked by a random number over their size.

    Those of smallest ``rank`` are a sample with probability ``chance = min(1, size * tau)``, ``tau`` the
    smallest rank left out.
    """

    rows: Rows
    applied: Floats
    size: Floats
    rank: Floats
    chance: Floats

    @classmethod
    def candidates(
        cls, rows: Rows, applied: Floats, frame: Frame, number: int, seed: int, count: int
    ) -> Sampled:
        """The rows of a block that may be among the ``count`` of smallest rank."""
        likely = np.abs(rows.reward) + np.abs(rows.reward - frame.mean_reward) + frame.reward_size
        size = rows.mass * (applied + _FLOOR) * np.where(likely > 0, likely, 1.0)
        rank = _generator(seed, _CHECKED, number).random(rows.n) / size
        return cls(rows, applied, size, rank, np.ones(rows.n)).smallest(count)

    def picked(self, taken: Ints) -> Sampled:
        return Sampled(take(self.rows, taken), *(getattr(self, name)[taken] for name in _BESIDE_ROWS))

    def smallest(self, count: int) -> Sampled:
        if self.rank.size <= count:
            return self
        return self.picked(np.sort(np.argpartition(self.rank, count - 1)[:count]))


def rank_counts(sampled: Sampled) -> Ints:
    """Task: how many ranks there are in each eighth of an octave, so that few rows need be sent to find the
    smallest of all.
    """
    with np.errstate(divide="ignore"):
        bins = np.floor(_BINS_PER_OCTAVE * np.log2(sampled.rank)) + _BINS // 2
    return np.bincount(np.clip(bins, 0, _BINS - 1).astype(np.int64), minlength=_BINS)


def rank_bound(counts: Ints, wanted: int) -> float:
    """A rank that at least ``wanted`` rows do not exceed, if there are as many."""
    enough = np.flatnonzero(np.cumsum(counts) >= wanted)
    last = int(enough[0]) + 1 if enough.size else _BINS
    return np.inf if last == _BINS else float(2.0 ** ((last - _BINS // 2) / _BINS_PER_OCTAVE))


_BESIDE_ROWS = tuple(one.name for one in fields(Sampled) if one.name != "rows")


def keep_smallest(count: int, *parts: Sampled) -> Sampled:
    """Task: the rows of smallest rank among several parts."""
    rows = joined_rows(*(part.rows for part in parts))
    return Sampled(
        rows, *(np.concatenate([getattr(part, name) for part in parts]) for name in _BESIDE_ROWS)
    ).smallest(count)


def chosen_of(kept: Sampled, count: int) -> Sampled:
    """Task: the sample of ``count`` rows, all of them with certainty if there are no more."""
    if kept.rank.size <= count:
        return kept
    last = int(np.argmax(kept.rank))
    found = kept.picked(np.delete(np.arange(kept.rank.size), last))
    return replace(found, chance=np.minimum(1.0, found.size * kept.rank[last]))
