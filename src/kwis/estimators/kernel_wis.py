"""Importance sampling normalised by the local mean weight: the paper's estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.estimators.neighbourhood import LocalSums, locally_normalised, whole_sums
from kwis.estimators.protocol import Resamples
from kwis.estimators.ratio import Applied, ratio_estimate, ratio_resamples
from kwis.estimators.traits import NEIGHBOURS, Circumstances, careful
from kwis.estimators.wis import WIS
from kwis.kernel.profiles import RBF, Kernel, as_kernel
from kwis.results import BandwidthChoice, Estimate, Verdict
from kwis.sample import WeightedSample
from kwis.typing import Bandwidth, Floats, Ints, Seed

if TYPE_CHECKING:
    from kwis.estimators.sampled import Sampling

CV = "cv"
_MOVED = ("slope", "plug-in")  # former names, which have to be refused with a hint for one release
EXACT_ROWS = 10_000
"""Up to this many rows kernel sums are over all pairs, unless ``exact`` says otherwise."""
EXACT_CHOICE_ROWS = 2_000
"""Up to this many rows the bandwidth is found exactly, above to a few hundredths, unless ``exact`` is asked
for; that moves estimates by about a thousandth of their standard error."""
APPLIED_MEAN = 0.02
"""How far from 1 the weights that the plain form applies may average before it says so."""


@dataclass(frozen=True, slots=True)
class KernelWIS:
    """``mean(r_i w_i / m_i)`` with ``m_i`` the kernel average of the weights around context ``i``, itself
    included.

    An infinite bandwidth gives WIS, a vanishing one State-WIS.

    Parameters
    ----------
    bandwidth
        A number, one per feature (an infinite entry drops that feature), or ``"cv"``: selected on the sample
        by cross-validation of the weights, see :func:`kwis.select_bandwidth`.
    kernel
        A :class:`kwis.Kernel` or the name of one.
    normalised
        Divide by ``mean(w_i / m_i)``: removes a bias of the plain form that grows with the rewards, and keeps
        the estimate within their range.
    per_feature, folds, rng
        How ``"cv"`` selects: one bandwidth for all features, one for each (True), or one for each shrunk
        towards that for all (``"shrunk"``, see :mod:`kwis.bandwidth.shrunk`); the number of folds, fewer
        where there are fewer rows or groups, and their seed, which neighbours are drawn with as well.
    exact
        Whether kernel sums are over all pairs of rows. False: from sampled neighbours, corrected and with an
        error bar, as :mod:`kwis.estimators.sampled` describes, at a bandwidth that is right to a few
        hundredths. None: all pairs up to ``EXACT_ROWS`` rows, the bandwidth exactly up to
        ``EXACT_CHOICE_ROWS``. Resamples always are from all pairs.

    See Also
    --------
    kwis.select_bandwidth : the choice of the bandwidth.
    kwis.WIS : the limit of a wide bandwidth.
    kwis.StateWIS : the limit of a narrow one.
    kwis.Kernel : a kernel of your own.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.KernelWIS(0.5).estimate(sample).value, 3)
    0.698
    """

    bandwidth: Any = CV
    _: KW_ONLY
    kernel: Kernel = RBF
    per_feature: bool | Literal["shrunk"] = False
    normalised: bool = False
    rng: Seed = 0
    folds: int = 5
    exact: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        if self.per_feature not in (False, True, "shrunk"):
            raise InputError(f'`per_feature` must be True, False or "shrunk", got {self.per_feature!r}')
        if isinstance(self.bandwidth, str) and self.bandwidth == CV:
            return
        if np.asarray(self.bandwidth).dtype.kind not in "iuf":
            moved = isinstance(self.bandwidth, str) and self.bandwidth in _MOVED
            hint = "; the package kwis-paper has it, in kwis_paper.beyond.criteria" if moved else ""
            raise InputError(f'`bandwidth` must be positive numbers or "{CV}", got {self.bandwidth!r}{hint}')
        checked = check.bandwidth(self.bandwidth, np.size(self.bandwidth))
        object.__setattr__(
            self, "bandwidth", checked if isinstance(checked, float) else tuple(checked.tolist())
        )

    @property
    def name(self) -> str:
        """Its name in results and messages."""
        return "normalised-kernel-wis" if self.normalised else "kernel-wis"

    @property
    def sentence(self) -> str:
        """What it is."""
        if self.normalised:
            return "kernel-wis divided by the mean of its weights, so that equal rewards give that reward"
        return "weights are divided by their mean over contexts nearby; the bandwidth says how near"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What tells it apart from another."""
        return {
            "h": self.bandwidth,
            "kernel": self.kernel.name,
            "per_feature": self.per_feature,
            "folds": self.folds,
            "exact": self.exact,
        }

    @property
    def normalised_over(self) -> str | None:
        """Which rows share a normaliser."""
        return NEIGHBOURS if self.normalised else None

    @property
    def family(self) -> Self:
        """Estimators with the same are worked out together."""
        return replace(self, normalised=False)

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """The plain form is off where the weights it applies do not average 1."""
        applied, name = circumstances.estimate.mean_weight, circumstances.estimate.name
        if not self.normalised and abs(applied - 1) >= APPLIED_MEAN:
            yield careful(
                f"{name} applies weights that average {applied:.3g} instead of 1; normalised-kernel-wis "
                f"divides by that"
            )

    def bias_reference(self) -> WIS | None:
        """WIS for the normalised form, which it is at an infinite bandwidth."""
        return WIS() if self.normalised else None

    def with_exact(self, exact: bool | None) -> Self:
        """The same with kernel sums from all pairs, or not, where it does not say so itself."""
        return replace(self, exact=exact) if self.exact is None else self

    def at(self, bandwidth: Bandwidth) -> Self:
        """The same with another bandwidth."""
        return replace(self, bandwidth=bandwidth)

    @property
    def selects_bandwidth(self) -> bool:
        """Whether the bandwidth depends on the sample."""
        return isinstance(self.bandwidth, str)

    def held(self, sample: WeightedSample) -> Self:
        """The same estimator with the bandwidth it selects on ``sample``."""
        return replace(self, bandwidth=self.choose(sample).value) if self.selects_bandwidth else self

    def estimate(self, sample: WeightedSample) -> Estimate:
        """Value of the policy."""
        choice = self.choose(sample) if self.selects_bandwidth else None
        held = self if choice is None else replace(self, bandwidth=choice.value)
        bandwidth = held._bandwidth(sample)
        if not sample.weight.any() or self._over_all_pairs(sample.n):
            return ratio_estimate(held, sample, bandwidth=bandwidth, choice=choice)
        from kwis.estimators.bandwidth_error import with_bandwidth_error
        from kwis.estimators.together import Job, estimates_together

        jobs = [Job(held, sample)]
        sampled = held.sampling(sample) is not None
        found = estimates_together(jobs) if sampled else [ratio_estimate(held, sample)]
        return replace(with_bandwidth_error(jobs, found, choice)[0], bandwidth=bandwidth, choice=choice)

    def resampled(self, sample: WeightedSample, counts: Floats, *, influence: bool = False) -> Resamples:
        """The same on resamples with the given counts (n, B), local means included and the bandwidth held."""
        return ratio_resamples(self.held(sample), sample, counts, influence)

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:
        """Weights divided by the kernel average of the weights around them."""
        return locally_normalised(sample.weight, counts, self.sums(sample))

    def sums(self, sample: WeightedSample) -> LocalSums:
        """Sums around every row, weighted by the kernel."""
        from kwis.kernel import kernel_products

        bandwidth = self._bandwidth(sample)
        if np.isinf(bandwidth).all():
            return whole_sums
        return lambda vectors: kernel_products(
            sample.context, bandwidth, self.kernel, sample.categorical, vectors
        )

    def sampling(self, sample: WeightedSample) -> Sampling | None:
        """How neighbours are to be sampled; None where kernel sums are over all pairs, or need none."""
        if self._over_all_pairs(sample.n):
            return None
        bandwidth = self._bandwidth(sample)
        if np.isinf(bandwidth).all():
            return None
        from kwis.estimators.sampled import Sampling
        from kwis.kernel import points_of

        points = points_of(sample.context, bandwidth, self.kernel, sample.categorical)
        return None if points is None else Sampling(points, self.seed)

    def _over_all_pairs(self, n: int) -> bool:
        return n <= EXACT_ROWS if self.exact is None else self.exact

    @property
    def seed(self) -> int:
        """Of the sampled neighbours."""
        return int(self.rng) if isinstance(self.rng, int | np.integer) else 0

    def _bandwidth(self, sample: WeightedSample) -> Bandwidth:
        return check.bandwidth(self.bandwidth, sample.context.shape[1])

    def choose(self, sample: WeightedSample) -> BandwidthChoice:
        """The bandwidth it selects on ``sample``, and how."""
        return self.choose_each([sample])[0]

    def choose_each(self, samples: Sequence[WeightedSample]) -> list[BandwidthChoice]:
        """The same for samples that differ in nothing but weights and rewards, at less than the price of each
        by itself.
        """
        first, group = samples[0], fold_groups(samples[0])
        shared: dict[str, Any] = {
            "folds": min(self.folds, first.n if group is None else np.unique(group).size),
            "kernel": self.kernel,
            "categorical": first.categorical,
            "group": group,
            "mass": first.mass,
            "rng": self.rng,
        }
        if self.per_feature == "shrunk":
            from kwis.bandwidth.shrunk import select_shrunk

            return [select_shrunk(first.context, sample.weight, **shared) for sample in samples]
        from kwis.bandwidth.select import select_bandwidth, select_each

        shared["exact"] = self._over_all_pairs(first.n) and (
            self.exact is True or first.n <= EXACT_CHOICE_ROWS
        )
        if self.per_feature:
            shared["per_feature"] = True
            return [select_bandwidth(first.context, sample.weight, **shared) for sample in samples]
        return select_each(first.context, [sample.weight for sample in samples], **shared)


def fold_groups(sample: WeightedSample) -> Ints | None:
    """Rows that must share a fold: groups, and copies of a row, which would predict each other perfectly."""
    _, first, source = np.unique(sample.rows, return_index=True, return_inverse=True)
    if first.size == sample.n:
        return sample.group
    labels = np.arange(sample.n) if sample.group is None else sample.group
    return labels[first][source]
