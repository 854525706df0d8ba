"""Repair of logged propensities as part of an evaluation: when it is done, and what it changes.

``auto``
    Where tests of the propensities fail that need no target, they are repaired if that makes held-out actions
    more likely at all; where these pass, only if it does so by more than chance
    (:mod:`kwis.models.propensity.gain`). Otherwise they are used as given. Weights that do not average 1 may
    be the fault of the target's own probabilities, which no repair of right propensities should hide.
``never``
    They are used as given.
``always``
    They are repaired whatever the tests say.

Propensities that were estimated because the log has none are left alone: they fit the log already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from kwis.checks.findings import PropensityReport
from kwis.checks.propensity import propensity_report
from kwis.checks.verdict import combine
from kwis.data.log import LoggedBandit
from kwis.evaluation.measure import Measured
from kwis.models.propensity.choose import When
from kwis.models.propensity.repaired import RepairedPropensity, RepairSummary, repaired_when
from kwis.policy.discrete import TargetPolicy
from kwis.results import Verdict
from kwis.runtime.threads import beside
from kwis.typing import RepairMode


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedEstimate:
    """A recommended estimate with the propensities as given and as repaired; a bandwidth is that of the
    latter.

    Attributes
    ----------
    std_error
        What the repair adds to the standard error of the latter, which its interval allows for.
    """

    target: str
    reward: str
    estimator: str
    before: float
    after: float
    std_error: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repair(RepairSummary):
    """What came of testing the logged propensities against the actions taken.

    Attributes
    ----------
    after
        The tests once more, of the repaired propensities; those as given are ``evaluation.propensity``.
    estimates
        The recommended estimates by either.
    """

    after: PropensityReport | None
    estimates: tuple[RepairedEstimate, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mended:
    """A log before and after the repair of its propensities, with the tests of both.

    Attributes
    ----------
    log, report
        What estimates are to use; the verdict says that the propensities were repaired.
    given, given_report
        As they were.
    """

    log: LoggedBandit
    report: PropensityReport
    given: LoggedBandit
    given_report: PropensityReport
    found: RepairedPropensity


def mend(log: LoggedBandit, targets: Sequence[TargetPolicy], mode: RepairMode, seed: int) -> Mended:
    """Test the logged propensities of a log, and repair them if they need it."""
    with beside(lambda: propensity_report(log, targets)) as tested:

        def when() -> When:
            return "always" if mode == "always" else "helpful" if tested().contradicted else "convincing"

        found, report = repaired_when(log, when, rng=seed), tested()
    made = found.attach(log)
    after = (
        report if found.kept else _after(propensity_report(made, targets), report, found, log.context_named)
    )
    return Mended(log=made, report=after, given=log, given_report=report, found=found)


def _after(
    after: PropensityReport, before: PropensityReport, found: RepairedPropensity, context_named: bool
) -> PropensityReport:
    """Tests of repaired propensities, which are never beyond doubt; least of all if they may have been
    repaired from an outcome.
    """
    reason = (
        f"propensities {_fault(before, found)}were repaired from the logged actions, which cannot fix "
        f"errors that these do not reveal"
    )
    doubt = Verdict(level="with care", reasons=(reason,))
    if not context_named:
        reason = (
            "no context was named, and a column decided after the action makes right propensities look "
            "wrong: name the context"
        )
        doubt = combine(doubt, Verdict(level="do not trust", reasons=(reason,)))
    targets = {name: combine(doubt, own) for name, own in after.targets.items()}
    return replace(after, verdict=combine(doubt, after.verdict), targets=targets)


def _fault(before: PropensityReport, found: RepairedPropensity) -> str:
    if before.contradicted:
        return f"fail their tests as given ({before.places}) and "
    return f"{misfit(found)} and " if found.convincing else ""


def misfit(found: RepairedPropensity) -> str:
    """What held-out actions say against the given propensities."""
    chance = "p < 0.001" if found.p_value < 0.001 else f"p = {found.p_value:.2g}"
    return f"do not fit the logged actions ({chance})"


def repair_of(mended: Mended, picked: Sequence[Measured]) -> Repair:
    """The record of a repair, with the recommended estimates before and after."""
    found = mended.found
    summary: dict[str, Any] = {field.name: getattr(found, field.name) for field in fields(RepairSummary)}
    estimates = () if found.kept else tuple(map(_estimate, picked))
    return Repair(**summary, after=None if found.kept else mended.report, estimates=estimates)


def _estimate(one: Measured) -> RepairedEstimate:
    assert one.given is not None
    return RepairedEstimate(
        target=one.target,
        reward=one.reward,
        estimator=one.estimate.name,
        before=one.given,
        after=one.estimate.value,
        std_error=one.model_error,
    )
