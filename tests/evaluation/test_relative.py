from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.cli.terminal import as_options
from kwis.estimators.wis import WIS
from kwis.evaluation.compare import compared
from kwis.evaluation.intervals import Intervals
from kwis.evaluation.measure import Policy, logging_policy, measure
from kwis.evaluation.relative import Pair, fieller, relative
from kwis.result.presentation import Presentation
from kwis.result.words import relative_words
from kwis.results import Interval
from tests.reference.relative import relative_interval


def pair(seed: int, n: int = 300, sign: float = 1.0):
    """A target by WIS and the logging policy: two actions of even chances, rewards around 1 and 1.5."""
    rng = np.random.default_rng(seed)
    action = rng.integers(0, 2, n)
    reward = sign * rng.gamma(2.0, (1 + 0.5 * action) / 2)
    weight = np.where(action == 1, 0.8, 0.2) / 0.5
    sample = kwis.WeightedSample(context=np.zeros((n, 1)), weight=weight, reward=reward)
    logged = kwis.WeightedSample(context=np.zeros((n, 1)), weight=np.ones(n), reward=reward)
    (b,) = logging_policy([logged], ["reward"])
    (a,) = measure(Policy(name="target", samples=(sample,)), {"wis": WIS()}, ["reward"])
    (change,) = compared([(a, b)], {}, Intervals(method=None, level=0.95, seed=0))
    return a, b, change


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_ends_are_those_of_testing_every_candidate(sign):
    a, b, change = pair(1, sign=sign)
    found = relative(change, a, b)
    reach = change.interval.width / 2 / change.std_error
    low, high = relative_interval(
        a.estimate.value, b.estimate.value, a.estimate.influence, b.estimate.influence, reach
    )
    expected = (low, high) if sign > 0 else (-high, -low)  # in parts of the size of what there is now
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-6)
    assert found.low < found.value < found.high
    assert np.sign(found.value) == np.sign(change.interval.value)


def test_the_relative_interval_covers():
    """The target's value is 1.4, that of the logging policy 1.25: 12 % more."""
    runs = 600
    hits = sum(relative(change, a, b).low <= 0.12 <= relative(change, a, b).high
               for a, b, change in map(pair, range(runs)))  # fmt: skip
    assert abs(hits / runs - 0.95) <= 3 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("seed", range(20))
def test_it_leaves_0_out_where_the_absolute_difference_does(seed):
    a, b, change = pair(seed, n=60)
    found = relative(change, a, b)
    assert int(found.low > 0) - int(found.high < 0) == change.sign


def test_a_baseline_that_may_be_0_has_no_relative_difference():
    assert fieller(Pair(a=1.0, b=0.1, var_a=0.01, var_b=0.01), 0.02, 1.96, 1.96) is None


def test_an_evaluation_has_it_and_says_it():
    log = kwis.sample_log(600, rng=0).read(reward=["click", "revenue"])
    found = kwis.evaluate(log, "p_new", estimators="wis", unit={"revenue": "€"}, per=1000, repair="never")
    change = found.recommended["p_new"].change
    assert change.relative.value == pytest.approx(change.interval.value / found.rows[0].estimate.value)
    text = repr(found)
    assert "€ per 1,000 decisions" in text
    assert "relative +" in text
    value = 1000 * found.recommended["p_new"].row.estimate.value
    assert f"p_new: {value:.0f} (95% " in text
    assert found.to_frame()["value"].max() < 10  # frames stay per decision


def test_less_is_better_turns_what_is_said():
    log = kwis.sample_log(1500, rng=0).read(reward="click")
    more = kwis.evaluate(log, ["p_new", "p_bold"], estimators="wis", repair="never")
    less = kwis.evaluate(log, ["p_new", "p_bold"], estimators="wis", lower_is_better=True, repair="never")
    sides = [one.change.side for one in more.recommendations]
    assert 1 in sides
    assert [one.change.side for one in less.recommendations] == [-side for side in sides]
    assert [one.target for one in less.ranking.places] == [one.target for one in more.ranking.places][::-1]
    factors = [one.factor for one in more.sensitivity]
    assert [one.factor for one in less.sensitivity] == pytest.approx(factors, rel=0.01)
    assert "worse than the logging policy" in repr(less)
    assert "p_new, click (less is better): " in repr(less.recommended)
    assert "less is better" not in repr(more.recommended)


def test_the_recommendation_for_one_reward_names_the_others():
    log = kwis.sample_log(300, rng=0).read(reward=["click", "revenue"])
    found = kwis.evaluate(log, "p_new", estimators="wis", repair="never")
    said = "\n\nprint(evaluation) has the other rewards too: revenue"
    assert repr(found.recommended).endswith(said)
    assert repr(pickle.loads(pickle.dumps(found.recommended))).endswith(said)


def test_a_policy_that_does_what_was_done_is_the_same():
    n = 60
    log = {
        "x": range(n),
        "action": ["A", "B"] * (n // 2),
        "reward": [0, 1, 1] * (n // 3),
        "propensity": [0.5] * n,
    }
    found = kwis.evaluate(log, kwis.uniform(), estimators="wis", context="x", repair="never")
    assert "), the same as the logging policy on these decisions" in " ".join(str(found).split())
    assert "-0.0" not in str(found)


def test_neither_end_that_leaves_0_out_looks_like_0():
    interval = Interval(value=0.08, low=0.0042, high=0.17, level=0.95, method="by hand")
    assert relative_words(interval) == "+8.0% (95% +0.4% to +17.0%)"
    assert relative_words(replace(interval, low=-0.002)) == "+8% (95% -0% to +17%)"


@pytest.mark.parametrize(
    ("name", "asked"),
    [("days", True), ("cost_total", True), ("readmitted", True), ("click", False), ("holidays", False)],
)
def test_a_reward_named_like_a_cost_is_asked_about(name, asked):
    how = Presentation.of([name], None, 1, None, None)
    question = f"more {name} is taken to be better; if less is, say lower_is_better=['{name}']"
    assert list(how.questions([name])) == [question] * asked
    assert how.direction(name) == "more is taken to be better" * asked
    less = Presentation.of([name], None, 1, None, True)
    assert (list(less.questions([name])), less.direction(name)) == ([], "less is better")


def test_the_answer_says_which_way_a_cost_was_taken():
    n = 60
    log = {
        "x": range(n),
        "action": ["A", "B"] * (n // 2),
        "cost": [0, 1, 1] * (n // 3),
        "propensity": [0.5] * n,
    }
    asked = {"reward": "cost", "estimators": "wis", "context": "x", "repair": "never"}
    found = kwis.evaluate(log, kwis.always("A"), **asked)
    assert "), more is taken to be better" in str(found)
    assert found.notes[-1] == "more cost is taken to be better; if less is, say lower_is_better=['cost']"
    assert as_options(found.notes[-1]).endswith("if less is, say --lower-is-better cost")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"per": 0}, "`per` must be a number above 0, got 0"),
        ({"unit": {"clicks": "€"}}, "`unit` must be one of click"),
        ({"lower_is_better": ["cost"]}, "`lower_is_better` must be one of click"),
        ({"reward_label": 3}, "`reward_label` must be text"),
    ],
)
def test_words_that_fit_no_reward_are_refused(words, sentence):
    log = kwis.sample_log(100, rng=0).read(reward="click")
    with pytest.raises(kwis.InputError, match=sentence):
        kwis.evaluate(log, "p_new", estimators="wis", **words)
