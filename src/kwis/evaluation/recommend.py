"""Which estimate to use: the rule, all of it.

It looks at diagnostics and estimated standard errors alone, never at how the estimates turned out, so that nobody can shop for the
answer.

1. Are the propensities in doubt? They are if they fail their tests, were estimated, were repaired, or look rounded or made up. Repair
   comes first (:mod:`kwis.evaluation.repair`): it takes away most of the error, as far as the logged actions show it. What is left, or
   all of it where repair found nothing to hold on to, is met by weights normalised around each context, which undoes errors that
   neighbours share: ``normalised-kernel-wis``. Otherwise ``wis``, whose one normaliser costs the least variance.
2. Does a reward model help? The same weights are spent on what it leaves unexplained, ``doubly-robust-normalised-kernel-wis`` or
   ``doubly-robust-wis``, if that has the smaller estimated standard error.
3. Plain forms are never first choice: they are not even right when every reward is the same.

Where the first choice was not computed, the next of the same list takes its place; where none of the list was, the first of
``LAST_RESORT``. The runner-up is the first choice had the
propensities been judged the other way; where the two disagree, the recommendation says so.

The rule was chosen with results of the paper's experiments in view: those on soybean and yeast in seven settings (oracle, non-oracle and
five kinds of misreported propensities) for step 2, and those with right propensities on seven datasets for ``wis`` in step 1. On these it
has been fitted by hand. Samples of non-oracle experiments on page-blocks, micro-mass and arrhythmia were seen before it was final; the
other datasets and settings test it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kwis.diagnostics import PropensityReport
from kwis.evaluation.records import Change
from kwis.evaluation.repair import Mended, misfit
from kwis.evaluation.words import decimals, gain, signed
from kwis.results import Interval

IN_DOUBT = ("normalised-kernel-wis", "normalised-state-wis", "wis")
WITHOUT_FAULT = ("wis", "normalised-kernel-wis")
LAST_RESORT = ("normalised-state-wis", "kernel-wis", "doubly-robust", "truncated-vis", "vis", "state-wis", "direct-method")


def modelled(name: str) -> str:
    """The doubly robust estimator with the weights of another."""
    return f"doubly-robust-{name}"


def recommended(std_errors: Mapping[str, float], *, in_doubt: bool) -> str:
    """Name of the estimator to use.

    Parameters
    ----------
    std_errors
        Estimated standard errors by name, of all that there is to choose from; ``nan`` where there is none.
    in_doubt
        Whether something speaks against the propensities, or did before they were repaired.
    """
    for name in IN_DOUBT if in_doubt else WITHOUT_FAULT:
        robust = modelled(name)
        if name not in std_errors and robust not in std_errors:
            continue
        better = name not in std_errors or (robust in std_errors and std_errors[robust] < std_errors[name])
        return robust if better else name
    return next((name for name in LAST_RESORT if name in std_errors), next(iter(std_errors)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """Names of the estimators chosen, and the reasons."""

    name: str
    runner_up: str | None
    why: tuple[str, ...]


def pick(std_errors: Mapping[str, float], report: PropensityReport, explained: float | None = None, mended: Mended | None = None) -> Pick:
    """Choose among the estimators that were computed.

    Parameters
    ----------
    std_errors
        Estimated standard errors by name.
    report
        On the propensities that the estimates use.
    explained
        Share of the held-out variance of the reward that its model explains; None without a model.
    mended
        What became of logged propensities that were tested for repair.
    """
    doubts = tuple(_doubts(report) if mended is None or mended.found.kept else _repaired_doubts(mended))
    name = recommended(std_errors, in_doubt=bool(doubts))
    others = {other: error for other, error in std_errors.items() if other != name}
    runner_up = recommended(others, in_doubt=not doubts) if others else None
    return Pick(name=name, runner_up=runner_up, why=tuple(_reasons(name, doubts, explained, std_errors)))


def _doubts(report: PropensityReport) -> Iterable[str]:
    if report.wrong:
        places = ", ".join(report.regions[:3]) + (" and elsewhere" if len(report.regions) > 3 else "")
        yield f"the propensities fail their tests ({places})"
    if report.estimated:
        yield "the propensities were estimated, not logged"
    for finding in report.check.findings:
        if finding.serious and finding.kind in ("constant", "rounded"):
            yield finding.sentence


def _repaired_doubts(mended: Mended) -> Iterable[str]:
    found = tuple(_doubts(mended.given_report))
    if mended.found.convincing and not mended.given_report.wrong:
        found = (*found, f"the propensities {misfit(mended.found)}")
    left = " but still fail their tests" if mended.report.wrong else ""
    yield from found
    yield f"{'they' if found else 'the propensities'} were repaired from the logged actions{left}"


def _reasons(name: str, doubts: tuple[str, ...], explained: float | None, std_errors: Mapping[str, float]) -> Iterable[str]:
    yield from doubts
    weighting = name.removeprefix(modelled(""))
    if doubts and weighting in ("normalised-kernel-wis", "normalised-state-wis"):
        yield "so weights are normalised around each context, which undoes errors that neighbouring contexts share"
    elif not doubts and weighting == "wis":
        yield "nothing speaks against the propensities, so one normaliser for all rows is enough and costs the least variance"
    else:
        yield "the best suited of the estimators that were asked for"
    if name != weighting and explained is not None:
        smaller = ", with a smaller standard error" if weighting in std_errors else ""
        yield f"the reward model explains {explained:.0%} of the held-out variance, so only what it leaves is weighted{smaller}"


def disagreement(first: Change, second: Change, gap: Interval) -> str | None:
    """Where the estimate picked and the runner-up disagree, how; None where they do not.

    They do if they would decide differently, or if they differ by more than chance explains and by enough to matter: half the reach of
    the interval or more.

    Parameters
    ----------
    first, second
        Their differences to the logging policy.
    gap
        Interval of the former minus the latter.
    """
    reasons = []
    if (gap.low > 0 or gap.high < 0) and abs(gap.value) >= first.interval.width / 4:
        digits = decimals([gap.width])
        ends = f"{gap.level:.0%} {signed(gap.low, digits)} to {signed(gap.high, digits)}"
        reasons.append(f"they differ by {signed(gap.value, digits)} ({ends})")
    if _side(first) != _side(second):
        reasons.append(f"by {second.estimator} the target is {gain(second)}")
    return f"{first.estimator} and {second.estimator} disagree: {'; '.join(reasons)}" if reasons else None


def _side(change: Change) -> int:
    return int(change.interval.low > 0) - int(change.interval.high < 0)
