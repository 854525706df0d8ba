"""Criteria that choose the bandwidth for the sake of the estimate, not of the weights.

The paper's cross-validation asks how well held-out weights are predicted. Here Kernel-WIS is followed along
the bandwidth, from WIS inwards, with the covariances of its errors from the influence function, and one of
two rules is applied:

- ``slope`` (Lepski's method, as in Su et al. 2020): narrower bandwidths trade variance for bias, so go in
  from WIS as long as the estimate stays within one standard error, of the difference, of every wider one, and
  its own standard error does not grow;
- ``plug-in``: smallest sum of variance and squared bias, the latter taken to be the squared difference to an
  anchor, the estimate at the bandwidth of the cross-validation. The chance in that difference counts as bias
  too, which keeps the choice near the anchor unless variance is to be saved.

Neither does better than cross-validation on the suite, so the library does not offer them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kwis import RBF, BandwidthChoice, InputError, Kernel, KernelWIS, WeightedSample
from kwis.bandwidth.scale import typical_distance
from kwis.estimators.neighbourhood import LocalSums, locally_normalised, whole_sums
from kwis.kernel.geometry import Geometry
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Ints
from kwis_paper.beyond.columns import CRITERIA

_OCTAVES = np.arange(3.0, -2.01, -0.5)  # of the usual grid, around the typical distance between contexts


@dataclass(frozen=True, slots=True, eq=False)
class EstimatePath:
    """Kernel-WIS along the bandwidth on T samples with the same contexts.

    Attributes
    ----------
    bandwidths
        ``(G,)``, widest first.
    value
        ``(G, T)`` estimates.
    covariance
        ``(G, G, T)`` covariances of their errors.
    """

    bandwidths: Floats
    value: Floats
    covariance: Floats

    @property
    def variance(self) -> Floats:
        """``(G, T)``."""
        return np.einsum("ggt->gt", self.covariance)


def estimate_path(
    weight: Floats,
    reward: Floats,
    bandwidths: Floats,
    sums_at: Callable[[float], LocalSums],
    *,
    normalised: bool = True,
    mass: Floats | None = None,
    group: Ints | None = None,
) -> EstimatePath:
    """Path of Kernel-WIS for weights and rewards (n, T); ``sums_at`` gives the kernel sums at a bandwidth.
    Memory ``G n T``.
    """
    order = np.argsort(bandwidths)[::-1]
    widest_first = np.asarray(bandwidths, dtype=np.float64)[order]
    c = np.ones((weight.shape[0], 1)) if mass is None else mass[:, None] / mass.mean()
    found = [
        _estimate(weight, reward, c, whole_sums if np.isinf(h) else sums_at(float(h)), normalised)
        for h in widest_first
    ]
    draws = np.stack([draw_sums(influence, group) for _, influence in found])
    count, n = draws.shape[1], weight.shape[0]
    covariance = np.einsum("gnt,hnt->ght", draws, draws, optimize=True) * (count / max(count - 1, 1) / n**2)
    return EstimatePath(widest_first, np.stack([value for value, _ in found]), covariance)


def _estimate(
    weight: Floats, reward: Floats, c: Floats, sums: LocalSums, normalised: bool
) -> tuple[Floats, Floats]:
    """Values (T,) and influence (n, T) for many weights at once."""
    local = locally_normalised(weight, c, sums)
    load = np.mean(c * local.weight, axis=0) if normalised else np.ones(weight.shape[1])
    value = np.mean(c * local.weight * reward, axis=0) / load
    influence = c * local.derivatives(reward - value if normalised else reward, c) / load
    return value, influence if normalised else influence - c * value


def slope(path: EstimatePath) -> Ints:
    """Index (T,) of the narrowest bandwidth that agrees with all wider ones within a standard error of their
    difference.
    """
    variance = path.variance
    chosen = np.zeros(path.value.shape[1], dtype=np.int64)
    going = np.ones(chosen.size, dtype=bool)
    for g in range(1, path.bandwidths.size):
        gap = np.square(path.value[g] - path.value[:g])
        chance = variance[g] + variance[:g] - 2 * path.covariance[:g, g]
        going &= (gap <= np.maximum(chance, 0.0)).all(axis=0) & (variance[g] <= variance[0])
        chosen[going] = g
    return chosen


def plug_in(path: EstimatePath, anchor: Ints | int = 0) -> Ints:
    """Index (T,) of the smallest estimated squared error, with the estimate of index ``anchor`` as the one
    without bias.
    """
    return np.argmin(squared_error(path, anchor), axis=0)


def squared_error(path: EstimatePath, anchor: Ints | int = 0) -> Floats:
    """``(G, T)`` variance plus squared difference to the anchor."""
    at = path.value[anchor, np.arange(path.value.shape[1])]
    return path.variance + np.square(path.value - at)


def choose_bandwidth(
    sample: WeightedSample,
    criterion: str = "plug-in",
    *,
    grid: Floats | None = None,
    anchor: float | None = None,
    normalised: bool = True,
    kernel: Kernel = RBF,
) -> BandwidthChoice:
    """The bandwidth of Kernel-WIS that a criterion chooses on a sample.

    Parameters
    ----------
    criterion
        ``"slope"`` or ``"plug-in"``, as above.
    grid
        Bandwidths to choose from, infinity is always added; by default up to three octaves around the typical
        distance.
    anchor
        The bandwidth that the plug-in takes to be free of bias; None: selected by cross-validation of the
        weights.

    Returns
    -------
    BandwidthChoice
        ``score`` is the estimated squared error of the estimate, and ``end_points`` the grid.
    """
    if criterion not in CRITERIA:
        raise InputError(f"`criterion` must be one of {', '.join(CRITERIA)}, got {criterion!r}")
    points = usual_grid(sample.context, sample.categorical) if grid is None else grid
    if criterion == "plug-in" and anchor is None:
        anchor = float(KernelWIS(kernel=kernel).choose(sample).value)
    anchors = np.array([] if anchor is None else [anchor])
    path = estimate_path(
        sample.weight[:, None],
        sample.reward[:, None],
        np.unique(np.concatenate([points, anchors, [np.inf]])),
        lambda h: KernelWIS(h, kernel=kernel).sums(sample),
        normalised=normalised,
        mass=sample.mass,
        group=sample.group,
    )
    return choices(path, criterion, anchors)[0]


def usual_grid(contexts: Floats, categorical: Iterable[int] = ()) -> Floats:
    """Bandwidths around the typical distance between contexts, widest first."""
    return np.asarray(typical_distance(Geometry.of(contexts, tuple(categorical))) * 2.0**_OCTAVES)


def choices(path: EstimatePath, criterion: str, anchors: Floats) -> tuple[BandwidthChoice, ...]:
    """What a criterion chooses on a path; ``anchors`` (T,) are bandwidths of the path that the plug-in
    compares with.
    """
    places = (
        np.array([int(np.argmax(path.bandwidths == h)) for h in anchors]) if criterion == "plug-in" else 0
    )
    errors = squared_error(path, places) if criterion == "plug-in" else path.variance
    picked = plug_in(path, places) if criterion == "plug-in" else slope(path)
    return tuple(
        BandwidthChoice(
            value=float(path.bandwidths[g]),
            score=float(errors[g, t]),
            end_points=path.bandwidths,
            end_scores=errors[:, t],
            evaluations=path.bandwidths.size,
        )
        for t, g in enumerate(picked)
    )
