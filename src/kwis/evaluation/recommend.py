"""Which estimate to use: the rule, all of it.

It looks at diagnostics and estimated standard errors alone, never at how the estimates turned out, so that
nobody can shop for the answer.

1. Repair comes first (:mod:`kwis.evaluation.mend`): it takes away most of the error of wrong propensities, as
   far as the logged actions show it. What is left is met by weights normalised around each context, which
   undoes errors that neighbours share: ``normalised-kernel-wis``. With right propensities this costs nothing,
   as long as rows have neighbours (and as long as rows count alike: on a thinned log the bandwidth has to be
   worth it, :mod:`kwis.evaluation.thinned`). A row that has none divides its weight by itself, and the
   estimate becomes what was logged: if a row supplies more than 30 % of the weight around it, on average
   (``Estimate.isolation``), or if that is not known, the choice is ``wis``, with one normaliser
   for all.
2. A reward model takes part where there is one: the weights are spent on what it leaves unexplained,
   ``doubly-robust-normalised-kernel-wis`` or ``doubly-robust-wis``. It makes up for much of what is wrong
   with propensities that were estimated or misreported unnoticed, which no standard error shows. Two things
   speak against it: a larger estimated standard error, and a model that predicts held-out rewards no better
   than their mean does.
3. Heavy weights are clipped where a few rows decide: there a bias smaller than their noise is the better
   bargain. With a reward model that is so with fewer than 200 effective rows (or groups), and fewer than
   half of all, if so few rows cannot tell what the model explains from noise: :func:`signal`, their number
   times the explained over the unexplained share of the rewards, is below 5. Where it is above, policies
   differ by more than the noise. A model with fewer than two rows for each column of the context could not
   learn, and what it explains shows nothing. A short log alone is no reason: its weights may be light, and
   clipping them hides what tells policies apart. The choice is then
   ``doubly-robust-half-normalised-clipping``: what clipping takes away is left to the model, and nothing
   else is there to fill the gap, so the two tests above do not apply. How well it fills it cannot be told
   from such a log, hence the mean of two forms. Without a model weights have to be heavier, with fewer
   than 100 effective rows and fewer than a fifth of all, and the choice is ``normalised-clipping``. Both
   take part in such evaluations only; their interval allows for as much bias as the log cannot rule out,
   and their verdict says that they are biased.
4. Plain forms are never first choice: they are not even right when every reward is the same.

Where the first choice was not computed, the other takes its place; where neither was, the first of
``LAST_RESORT``. The runner-up is the first choice had the neighbours been judged the other way, or had the
weights not been heavy; where the two disagree, the recommendation says so.

How the rule does on logs unlike those it was made on is measured by ``python -m tests.statistical.holds`` and
``python -m tests.statistical.holds.choice``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kwis.checks.findings import PropensityReport
from kwis.estimators import traits
from kwis.estimators.protocol import Estimator
from kwis.estimators.registry import by_name
from kwis.estimators.traits import ALL_ROWS, NEIGHBOURS
from kwis.evaluation.mend import Mended, misfit
from kwis.result.records import Change
from kwis.result.words import decimals, gain, signed
from kwis.results import Interval
from kwis.sample import WeightedSample, effective_size
from kwis.stats.influence import draw_sums
from kwis.typing import Floats

MOST_ISOLATION = 0.3
MOST_SIGNAL = 5.0
ROWS_PER_COLUMN = 2
HEAVY_WEIGHTS = ("normalised-clipping", "doubly-robust-half-normalised-clipping")
"""What takes part where weights are heavy: without a reward model, and with one."""
_PLAIN_CLIPPED, _MODEL_CLIPPED = HEAVY_WEIGHTS
_FEW_ROWS = {_PLAIN_CLIPPED: (100, 0.2, "a fifth"), _MODEL_CLIPPED: (200, 0.5, "half")}
"""Weights are heavy below so many effective rows and below that share of all, in numbers and in words."""
LAST_RESORT = (
    "normalised-state-wis",
    "kernel-wis",
    "doubly-robust",
    "truncated-vis",
    "vis",
    "state-wis",
    "direct-method",
)


@dataclass(frozen=True, slots=True)
class Role:
    """What the rule wants to know of an estimator: which rows share a normaliser, and whether it uses a
    reward model.

    ``place`` is that in ``LAST_RESORT``, after all others if it has none.
    """

    normalised_over: str | None
    modelled: bool
    place: int = field(default=len(LAST_RESORT), compare=False)

    @classmethod
    def of(cls, estimator: Estimator[Any]) -> Role:
        place = LAST_RESORT.index(estimator.name) if estimator.name in LAST_RESORT else len(LAST_RESORT)
        return cls(traits.normalised_over(estimator), traits.needs_predictions(estimator), place)


KNOWN: Mapping[str, Role] = {name: Role.of(estimator) for name, estimator in by_name().items()}
"""Roles of the estimators that are known by name."""
_UNKNOWN = Role(None, modelled=False)


def has_neighbours(isolation: float | None) -> bool:
    """Whether rows have neighbours to be normalised with; not so if it is not known."""
    return isolation is not None and isolation <= MOST_ISOLATION


def has_heavy_weights(sample: WeightedSample, explained: float | None = None) -> bool:
    """Whether so few effective rows, or groups, are left of all that weights are better clipped.

    ``explained`` is the share of held-out variance that the reward model explains; None without a model.
    """
    load = sample.weight if sample.mass is None else sample.weight * sample.mass
    draws = draw_sums(load, sample.group)
    return are_heavy(draws, sample.context.shape[1], explained)


def are_heavy(draws: Floats, columns: int, explained: float | None) -> bool:
    """The same from the weights of rows or groups, and the number of columns of the context."""
    most, share, _ = _FEW_ROWS[_PLAIN_CLIPPED if explained is None else _MODEL_CLIPPED]
    rows = effective_size(draws)
    if rows >= min(most, share * len(draws)):
        return False
    if explained is None:
        return True
    learnable = len(draws) >= ROWS_PER_COLUMN * columns
    return learnable and signal(rows, explained) < MOST_SIGNAL


def signal(rows: float, explained: float) -> float:
    """How much so many rows tell of what a model explains: signal over noise of one row, times the rows."""
    return rows * max(explained, 0.0) / (1 - explained) if explained < 1 else math.inf


def model_helps(explained: float | None) -> bool:
    """Whether held-out rewards speak for their model, or it is not known how well it predicts them."""
    return explained is None or explained > 0


def recommended(
    std_errors: Mapping[str, float],
    *,
    near: bool,
    robust: bool = True,
    heavy: bool = False,
    roles: Mapping[str, Role] = KNOWN,
) -> str:
    """Name of the estimator to use.

    Parameters
    ----------
    std_errors
        Estimated standard errors by name, of all that there is to choose from; ``nan`` where there is none.
    near
        Whether weights are to be normalised around each context.
    robust
        Whether to use the reward model where that does not make the standard error larger.
    heavy
        Whether weights are to be shrunk.
    roles
        Of the estimators, by name. Of several with the same role the first counts.
    """
    if heavy:
        for name in (_MODEL_CLIPPED, _PLAIN_CLIPPED):
            if name in std_errors:
                return name
    for normalised_over in (NEIGHBOURS, ALL_ROWS) if near else (ALL_ROWS, NEIGHBOURS):
        plain = _first(std_errors, roles, Role(normalised_over, modelled=False))
        model = _first(std_errors, roles, Role(normalised_over, modelled=True))
        if plain or model:
            return _better(std_errors, plain, model, robust)
    return min(std_errors, key=lambda name: roles.get(name, _UNKNOWN).place)


def _better(std_errors: Mapping[str, float], plain: str | None, model: str | None, robust: bool) -> str:
    """Of an estimator and its doubly robust form, where both were computed."""
    if plain is None or model is None:
        return plain or model or ""
    return model if robust and std_errors[model] <= std_errors[plain] else plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """Names of the estimators chosen, and the reasons."""

    name: str
    runner_up: str | None
    why: tuple[str, ...]


def pick(
    std_errors: Mapping[str, float],
    report: PropensityReport,
    isolation: float | None = None,
    explained: float | None = None,
    mended: Mended | None = None,
    *,
    flat: bool = False,
    heavy: bool = False,
    roles: Mapping[str, Role] = KNOWN,
) -> Pick:
    """Choose among the estimators that were computed.

    Parameters
    ----------
    std_errors
        Estimated standard errors by name.
    report
        On the propensities that the estimates use.
    isolation
        Of the rows in normalised Kernel-WIS; None where it is not known.
    explained
        Share of the held-out variance of the reward that its model explains; None without a model.
    mended
        What became of logged propensities that were tested for repair.
    flat
        Whether the bandwidth is infinite, so that everyone is everyone's neighbour.
    heavy
        Whether few effective rows are left, :func:`has_heavy_weights`.
    roles
        Of the estimators, by name.
    """
    near, robust = has_neighbours(isolation), model_helps(explained)
    name = recommended(std_errors, near=near, robust=robust, heavy=heavy, roles=roles)
    others = {other: error for other, error in std_errors.items() if other not in (name, *HEAVY_WEIGHTS)}
    second = near if name in HEAVY_WEIGHTS else not near
    runner_up = recommended(others, near=second, robust=robust, roles=roles) if others else None
    doubts = tuple(_doubts(report) if mended is None or mended.found.kept else _repaired_doubts(mended))
    return Pick(
        name=name,
        runner_up=runner_up,
        why=(*doubts, *_reasons(name, isolation, explained, std_errors, flat, roles)),
    )


def _doubts(report: PropensityReport) -> Iterable[str]:
    if report.contradicted:
        yield f"the propensities fail their tests ({report.places})"
    if report.estimated:
        yield "the propensities were estimated, not logged"
    for finding in report.check.findings:
        if finding.serious and finding.kind in ("constant", "rounded"):
            yield finding.sentence


def _repaired_doubts(mended: Mended) -> Iterable[str]:
    found = tuple(_doubts(mended.given_report))
    if mended.found.convincing and not mended.given_report.contradicted:
        found = (*found, f"the propensities {misfit(mended.found)}")
    left = " but still fail their tests" if mended.report.contradicted else ""
    yield from found
    yield f"{'they' if found else 'the propensities'} were repaired from the logged actions{left}"


def _reasons(
    name: str,
    isolation: float | None,
    explained: float | None,
    std_errors: Mapping[str, float],
    flat: bool,
    roles: Mapping[str, Role],
) -> Iterable[str]:
    role = roles.get(name, _UNKNOWN)
    if name in HEAVY_WEIGHTS:
        most, _, share = _FEW_ROWS[name]
        yield (
            f"fewer than {most} effective rows are left, and fewer than {share} of all, so large weights are "
            f"clipped, which costs less than their noise"
        )
    elif role.normalised_over == NEIGHBOURS and flat:
        yield (
            "weights do not depend on the context, by cross-validation, so one normaliser serves all rows, "
            "as in wis"
        )
    elif role.normalised_over == NEIGHBOURS and has_neighbours(isolation):
        yield (
            "weights are normalised around each context, which undoes errors that neighbouring contexts share"
        )
    elif role.normalised_over == ALL_ROWS and isolation is not None:
        yield (
            f"on average a row supplies {isolation:.0%} of the weight around it: too few neighbours, so one "
            f"normaliser serves all rows"
        )
    elif role.normalised_over == ALL_ROWS and any(
        roles.get(other, _UNKNOWN).normalised_over == NEIGHBOURS for other in std_errors
    ):
        yield "one normaliser serves all rows, since it is not known whether rows have neighbours"
    else:
        yield "the best suited of the estimators that were asked for"
    other: str | None = {_PLAIN_CLIPPED: _MODEL_CLIPPED, _MODEL_CLIPPED: _PLAIN_CLIPPED}.get(name)
    if other is None or other not in std_errors:
        other = (
            _first(std_errors, roles, Role(role.normalised_over, not role.modelled))
            if role.normalised_over is not None
            else None
        )
    if role.modelled and explained is not None:
        told = (
            "only what the reward model leaves unexplained is weighted, which makes up for some errors of "
            "propensities"
        )
        yield f"{told}{_saving(std_errors, name, other)}"
    elif not role.modelled and other is not None and explained is not None:
        fault = (
            "predicts held-out rewards no better than their mean"
            if not model_helps(explained)
            else "makes the standard error larger"
        )
        yield f"the reward model {fault}, so it takes no part"


def _first(std_errors: Mapping[str, float], roles: Mapping[str, Role], role: Role) -> str | None:
    return next((name for name in std_errors if roles.get(name) == role), None)


def _saving(std_errors: Mapping[str, float], name: str, plain: str | None) -> str:
    """By how much the reward model makes the standard error smaller, where that is worth a word."""
    error = math.nan if plain is None else std_errors[plain]
    saved = 1 - std_errors[name] / error if error > 0 else 0.0
    return f" (standard error {saved:.0%} smaller)" if saved >= 0.005 else ""


def disagreement(first: Change, second: Change, gap: Interval) -> str | None:
    """Where the estimate picked and the runner-up disagree, how; None where they do not.

    They do if they would decide differently, or if they differ by more than chance explains and by enough to
    matter: half the reach of the interval or more.

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
    if first.side != second.side:
        reasons.append(f"by {second.estimator} the target is {gain(second)}")
    return f"{first.estimator} and {second.estimator} disagree: {'; '.join(reasons)}" if reasons else None
