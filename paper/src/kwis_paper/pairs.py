"""Kernel matrices of the test rows, whose distances all cells of a dataset share.

Hundreds of cells differ in the bandwidth only, and each needs several products with the same kernel, so
distances are kept for the dataset and the kernel for the cell: two matrices of n by n. Beyond a few thousand
rows that is too much, and the engine, which keeps none, is asked instead.
"""

from __future__ import annotations

import math

import numpy as np

from kwis import RBF
from kwis.estimators.neighbourhood import LocalSums, whole_sums
from kwis.kernel import kernel_products
from kwis.kernel.geometry import Geometry, squared_distances
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Bandwidth, Floats

_MOST_ROWS = 8000  # 512 MB per matrix
_ROWS = 512  # per block
_COMPILED_ROWS = 1000  # below, numpy is quick enough that nothing need be compiled


def _plain(distances: Floats, scale: float, out: Floats) -> None:
    np.multiply(distances, -scale, out=out)
    np.exp(out, out=out)


def _compiled(distances: Floats, scale: float, out: Floats) -> None:
    from kwis.kernel.fused import kernel_from_distances

    kernel_from_distances(distances, scale * math.log2(math.e), out)


class Pairs:
    """Squared distances between the rows of a context, and products with RBF kernels of them."""

    def __init__(self, context: Floats) -> None:
        self.context = context
        self._blocks = row_blocks(context.shape[0], _ROWS)
        self._distances: Floats | None = None
        self._kernel: Floats | None = None

    def sums(self, bandwidth: Bandwidth, *, single: bool = False) -> LocalSums:
        """Products with the kernel matrix; valid until the next bandwidth is asked for.

        In single precision they are accurate to about 1e-6 relative, enough for the ends of intervals, and
        twice as quick; the calling thread does all the work, one of several that resample.
        """
        if np.isinf(bandwidth).all():
            return whole_sums
        if np.size(bandwidth) > 1 or self.context.shape[0] > _MOST_ROWS:
            return lambda vectors: kernel_products(self.context, bandwidth, RBF, (), vectors)
        kernel = self._fill(float(np.ravel(bandwidth)[0]))
        if single:
            narrow = kernel.astype(np.float32)
            return lambda vectors: (narrow @ vectors.astype(np.float32)).astype(np.float64)
        return lambda vectors: self._products(kernel, vectors)

    def _products(self, kernel: Floats, vectors: Floats) -> Floats:
        return np.concatenate(each_block(lambda rows: kernel[rows] @ vectors, self._blocks))

    def _fill(self, bandwidth: float) -> Floats:
        distances = self._all_distances()
        if self._kernel is None:
            self._kernel = np.empty_like(distances)
        kernel, scale = self._kernel, 0.5 / bandwidth**2
        exponential = _compiled if kernel.shape[0] >= _COMPILED_ROWS else _plain
        each_block(lambda rows: exponential(distances[rows], scale, kernel[rows]), self._blocks)
        return kernel

    def _all_distances(self) -> Floats:
        if self._distances is None:
            points = Geometry.of(self.context, ()).numeric
            parts = each_block(
                lambda rows: squared_distances(points[rows], points, by_difference=False), self._blocks
            )
            self._distances = np.concatenate(parts)
            np.fill_diagonal(self._distances, 0.0)
        return self._distances
