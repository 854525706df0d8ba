"""The bootstrap: redo the whole statistic on resampled rows."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError, KwisWarning, UnsupportedError
from kwis.estimators.joint import Contrast
from kwis.estimators.protocol import Estimator, KernelEstimator, S
from kwis.estimators.resampling import resamples, resamples_by_taking
from kwis.intervals import endpoints
from kwis.intervals.draws import count_chunks
from kwis.results import Estimate, Interval
from kwis.stats.influence import draw_sums, resampled_errors, standard_error
from kwis.typing import Floats, Seed

METHODS = ("bca", "percentile", "studentised")


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Bootstrap interval: rows (or whole groups) are drawn with replacement and everything is estimated anew.

    Normalisers and kernel averages included, which is what makes the interval of a self-normalised estimate
    [1, 1] when every reward is 1.

    Parameters
    ----------
    replicates
        Number of resamples.
    method
        ``"bca"`` (bias-corrected and accelerated), ``"percentile"`` or ``"studentised"``.
    reselect
        Select the bandwidth of ``KernelWIS("cv")`` on every resample, instead of once on the sample. Slow;
        the interval then also carries the uncertainty of the selection.
    block
        Draw runs of so many consecutive rows (the moving-block bootstrap, the log taken as a circle), for
        logs in the order of time whose neighbouring rows depend on each other; ``"auto"`` for the cube root
        of the number of rows. None: single rows, or groups.

    See Also
    --------
    kwis.StudentInterval : the default of :func:`kwis.evaluate`, without resampling.
    kwis.difference : resamples two policies together.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0]] * 120, weight=[2.0, 1.0, 0.5] * 40, reward=[1.0, 0.0, 1.0] * 40
    ... )
    >>> kwis.Bootstrap(replicates=200).interval(kwis.WIS(), sample, level=0.95)
    Interval([0.65899, 0.797995], level=0.95, bootstrap-bca)
    """

    replicates: int = 1000
    method: str = "bca"
    reselect: bool = False
    block: int | str | None = None

    def __post_init__(self) -> None:
        check.whole(self.replicates, "replicates", 2)
        check.one_of(self.method, "method", METHODS)
        if isinstance(self.block, str):
            check.one_of(self.block, "block", ("auto",))
        elif self.block is not None:
            check.whole(self.block, "block", 1)
        if self.block is not None and self.method == "studentised":
            raise InputError("`method` must be bca or percentile with `block`, got 'studentised'")

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval at the given level, with the distribution it was read from."""
        level, generator = check.level(level), check.generator(rng)
        check.two_draws(sample.n, sample.group)
        self._block_of(sample)
        selects = estimator.selects_bandwidth if isinstance(estimator, KernelEstimator) else None
        anew = bool(selects and self.reselect)
        if selects and not anew:
            estimator = cast(KernelEstimator, estimator).held(sample)
        estimate = estimator.estimate(sample)
        values, errors = self._replicate(estimator, sample, generator, anew)
        low, high = self._ends(estimator, sample, estimate, values, errors, level)
        return Interval(
            low=low,
            high=high,
            level=level,
            value=estimate.value,
            method=f"{'' if self.block is None else 'block-'}bootstrap-{self.method}",
            distribution=check.read_only(values),
            bandwidth=None if selects is None else "reselected" if anew else "fixed",
        )

    @property
    def description(self) -> str:
        """The method in words."""
        runs = "" if self.block is None else "moving-block "
        return f"{runs}bootstrap ({self.method}, {self.replicates:,} resamples)"

    @property
    def common_resamples(self) -> int:
        """How many resamples estimates should have in common: 0 if it needs more than values on them."""
        alone = self.method == "studentised" or self.reselect or self.block is not None
        return 0 if alone else self.replicates

    def _block_of(self, sample: Any) -> int:
        """Length of the runs."""
        if self.block is None:
            return 1
        if sample.group is not None:
            raise UnsupportedError(
                "`sample` must have no `group` for a block bootstrap, which draws runs of rows"
            )
        length = round(sample.n ** (1 / 3)) if isinstance(self.block, str) else self.block
        if length >= sample.n:
            raise InputError(f"`block` must be below the number of rows, got {length} for {sample.n}")
        return length

    def of(self, contrast: Contrast, level: float, rng: Seed = 0) -> Interval:
        """The same for an estimate or a difference that was made before, by its resamples if it has some."""
        if contrast.resampled is None or contrast.influence is None:
            return self.interval(
                contrast.asked if self.reselect else contrast.estimator, contrast.sample, level, rng
            )
        values = contrast.resampled[~np.isnan(contrast.resampled)]
        if self.method == "percentile":
            low, high = endpoints.percentile(values, level)
        else:
            acceleration = endpoints.acceleration_of(draw_sums(contrast.influence, contrast.group))
            low, high = endpoints.bca(values, contrast.value, acceleration, level)
        return Interval(
            low=low,
            high=high,
            level=level,
            value=contrast.value,
            method=f"bootstrap-{self.method}",
            distribution=values,
            bandwidth="fixed" if contrast.has_bandwidth else None,
        )

    def _replicate(
        self, estimator: Estimator[S], sample: S, rng: np.random.Generator, anew: bool
    ) -> tuple[Floats, Floats]:
        """Values on the resamples, and their standard errors if the method needs them."""
        run, studentised = resamples_by_taking if anew else resamples, self.method == "studentised"
        values, errors = [], []
        block = self._block_of(sample)
        for counts in count_chunks(sample.n, sample.group, self.replicates, rng, block):
            part = run(estimator, sample, counts, influence=studentised)
            values.append(part.values)
            if studentised:
                if part.influence is None:
                    raise UnsupportedError(
                        f"`estimator` must give influence for a studentised interval, got none from "
                        f"{estimator.name}"
                    )
                errors.append(resampled_errors(part.influence, counts, sample.group))
        return _defined(np.concatenate(values), np.concatenate(errors) if errors else np.empty(0))

    def _ends(
        self,
        estimator: Estimator[S],
        sample: S,
        estimate: Estimate,
        values: Floats,
        errors: Floats,
        level: float,
    ) -> tuple[float, float]:
        if self.method == "percentile":
            return endpoints.percentile(values, level)
        if self.method == "studentised" and estimate.influence is not None:
            std_error = standard_error(estimate.influence, sample.group)
            return endpoints.studentised(values, errors, estimate.value, std_error, level)
        influence = (
            _jackknife(estimator, sample)
            if estimate.influence is None
            else draw_sums(estimate.influence, sample.group)
        )
        return endpoints.bca(values, estimate.value, endpoints.acceleration_of(influence), level)


def _defined(values: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Leave out resamples without an estimate, and say so."""
    missing = np.isnan(values)
    count = int(missing.sum())
    if 2 * count > values.size:
        raise UnsupportedError(
            f"`sample` must have an estimate on most of its resamples, got none on {count} of {values.size}"
        )
    if count:
        warnings.warn(
            f"{count} of {values.size} resamples have no estimate, as they hold too few rows of positive "
            f"weight, and are left out; "
            "the interval may be too short",
            KwisWarning,
            stacklevel=4,
        )
    return values[~missing], errors[~missing] if errors.size else errors


def _jackknife(estimator: Estimator[S], sample: S) -> Floats:
    """Influence of each draw by leaving it out, for an estimator that gives no influence values."""
    labels = np.arange(sample.n) if sample.group is None else sample.group
    values = []
    for label in np.unique(labels):
        try:
            values.append(estimator.estimate(sample.take(np.flatnonzero(labels != label))).value)
        except InputError:
            values.append(math.nan)
    left_out = np.array(values)
    if np.isnan(left_out).any():
        raise UnsupportedError(
            f"`sample` must have an estimate without any one of its rows for a BCa interval, got none from "
            f"{estimator.name} without row "
            f"{int(np.argmax(np.isnan(left_out)))}"
        )
    return left_out.mean() - left_out
