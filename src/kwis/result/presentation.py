"""How rewards are called and counted where an answer is shown; frames and JSON keep them per decision."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kwis import _validation as check
from kwis.errors import InputError

if TYPE_CHECKING:
    from kwis.result.evaluation import Evaluation
    from kwis.result.records import Change, Recommendation, Row
    from kwis.result.segmented import Segment
    from kwis.results import Interval

_COSTS = re.compile(
    r"(^|_)(costs?|expenses?|latency|delays?|duration|days|hours|minutes|seconds|wait(s|ing)?|errors?|failures?"
    r"|fail(s|ed)?|loss(es)?|churn(ed)?|complaints?|complained|refund(s|ed)?|readmi\w+|mortality|deaths?|died"
    r"|relapsed?|unsubscribed?|incidents?|defects?)($|_)",
    re.IGNORECASE,
)
"""Names of rewards of which less is better, as a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """How an answer is worded.

    Attributes
    ----------
    units, labels
        From reward to its unit and to what it is called, where somebody said so.
    per
        Over how many decisions values are shown.
    lower_is_better
        Rewards of which less is better, such as costs.
    asked
        From what is estimated of a reward to the reward, where that is no mean.
    adds_up
        Whether it adds up over decisions, as means and shares do and quantiles do not.
    """

    units: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    per: float = 1
    lower_is_better: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    adds_up: bool = True

    @classmethod
    def of(cls, rewards: Sequence[str], unit: Any, per: Any, label: Any, lower: Any) -> Presentation:
        """From the arguments of :func:`kwis.evaluate`."""
        if isinstance(per, bool) or not isinstance(per, int | float) or not 0 < per < float("inf"):
            raise InputError(f"`per` must be a number above 0, got {per!r}")
        return cls(
            units=_by_reward(unit, "unit", rewards),
            labels=_by_reward(label, "reward_label", rewards),
            per=per,
            lower_is_better=rewards_to_lower(lower, rewards),
        )

    def of_statistic(
        self, named: Callable[[str], str], rewards: Sequence[str], *, adds_up: bool
    ) -> Presentation:
        """The same for something else than the mean of each reward, which is called ``named(reward)``."""
        if not adds_up and self.per != 1:
            raise InputError(f"`per` must be 1 for what does not add up over decisions, got {self.per!r}")
        return replace(
            self,
            units={named(reward): unit for reward, unit in self.units.items()},
            labels={named(reward): named(label) for reward, label in self.labels.items()},
            lower_is_better=tuple(map(named, self.lower_is_better)),
            asked={named(reward): reward for reward in rewards if named(reward) != reward},
            adds_up=adds_up,
        )

    def label(self, reward: str) -> str:
        return self.labels.get(reward, reward)

    def unit(self, reward: str) -> str:
        """The unit with the blank before it; empty where there is none."""
        return f" {self.units[reward]}" if reward in self.units else ""

    def direction(self, reward: str) -> str:
        """Which way is better, where that does not go without saying."""
        if reward in self.lower_is_better:
            return "less is better"
        return "more is taken to be better" if self._is_cost(reward) else ""

    def questions(self, rewards: Iterable[str]) -> Iterable[str]:
        """What to ask of rewards that are named like costs, where nobody said that less is better."""
        for reward in rewards:
            name = self.asked.get(reward, reward)
            if reward not in self.lower_is_better and self._is_cost(reward):
                yield f"more {reward} is taken to be better; if less is, say lower_is_better=['{name}']"

    def _is_cost(self, reward: str) -> bool:
        """Whether a reward is named like a cost."""
        return _COSTS.search(self.asked.get(reward, reward)) is not None

    @property
    def per_words(self) -> str:
        """``" per decision"``, ``" per 1,000 decisions"``; empty for what does not add up over decisions."""
        if not self.adds_up:
            return ""
        return " per decision" if self.per == 1 else f" per {self.per:,.12g} decisions"


