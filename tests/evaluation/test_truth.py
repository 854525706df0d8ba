"""The answer against the truth, which the sample log knows."""

from __future__ import annotations

import kwis


def test_the_headline_covers_the_true_difference_as_often_as_it_says():
    logs = 30
    covered = {"p_new": 0, "p_bold": 0}
    for seed in range(logs):
        sample = kwis.sample_log(500, rng=seed, right_propensities=True)
        log = sample.read(reward="click", context=["country", "member"])
        found = kwis.evaluate(log, list(covered), estimators=["wis"], interval=kwis.InfluenceInterval())
        for target in covered:
            truth = sample.truth[target]["click"] - sample.truth["logger"]["click"]
            covered[target] += truth in found.recommended[target].change.interval
    # 95 % of 30 is 28.5, with a standard deviation of 1.2.
    assert min(covered.values()) >= 25


def test_wrong_propensities_of_the_sample_log_are_named_and_cost_trust():
    found = kwis.evaluate(
        kwis.sample_log().read(reward="click"),
        "p_bold",
        estimators=["vis", "wis"],
        interval=kwis.InfluenceInterval(),
    )
    first = found.recommended["p_bold"]
    assert first.why[0] == "the propensities fail their tests (country = BR)"
    assert first.row.verdict.level != "trust"
    assert "country = BR" in repr(found)


def test_under_wrong_propensities_the_recommended_change_is_nearer_the_truth_than_that_of_vis():
    picked, vis = 0.0, 0.0
    for seed in range(3):
        sample = kwis.sample_log(1000, rng=seed)
        estimators = ["vis", "wis", "normalised-kernel-wis", "doubly-robust-normalised-kernel-wis"]
        found = kwis.evaluate(
            sample.read(reward="click"), "p_bold", estimators=estimators, interval=kwis.InfluenceInterval()
        )
        truth = sample.truth["p_bold"]["click"] - sample.truth["logger"]["click"]
        picked += abs(found.recommended["p_bold"].change.interval.value - truth)
        given = kwis.evaluate(
            sample.read(reward="click"),
            "p_bold",
            estimators="vis",
            interval=kwis.InfluenceInterval(),
            repair="never",
        )
        vis += abs(given.changes[0].interval.value - truth)
    assert picked < vis
