"""The answer first: what a reader can act on, in a sentence or two, and a card for each policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kwis.report.sections.common import (
    badge_of,
    brief,
    claim_words,
    decimals_of,
    label_of,
    names_of,
    relative_words,
)
from kwis.report.view import Badge, Card
from kwis.report.wording import count, decimals_for, listed, number, sentence, span
from kwis.result.evaluation import Evaluation
from kwis.result.presentation import scaled
from kwis.result.records import Recommendation
from kwis.result.words import needed_words, robustness_words

_BLANK, _HYPHEN = "\u00a0", "\u2011"  # no line ends at them


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The top of the page."""

    kicker: str
    words: str
    support: tuple[str, ...]
    badge: Badge | None
    cards: tuple[Card, ...]


def answer(evaluation: Evaluation) -> Answer:
    """The answer for the first reward, about the policy that does best among those to be trusted."""
    found = list(evaluation.recommended.values())
    kicker = _kicker(evaluation)
    if not found:
        return Answer(kicker=kicker, words="No policy was evaluated.", support=(), badge=None, cards=())
    best = headline_of(found)
    decimals = decimals_of(evaluation, best.reward)
    surely = _surely_best(evaluation, best)
    passed_over = _others(found, best, decimals)  # the ranking would put these first
    ties = () if surely or passed_over else _ranking(evaluation)
    beside = found if len(evaluation.recommendations) > 1 else []  # alone, a card would repeat the answer
    cards = tuple(_card(evaluation, each, strong=each is best and len(found) > 1) for each in beside)
    return Answer(
        kicker=kicker,
        words=_words(evaluation, best, decimals, among=len(found), surely=surely),
        support=(
            _interval(evaluation, best, decimals),
            _trust(best),
            *_robust(evaluation, best),
            *_surer(found, best, decimals),
            *_needed(evaluation, best),
            *passed_over,
            *ties,
        ),
        badge=badge_of(best.row.verdict),
        cards=cards,
    )


def headline_of(found: Sequence[Recommendation]) -> Recommendation:
    """The best estimate among the policies to be trusted, or among all where none is."""
    trusted = [each for each in found if each.row.verdict.level != "do not trust"]
    return max(trusted or found, key=_merit)


def _merit(found: Recommendation) -> float:
    """The estimate, turned where less is better."""
    return -found.row.interval.value if found.change.lower_is_better else found.row.interval.value


def _kicker(evaluation: Evaluation) -> str:
    """Which log this is about."""
    settings = evaluation.settings
    rewards = [label_of(evaluation, reward) for reward in evaluation.rewards]
    parts = [
        "Policy evaluation",
        brief(settings.call.source) if settings.call.source else "",
        f"{count(settings.n)} decisions",
        (settings.period or "").replace("-", _HYPHEN),
        f"propensities: {settings.propensities}" if settings.propensities else "",
        f"reward{'s' * (len(rewards) > 1)}: {', '.join(rewards)}" if rewards else "",
    ]
    return " · ".join(part for part in parts if part)


def _unit(evaluation: Evaluation, reward: str) -> str:
    """The unit, never on another line than its number."""
    return evaluation.settings.presentation.unit(reward).replace(" ", _BLANK, 1)


def _surely_best(evaluation: Evaluation, best: Recommendation) -> bool:
    """Whether the ranking leaves it no other place than the first."""
    places = [
        place for ranking in evaluation.rankings if ranking.reward == best.reward for place in ranking.places
    ]
    return any(place.target == best.target and place.worst == 1 for place in places)


def _words(evaluation: Evaluation, best: Recommendation, decimals: int, *, among: int, surely: bool) -> str:
    how, now = evaluation.settings.presentation, gain_baseline(best)
    unit = _unit(evaluation, best.reward)
    then = f"{number(best.row.interval.value, decimals)}{unit}{how.per_words}"
    values = f"{then} against {number(now, decimals)} now"
    would = f"{brief(how.label(best.reward))} would have been {values}"
    if best.row.verdict.level == "do not trust":
        return (
            f"This log cannot tell how {brief(best.target)} would have done."
            if among == 1
            else "This log cannot tell which policy would do best."
        )
    if not best.change.decided:
        return (
            f"The log does not settle whether {brief(best.target)} does better than what runs now: {values}."
        )
    if among > 1 and best.change.side < 0:
        return (
            f"None of {among} policies does better than what runs now; with the best, {brief(best.target)}, "
            f"{would}."
        )
    standing = "does best" if surely else "has the best estimate"
    if among == 1:
        return f"With {brief(best.target)}, {would}."
    return f"Of {among} policies, {brief(best.target)} {standing}: with it, {would}."


def gain_baseline(found: Recommendation) -> float:
    """The value of the logging policy."""
    return found.row.interval.value - found.change.interval.value


