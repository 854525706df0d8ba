"""Kernel products at several bandwidths from one pass over the pairs of rows, each with vectors of its own.

Distances are worked out once. Dividing the bandwidth of the RBF kernel by the root of 2 squares it, so one
exponential serves several bandwidths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kwis.kernel import distances_are_products, kernel_products, one_pass_per_bandwidth
from kwis.kernel.geometry import Geometry, Scaled, expands, mismatches, squared_distances
from kwis.kernel.many import MOST_SQUARINGS, chained
from kwis.kernel.profiles import Kernel
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints

_CELLS = 1 << 19  # of distances in flight per thread, 4 MB
_FEW = 16  # vectors of one bandwidth; with more, a matrix product is quicker than sums one by one
_LOG2_E = 1.4426950408889634
_FARTHEST = 1e30  # squared distance in units of the smallest bandwidth, beyond which no kernel is left


def kernel_products_along(
    context: Floats,
    bandwidths: Floats,
    kernel: Kernel,
    categorical: tuple[int, ...],
    vectors: Sequence[Floats],
) -> list[Floats]:
    """``K_h @ vectors_h`` (n, p) for each of the finite positive bandwidths ``h`` and its vectors (n, p)."""
    geometry = Geometry.of(context, categorical)
    apart = not distances_are_products(geometry, kernel)
    if apart and one_pass_per_bandwidth(geometry, kernel):
        return [
            kernel_products(context, h, kernel, categorical, own)
            for h, own in zip(bandwidths.tolist(), vectors, strict=True)
        ]
    return sums_around(geometry, np.arange(geometry.n), bandwidths, vectors)


def sums_around(
    geometry: Geometry, rows: Ints, bandwidths: Floats, vectors: Sequence[Floats]
) -> list[Floats]:
    """The same around the given rows only, (rows, p), with the RBF kernel in compiled code."""
    smallest = float(bandwidths.min())
    points, stretches = geometry.scaled(smallest), 0.5 * _LOG2_E * (smallest / bandwidths) ** 2
    sizes = np.array([own.shape[1] for own in vectors])
    few = _Few.of(stretches, vectors, np.flatnonzero(sizes <= _FEW))
    many = _Many.of(stretches, vectors, np.flatnonzero(sizes > _FEW))
    out = [np.empty((rows.size, size)) for size in sizes]

    distances = _Distances.of(points)

    def block(part: slice) -> None:
        near = distances.around(rows[part])
        few.write(near, out, part)
        many.write(near, out, part)

    each_block(block, row_blocks(rows.size, max(1, _CELLS // geometry.n)))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Distances:
    """Squared distances between points, by one product of matrices with the squared lengths of the points as
    two columns more, where that is accurate enough.
    """

    points: Scaled
    here: Floats
    there: Floats

    @classmethod
    def of(cls, points: Scaled) -> _Distances:
        x = points.numeric
        if not x.shape[1] or not expands(x, x):
            return cls(points, x[:, :0], x.T[:0])
        lengths, ones = np.einsum("ij,ij->i", x, x), np.ones(len(x))
        here, there = np.column_stack([-2 * x, lengths, ones]), np.vstack([x.T, ones, lengths])
        return cls(points, here, there)

    def around(self, rows: Ints) -> Floats:
        """``(rows, n)`` squared distances from some of the points to all."""
        here, there = self.points.take(rows), self.points
        if self.there.size:
            q: Floats = self.here[rows] @ self.there
        else:
            q = squared_distances(here.numeric, there.numeric, by_difference=True)
        if here.penalty.size:
            q += 2 * mismatches(here, there)
        return np.clip(q, 0.0, _FARTHEST, out=q)


@dataclass(frozen=True, slots=True, eq=False)
class _Few:
    """Bandwidths that have few vectors, in the order in which their kernels are made.

    The vectors are the rows of ``columns``, those of the bandwidth ``places[b]`` from ``ends[b]`` on.
    """

    places: Ints
    stretches: Floats
    squarings: Ints
    ends: Ints
    columns: Floats

    @classmethod
    def of(cls, stretches: Floats, vectors: Sequence[Floats], places: Ints) -> _Few:
        order, squarings = chained(stretches[places], MOST_SQUARINGS)
        own = [vectors[place].T for place in places[order]]
        ends = np.cumsum([0, *(one.shape[0] for one in own)])
        columns = np.concatenate(own) if own else np.empty((0, 0))
        return cls(places[order], stretches[places[order]], squarings, ends, np.ascontiguousarray(columns))

    def write(self, near: Floats, out: Sequence[Floats], rows: slice) -> None:
        """The products of some rows, whose distances are given."""
        from kwis.kernel.fused_columns import column_sums

        if not self.places.size:
            return
        total = int(self.ends[-1])
        sums = np.zeros((len(near), total))
        column_sums(near, self.columns, self.stretches, self.squarings, self.ends, np.arange(total), sums)
        for place, first, last in zip(self.places, self.ends[:-1], self.ends[1:], strict=True):
            out[place][rows] = sums[:, first:last]


@dataclass(frozen=True, slots=True, eq=False)
class _Many:
    """Bandwidths that have many vectors each."""

    places: Ints
    stretches: Floats
    squarings: Ints
    vectors: Sequence[Floats]

    @classmethod
    def of(cls, stretches: Floats, vectors: Sequence[Floats], places: Ints) -> _Many:
        order, squarings = chained(stretches[places], MOST_SQUARINGS)
        return cls(places[order], stretches[places[order]], squarings, [vectors[at] for at in places[order]])

    def write(self, near: Floats, out: Sequence[Floats], rows: slice) -> None:
        """The products of some rows, whose distances are given."""
        from kwis.kernel.fused import kernel_from_distances

        kernel = np.empty_like(near) if self.places.size else near
        for place, stretch, squarings, own in zip(
            self.places, self.stretches, self.squarings, self.vectors, strict=True
        ):
            if squarings == 0:
                kernel_from_distances(near, stretch, kernel)
            for _ in range(squarings):
                np.square(kernel, out=kernel)
            np.matmul(kernel, own, out=out[place][rows])
