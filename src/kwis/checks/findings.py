"""What the diagnostics return; every record is frozen and every array read-only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kwis._text import visible
from kwis.data.columns import Label
from kwis.models.propensity.check import PropensityCheck
from kwis.models.propensity.support import Support
from kwis.results import Verdict
from kwis.typing import Bandwidth, Floats, Ints

UNIFORM = "a uniform policy"
"""Name of the policy that stands in for a target where there is none."""
FLATTER = "a policy like the logger's but less sure"
"""Name of the policy whose weights tell how sure the logger was, where candidates are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluentialRow:
    """A row that moves the estimate.

    Attributes
    ----------
    row
        Its number in the log, from 0.
    share
        Its part of the sum of all weights.
    effect
        By how much it moves WIS, to first order: without it the estimate would be lower by that.
    action, id
        The action logged, and what the row is called in the source, where a column says it.
    """

    row: int
    weight: float
    reward: float
    share: float
    effect: float
    action: str = ""
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightDiagnostics:
    """The importance weights of one target.

    Attributes
    ----------
    effective_n
        ``(sum w)^2 / sum w^2``: how many equally weighted rows carry as much information; of a log with
        groups how many groups, as the rows of a group are one draw.
    expected_effective_n
        The same for the average log of these contexts, where both distributions are known; infinite
        elsewhere. Where it is much smaller, this log happens not to hold the largest weights.
    largest_share
        Part of the sum of all weights that falls to the row, or group, with the most.
    zero_share
        Share of the rows whose action the target never takes.
    mean, std_error, p_value
        Mean weight, which is 1 on average under right propensities, and the test that it is, by itself; the
        verdict uses the one among the tests of the propensities, which allows for their number.
    probabilities, quantiles
        Quantiles of the weights.
    pareto_k
        Tail index of the largest weights: below 0.5 they have a variance, above 1 not even a mean; ``nan``
        where there are too few positive ones to tell, ``-inf`` where they have next to no different values.
    bounded
        Whether the weights are known to have a bound (:mod:`kwis.checks.bound`), which makes the tail index 0
        at most.
    influential
        The rows that move WIS most, the strongest first.
    groups
        How many there are, where they and not rows were counted; None elsewhere.
    """

    n: int
    effective_n: float
    largest_share: float
    zero_share: float
    mean: float
    std_error: float
    p_value: float
    probabilities: Floats
    quantiles: Floats
    pareto_k: float
    influential: tuple[InfluentialRow, ...]
    groups: int | None = None
    expected_effective_n: float = math.inf
    bounded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanTest:
    """Whether one mean that right propensities fix is what it should be, in one region.

    Attributes
    ----------
    kind
        ``weight``: the mean weight of a target is 1. ``action``: an action was taken as often as its
        propensities say. ``confidence``: the propensities are neither too extreme nor too timid.
        ``actions``, ``context``: the odds of many actions, each too rare to be tested, are what the
        propensities say, whatever the context.
    subject
        Name of the target, label of the action, or for ``context`` the column or ``the context``; else empty.
    region, column
        Where, in words, and the raw column that defines it (None: everywhere).
    mean, low, high
        The mean, 1 under right propensities, and its interval at 95 % by itself. For ``action``, how many
        times as often as the propensities say; for ``confidence``, the exponent that would mend the
        propensities, to first order; for ``actions`` and ``context``, by what factor odds are typically off,
        to first order, without an interval.
    z
        The mean's distance from 1 in standard errors, corrected for skewness.
    p_value
        Allows for all the tests of the family: the chance that any of them gets this far under right
        propensities.
    """

    kind: Literal["weight", "action", "confidence", "actions", "context"]
    subject: Label
    region: str
    column: str | None
    n: int
    mean: float
    low: float
    high: float
    z: float
    p_value: float

    @property
    def words(self) -> str:
        """The finding in a sentence with its numbers."""
        what = {
            "weight": f"mean weight of {self.subject} {self.mean:.2f}",
            "action": f"{self.subject!r} was taken {self.mean:.2f} times as often as its propensities say",
            "confidence": (
                f"propensities are too {'timid' if self.mean > 1 else 'extreme'}, best to the "
                f"power {self.mean:.2f}"
            ),
            "actions": f"the odds of actions are off by a factor of about {self.mean:.2f}",
            "context": (
                f"{self.subject} changes the odds of actions by a factor of about {self.mean:.2f} more than "
                f"the propensities say"
            ),
        }[self.kind]
        if math.isnan(self.low):
            return f"{self.region}: {what}, {self.n:,} rows"
        return f"{self.region}: {what}, 95% {self.low:.2f} to {self.high:.2f}, {self.n:,} rows"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalMeanWeight:
    """The mean weight around each context, which right propensities make 1 everywhere.

    Attributes
    ----------
    target
        Whose weights.
    bandwidth
        Of the kernel average: what Kernel-WIS divides by at that bandwidth.
    rows
        Row numbers at which it was computed: all, or a seeded subset of a large log.
    mean, low, high
        The local mean weight there and its pointwise 95 % band.
    outside
        Share of those rows whose band leaves 1 out; 5 % or less by chance.
    p_value
        Of the test that the mean weight is 1 everywhere and in every region, all of them together.
    tests
        The mean weight by region, the whole log first, then in the order of the columns.
    """

    target: str
    bandwidth: Bandwidth
    rows: Ints
    mean: Floats
    low: Floats
    high: Floats
    outside: float
    p_value: float
    tests: tuple[MeanTest, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PropensityReport:
    """Whether the propensities are what they say; prints as its verdict.

    Attributes
    ----------
    p_value
        Of all the tests together: below ``level`` (5 %) the propensities are called wrong, which happens to
        right ones with that probability.
    failures
        Where they are wrong by the tests that need no target: the strongest finding first, each of the others
        still there without the rows of those before it. Then the targets whose weights do not average 1 in
        other places.
    tests
        All tests that were made.
    check
        Signs that are no matter of chance (placeholders, rounding, certainty), and the reliability curve.
    estimated
        Whether the propensities were estimated from this log instead of logged.
    notes
        What was left out of the tests, if anything.
    targets
        Verdict by target: without what is about the weights of others.
    """

    verdict: Verdict
    p_value: float
    level: float
    failures: tuple[MeanTest, ...]
    tests: tuple[MeanTest, ...]
    check: PropensityCheck
    estimated: bool
    notes: tuple[str, ...] = ()
    targets: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def wrong(self) -> bool:
        """Whether any test fails."""
        return bool(self.failures)

    @property
    def contradicted(self) -> bool:
        """Whether tests fail that need no target, so that the propensities and no target must be wrong."""
        return bool(self._contradictions)

    @property
    def _contradictions(self) -> tuple[MeanTest, ...]:
        return tuple(
            test for test in self.failures if test.kind != "weight" or test.subject not in self.targets
        )

    @property
    def regions(self) -> tuple[str, ...]:
        """Where the propensities are wrong, in words; if they pass, where weights of a target fail."""
        return tuple(dict.fromkeys(test.region for test in self._contradictions or self.failures))

    @property
    def places(self) -> str:
        """The first of the regions, for a sentence."""
        return ", ".join(self.regions[:3]) + (" and elsewhere" if len(self.regions) > 3 else "")

    def __repr__(self) -> str:
        outcome = f"{len(self.tests):,} tests together: p = {self.p_value:.2g}"
        return visible(
            "\n  - ".join(
                [f"Propensities: {self.verdict.level}", *self.verdict.reasons, outcome, *self.notes]
            )
        )

    def verdict_on(self, target: str) -> Verdict:
        """Verdict for one target; that for all where it was not among those tested."""
        return self.targets.get(target, self.verdict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Balance:
    """Standardised mean differences of the context, feature by feature, in standard deviations.

    Attributes
    ----------
    features
        Numbers by their name, categories as ``country = BR``.
    before, after
        The largest difference, over the actions, between the rows that took the action and all rows: as
        logged, and weighted by one over the propensity, which under right propensities leaves none.
    weighted
        Between the rows weighted for the target and all rows, None where no weights were given; again none is
        left under right propensities.
    effective_n
        Effective sample size of the action that has the least: differences of about ``1 / sqrt(effective_n)``
        are chance.
    """

    features: tuple[str, ...]
    before: Floats
    after: Floats
    weighted: Floats | None
    effective_n: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Period:
    """A stretch of time, or one logger."""

    label: str
    n: int
    reward: float
    std_error: float
    actions: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPeriod:
    """Value of a target within a stretch of time, or under one logger; ``nan`` where it has no weight."""

    label: str
    n: int
    value: float
    std_error: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drift:
    """Change over time, or between loggers.

    Attributes
    ----------
    by
        ``"time"`` or ``"logger"``.
    reward_name, action_names
        Which reward, and whose shares ``actions`` holds.
    periods
        In order; each with the mean of the reward, its standard error and the share of every action.
    reward_p_value, action_p_value, context_p_value
        Of no change in the mean reward, in the shares of the actions, in the means of the context; ``nan``
        where it cannot be told.
    findings
        What changed, in words; corrected for the number of tests, with 1 % of false alarms.
    targets
        From target to its value in every period, by WIS on the rows of the period.
    """

    by: Literal["time", "logger"]
    reward_name: str
    action_names: tuple[Label, ...]
    periods: tuple[Period, ...]
    reward_p_value: float
    action_p_value: float
    context_p_value: float
    findings: tuple[str, ...]
    targets: Mapping[str, tuple[TargetPeriod, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetDiagnostics:
    """Everything known about how well a log can speak about one target, whatever the estimator.

    Attributes
    ----------
    verdict
        From the weights, the support and the propensities together; see :mod:`kwis.checks.verdict` for the
        thresholds.
    """

    target: str
    weights: WeightDiagnostics
    local: LocalMeanWeight
    balance: Balance
    support: Support
    verdict: Verdict
