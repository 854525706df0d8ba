"""All diagnostics of one target together."""

from __future__ import annotations

from kwis.checks.balance import balance
from kwis.checks.bound import expected_effective_n, has_bounded_weights
from kwis.checks.findings import LocalMeanWeight, PropensityReport, TargetDiagnostics
from kwis.checks.local_map import local_mean_weight
from kwis.checks.verdict import verdict
from kwis.checks.weight import weight_diagnostics
from kwis.data.log import LoggedBandit
from kwis.kernel.profiles import RBF, Kernel
from kwis.models.propensity.support import support
from kwis.policy.discrete import TargetPolicy, weigh
from kwis.sample import WeightedSample
from kwis.typing import Bandwidth, Seed


def target_diagnostics(
    log: LoggedBandit,
    target: TargetPolicy,
    propensity: PropensityReport,
    *,
    sample: WeightedSample | None = None,
    bandwidth: Bandwidth | None = None,
    kernel: Kernel = RBF,
    rng: Seed = 0,
    local: LocalMeanWeight | None = None,
) -> TargetDiagnostics:
    """Weights, local mean weight, balance, support and verdict of a target.

    Parameters
    ----------
    propensity
        From :func:`propensity_report`, with this target among its targets.
    sample
        The log weighed for the target, if it is at hand.
    bandwidth, kernel
        Of the local mean weight, usually those of Kernel-WIS.
    local
        The local mean weight, if it is at hand.
    """
    weighed = weigh(log, target) if sample is None else sample
    expected = expected_effective_n(log, target)
    weights = weight_diagnostics(
        weighed, bounded=has_bounded_weights(log, target), expected_effective_n=expected
    )
    reach = support(log, target)
    if local is None:
        local = local_mean_weight(
            weighed, target.name, propensity, bandwidth=bandwidth, kernel=kernel, rng=rng
        )
    return TargetDiagnostics(
        target=target.name,
        weights=weights,
        local=local,
        balance=balance(log, weighed.weight),
        support=reach,
        verdict=verdict(weights, reach, propensity, target.name),
    )
