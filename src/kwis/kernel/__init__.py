"""The engine: kernel averages over pairs of contexts, exact, in memory that grows with the number of rows.

The functions here are its front door. They pick the plan that suits the data; the caller never has to know
which:

- ``lattice`` when all columns are categorical and their product is small: sweeps over cells, no pairs at all;
- ``one_hot`` the same for indicators of categorical features and the RBF kernel;
- ``blocked`` for few rows, for wide data (matrix products) and for every kernel but the RBF: numpy, nothing
  to compile;
- ``wide`` for wide data and one bandwidth per feature: ``blocked`` or ``tiles``, as the bandwidths have it;
- ``tiles`` and ``fused`` otherwise: compiled loops, in float32 to locate a minimum and float64 to finish;
- ``many`` when many weight vectors share contexts and folds: one matrix product serves them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.kernel import blocked, sweeps
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import CrossValidation, Folds, Reducible
from kwis.kernel.lattice import LatticeCV
from kwis.kernel.lattice import kernel_products as lattice_products
from kwis.kernel.one_hot import OneHot, OneHotCV
from kwis.kernel.points import Points
from kwis.kernel.profiles import RBF, Kernel
from kwis.kernel.wide import WideCV
from kwis.typing import Bandwidth, Floats

_COMPILED_ROWS = 600  # below, numpy is quick enough that nothing need be compiled
_WIDE = 48  # columns from which matrix products beat the compiled loops, for as many rows as fit in cache
_WIDE_ROWS = 4000


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """How held-out errors are computed: ``locate`` may be less precise, ``finish`` is exact."""

    locate: CrossValidation
    finish: CrossValidation


def cross_validation(geometry: Geometry, folds: Folds, kernel: Kernel) -> KernelPlan:
    """The plan that suits these contexts, folds and kernel."""
    finish = exact_cross_validation(geometry, folds, kernel)
    return KernelPlan(finish.rough() if isinstance(finish, Reducible) else finish, finish)


def exact_cross_validation(geometry: Geometry, folds: Folds, kernel: Kernel) -> CrossValidation:
    """The plan in float64 only."""
    if folds.even and LatticeCV.fits(geometry, folds):  # its counts must be exact
        return LatticeCV.of(geometry, folds)
    indicators = OneHot.of(geometry, len(folds.members)) if kernel is RBF and folds.even else None
    if indicators is not None:
        return OneHotCV(indicators, folds)
    if uses_compiled_tiles(geometry, kernel) and not folds.small:  # a tile holds rows of one fold
        from kwis.kernel.tiles import FusedCV

        return FusedCV.of(geometry, folds)
    plain = blocked.BlockedCV(geometry, folds, kernel)
    return WideCV(plain) if geometry.d > _WIDE and WideCV.fits(geometry, folds, kernel) else plain


def uses_compiled_tiles(geometry: Geometry, kernel: Kernel) -> bool:
    """Whether compiled loops pay for this many rows and columns; they know the RBF kernel only."""
    wide = geometry.d > _WIDE and geometry.n < _WIDE_ROWS
    return kernel is RBF and geometry.n >= _COMPILED_ROWS and not wide


def distances_are_products(geometry: Geometry, kernel: Kernel) -> bool:
    """Whether the compiled loops would pay but for the many columns, which are better left to matrix
    products.
    """
    wide = geometry.d > _WIDE and _COMPILED_ROWS <= geometry.n < _WIDE_ROWS
    return kernel is RBF and wide and OneHot.of(geometry, 1) is None


def kernel_products(
    context: Floats, bandwidth: Bandwidth, kernel: Kernel, categorical: tuple[int, ...], vectors: Floats
) -> Floats:
    """``K @ vectors`` (n, p) with ``K_ij = k_h(s_i, s_j)``, 1 on the diagonal."""
    geometry = Geometry.of(context, categorical)
    if LatticeCV.fits(geometry, Folds.of(np.zeros(geometry.n, dtype=np.int64))):
        return lattice_products(geometry.scaled(bandwidth), vectors)
    indicators = OneHot.of(geometry, 1) if kernel is RBF else None
    if indicators is not None:
        return sweeps.kernel_products(indicators.lattice, indicators.costs(bandwidth), vectors)
    if uses_compiled_tiles(geometry, kernel):
        from kwis.kernel import tiles

        return tiles.kernel_products(geometry, bandwidth, vectors)
    return blocked.kernel_products(geometry.scaled(bandwidth), kernel, vectors)


def points_of(
    context: Floats, bandwidth: Bandwidth, kernel: Kernel, categorical: tuple[int, ...]
) -> Points | None:
    """Contexts between which kernel sums go over pairs of rows; None where sums over cells are exact and
    quicker.
    """
    geometry = Geometry.of(context, categorical)
    if LatticeCV.fits(geometry, Folds.of(np.zeros(geometry.n, dtype=np.int64))) or (
        kernel is RBF and OneHot.of(geometry, 1) is not None
    ):
        return None
    return Points.of(geometry, bandwidth, kernel)


def one_pass_per_bandwidth(geometry: Geometry, kernel: Kernel) -> bool:
    """Whether products at several bandwidths have nothing to share but the contexts, as everywhere but in the
    compiled tiles.
    """
    lattice = LatticeCV.fits(geometry, Folds.of(np.zeros(geometry.n, dtype=np.int64)))
    return lattice or not uses_compiled_tiles(geometry, kernel) or OneHot.of(geometry, 1) is not None


def kernel_means(
    at: Floats,
    context: Floats,
    bandwidth: Bandwidth,
    kernel: Kernel,
    categorical: tuple[int, ...],
    weight: Floats,
) -> Floats:
    """Kernel average of ``weight`` over ``context`` around each row of ``at``."""
    both = Geometry.of(np.concatenate([context, at]), categorical)
    points = both.scaled(bandwidth)
    n = context.shape[0]
    return blocked.kernel_means(points.take(slice(n, None)), points.take(slice(0, n)), kernel, weight)
