"""What a verdict rests on: what was checked, and what no log can show.

A cause of both the action and the reward that is not in the context makes every estimate wrong, and nothing
in the log betrays it. It is ruled out in one case: propensities are the probabilities that a randomiser drew
the actions with. Only the user knows, so the answer asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kwis.checks.findings import PropensityReport, TargetDiagnostics
from kwis.data.log import LoggedBandit
from kwis.results import Verdict

_HIDDEN = "causes of both action and reward that are not in the context"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a verdict rests on.

    Attributes
    ----------
    checked
        What the log was asked, in words.
    unchecked
        What it cannot answer, a sentence.
    question
        What the user could say about it; None where there is nothing to say.
    """

    checked: tuple[str, ...]
    unchecked: str
    question: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Sentences to stand beside a verdict."""
        said = (f"checked: {', '.join(self.checked)}", self.unchecked)
        return said if self.question is None else (*said, self.question)


def scope_of(
    log: LoggedBandit, report: PropensityReport, targets: Iterable[TargetDiagnostics], *, drift: bool
) -> Scope:
    """What the verdicts on a log rest on.

    Parameters
    ----------
    report
        Tests of the propensities.
    drift
        Whether change over time or between loggers was looked for.
    """
    checked = ["weights"]
    if any(one.support.beyond is not None for one in targets):
        checked.append("overlap")
    if report.tests:
        checked.append("propensities against actions")
    checked.append("whether policies learnt from these rows")
    if drift:
        checked.append("change over time or between loggers")
    if log.propensity_origin == "logged" and log.propensity_source == "randomiser":
        return Scope(
            checked=tuple(checked),
            unchecked="taken from you: that the system drew its actions with these very propensities",
        )
    unchecked = f"not checkable: {_HIDDEN}"
    if log.propensity_origin != "logged" or log.propensity_source == "model":
        return Scope(
            checked=tuple(checked), unchecked=f"{unchecked}; propensities from a model know nothing of them"
        )
    question = (
        "say propensity_source='randomiser' if these are the probabilities that the system drew with, "
        "'model' if a model made them"
    )
    return Scope(checked=tuple(checked), unchecked=unchecked, question=question)


def source_doubt(log: LoggedBandit) -> Iterable[Verdict]:
    """What it means for every estimate that logged propensities come from a model; estimated ones have a
    reason of their own.
    """
    if log.propensity_origin == "logged" and log.propensity_source == "model":
        reason = f"propensities come from a model, which knows nothing of {_HIDDEN}"
        yield Verdict(level="with care", reasons=(reason,))
