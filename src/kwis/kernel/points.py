"""Kernel sums over the rows of a log in memory: all pairs, each computed once, or between all rows and some.

Rows are cut into blocks of fixed size, which the pool of threads works on and whose parts are added in their
order: memory grows with the rows and the block, never with the pairs, and the bits do not depend on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from typing import Any

import numpy as np

from kwis.kernel.clouds import Space, sums
from kwis.kernel.geometry import Geometry, compact
from kwis.kernel.profiles import Kernel
from kwis.runtime.arrays import stretches
from kwis.runtime.runner import workers
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Bandwidth, Floats, Ints

_BLOCK = 1024  # rows
_SHARE = 32 * _BLOCK  # rows that a worker of a cluster is sent
_AT_ONCE = 64  # parts held before they are added


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Contexts at one bandwidth."""

    numeric: Floats
    codes: Floats
    space: Space

    @property
    def n(self) -> int:
        return int(self.codes.shape[0])

    @classmethod
    def of(cls, geometry: Geometry, bandwidth: Bandwidth, kernel: Kernel) -> Points:
        ends = np.zeros((2, geometry.d))
        if geometry.numeric_columns.size:
            ends[:, geometry.numeric_columns] = geometry.numeric.min(axis=0), geometry.numeric.max(axis=0)
        categorical = tuple(geometry.categorical_columns.tolist())
        return cls(geometry.numeric, compact(geometry.codes), Space.of(ends, categorical, bandwidth, kernel))

    def all_pairs(self, vectors: Floats, dtype: Any = np.float64) -> Floats:
        """``K @ vectors`` (n, p) between all rows."""
        blocks = row_blocks(self.n, _BLOCK)
        clouds = [self._cloud(rows, dtype) for rows in blocks]
        scaled, scale = _scaled(vectors, dtype)
        out = np.zeros(vectors.shape)

        def pair(places: tuple[int, int]) -> tuple[Floats, Floats]:
            a, b = places
            return sums(clouds[a], clouds[b], scaled[blocks[b]], scaled[blocks[a]], self.space.kernel)

        for places in _some_at_once(combinations_with_replacement(range(len(blocks)), 2)):
            for (a, b), (first, second) in zip(places, each_block(pair, places), strict=True):
                out[blocks[a]] += first
                if a != b:
                    out[blocks[b]] += second
        return out * scale

    def from_rows(
        self, rows: Ints, vectors: Floats, dtype: Any = np.float64, at: slice | None = None
    ) -> Floats:
        """``K @ vectors`` (n, p) at all rows, or ``at`` some, for vectors (m, p) of the given ones."""
        others, (scaled, scale) = self._cloud(rows, dtype), _scaled(vectors, dtype)

        def block(part: slice) -> Floats:
            return sums(self._cloud(part, dtype, tiles=False), others, scaled, None, self.space.kernel)[0]

        here = at or slice(0, self.n)
        cluster = workers()
        if cluster is not None:
            taken = self._part(rows)
            tasks = [(self._part(part), taken, scaled, dtype) for part in _shares(here)]
            handles = cluster.each(_from_part, tasks, "kernel sums")
            return np.concatenate([cluster.fetch(handle) for handle in handles]) * scale
        return np.concatenate(each_block(block, row_blocks(here.stop, _BLOCK, here.start))) * scale

    def at_rows(self, rows: Ints, vectors: Floats, dtype: Any = np.float64) -> Floats:
        """``K @ vectors`` (m, p) at the given rows, for vectors (n, p) of all."""
        here, exponents = self._cloud(rows, dtype, tiles=False), _exponents(vectors, dtype)
        out = np.zeros((rows.size, vectors.shape[1]))

        def block(part: slice) -> Floats:
            scaled = np.ldexp(vectors[part], -exponents)
            return sums(here, self._cloud(part, dtype), scaled, None, self.space.kernel)[0]

        for stretch in stretches(self.n):
            for found in each_block(block, row_blocks(stretch.stop, _BLOCK, stretch.start)):
                out += found
        return np.ldexp(out, exponents)

    def _part(self, rows: slice | Ints) -> Points:
        return Points(self.numeric[rows], self.codes[rows], self.space)

    def _cloud(self, rows: slice | Ints, dtype: Any, *, tiles: bool = True) -> Any:
        return self.space.placed(self.numeric[rows], self.codes[rows], dtype, tiles=tiles)


def _shares(rows: slice) -> list[slice]:
    """Parts of a stretch of rows for the workers of a cluster."""
    return row_blocks(rows.stop, _SHARE, rows.start)


def _from_part(part: Points, others: Points, vectors: Floats, dtype: Any) -> Floats:
    """Kernel sums at the rows of a part over other rows, on a worker: the same bits as here."""
    cloud = others._cloud(slice(None), dtype)
    blocks = row_blocks(part.n, _BLOCK)
    return np.concatenate(
        [
            sums(part._cloud(rows, dtype, tiles=False), cloud, vectors, None, part.space.kernel)[0]
            for rows in blocks
        ]
    )


def _scaled(vectors: Floats, dtype: Any) -> tuple[Floats, Floats]:
    """Vectors that the precision holds, and the powers of two that give them back."""
    exponents = _exponents(vectors, dtype)
    return np.ldexp(vectors, -exponents), np.ldexp(1.0, exponents)


def _exponents(vectors: Floats, dtype: Any) -> Ints:
    """Powers of two that the columns are divided by: to at most 1 in single precision, not at all in
    double.
    """
    if np.dtype(dtype) == np.float64:
        return np.zeros(vectors.shape[1], dtype=np.int64)
    largest = [max(abs(float(column.max())), abs(float(column.min()))) for column in vectors.T]
    return np.asarray(np.frexp(largest)[1], dtype=np.int64)


def _some_at_once(jobs: Any) -> Iterator[list[Any]]:
    jobs = iter(jobs)
    while some := list(islice(jobs, _AT_ONCE)):
        yield some