def _by_reward(given: Any, name: str, rewards: Sequence[str]) -> dict[str, str]:
    if given is None:
        return {}
    if isinstance(given, str):
        if name == "reward_label" and len(rewards) > 1:
            raise InputError(f"`{name}` must be a mapping from rewards if there are several, got {given!r}")
        return dict.fromkeys(rewards, given)
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for text in given.values()):
        raise InputError(f"`{name}` must be text, or a mapping from rewards to text, got {given!r}")
    for reward in given:
        check.one_of(reward, name, tuple(rewards))
    return dict(given)


def rewards_to_lower(given: Any, rewards: Sequence[str]) -> tuple[str, ...]:
    """Rewards of which less is better, from the argument ``lower_is_better``."""
    if given is None or isinstance(given, bool):
        return tuple(rewards) if given else ()
    named = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    for reward in named:
        check.one_of(reward, "lower_is_better", tuple(rewards))
    return tuple(reward for reward in rewards if reward in named)


def shown(evaluation: Evaluation) -> Evaluation:
    """The evaluation with every value over as many decisions as it is to be shown."""
    per = evaluation.settings.presentation.per
    if per == 1:
        return evaluation
    repair, changed = evaluation.repair, evaluation.drift
    return replace(
        evaluation,
        rows=tuple(_row(row, per) for row in evaluation.rows),
        changes=tuple(scaled_change(one, per) for one in evaluation.changes),
        recommendations=tuple(_recommendation(one, per) for one in evaluation.recommendations),
        rankings=tuple(
            replace(
                one,
                places=tuple(replace(place, row=_row(place.row, per)) for place in one.places),
                differences=tuple(scaled_change(each, per) for each in one.differences),
            )
            for one in evaluation.rankings
        ),
        paths=tuple(
            replace(one, values=one.values * per, lows=one.lows * per, highs=one.highs * per)
            for one in evaluation.paths
        ),
        segments=tuple(
            replace(one, segments=tuple(_segment(part, per) for part in one.segments))
            for one in evaluation.segments
        ),
        sensitivity=tuple(
            replace(
                one, lows=tuple(end * per for end in one.lows), highs=tuple(end * per for end in one.highs)
            )
            for one in evaluation.sensitivity
        ),
        drift=None
        if changed is None
        else replace(
            changed,
            periods=tuple(
                replace(one, reward=one.reward * per, std_error=one.std_error * per)
                for one in changed.periods
            ),
            targets={
                name: tuple(
                    replace(one, value=one.value * per, std_error=one.std_error * per) for one in periods
                )
                for name, periods in changed.targets.items()
            },
        ),
        repair=None
        if repair is None
        else replace(
            repair,
            estimates=tuple(
                replace(one, before=one.before * per, after=one.after * per, std_error=one.std_error * per)
                for one in repair.estimates
            ),
        ),
    )


def scaled(interval: Interval, factor: float) -> Interval:
    """An interval of ``factor`` times what it is of."""
    return replace(
        interval,
        low=interval.low * factor,
        value=interval.value * factor,
        high=interval.high * factor,
        distribution=None,
    )


def scaled_change(change: Change, factor: float) -> Change:
    """A difference of ``factor`` times the values; its relative size stays."""
    return replace(
        change,
        interval=scaled(change.interval, factor),
        simultaneous=scaled(change.simultaneous, factor),
        std_error=change.std_error * factor,
    )


def _row(row: Row, factor: float) -> Row:
    estimate = row.estimate
    return replace(
        row,
        estimate=replace(estimate, value=estimate.value * factor, std_error=estimate.std_error * factor),
        interval=scaled(row.interval, factor),
    )


def _recommendation(one: Recommendation, factor: float) -> Recommendation:
    return replace(
        one,
        row=_row(one.row, factor),
        change=scaled_change(one.change, factor),
        runner_up=None if one.runner_up is None else _row(one.runner_up, factor),
    )


def _segment(one: Segment, factor: float) -> Segment:
    return replace(
        one,
        rows=tuple(_row(row, factor) for row in one.rows),
        changes=tuple(scaled_change(each, factor) for each in one.changes),
    )
