"""Logs on which nothing, or nearly nothing, can be told: all rewards the same, one row that counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kwis


def log_of(n=60, seed=0, **columns):
    rng = np.random.default_rng(seed)
    table = {
        "x": rng.normal(size=n),
        "action": np.array(list("abc"))[rng.integers(0, 3, n)],
        "reward": rng.normal(size=n),
        "p": np.full(n, 1 / 3),
        "q": rng.uniform(0.05, 0.95, n),
    }
    return kwis.read_log(table | columns, reward="reward", propensity="p", context=["x"])


@pytest.mark.parametrize("reward", [7.0, 0.1, 2.5])
@pytest.mark.parametrize("seed", range(3))
def test_rewards_that_are_all_the_same_tell_no_policies_apart(reward, seed):
    evaluation = kwis.evaluate(
        log_of(seed=seed, reward=np.full(60, reward)),
        {"q": "q", "p": "p"},
        repair="never",
        estimators=["wis"],
    )
    for change in evaluation.changes:
        assert (change.interval.low, change.interval.high) == (0.0, 0.0)
        assert change.p_value == 1.0
        assert not change.decided
    assert all(place.best == 1 for place in evaluation.rankings[0].places)
    words = str(evaluation)
    assert "not told apart" in words or "the same as the logging policy" in words
    assert f"{reward:.4f}" in str(evaluation)


@pytest.mark.parametrize(
    "reward", [np.full(60, 2.5), np.random.default_rng(0).normal(size=60) * 1e-300], ids=["alike", "tiny"]
)
def test_their_report_is_written(reward, tmp_path):
    path = tmp_path / "report.html"
    kwis.evaluate(log_of(reward=reward), "q").to_html(path)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("weight", [1.0, 0.1, 0.7, 3.3])
def test_a_single_row_says_little_about_where_the_value_lies(weight):
    sample = kwis.WeightedSample(
        context=np.arange(10.0)[:, None],
        weight=np.array([weight] + [0.0] * 9),
        reward=np.array([0.4, *np.linspace(0, 1, 9)]),
    )
    found = kwis.StudentInterval().interval(kwis.WIS(), sample)
    unseen = 1 - 0.025**0.5  # two rows at most, by the smallest degrees of freedom
    assert (found.low, found.high) == pytest.approx((0.4 * (1 - unseen), 0.4 + 0.6 * unseen))


def test_a_reward_model_alone_is_printed_with_care():
    n = 400
    rng = np.random.default_rng(1)
    columns = {f"q_{a}": share for a, share in zip("abc", np.tile([0.2, 0.3, 0.5], (n, 1)).T, strict=True)}
    log = log_of(n, x=rng.normal(size=n), **columns)
    evaluation = kwis.evaluate(
        log, {a: f"q_{a}" for a in "abc"}, estimators=["direct-method"], repair="never"
    )
    assert evaluation.recommendation().row.verdict.level == "with care"
    assert "takes the reward model for the truth" in str(evaluation).split("Can it be trusted?")[1]


def test_kernel_wis_says_what_its_weights_average():
    log = log_of(200)
    estimators = [kwis.KernelWIS(0.2), kwis.KernelWIS(math.inf, normalised=True)]
    rows = {
        row.estimator: row
        for row in kwis.evaluate(log, "q", estimators=estimators, repair="never").rows
        if row.target == "q"
    }
    weight = log["q"] * 3
    applied = weight / kwis.kernel_mean(weight, log.context, bandwidth=0.2)
    estimate = rows["kernel-wis"].estimate
    assert estimate.mean_weight == pytest.approx(applied.mean())
    alone = kwis.KernelWIS(0.2).estimate(
        kwis.WeightedSample(context=log.context, weight=weight, reward=log.reward[:, 0])
    )
    assert alone.mean_weight == pytest.approx(applied.mean())
    said = f"weights that average {applied.mean():.3g} instead of 1" in " ".join(
        rows["kernel-wis"].verdict.reasons
    )
    assert said == (abs(applied.mean() - 1) >= 0.02)


def test_the_map_has_the_kernel_of_the_estimator():
    log = log_of(80)
    estimator = kwis.KernelWIS(0.5, kernel="epanechnikov", normalised=True)
    found = kwis.evaluate(log, "q", estimators=[estimator], repair="never").diagnostics["q"].local
    expected = kwis.kernel_mean(log["q"] * 3, log.context, bandwidth=0.5, kernel="epanechnikov")
    np.testing.assert_allclose(found.mean, expected, rtol=1e-10)


def test_json_leaves_out_what_has_an_entry_per_row():
    evaluation = kwis.evaluate(log_of(300), "q", estimators=["wis"])
    assert "leverage" not in evaluation.to_json()


def test_a_policy_like_the_one_that_logged_is_estimated_equal():
    found = kwis.sensitivity(log_of(500, seed=4), "p")[0]
    assert found.flip == 1.0
    assert "are estimated equal" in found.words


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: kwis.evaluate(log, {}), "`target` must name at least one policy, got none"),
        (lambda log: kwis.evaluate(log, "q", estimators=kwis.WIS), "got the class WIS: did you mean WIS()?"),
        (
            lambda log: kwis.evaluate(log, "q", estimators=[kwis.VIS]),
            "got the class VIS: did you mean VIS()?",
        ),
        (
            lambda log: kwis.evaluate(log, "q", estimators=5),
            "`estimators` must be names or estimators, got int",
        ),
        (
            lambda log: kwis.evaluate(log, "q", by=5),
            "`by` must be names of columns, or tuples of them, got 5",
        ),
        (
            lambda log: kwis.evaluate(log, "q", by=[5]),
            "`by` must be names of columns, or tuples of them, got 5",
        ),
        (
            lambda log: kwis.sensitivity(log, "q", gamma="a"),
            "`gamma` must be finite numbers of at least 1, got 'a'",
        ),
        (lambda log: kwis.predict_rewards(log, 5), "`reward` must be one of reward, or its number, got 5"),
        (
            lambda log: kwis.predict_rewards(log, 1.5),
            "`reward` must be one of reward, or its number, got 1.5",
        ),
        (
            lambda log: kwis.evaluate(log, "q", estimators="wis").recommendation("typo"),
            "`target` must be one of q, got 'typo'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(call, message):
    with pytest.raises(kwis.InputError) as caught:
        call(log_of())
    assert message in str(caught.value)


def test_segments_of_one_group_each_are_named_as_such():
    n = 120
    user = np.repeat(np.arange(3), 40)
    table = {
        "x": np.zeros(n),
        "action": np.tile(["a", "b"], 60),
        "reward": np.arange(n) % 3,
        "p": np.full(n, 0.5),
        "user": user,
    }
    log = kwis.read_log(table, reward="reward", propensity="p", context=["x"], group="user")
    with pytest.raises(kwis.InputError, match="every one by `user` has a single group"):
        kwis.evaluate(log, "p", by="user")


def test_few_groups_are_enough_to_select_a_bandwidth():
    n = 90
    rng = np.random.default_rng(2)
    table = {
        "x": rng.normal(size=n),
        "action": np.array(["a", "b"])[rng.integers(0, 2, n)],
        "reward": rng.normal(size=n),
        "p": np.full(n, 0.5),
        "q": rng.uniform(0.2, 0.8, n),
        "user": np.arange(n) % 3,
    }
    log = kwis.read_log(table, reward="reward", propensity="p", context=["x"], group="user")
    evaluation = kwis.evaluate(log, "q", estimators=[kwis.KernelWIS(normalised=True)], repair="never")
    assert math.isfinite(evaluation.recommendation().row.estimate.value)
