"""What :func:`kwis.evaluate` returns, piece by piece; every record is frozen and every array read-only.

:mod:`kwis.result.output` makes JSON of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kwis._text import visible
from kwis.result.presentation import Presentation
from kwis.result.reproduce import Reproduction
from kwis.results import Estimate, Interval, Verdict
from kwis.typing import Bandwidth, Floats

LOGGING_POLICY = "logging policy"
"""Name of the logging policy among the targets; its value is the mean of the logged rewards."""


def every_policy(count: int) -> str:
    """Several policies in words."""
    return "both policies" if count == 2 else f"all {count} policies"


__all__ = [
    "LOGGING_POLICY",
    "Change",
    "Path",
    "Place",
    "Ranking",
    "Recommendation",
    "Row",
    "Settings",
    "Verdict",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """One policy by one estimator: a line of the table.

    Attributes
    ----------
    target
        Name of the policy; the logging policy has a row of its own.
    verdict
        Whether to trust it, and why.
    recommended
        Whether this is the estimate to use for its target and reward.
    """

    target: str
    reward: str
    estimate: Estimate
    interval: Interval
    verdict: Verdict
    recommended: bool = False

    @property
    def estimator(self) -> str:
        return self.estimate.name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Change:
    """Value of one policy minus that of another, on the same rows.

    Attributes
    ----------
    baseline
        The policy subtracted: the logging policy, or another target.
    estimator
        By which both were estimated; the logging policy needs none.
    interval
        Paired: what the two have in common cancels.
    simultaneous
        The same, widened so that all comparisons of that kind hold at once at the level stated.
    p_value
        Two-sided, of no difference. It agrees with Student and influence intervals: below ``1 - level`` where
        they leave 0 out. With others it is that of a normal error from the influence values; ``nan`` where
        there is none.
    recommended
        Whether both sides are by their recommended estimators.
    policies
        How many target policies are judged together, see :mod:`kwis.evaluation.claims`.
    relative
        The claim in parts of the baseline's value, see :mod:`kwis.evaluation.relative`; None where that is
        not told apart from 0.
    lower_is_better
        Whether less of the reward is better.
    """

    target: str
    baseline: str
    reward: str
    estimator: str
    interval: Interval
    simultaneous: Interval
    std_error: float
    p_value: float
    recommended: bool = False
    policies: int = 1
    relative: Interval | None = None
    lower_is_better: bool = False

    @property
    def claim(self) -> Interval:
        """The interval that everything said of the difference follows: the simultaneous one where several
        policies are judged.
        """
        return self.simultaneous if self.policies > 1 else self.interval

    @property
    def together(self) -> str:
        """For which policies the claim holds, to go before or after its interval; empty for a single one."""
        return "" if self.policies == 1 else f"for {every_policy(self.policies)} together"

    @property
    def side(self) -> int:
        """1 where the claim is that the policy is better, -1 where it is worse, 0 where the two are not told
        apart.
        """
        return -self.sign if self.lower_is_better else self.sign

    @property
    def sign(self) -> int:
        """1 where the claim is that the difference is above 0, -1 where it is below, 0 where neither."""
        return int(self.claim.low > 0) - int(self.claim.high < 0)

    @property
    def decided(self) -> bool:
        """Whether the claim leaves 0 out."""
        return self.side != 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Recommendation:
    """Which estimate to use for a target, and why.

    Attributes
    ----------
    change
        The difference to the logging policy by that estimate: the headline; its ``claim`` is what words
        follow.
    runner_up
        The estimate that would be used otherwise, where there is one.
    disagreement
        Where the two disagree, a sentence that says so.
    """

    target: str
    reward: str
    row: Row
    change: Change
    why: tuple[str, ...]
    runner_up: Row | None = None
    disagreement: str | None = None

    def __repr__(self) -> str:
        from kwis.result.words import recommendation_in_words

        return visible(recommendation_in_words(self))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """Normalised Kernel-WIS along the bandwidth, from State-WIS (0) to WIS (infinity).

    Attributes
    ----------
    bandwidths
        Increasing; the first is 0, the last infinite.
    chosen
        The bandwidth selected by cross-validation: one of ``bandwidths``.
    rows
        How many rows it was computed on.
    """

    target: str
    reward: str
    bandwidths: Floats
    values: Floats
    lows: Floats
    highs: Floats
    chosen: float
    level: float
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Place:
    """Where a policy stands: from ``best`` (1 is first) to ``worst``, as far as the data can tell."""

    target: str
    best: int
    worst: int
    row: Row

    @property
    def words(self) -> str:
        """The places that are open to it."""
        return f"{self.best}" if self.best == self.worst else f"{self.best} to {self.worst}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """All policies in the order of their recommended estimates.

    Attributes
    ----------
    differences
        Every pair, the higher estimate first; their simultaneous intervals hold together.
    words
        The same in sentences; policies that cannot be told apart are said to be tied.
    """

    reward: str
    places: tuple[Place, ...]
    differences: tuple[Change, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settings:
    """Everything that reproduces an evaluation.

    Attributes
    ----------
    sentences
        What each estimator is, as it says itself.
    intervals
        Interval method of each estimator, in words.
    bandwidths
        Bandwidth of each target, where one was selected.
    repair
        When logged propensities were to be repaired.
    propensities
        Where the propensities are from, in words.
    propensity_source
        Whether propensities come from a randomiser or a model, as somebody said; None where nobody did.
    selection_rows, path_rows
        Rows that bandwidths were selected on and paths computed on: all of them, or a subset drawn with
        ``seed``.
    call
        The calls with every argument, as Python and as a command.
    presentation
        How rewards are called and counted.
    decisions, period
        How many decisions the rows stand for, and from when to when they were taken, where the log says it.
    sketch
        Numbers that tell how many rows another log shares, see :mod:`kwis.result.diff`.
    """

    version: str
    n: int
    level: float
    seed: int
    rewards: tuple[str, ...]
    targets: Mapping[str, str]
    estimators: tuple[str, ...]
    intervals: Mapping[str, str]
    bandwidths: Mapping[str, Bandwidth]
    selection_rows: int
    path_rows: int
    context: tuple[str, ...] = ()
    repair: str = "auto"
    propensities: str = ""
    propensity_source: str | None = None
    sentences: Mapping[str, str] = field(default_factory=dict)
    call: Reproduction = field(default_factory=Reproduction)
    presentation: Presentation = field(default_factory=Presentation)
    decisions: float = 0.0
    period: str | None = None
    sketch: tuple[int, ...] = ()


Plain = dict[str, Any] | list[Any] | str | float | int | bool | None
