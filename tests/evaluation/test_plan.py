from __future__ import annotations

import json

import numpy as np
import pytest

import kwis
from kwis.cli.main import main
from kwis.evaluation.plan import variance_ratio

QUICK = {"estimators": "wis", "repair": "never"}


def frame(n: int, seed: int, chance=0.5):
    """Two actions; the second brings 0.2 more. The target takes it with probability 0.8."""
    rng = np.random.default_rng(seed)
    action = (rng.random(n) < chance).astype(int)
    return {
        "action": action,
        "reward": rng.normal(1 + 0.2 * action, 1.0),
        "propensity": np.where(action == 1, chance, 1 - chance),
        "p_new": np.where(action == 1, 0.8, 0.2),
        "p_log": np.where(action == 1, 0.7, 0.3),
    }


def gain(table) -> tuple[float, float]:
    """Difference by WIS and its standard error, from the formulas."""
    weight, reward = table["p_new"] / table["propensity"], table["reward"]
    value, mean = weight @ reward / weight.sum(), reward.mean()
    influence = weight * (reward - value) / weight.mean() - (reward - mean)
    return value - mean, influence.std(ddof=1) / np.sqrt(len(reward))


def test_the_rows_planned_tell_the_difference_as_often_as_promised():
    log = kwis.read_log(frame(2000, 0), context=[])
    found = kwis.plan(log, "p_new", difference=0.06, power=0.8, **QUICK)  # the true difference
    # Weights are 0.4 and 1.6, so that a row moves the difference by 0.6 times its noise of 1.
    assert found.rows == pytest.approx(((1.96 + 0.8416) * 0.6 / 0.06) ** 2, rel=0.1)
    told = [abs(one) > 1.96 * error for one, error in (gain(frame(int(found.rows), s)) for s in range(400))]
    assert abs(np.mean(told) - 0.8) < 3 * np.sqrt(0.8 * 0.2 / 400) + 0.03  # and the error of the plan itself


def test_a_log_by_another_policy_has_the_variance_that_is_foreseen():
    table = frame(20_000, 1)
    ratio = variance_ratio(
        table["p_new"], table["propensity"], table["p_log"], table["reward"], np.ones(20_000)
    )
    # A new log by the other policy compares the target with today's even chances, both weighted.
    values = []
    for seed in range(600):
        new = frame(500, 100 + seed, chance=0.7)
        first, second = new["p_new"] / new["propensity"], 0.5 / new["propensity"]
        reward = new["reward"]
        values.append(first @ reward / first.sum() - second @ reward / second.sum())
    today = [gain(frame(500, 1000 + seed))[0] for seed in range(600)]
    assert np.var(values) / np.var(today) == pytest.approx(ratio, rel=0.25)


def test_a_plan_scales_as_it_should_and_says_so():
    log = kwis.read_log(frame(800, 2), context=[])
    small, large = (kwis.plan(log, "p_new", difference=size, **QUICK) for size in (0.05, 0.1))
    assert small.rows == pytest.approx(4 * large.rows)
    assert kwis.plan(log, "p_new", difference=small.detectable, **QUICK).rows == pytest.approx(800)
    other = kwis.plan(log, "p_new", difference=0.05, logging="p_log", **QUICK)
    unread = kwis.plan(frame(800, 2), "p_new", difference=0.05, logging="p_log", context=[], **QUICK)
    assert unread.rows == other.rows
    table = frame(800, 2)
    table["spend"] = table.pop("reward")
    for source in (table, kwis.scan_log(table, reward="spend", context=[])):
        said = {"context": []} if source is table else {}
        assert kwis.plan(source, "p_new", difference=0.05, reward="spend", **said, **QUICK).rows == small.rows
    # Both actions move the difference alike: (1 / 0.7 + 1 / 0.3) / (1 / 0.5 + 1 / 0.5) of the variance.
    assert other.rows / small.rows == pytest.approx(25 / 21, rel=0.03)
    assert "logged by p_log" in repr(other)


def test_a_difference_that_no_log_would_tell_is_said_to_be_one():
    log = kwis.read_log(frame(100, 2), context=[])
    at_hand = kwis.plan(log, "p_new", difference=0.1, **QUICK).detectable
    far = kwis.plan(log, "p_new", difference=at_hand / 40, **QUICK)
    assert "over 1,000 times as many decisions like these: no realistic log tells that;" in repr(far)
    near = kwis.plan(log, "p_new", difference=at_hand / 30, **QUICK)
    assert "takes about 90,000 decisions like these;" in repr(near) or "about 91,000" in repr(near)


def test_an_answer_that_cannot_tell_says_what_it_takes():
    log = kwis.read_log(frame(60, 3), context=[])
    found = kwis.evaluate(log, "p_new", **QUICK)
    assert not found.recommended["p_new"].change.decided
    assert "with probability 80%; one as small as estimated takes" in " ".join(repr(found).split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"power": 1.0}, "`power` must be a number from 0.5"),
        ({"difference": float("nan")}, "`difference` must be a finite number"),
        ({"reward": "cost"}, "`reward` must be one of reward"),
    ],
)
def test_bad_plans_are_refused(options, sentence):
    log = kwis.read_log(frame(60, 3), context=[])
    with pytest.raises(kwis.InputError, match=sentence):
        kwis.plan(log, "p_new", **options, **QUICK)


def test_plan_and_sensitivity_are_commands(tmp_path, capsys):
    kwis.sample_log(300, rng=0).write(tmp_path / "log.csv")
    columns = [str(tmp_path / "log.csv"), "--reward", "click", "--context", "age", "--repair", "never"]
    assert main(["plan", *columns, "--target", "p_new", "--difference", "0.02", "--logging", "p_bold"]) == 0
    assert "decisions logged by p_bold" in capsys.readouterr().out
    assert main(["sensitivity", *columns, "--target", "p_new", "--gamma", "1,1.3", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["sensitivity"]["results"]
    log = kwis.read_log(tmp_path / "log.csv", reward="click", context="age")
    assert found["lows"] == kwis.sensitivity(log, "p_new", gamma=[1, 1.3], repair="never").of().lows.tolist()
    assert main(["sensitivity", *columns, "--target", "p_new", "--gamma", "much"]) == 2
