"""Whether to trust the answer, policy by policy, and why this estimate rather than another."""

from __future__ import annotations

from kwis.report.sections.common import badge_of, fold_after, names_of
from kwis.report.view import Block, Section
from kwis.report.wording import sentence
from kwis.result.evaluation import Evaluation
from kwis.result.records import Recommendation
from kwis.result.words import robustness_words

_LEAD = (
    "A verdict from the log alone: how much of it speaks about the policy, and whether its propensities are "
    "what they say."
)


def trust(evaluation: Evaluation) -> Section:
    blocks = [_block(evaluation, found) for found in evaluation.recommended.values()]
    scope = evaluation.scope
    points = () if scope is None else tuple(words[0].upper() + sentence(words)[1:] for words in scope.words)
    limits = [Block(title="What this rests on", points=points)] if points else []
    return Section(
        key="trust",
        title="Can it be trusted?",
        short="Trust",
        lead=_LEAD,
        blocks=(*limits, *fold_after(blocks)),
    )


def _block(evaluation: Evaluation, found: Recommendation) -> Block:
    reasons = tuple(sentence(reason, names_of(evaluation)) for reason in found.row.verdict.reasons)
    robust = tuple(
        sentence(f"what is said of its difference {words}") for words in robustness_words(evaluation, found)
    )
    words = [
        f"Estimate to use: {found.row.estimator}. "
        f"{' '.join(sentence(reason) for reason in found.why)}".strip()
    ]
    if found.runner_up is not None:
        words.append(sentence(found.disagreement or f"the runner-up {found.runner_up.estimator} agrees"))
    return Block(
        title=found.target,
        badge=badge_of(found.row.verdict),
        points=(*(reasons or ("Nothing that was checked in the log speaks against it.",)), *robust),
        closing=tuple(words),
    )
