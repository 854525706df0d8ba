"""The answer first: what a reader can act on, in a sentence or two, and a card for each policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwis.report.sections.common import badge_of, brief, claim_words, decimals_of, names_of
from kwis.report.view import Badge, Card
from kwis.report.wording import count, listed, number, sentence, span
from kwis.result.evaluation import Evaluation
from kwis.result.records import Recommendation
from kwis.result.words import robustness_words


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
    head = f"Policy evaluation · {count(evaluation.settings.n)} decisions"
    kicker = f"{head} · reward: {evaluation.rewards[0]}" if evaluation.rewards else head
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
        words=_words(best, decimals, among=len(found), surely=surely),
        support=(
            _interval(best, decimals),
            *_robust(evaluation, best),
            _trust(best),
            *_surer(found, best, decimals),
            *passed_over,
            *ties,
        ),
        badge=badge_of(best.row.verdict),
        cards=cards,
    )


def headline_of(found: Sequence[Recommendation]) -> Recommendation:
    """The highest estimate among the policies to be trusted, or among all where none is."""
    trusted = [each for each in found if each.row.verdict.level != "do not trust"]
    return max(trusted or found, key=lambda each: each.row.interval.value)


def _surely_best(evaluation: Evaluation, best: Recommendation) -> bool:
    """Whether the ranking leaves it no other place than the first."""
    places = [
        place for ranking in evaluation.rankings if ranking.reward == best.reward for place in ranking.places
    ]
    return any(place.target == best.target and place.worst == 1 for place in places)


def _words(best: Recommendation, decimals: int, *, among: int, surely: bool) -> str:
    gain = best.change.claim
    now = gain_baseline(best)
    values = f"{number(best.row.interval.value, decimals)} per decision against {number(now, decimals)} now"
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
    if among > 1 and gain.value < 0:
        return (
            f"None of {among} policies does better than what runs now; the best, {brief(best.target)}, would "
            f"have earned {values}."
        )
    standing = "does best" if surely else "has the highest estimate"
    lead = brief(best.target) if among == 1 else f"Of {among} policies, {brief(best.target)} {standing}: it"
    return f"{lead} would have earned {values}."


def gain_baseline(found: Recommendation) -> float:
    """What the logging policy earned, by the same estimate."""
    return found.row.interval.value - found.change.interval.value


def _interval(best: Recommendation, decimals: int) -> str:
    gain = best.change.claim
    shown = f"{number(gain.value, decimals, signed=True)} per decision, {claim_words(best.change, decimals)}"
    if best.row.verdict.level == "do not trust":
        value = number(best.row.interval.value, decimals)
        return f"The estimate for {brief(best.target)} is {value} ({shown}); it is no ground to act on."
    lead = "Difference:" if not best.change.decided else "A gain:" if gain.value > 0 else "A loss:"
    return f"{lead} {shown}."


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
        f"{number(each.change.claim.value, decimals, signed=True)} per decision, "
        f"{claim_words(each.change, decimals)}."
        for each in better
    )


def _others(found: Sequence[Recommendation], best: Recommendation, decimals: int) -> tuple[str, ...]:
    """Higher estimates that were passed over because they are not to be trusted."""
    higher = [each for each in found if each.row.interval.value > best.row.interval.value]
    if not higher:
        return ()
    shown = listed(f"{brief(each.target)} ({number(each.row.interval.value, decimals)})" for each in higher)
    verb = "has a higher estimate" if len(higher) == 1 else "have higher estimates"
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
    return f"{found.reward}: {number(gain.value, decimals, signed=True)} ({words})"
