"""The answer in words: what it says when policies win, lose, tie or cannot be judged."""

from __future__ import annotations

import math
from dataclasses import replace

from kwis.report import page_of
from kwis.results import Verdict
from tests.report.example import CARE, evaluation_of, interval

FINE = Verdict(level="trust")
POOR = Verdict(level="do not trust", reasons=("one row carries 40% of the weight",))


def test_one_policy_that_gains_is_a_sentence_to_act_on():
    page = page_of(evaluation_of(("p_new",), gains=(0.021,)))
    assert page.answer == "With p_new, click would have been 0.142 per decision against 0.121 now."
    assert page.support[0].startswith("Better: +0.021 per decision, 95\u202f% interval +0.008 to +0.034; ")
    assert page.support[0].endswith("decisions of the log.")
    assert page.badge.words == "With care"
    assert page.support[1].startswith(
        "Because propensities are wrong; country = BR: mean weight of p_new 1.42"
    )
    assert page.support[1].endswith("1 more reason below.")


def test_a_loss_says_so():
    page = page_of(evaluation_of(("p_new",), gains=(-0.021,), verdicts=(FINE,)))
    assert page.answer == "With p_new, click would have been 0.100 per decision against 0.121 now."
    assert page.support[0].startswith("Worse: \u22120.021 per decision")
    assert page.support[1] == "Nothing that was checked in the log speaks against it."


def test_an_interval_with_zero_inside_settles_nothing():
    page = page_of(evaluation_of(("p_new",), gains=(0.004,)))
    assert page.answer == (
        "The log does not settle whether p_new does better than what runs now: 0.125 per decision against "
        "0.121 now."
    )
    assert page.support[0].startswith(
        "Difference: +0.004 per decision, 95\u202f% interval \u22120.009 to +0.017"
    )


def test_an_estimate_not_to_be_trusted_is_no_answer():
    page = page_of(evaluation_of(("p_new",), gains=(0.1,), verdicts=(POOR,)))
    assert page.answer == "This log cannot tell how p_new would have done."
    assert "no ground to act on" in page.support[0]
    assert page.badge.tone == "poor"


def test_a_higher_estimate_that_cannot_be_trusted_is_passed_over_openly():
    page = page_of(evaluation_of(("a", "b"), gains=(0.03, 0.2), verdicts=(CARE, POOR)))
    assert page.answer.startswith("Of 2 policies, a ")
    assert "b (0.321) has a better estimate but should not be trusted." in page.support
    assert not any("is best" in words for words in page.support)


def test_when_every_policy_loses_the_best_of_them_is_named_as_such():
    page = page_of(evaluation_of(("a", "b"), gains=(-0.05, -0.02), verdicts=(FINE, FINE)))
    assert page.answer.startswith(
        "None of 2 policies does better than what runs now; with the best, b, click would have been 0.101"
    )


def test_digits_follow_the_width_of_the_intervals():
    coarse = page_of(evaluation_of(("p",), gains=(310.0,), half=52.0, now=1500.0))
    assert coarse.answer == "With p, click would have been 1,810 per decision against 1,500 now."
    exact = page_of(evaluation_of(("p",), gains=(0.0021,), half=0.0, now=0.5))
    assert exact.answer == "With p, click would have been 0.502 per decision against 0.500 now."


def test_other_rewards_are_on_the_cards():
    page = page_of(evaluation_of(("p",), ("click", "revenue"), gains=(0.021,)))
    (card,) = page.cards
    assert card.headline == "+0.021"
    assert card.lines[-1] == "revenue: +0.021 (+0.008 to +0.034)"


def test_a_policy_that_is_surely_better_is_named_beside_a_higher_estimate_that_is_not():
    evaluation = evaluation_of(("sure", "bold"), gains=(0.021, 0.03))
    sure, bold = evaluation.recommendations
    wide = replace(bold, change=replace(bold.change, interval=interval(0.03, 0.04)))
    page = page_of(replace(evaluation, recommendations=(sure, wide)))
    assert page.answer.startswith("The log does not settle whether bold does better than what runs now")
    assert (
        page.support[2] == "sure does better than what runs now: +0.021, 95\u202f% interval +0.008 to +0.034."
    )


def labelled():
    """Two rewards, of which the second is called revenue, in €, and a period."""
    evaluation = evaluation_of(("p",), ("click", "r_two"), gains=(310.0,), half=52.0, now=1500.0)
    how = replace(evaluation.settings.presentation, labels={"r_two": "revenue"}, units={"click": "€"})
    settings = replace(evaluation.settings, presentation=how, period="2026-01-01 to 2026-01-30")
    return replace(evaluation, settings=settings)


def test_every_section_calls_a_reward_by_its_label():
    evaluation = labelled()
    for section in page_of(replace(evaluation, notes=())).sections:
        assert section.key == "settings" or "r_two" not in repr(section), section.key


def test_the_first_lines_name_all_rewards_and_keep_dates_and_units_whole():
    page = page_of(labelled())
    assert "rewards: click, revenue" in page.kicker
    assert "2026\u201101\u201101 to 2026\u201101\u201130" in page.kicker
    assert "1,810\u00a0€ per decision" in page.answer


def test_a_tail_index_that_there_is_none_of_is_a_dash():
    evaluation = evaluation_of(("p",))
    (found,) = evaluation.diagnostics.values()
    weights = replace(found.weights, pareto_k=-math.inf)
    page = page_of(replace(evaluation, diagnostics={"p": replace(found, weights=weights)}))
    (section,) = [section for section in page.sections if section.key == "weights"]
    assert "∞" not in repr(section)
