"""Simultaneous intervals and rankings."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import kwis
from kwis.estimators.joint import Joint
from kwis.evaluation import LOGGING_POLICY
from kwis.evaluation.intervals import widened

ALONE = NormalDist().inv_cdf(0.975)


def test_independent_differences_need_the_quantile_of_the_largest_of_independent_errors():
    influences = list(np.random.default_rng(0).standard_normal((4, 20_000)))
    exact = NormalDist().inv_cdf((1 + 0.95**0.25) / 2)
    assert Joint.of(influences, None).critical_value(0.95, seed=0) == pytest.approx(exact, abs=0.03)


def test_the_same_difference_twice_costs_nothing():
    influence = np.random.default_rng(0).standard_normal(500)
    assert Joint.of([influence, 3 * influence], None).critical_value(0.95, seed=0) == pytest.approx(
        ALONE, abs=0.03
    )
    assert Joint.of([influence], None).critical_value(0.95, seed=0) == ALONE


def test_differences_without_spread_take_no_part():
    influence = np.random.default_rng(0).standard_normal(500)
    assert Joint.of([influence, np.zeros(500)], None).critical_value(0.95, seed=0) == ALONE


def test_correlations_are_those_of_the_groups():
    # Within each group the two influences cancel row by row, but the sums over groups are the same.
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.standard_normal(2000), 2)
    noise = np.tile([5.0, -5.0], 2000)
    pair = [shared + noise, shared - noise]
    group = np.repeat(np.arange(2000), 2)
    assert Joint.of(pair, group).critical_value(0.95, seed=0) == pytest.approx(ALONE, abs=0.03)
    assert Joint.of(pair, None).critical_value(0.95, seed=0) > ALONE + 0.1


def test_widening_keeps_the_skewness():
    interval = kwis.Interval(low=0.9, high=1.4, level=0.95, value=1.0, method="x")
    wide = widened(interval, 2 * ALONE)
    assert (wide.low, wide.high) == pytest.approx((0.8, 1.8))
    assert "simultaneous" in wide.method


def test_a_ranking_orders_policies_and_leaves_open_what_chance_leaves_open(evaluation):
    for ranking in evaluation.rankings:
        values = [place.row.estimate.value for place in ranking.places]
        assert values == sorted(values, reverse=True)
        assert {place.target for place in ranking.places} == {"p_new", "p_bold", LOGGING_POLICY}
        surely = {(one.target, one.baseline) for one in ranking.differences if one.simultaneous.low > 0}
        for place in ranking.places:
            assert place.best == 1 + sum(place.target == worse for _, worse in surely)
            assert place.worst == 3 - sum(place.target == better for better, _ in surely)


def _log(values: dict[str, np.ndarray], reward: np.ndarray) -> kwis.LoggedBandit:
    n = reward.size
    table = {
        "x": np.arange(n) % 7,
        "action": np.arange(n) % 2,
        "propensity": np.full(n, 0.5),
        "reward": reward,
        **values,
    }
    return kwis.read_log(table, propensity="propensity", context="x")


@pytest.mark.slow
@pytest.mark.parametrize("interval", [None, kwis.StudentInterval(), kwis.InfluenceInterval()])
def test_a_p_value_below_one_minus_the_level_is_an_interval_without_0(interval):
    decided = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(30, 80))
        reward = rng.normal(size=n) + rng.uniform(0, 1.5) * (np.arange(n) % 2)
        shares = {name: rng.beta(0.3, 0.3, n) for name in ("a", "b")}
        names = ["wis", "normalised-kernel-wis"] if seed < 20 else ["wis"]
        found = kwis.evaluate(
            _log(shares, reward), ["a", "b"], estimators=names, interval=interval, level=0.8, repair="never"
        )
        for change in found.changes:
            assert (change.p_value < 0.2) == (change.interval.low > 0 or change.interval.high < 0)
            decided += change.decided
    assert decided > 20


def test_policies_that_cannot_be_told_apart_are_said_to_be_tied():
    rng = np.random.default_rng(2)
    reward = rng.normal(size=300)
    jitter = {name: 0.5 + 0.01 * rng.uniform(-1, 1, 300) for name in ("a", "b")}
    found = kwis.evaluate(
        _log(jitter, reward), ["a", "b"], estimators=["wis"], interval=kwis.InfluenceInterval()
    )
    (sentence,) = found.ranking.words
    assert "cannot be told apart" in sentence
    assert all((place.best, place.worst) == (1, 3) for place in found.ranking.places)


def test_a_policy_that_is_surely_best_is_said_to_be():
    rng = np.random.default_rng(2)
    action = np.arange(300) % 2
    reward = action + 0.1 * rng.normal(size=300)
    targets = {"good": np.where(action == 1, 0.9, 0.1), "bad": np.where(action == 1, 0.1, 0.9)}
    found = kwis.evaluate(
        _log(targets, reward),
        {"good": "good", "bad": "bad"},
        estimators=["wis"],
        interval=kwis.InfluenceInterval(),
    )
    assert found.ranking.words[0].startswith("good is best")
    assert found.ranking.words[1:] == (
        f"{LOGGING_POLICY} is worse than good",
        f"bad is worse than good and {LOGGING_POLICY}",
    )
    assert [(place.best, place.worst) for place in found.ranking.places] == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_difference_reaches_no_further_than_the_rewards(rows):
    rng = np.random.default_rng(0)
    table = {
        "action": rng.choice(["a", "b"], size=300).tolist(),
        "propensity": np.full(300, 0.5),
        "reward": (rng.random(300) < 0.25).astype(float),
        "x": rng.normal(size=300),
        "p_rare": (np.arange(300) < rows).astype(float) * 0.5,
    }
    log = kwis.read_log(table, propensity="propensity", context=["x"])
    found = kwis.evaluate(log, kwis.probability("p_rare"), estimators="wis", repair="never")
    ends = found.changes[0].interval
    assert -1 <= ends.low <= ends.value <= ends.high <= 1
