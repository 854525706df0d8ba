"""Kernel sums in plain numpy, block by block: any kernel, no compilation.

Serves small samples, wide data (its distances and gradients are matrix products) and every kernel but the
RBF. Memory is bounded by the block size, whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.kernel.geometry import (
    EXPANSION_ERROR,
    Geometry,
    Scaled,
    expands,
    log_kernel,
    mismatches,
    squared_distances,
)
from kwis.kernel.held_out import Folds, Score
from kwis.kernel.profiles import RBF, Kernel
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Bandwidth, Floats, Ints

_BLOCK_CELLS = 1 << 19  # 4 MB of float64 per matrix in flight


def _rows_per_block(columns: int) -> int:
    return max(1, _BLOCK_CELLS // max(1, columns))


def kernel_products(points: Scaled, kernel: Kernel, vectors: Floats) -> Floats:
    """``K @ vectors`` with ``K`` the kernel between all rows; ``K`` is 1 on its diagonal, so sums never
    vanish.
    """
    n = points.codes.shape[0]

    def block(rows: slice) -> Floats:
        log_k, _ = log_kernel(points.take(rows), points, kernel)
        return np.exp(log_k, out=log_k) @ vectors

    return np.concatenate(each_block(block, row_blocks(n, _rows_per_block(n))))


def shifted_kernel(log_k: Floats, distance: Floats) -> tuple[Floats, Floats]:
    """Kernel with each row scaled to a largest entry of 1, and which rows had no neighbour at all.

    A row without a neighbour (compact kernels) is given its nearest ones instead.
    """
    top = log_k.max(axis=1)
    isolated = np.isneginf(top)
    if isolated.any():
        nearest = distance[isolated] == distance[isolated].min(axis=1, keepdims=True)
        log_k[isolated] = np.where(nearest, 0.0, -np.inf)
        top[isolated] = 0.0
    log_k -= top[:, None]
    return np.exp(log_k, out=log_k), isolated


def kernel_means(at: Scaled, points: Scaled, kernel: Kernel, weight: Floats) -> Floats:
    """Kernel average of ``weight`` over ``points`` around each row of ``at``."""
    n = points.codes.shape[0]

    def block(rows: slice) -> Floats:
        here = at.take(rows)
        log_k, q = log_kernel(here, points, kernel)
        k, _ = shifted_kernel(log_k, _distance(here, points, q))
        return (k @ weight) / k.sum(axis=1)

    return np.concatenate(each_block(block, row_blocks(at.codes.shape[0], _rows_per_block(n))))


def _distance(a: Scaled, b: Scaled, q: Floats) -> Floats:
    """One distance over both kinds of columns, to find the nearest rows."""
    return q + 2 * mismatches(a, b) if a.penalty.size else q


@dataclass(frozen=True, slots=True)
class BlockedCV:
    """Held-out predictions and their error, for any kernel; distances are matrix products where these are off
    by at most ``error``.
    """

    geometry: Geometry
    folds: Folds
    kernel: Kernel
    error: float = EXPANSION_ERROR

    def score(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        """Cross-validated squared error and its gradient with respect to the log bandwidth."""
        points = self.geometry.scaled(bandwidth)
        per_feature = np.ndim(bandwidth) == 1

        def block(held_out: Ints) -> Score:
            job = self.folds.job(held_out)
            rest = job.rest
            here, there = points.take(held_out), points.take(rest)
            log_k, q = log_kernel(here, there, self.kernel, self.error)
            distance = job.without_own(_distance(here, there, q).copy(), np.inf) if self.kernel.compact else q
            k, isolated = shifted_kernel(job.without_own(log_k, -np.inf), distance)
            nearest = k.argmax(axis=1)
            k = self._counted(k, rest)
            total = k.sum(axis=1)
            predicted = (k @ weight[rest]) / total
            residual = weight[held_out] - predicted
            share = self.folds.share[held_out]
            pull = k  # reused: d score / d log k_ij
            pull *= weight[rest] - predicted[:, None]
            pull *= (np.where(isolated, 0.0, -2 * residual * share) / total)[:, None]
            slope = (self._feature_slopes if per_feature else self._shared_slope)(
                here, there, q, pull, nearest
            )
            return Score(float(share @ residual**2), slope, int(isolated.sum()))

        return Score.total(each_block(block, self.folds.blocks(_rows_per_block(self.geometry.n))))

    def scan(self, weight: Floats, bandwidths: Floats) -> Floats:
        """Scores at many shared bandwidths, from one pass over the distances."""
        smallest = float(bandwidths.min())
        points = self.geometry.scaled(smallest)

        def block(held_out: Ints) -> Floats:
            job = self.folds.job(held_out)
            rest = job.rest
            here, there = points.take(held_out), points.take(rest)
            q = squared_distances(here.numeric, there.numeric, by_difference=self.kernel is not RBF)
            mismatch = mismatches(here, there)
            distance = job.without_own(q + 2 * mismatch, np.inf)
            scores = np.empty(len(bandwidths))
            for index, h in enumerate(bandwidths):
                shrink = (smallest / h) ** 2
                log_k = self.kernel.log_profile(q * shrink) - mismatch * shrink
                k = self._counted(shifted_kernel(job.without_own(log_k, -np.inf), distance)[0], rest)
                residual = weight[held_out] - (k @ weight[rest]) / k.sum(axis=1)
                scores[index] = self.folds.share[held_out] @ residual**2
            return scores

        return np.sum(each_block(block, self.folds.blocks(_rows_per_block(self.geometry.n))), axis=0)

    def _counted(self, k: Floats, columns: Ints) -> Floats:
        """Kernel with each column counted as often as its mass says."""
        if not self.folds.even:
            k *= self.folds.mass[columns]
        return k

    def _shared_slope(self, here: Scaled, there: Scaled, q: Floats, pull: Floats, nearest: Ints) -> Floats:
        """``sum_ij pull_ij dlog k_ij / dlog h``."""
        elasticity = -2 * self.kernel.slope(q) * q
        if here.penalty.size:
            elasticity += 2 * mismatches(here, there)
        return np.array([_total(pull, elasticity, nearest)])

    def _feature_slopes(self, here: Scaled, there: Scaled, q: Floats, pull: Floats, nearest: Ints) -> Floats:
        """The same for the bandwidth of every column."""
        slopes = np.empty(self.geometry.d)
        for column, penalty in enumerate(here.penalty):
            differs = here.codes[:, column, None] != there.codes[None, :, column]
            slopes[self.geometry.categorical_columns[column]] = (
                2 * penalty * _total(pull, differs.astype(np.float64), nearest)
            )
        if self.kernel is RBF and expands(here.numeric, there.numeric, self.error):
            slopes[self.geometry.numeric_columns] = _weighted_squares(pull, here.numeric, there.numeric)
            return slopes
        radial = -2 * self.kernel.slope(q)
        for column, original in enumerate(self.geometry.numeric_columns):
            elasticity = (here.numeric[:, column, None] - there.numeric[None, :, column]) ** 2
            elasticity *= radial
            slopes[original] = _total(pull, elasticity, nearest)
        return slopes


def _total(pull: Floats, elasticity: Floats, nearest: Ints) -> float:
    """``sum_ij pull_ij elasticity_ij``, with each row's elasticities counted from that of its nearest
    neighbour.

    ``pull`` sums to 0 along rows, so this changes nothing but rounding: neighbours that are alike cancel,
    however large their elasticity.
    """
    elasticity -= np.take_along_axis(elasticity, nearest[:, None], axis=1)
    return float(np.einsum("ij,ij->", pull, elasticity))


def _weighted_squares(pull: Floats, a: Floats, b: Floats) -> Floats:
    """``sum_ij pull_ij (a_il - b_jl)^2`` for every column ``l``, by matrix products."""
    return np.asarray(
        pull.sum(axis=1) @ a**2 + pull.sum(axis=0) @ b**2 - 2 * np.einsum("il,il->l", a, pull @ b)
    )
