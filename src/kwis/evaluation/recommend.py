"""Which estimate to use: the rule, all of it.

It looks at diagnostics alone, never at how the estimates turned out, so that nobody can shop for the answer:

1. Propensities that are in doubt (they fail their tests, were estimated, or look rounded or made up) call for weights that are
   normalised around each context, which undoes errors that neighbours share: ``normalised-kernel-wis``.
2. Propensities without a fault call for nothing of the kind: ``wis``, which has the smaller variance.
3. Plain forms are never first choice: they are not even right when every reward is the same.

Where the first choice was not computed, the next of the same list takes its place. The runner-up is what the other list
would have chosen; where the two disagree, the recommendation says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kwis.diagnostics import PropensityReport

IN_DOUBT = ("normalised-kernel-wis", "normalised-state-wis", "wis", "kernel-wis", "state-wis", "truncated-vis", "vis")
WITHOUT_FAULT = ("wis", "normalised-kernel-wis", "kernel-wis", "truncated-vis", "vis", "normalised-state-wis", "state-wis")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """Names of the estimators chosen, and the reasons."""

    name: str
    runner_up: str | None
    why: tuple[str, ...]


def pick(names: Sequence[str], report: PropensityReport) -> Pick:
    """Choose among the estimators that were computed."""
    doubts = tuple(_doubts(report))
    first, second = (IN_DOUBT, WITHOUT_FAULT) if doubts else (WITHOUT_FAULT, IN_DOUBT)
    name = _first(first, names)
    others = [other for other in names if other != name]
    runner_up = _first(second, others) if others else None
    return Pick(name=name, runner_up=runner_up, why=(*doubts, _reason(name, bool(doubts))))


def _first(preference: Iterable[str], names: Sequence[str]) -> str:
    return next((name for name in preference if name in names), names[0])


def _doubts(report: PropensityReport) -> Iterable[str]:
    if report.wrong:
        places = ", ".join(report.regions[:3]) + (" and elsewhere" if len(report.regions) > 3 else "")
        yield f"the propensities fail their tests ({places}; p = {report.p_value:.2g})"
    if report.estimated:
        yield "the propensities were estimated, not logged"
    for finding in report.check.findings:
        if finding.serious and finding.kind in ("constant", "rounded", "misfit"):
            yield finding.sentence


def _reason(name: str, in_doubt: bool) -> str:
    if not in_doubt and name == "wis":
        return "nothing speaks against the propensities, and then WIS has the least variance among the weighted estimates"
    if in_doubt and name == "normalised-kernel-wis":
        return "so weights are normalised around each context (Kernel-WIS), which undoes errors that neighbouring contexts share"
    return f"of the estimators computed, {name} suits that best"
