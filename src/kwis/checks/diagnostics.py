"""All diagnostics of one target together."""

from __future__ import annotations

from dataclasses import dataclass

from kwis.checks.balance import balance
from kwis.checks.bound import expected_effective_n, has_bounded_weights
from kwis.checks.findings import Balance, LocalMeanWeight, PropensityReport, TargetDiagnostics
from kwis.checks.local_map import local_mean_weight
from kwis.checks.verdict import verdict
from kwis.checks.weight import weight_diagnostics
from kwis.data.log import LoggedBandit
from kwis.kernel.profiles import RBF, Kernel
from kwis.models.propensity.support import Support, support
from kwis.policy.discrete import TargetPolicy, weigh
from kwis.sample import WeightedSample
from kwis.typing import Bandwidth, Seed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownOfWeights:
    """What is known of the weights of every row where ``log`` holds only some of them."""

    sample: WeightedSample
    bounded: bool
    expected_effective_n: float
    support: Support

    @classmethod
    def of(cls, log: LoggedBandit, target: TargetPolicy, sample: WeightedSample) -> KnownOfWeights:
        return cls(
            sample=sample,
            bounded=has_bounded_weights(log, target),
            expected_effective_n=expected_effective_n(log, target),
            support=support(log, target),
        )


def target_diagnostics(
    log: LoggedBandit,
    target: TargetPolicy,
    propensity: PropensityReport,
    *,
    sample: WeightedSample | None = None,
    whole: KnownOfWeights | None = None,
    bandwidth: Bandwidth | None = None,
    kernel: Kernel = RBF,
    rng: Seed = 0,
    local: LocalMeanWeight | None = None,
    balanced: Balance | None = None,
) -> TargetDiagnostics:
    """Weights, local mean weight, balance, support and verdict of a target.

    Parameters
    ----------
    propensity
        From :func:`propensity_report`, with this target among its targets.
    sample
        The log weighed for the target, if it is at hand.
    whole
        All weights, where ``log`` has some rows of many: the local mean weight and the balance are of these.
    bandwidth, kernel
        Of the local mean weight, usually those of Kernel-WIS.
    local, balanced
        The local mean weight and the balance, if they are at hand.
    """
    weighed = weigh(log, target) if sample is None else sample
    known = KnownOfWeights.of(log, target, weighed) if whole is None else whole
    weights = weight_diagnostics(
        known.sample, bounded=known.bounded, expected_effective_n=known.expected_effective_n
    )
    if local is None:
        local = local_mean_weight(
            weighed, target.name, propensity, bandwidth=bandwidth, kernel=kernel, rng=rng
        )
    return TargetDiagnostics(
        target=target.name,
        weights=weights,
        local=local,
        balance=balance(log, weighed.weight) if balanced is None else balanced,
        support=known.support,
        verdict=verdict(weights, known.support, propensity, target.name),
    )
