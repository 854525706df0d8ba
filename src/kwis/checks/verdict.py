"""From diagnostics to a plain verdict: every threshold on diagnostics is in the table below.

==========================================  ===========  ======================
what                                        with care    do not trust
==========================================  ===========  ======================
effective number of rows, or of groups      below 200    below 50
the same, expected from both distributions  below 200    below 50
share of the largest row, or group          above 5 %    above 20 %
Pareto k of the weights                     above 0.7    above 1
target's probability beyond the log         above 0.1 %  above 5 %
propensities that fail: chance misplaced    above 0.5 %  above 10 %
propensities logged, but not to be tested   always
propensities estimated, not logged          always
other serious signs (rounded, placeholder)  always       left nothing to chance
==========================================  ===========  ======================

Chance misplaced: the share of the rows where propensities fail, times the mean's distance from 1 there. In a
log of millions a test can fail over next to nothing; below 0.5 % that is reported and costs no trust.

Rows of a group are one draw, so a log with groups has no more to say than its groups; fewer than 30 of them
test no propensities.

A deterministic target has many weights of 0; that by itself costs no trust, the effective sample size counts
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from kwis.checks.findings import UNIFORM, MeanTest, PropensityReport, WeightDiagnostics
from kwis.checks.locate import REST
from kwis.checks.regions import EVERYWHERE
from kwis.models.propensity.check import PropensityCheck
from kwis.models.propensity.support import Support
from kwis.results import Verdict

EFFECTIVE_N = (200, 50)
LARGEST_SHARE = (0.05, 0.2)
PARETO_K = (0.7, 1.0)
BEYOND = (0.001, 0.05)
MISPLACED = (0.005, 0.1)

_Level = Literal["trust", "with care", "do not trust"]
_LEVELS: tuple[_Level, ...] = ("trust", "with care", "do not trust")


def verdict(
    weights: WeightDiagnostics,
    support: Support | None = None,
    propensity: PropensityReport | None = None,
    target: str | None = None,
) -> Verdict:
    """Verdict on what a log can say about a target, from its weights, its support and the propensities.

    Without the name of the ``target``, what the tests say about the weights of any target counts.
    """
    own = _combined([*_weight_reasons(weights), *_support_reasons(support)])
    if propensity is None:
        return own
    return combine(own, propensity.verdict if target is None else propensity.verdict_on(target))


def combine(*verdicts: Verdict) -> Verdict:
    """The worst level, with the reasons of all, each once."""
    level = max((found.level for found in verdicts), key=_LEVELS.index)
    return Verdict(
        level=level, reasons=tuple(dict.fromkeys(reason for found in verdicts for reason in found.reasons))
    )


def propensity_verdict(
    failures: Sequence[MeanTest],
    signs: PropensityCheck,
    n: int,
    estimated: bool,
    untested: str | None = None,
    *,
    targets: Sequence[str] = (),
    asks: bool = False,
) -> Verdict:
    """Verdict on the propensities alone.

    Parameters
    ----------
    untested
        How little there was, where no test could be made.
    targets
        Those whose own probabilities may be why their weights fail.
    asks
        Whether nobody said which actions were available, and the log does not tell.
    """
    reasons: list[tuple[int, str]] = []
    for test in failures:
        misplaced = test.n / n * abs(test.mean - 1)
        fault = "our estimate of the propensities does not fit" if estimated else "propensities are wrong"
        hint = ""
        if test.subject == UNIFORM and test.mean < 1 and asks:
            hint = "; or some actions are not available in some rows: name them with --candidates"
        if test.kind == "weight" and test.subject in targets:
            fault = (
                f"the weights of {test.subject} do not average 1: its probabilities or "
                f"{'our estimate of the propensities is' if estimated else 'the propensities are'} wrong"
            )
        somewhere = test.region != EVERYWHERE and not test.region.startswith(REST)
        place = " where" if estimated and somewhere else ";"
        reasons.append((_above(misplaced, MISPLACED), f"{fault}{place} {test.words}{hint}"))
    serious = [finding for finding in signs.findings if finding.serious]
    reasons += [(2 if finding.kind == "deterministic" else 1, finding.sentence) for finding in serious]
    if untested is not None and not estimated:
        reasons.append((1, f"propensities could not be tested ({untested})"))
    if estimated:
        reasons.append(
            (
                1,
                (
                    "propensities were estimated from this log, which cannot allow for causes of the action "
                    "that its context does not show"
                ),
            )
        )
    return _combined(reasons)


def _weight_reasons(weights: WeightDiagnostics) -> Iterable[tuple[int, str]]:
    draw, drawn = ("row", weights.n) if weights.groups is None else ("group", weights.groups)
    missed = _below(weights.effective_n, EFFECTIVE_N)
    sentence = (
        f"only {int(weights.effective_n)} effective {draw}s of {drawn:,}, fewer than "
        f"{EFFECTIVE_N[missed - 1]}"
    )
    yield missed, sentence
    lacking = _below(weights.expected_effective_n, EFFECTIVE_N)
    if lacking > missed:
        rare = "rare weights larger than any logged would leave"
        yield (
            lacking,
            (
                f"{rare} only {int(weights.expected_effective_n)} effective {draw}s, fewer than "
                f"{EFFECTIVE_N[lacking - 1]}"
            ),
        )
    yield (
        _above(weights.largest_share, LARGEST_SHARE),
        f"one {draw} carries {weights.largest_share:.0%} of the weight",
    )
    tail = (
        f"the largest weights have a heavy tail (Pareto k {weights.pareto_k:.2f}), so that errors may be "
        f"larger than intervals say"
    )
    yield _above(weights.pareto_k, PARETO_K), tail


def _support_reasons(support: Support | None) -> Iterable[tuple[int, str]]:
    if support is not None and support.beyond is not None:
        sentence = (
            f"{support.beyond:.1%} of the target's decisions are actions that the log says nothing about"
        )
        yield _above(support.beyond, BEYOND), sentence


def _below(value: float, limits: tuple[float, float]) -> int:
    return sum(value < limit for limit in limits)


def _above(value: float, limits: tuple[float, float]) -> int:
    return sum(value > limit for limit in limits)


def _combined(reasons: Iterable[tuple[int, str]]) -> Verdict:
    """The worst level, and the sentences that count against the target, the worst first."""
    against = sorted((entry for entry in reasons if entry[0]), key=lambda entry: -entry[0])
    return Verdict(
        level=_LEVELS[against[0][0] if against else 0], reasons=tuple(sentence for _, sentence in against)
    )
