"""Held-out errors of many weight vectors on the same contexts and folds: kernels are made once for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.kernel.blocked import shifted_kernel
from kwis.kernel.geometry import Geometry, Scaled, mismatches, squared_distances
from kwis.kernel.held_out import BlockJob, Folds
from kwis.kernel.profiles import RBF, Kernel
from kwis.runtime.threads import each_block
from kwis.typing import Floats, Ints

_BLOCK_CELLS = 1 << 20
# squared distance in units of the smallest bandwidth: single precision holds it, and no kernel is left there
_FARTHEST = 1e30
_LOG2_E = 1.4426950408889634
MOST_SQUARINGS = 6  # each doubles the relative error of a kernel, 6e-16 at first
_PER_OCTAVE = 1e9  # stretches are told apart to this share of a doubling
_FEW = 16  # columns; with more, a matrix product is quicker than sums column by column


@dataclass(frozen=True, slots=True)
class ManyCV:
    """Scores at shared bandwidths for the columns of a weight matrix."""

    geometry: Geometry
    folds: Folds
    kernel: Kernel
    compiled: bool

    def scan(self, weights: Floats, bandwidths: Floats, wanted: Floats, dtype: Any) -> Floats:
        """``(bandwidths, vectors)`` scores where ``wanted``, 0 elsewhere.

        In float32 the sums are accurate to about 1e-6 relative: enough to locate a minimum. Memory is a few
        blocks of 8 MB beside the weights.
        """
        smallest = float(bandwidths.min())
        points = self.geometry.scaled(smallest)
        shrink = (smallest / bandwidths) ** 2
        centred = np.concatenate([weights - weights.mean(axis=0), np.ones((len(weights), 1))], axis=1)
        narrow = np.ascontiguousarray(centred * self.folds.mass[:, None], dtype=dtype)
        nodes = [(index, np.flatnonzero(row)) for index, row in enumerate(wanted) if row.any()]
        few = [node for node in nodes if self.compiled and node[1].size <= _FEW]
        many = [node for node in nodes if not self.compiled or node[1].size > _FEW]

        def block(held_out: Ints) -> Floats:
            job = self.folds.job(held_out)
            truth, known = centred[job.held_out, :-1], narrow[job.rest]
            share = self.folds.share[job.held_out]
            scores = np.zeros(wanted.shape)
            for (index, columns), sums in self._sums(job, points, known, shrink, few, many):
                predicted = sums[:, :-1].astype(np.float64) / sums[:, -1:]
                scores[index, columns] = share @ (truth[:, columns] - predicted) ** 2
            return scores

        return np.sum(each_block(block, self.folds.blocks(max(1, _BLOCK_CELLS // self.geometry.n))), axis=0)

    def _sums(
        self,
        job: BlockJob,
        points: Scaled,
        known: Floats,
        shrink: Floats,
        few: Sequence[_Node],
        many: Sequence[_Node],
    ) -> Iterator[tuple[_Node, Floats]]:
        """Kernel sums of the wanted columns of ``known`` and, last, of its last column, the mass."""
        here, there = points.take(job.held_out), points.take(job.rest)
        q = squared_distances(here.numeric, there.numeric, by_difference=self.kernel is not RBF)
        mismatch = mismatches(here, there) if here.penalty.size else None
        if self.kernel is not RBF:
            for index, columns in many:
                kernel = self._shifted(job, q, mismatch, float(shrink[index])).astype(known.dtype)
                yield (index, columns), job.without_own(kernel, 0.0) @ _with_mass(known, columns)
            return
        if mismatch is not None:
            q += 2 * mismatch
        q -= job.without_own(q, np.inf).min(axis=1, keepdims=True)
        near = np.minimum(q, _FARTHEST, out=q).astype(known.dtype, copy=False)
        if few:
            yield from zip(few, _sums_of_few(near, known, shrink, few), strict=True)
        kernel = np.empty_like(near) if many else near
        for index, columns in many:
            self._rbf(near, float(shrink[index]), kernel)
            yield (index, columns), job.without_own(kernel, 0.0) @ _with_mass(known, columns)

    def _rbf(self, q: Floats, shrink: float, out: Floats) -> None:
        if self.compiled:
            from kwis.kernel.fused import kernel_from_distances

            kernel_from_distances(q, q.dtype.type(0.5 * _LOG2_E * shrink), out)
        else:
            np.exp(np.multiply(q, q.dtype.type(-0.5 * shrink), out=out), out=out)

    def _shifted(self, job: BlockJob, q: Floats, mismatch: Floats | None, shrink: float) -> Floats:
        codes = 0.0 if mismatch is None else mismatch
        log_k = job.without_own(self.kernel.log_profile(q * shrink) - codes * shrink, -np.inf)
        return shifted_kernel(log_k, job.without_own(q + 2 * codes, np.inf))[0]


_Node = tuple[int, Ints]
"""Index of a bandwidth, and the columns that are wanted there."""


def _with_mass(known: Floats, columns: Ints) -> Floats:
    return known if columns.size == known.shape[1] - 1 else known[:, np.append(columns, -1)]


def _sums_of_few(near: Floats, known: Floats, shrink: Floats, nodes: Sequence[_Node]) -> list[Floats]:
    """Sums of every node, in compiled code."""
    from kwis.kernel.fused_columns import column_sums

    stretches = 0.5 * _LOG2_E * shrink[[index for index, _ in nodes]]
    order, squarings = chained(stretches, MOST_SQUARINGS if near.dtype == np.float64 else 0)
    used = [np.append(nodes[place][1], known.shape[1] - 1) for place in order]
    ends = np.cumsum([0, *(columns.size for columns in used)])
    sums = np.zeros((len(near), int(ends[-1])))
    column_sums(
        near,
        np.ascontiguousarray(known.T),
        stretches[order].astype(near.dtype),
        squarings,
        ends,
        np.concatenate(used),
        sums,
    )
    parts = np.split(sums, ends[1:-1], axis=1)
    return [parts[place] for place in np.argsort(order)]


def chained(stretches: Floats, most: int) -> tuple[Ints, Ints]:
    """An order of kernels ``2**(-stretch q)``, and how many squarings make each of the one before; 0 where it
    is made anew, at the latest after ``most`` squarings.
    """
    octave = np.log2(stretches)
    whole, part = np.divmod(np.round(octave * _PER_OCTAVE), _PER_OCTAVE)
    order = np.lexsort((whole, part))
    squarings = np.zeros(order.size, dtype=np.int64)
    total = 0
    for place in range(1, order.size):
        before, here = order[place - 1], order[place]
        step = int(whole[here] - whole[before])
        total = total + step if part[here] == part[before] and total + step <= most else 0
        squarings[place] = step if total else 0
    return order, squarings
