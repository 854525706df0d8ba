"""Held-out errors of many weight vectors on the same contexts and folds: one kernel block, one matrix product
for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.kernel.blocked import shifted_kernel
from kwis.kernel.geometry import Geometry, Scaled, mismatches, squared_distances
from kwis.kernel.held_out import Folds, Job
from kwis.kernel.profiles import RBF, Kernel
from kwis.runtime.threads import each_block
from kwis.typing import Floats, Ints

_BLOCK_CELLS = 1 << 20
# squared distance in units of the smallest bandwidth: single precision holds it, and no kernel is left there
_FARTHEST = 1e30
_LOG2_E = 1.4426950408889634


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
        centred = np.concatenate([weights - weights.mean(axis=0), np.ones((len(weights), 1))], axis=1)
        narrow = np.ascontiguousarray(centred * self.folds.mass[:, None], dtype=dtype)

        def block(held_out: Ints) -> Floats:
            job = self.folds.job(held_out)
            truth, known = centred[job.held_out, :-1], narrow[job.rest]
            share = self.folds.share[job.held_out]
            kernels = self._kernels(job, points, dtype)
            scores = np.zeros(wanted.shape)
            for index, h in enumerate(bandwidths):
                columns = np.flatnonzero(wanted[index])
                if columns.size:
                    kernel = job.without_own(kernels((smallest / h) ** 2), 0.0)
                    predicted = _predict(kernel, known, columns)
                    scores[index, columns] = share @ (truth[:, columns] - predicted) ** 2
            return scores

        return np.sum(each_block(block, self.folds.blocks(max(1, _BLOCK_CELLS // self.geometry.n))), axis=0)

    def _kernels(self, job: Job, points: Scaled, dtype: Any) -> Any:
        """Function from ``(smallest bandwidth / bandwidth)^2`` to the row-shifted kernel of the block."""
        here, there = points.take(job.held_out), points.take(job.rest)
        q = squared_distances(here.numeric, there.numeric, by_difference=self.kernel is not RBF)
        mismatch = mismatches(here, there) if here.penalty.size else None
        if self.kernel is not RBF:
            return lambda shrink: self._shifted(job, q, mismatch, shrink).astype(dtype)
        if mismatch is not None:
            q += 2 * mismatch
        q -= job.without_own(q, np.inf).min(axis=1, keepdims=True)
        near = np.minimum(q, _FARTHEST, out=q).astype(dtype)
        out = np.empty_like(near)
        if self.compiled:
            return lambda shrink: _compiled_kernel(near, shrink, out)
        return lambda shrink: np.exp(np.multiply(near, dtype(-0.5 * shrink), out=out), out=out)

    def _shifted(self, job: Job, q: Floats, mismatch: Floats | None, shrink: float) -> Floats:
        codes = 0.0 if mismatch is None else mismatch
        log_k = job.without_own(self.kernel.log_profile(q * shrink) - codes * shrink, -np.inf)
        return shifted_kernel(log_k, job.without_own(q + 2 * codes, np.inf))[0]


def _compiled_kernel(q: Floats, shrink: float, out: Floats) -> Floats:
    from kwis.kernel import fused

    fused.kernel_from_distances(q, q.dtype.type(0.5 * _LOG2_E * shrink), out)
    return out


def _predict(kernel: Floats, known: Floats, columns: Ints) -> Floats:
    """Held-out means of the given columns; the last column of ``known`` is the mass, by which the others are
    multiplied.
    """
    everything = columns.size == known.shape[1] - 1
    sums = kernel @ (known if everything else known[:, np.append(columns, -1)])
    return sums[:, :-1].astype(np.float64) / sums[:, -1:]