def _interval(evaluation: Evaluation, best: Recommendation, decimals: int) -> str:
    gain, how = best.change.claim, evaluation.settings.presentation
    size = f"{number(gain.value, decimals, signed=True)}{_unit(evaluation, best.reward)}{how.per_words}"
    shown = f"{size}, {claim_words(best.change, decimals)}"
    if best.row.verdict.level == "do not trust":
        value = number(best.row.interval.value, decimals)
        return f"The estimate for {brief(best.target)} is {value} ({shown}); it is no ground to act on."
    lead = {0: "Difference", 1: "Better", -1: "Worse"}[best.change.side]
    parts = [shown, *_sizes(evaluation, best)]
    return f"{lead}: {'; '.join(parts)}."


def _sizes(evaluation: Evaluation, best: Recommendation) -> Iterable[str]:
    """The difference in parts of what there is now, and over the log."""
    settings, change = evaluation.settings, best.change
    if change.relative is not None and change.relative.value != 0:
        yield relative_words(change.relative)
    if change.decided and settings.presentation.adds_up:
        decisions = settings.decisions or settings.n
        total = scaled(change.claim, decisions / settings.presentation.per)
        digits = decimals_for([total.width])
        unit = _unit(evaluation, best.reward)
        size = f"{number(total.value, digits, signed=True)}{unit}"
        ends = span(total.low, total.high, digits, signed=True)
        yield f"{size} ({ends}) over the {count(decisions)} decisions of the log"


def _needed(evaluation: Evaluation, best: Recommendation) -> tuple[str, ...]:
    """What it takes to settle the question, where the log does not."""
    return tuple(sentence(words) for words in needed_words(evaluation, best.change))


def _robust(evaluation: Evaluation, best: Recommendation) -> tuple[str, ...]:
    """How wrong propensities would have to be to undo the answer."""
    if best.row.verdict.level == "do not trust":
        return ()
    return tuple(sentence(f"that {words}") for words in robustness_words(evaluation, best))


def _trust(best: Recommendation) -> str:
    reasons = best.row.verdict.reasons
    if not reasons:
        return (
            "Nothing that was checked in the log speaks against it."
            if best.row.verdict.level == "trust"
            else ""
        )
    more = len(reasons) - 1
    also = f" {count(more)} more {'reason' if more == 1 else 'reasons'} below." if more else ""
    return sentence(f"because {reasons[0].rstrip('.')}") + also


def _surer(found: Sequence[Recommendation], best: Recommendation, decimals: int) -> tuple[str, ...]:
    """Policies that the log does settle to be better than what runs now, where it leaves that open for the
    highest estimate.
    """
    if best.change.decided:
        return ()
    better = [each for each in found if each.change.side > 0 and each.row.verdict.level != "do not trust"]
    return tuple(
        f"{brief(each.target)} does better than what runs now: "
        f"{number(each.change.claim.value, decimals, signed=True)}, "
        f"{claim_words(each.change, decimals)}."
        for each in better
    )


def _others(found: Sequence[Recommendation], best: Recommendation, decimals: int) -> tuple[str, ...]:
    """Better estimates that were passed over because they are not to be trusted."""
    higher = [each for each in found if _merit(each) > _merit(best)]
    if not higher:
        return ()
    shown = listed(f"{brief(each.target)} ({number(each.row.interval.value, decimals)})" for each in higher)
    verb = "has a better estimate" if len(higher) == 1 else "have better estimates"
    return (f"{shown} {verb} but should not be trusted.",)


def _ranking(evaluation: Evaluation) -> tuple[str, ...]:
    if len(evaluation.targets) < 2 or not evaluation.rankings:
        return ()
    return tuple(sentence(words, names_of(evaluation)) for words in evaluation.ranking.words[:1])


def _card(evaluation: Evaluation, found: Recommendation, *, strong: bool) -> Card:
    decimals = decimals_of(evaluation, found.reward)
    gain = found.change.claim
    lines = [
        claim_words(found.change, decimals),
        f"{number(found.row.interval.value, decimals)} against {number(gain_baseline(found), decimals)} now",
    ]
    if found.change.relative is not None:
        lines.insert(1, relative_words(found.change.relative))
    lines += [_other_reward(evaluation, other) for other in evaluation.recommendations
              if other.target == found.target and other.reward != found.reward]  # fmt: skip
    return Card(
        name=found.target,
        badge=badge_of(found.row.verdict),
        headline=number(gain.value, decimals, signed=True),
        lines=tuple(lines),
        strong=strong,
    )


def _other_reward(evaluation: Evaluation, found: Recommendation) -> str:
    decimals = decimals_of(evaluation, found.reward)
    gain = found.change.claim
    words = span(gain.low, gain.high, decimals, signed=True)
    label = evaluation.settings.presentation.label(found.reward)
    return f"{label}: {number(gain.value, decimals, signed=True)} ({words})"
