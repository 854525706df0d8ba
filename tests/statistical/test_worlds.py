"""The simulators of the study "How well does it hold?": what they call true is true, and what they call right
is right.
"""

import json

import numpy as np
import pytest

import kwis
from tests.statistical.holds import claims, run, spec
from tests.statistical.holds.aims import shortfalls
from tests.statistical.holds.contexts import KINDS
from tests.statistical.holds.designs import COUNT, SHARES, design, designs, family_of
from tests.statistical.holds.logs import draw
from tests.statistical.holds.misreports import MISREPORTS, reported
from tests.statistical.holds.names import stream
from tests.statistical.holds.policies import EpsilonGreedy, effective_share
from tests.statistical.holds.regimes import all_regimes
from tests.statistical.holds.rewards import reward_of
from tests.statistical.holds.scores import FORMS
from tests.statistical.holds.summary import lines_of, table
from tests.statistical.holds.world import Truth, World

VARIANTS = ("tuning", "test")
SMALL = spec.Regime(
    name="small", n=400, actions=3, contexts="grid", targets=(spec.TiltedTarget(0.5), spec.GreedyTarget())
)


def right_regimes():
    """One regime of each way of logging whose propensities are right."""
    names = (
        "softmax/K5 n500 binary moderate",
        "uniform/K7 n500",
        "epsilon/0.1 n1000 softmax",
        "small/0.03 n500 all",
        "small/rules n1000",
    )
    return [
        all_regimes()[name]
        for name in (
            *names,
            "tail/two digits n1000",
            "users/200 of 5",
            "copies/some twice",
            "thinned/softmax",
        )
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_truth_is_the_mean_reward_of_rows_that_the_policy_decides(variant):
    world = World(SMALL, variant)
    rng = np.random.default_rng(1)
    contexts = world.contexts(rng, 200_000)
    for name, policy in {"logging": world.logger, **world.targets}.items():
        chances = policy(contexts.features)
        action = (rng.random((contexts.n, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
        reward = world.reward.draw(world.quality(contexts.features)[np.arange(contexts.n), action], rng)
        truth = world.truth.logging if name == "logging" else world.truth.targets[name]
        assert abs(reward.mean() - truth) < 5 * reward.std() / np.sqrt(contexts.n)


@pytest.mark.parametrize("kind", ["binary", "gaussian", "conversions", "clicks", "revenue"])
def test_rewards_have_the_mean_they_say(kind):
    reward = World(spec.Regime(name="any", reward=kind), "test").reward
    for quality in (-1.0, 0.5):
        values = reward.draw(np.full(300_000, quality), np.random.default_rng(2))
        assert abs(values.mean() - reward.mean(quality)) < 5 * values.std() / np.sqrt(values.size)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("regime", right_regimes(), ids=lambda regime: regime.name)
def test_right_propensities_are_the_probabilities_of_the_actions(regime, variant):
    """The weights of a target average 1 over many logs, within what chance allows."""
    world = World(regime, variant)
    means = []
    for seed in range(60):
        log = draw(world, seed)
        assert np.allclose(log.true.sum(axis=1), 1)
        assert (log.true[np.arange(len(log.true)), _codes(log)] > 0).all()
        weight = log.targets["t0"][np.arange(len(log.true)), _codes(log)] / _reported(log)
        means.append(np.average(weight, weights=log.table.get("row_weight")))
    assert abs(np.mean(means) - 1) < 4 * np.std(means) / np.sqrt(len(means))


def _codes(log):
    return np.searchsorted(log.roles["actions"], log.table["action"])


def _reported(log):
    if log.roles["propensity"] == "propensity":
        return log.table["propensity"]
    return np.column_stack([log.table[name] for name in log.roles["propensity"]])[
        np.arange(len(log.true)), _codes(log)
    ]


@pytest.mark.parametrize("kind", MISREPORTS)
def test_misreports_are_distributions_that_are_not_the_true_one(kind):
    for variant in VARIANTS:
        world = World(
            spec.Regime(
                name="any", actions=3, contexts="mixed", misreport=kind, logger=spec.SoftmaxLogger(1.0)
            ),
            variant,
        )
        features = world.reference[:500]
        wrong = reported(world, features)
        assert np.allclose(wrong.sum(axis=1), 1)
        assert (wrong > 0).all()
        assert np.abs(wrong - world.logger(features)).max() > 0.02


def test_the_same_names_give_the_same_log_and_other_seeds_another():
    world = World(SMALL, "tuning")
    first, again, other = draw(world, 0), draw(World(SMALL, "tuning"), 0), draw(world, 1)
    assert all(np.array_equal(first.table[name], again.table[name]) for name in first.table)
    assert not np.array_equal(first.table["action"], other.table["action"])
    assert stream("a", 1).random() == stream("a", 1).random() != stream("a", 2).random()


def test_the_two_sets_of_designs_share_neither_contexts_nor_functions():
    assert not set(KINDS["tuning"].values()) & set(KINDS["test"].values())
    assert not set(FORMS["tuning"].values()) & set(FORMS["test"].values())


def test_a_tilted_target_leaves_the_effective_share_asked_for():
    world = World(spec.Regime(name="any", targets=(spec.TiltedTarget(0.4),)), "test")
    assert abs(effective_share(world.targets["t0"], world.logger, world.reference) - 0.4) < 0.001


def test_without_an_effect_all_policies_are_equal():
    world = World(
        spec.Regime(name="any", effect=0.0, targets=(spec.SoftmaxTarget(1.0), spec.GreedyTarget())), "tuning"
    )
    assert max(abs(world.truth.difference(name)) for name in world.targets) < 1e-9


def test_an_epsilon_greedy_policy_gives_every_action_its_share():
    policy = EpsilonGreedy(lambda features: features, 0.3)
    assert np.allclose(policy(np.array([[1.0, 2.0, 0.0]])), [[0.1, 0.8, 0.1]])


def test_thinned_rows_stand_for_those_left_out():
    log = draw(World(all_regimes()["thinned/softmax"], "tuning"), 0)
    reward, weight = log.table["reward"], log.table["row_weight"]
    assert set(weight[reward == 0]) == {10.0}
    assert set(weight[reward == 1]) == {1.0}
    assert abs(weight.sum() / 7000 - 1) < 0.1


def test_a_user_has_one_action_and_one_context():
    log = draw(World(all_regimes()["users/40 of 25 with moods undeclared"], "test"), 3)
    assert "group" not in log.roles
    for user in np.unique(log.table["user"]):
        rows = log.table["user"] == user
        assert rows.sum() == 25
        assert (
            len(
                {
                    (action, context)
                    for action, context in zip(log.table["action"][rows], log.table["z0"][rows], strict=True)
                }
            )
            == 1
        )


def test_printed_claims_are_read_and_judged():
    text = """Evaluation of 3 policies
      t0: 0.51 (95% 0.4 to 0.6), better than the logging
      policy (+0.1, 95% +0.0 to +0.2)
      t1: 0.51 (95% 0.4 to 0.6), not told apart from the logging policy (+0.1, 95% -0.1 to +0.2)
      t2: 0.31 (95% 0.2 to 0.4), worse than the logging policy (-0.1, 95% -0.2 to -0.0)
      t0 is best (all comparisons together at 95%)
      t2 is worse than t0, t1 and logging policy
    Can it be trusted?
      t1: better than the logging policy"""
    assert claims.claims_in(text, ["t0", "t1", "t2"]) == [
        ("t0", "logging policy"),
        ("logging policy", "t2"),
        ("t0", None),
        ("t0", "t2"),
        ("t1", "t2"),
    ]
    assert claims.false_claims(text, Truth(0.4, {"t0": 0.5, "t1": 0.5, "t2": 0.3}, {})) == ["t0 > all"]
    assert claims.false_claims(text, Truth(0.4, {"t0": 0.6, "t1": 0.5, "t2": 0.4}, {})) == [
        "logging policy > t2"
    ]


def test_the_claims_of_an_evaluation_are_found_in_its_print():
    world = World(
        spec.Regime(
            name="clear",
            n=1500,
            actions=2,
            effect=3.0,
            targets=(spec.GreedyTarget(),),
            logger=spec.UniformLogger(),
        ),
        "tuning",
    )
    log = draw(world, 0)
    evaluation = kwis.evaluate(kwis.read_log(log.table, **log.roles), dict(log.targets))
    change = evaluation.recommendations[0].change.interval
    better, worse = ("t0", "logging policy"), ("logging policy", "t0")
    assert claims.claims_in(str(evaluation), ["t0"]) == (
        [better] if change.low > 0 else [worse] if change.high < 0 else []
    )


def test_a_run_is_resumed_and_summarised(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "all_regimes", lambda: {"small": SMALL})
    out = tmp_path / "records.jsonl"
    assert run.run("tuning", logs=1, out=out) == 0
    out.write_bytes(out.read_bytes() + b'{"regime": "cut')
    assert run.run("tuning", logs=2, out=out) == 0
    records = run.read(out)
    assert [(one["seed"], one["target"]) for one in records] == [(0, "t0"), (0, "t1"), (1, "t0"), (1, "t1")]
    (line,) = lines_of(records)
    assert line.logs == 2
    assert line["value"] == np.mean([one["low"] <= one["truth"] <= one["high"] for one in records])
    assert "no log failed" in table([line])
    assert {"wis.if2", "wis.difference.if4", "logging.draws", "pareto_k"} <= set(records[0])


def test_a_failed_log_is_recorded_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "all_regimes", lambda: {"uniform/K2 n500": all_regimes()["uniform/K2 n500"]})
    monkeypatch.setattr(run, "records_of", lambda *arguments: 1 / 0)
    out = tmp_path / "records.jsonl"
    assert run.run("tuning", logs=1, out=out) == 1
    assert "ZeroDivisionError" in json.loads(out.read_text())["error"]
    (line,) = lines_of(run.read(out))
    assert line.failed == 1
    assert "1 LOGS FAILED" in table([line])
    assert shortfalls(line) == ["no log was evaluated"]


def test_designs_are_split_by_their_names_and_do_not_depend_on_each_other():
    made = {variant: {regime.name for regime in designs(variant)} for variant in VARIANTS}
    assert not made["tuning"] & made["test"]
    assert sum(len(names) for names in made.values()) == COUNT
    assert min(len(names) for names in made.values()) > COUNT / 3
    assert design(17) == design(17)
    families = {family_of(regime) for regime in designs("test")}
    assert families == {f"{weights}, {side}" for weights in SHARES for side in ("right", "wrong")}


def test_a_logger_that_samples_from_a_posterior_has_probabilities():
    regime = spec.Regime(name="thompson", n=200, actions=4, logger=spec.ThompsonLogger())
    shares = World(regime, "tuning").logger(World(regime, "tuning").reference[:500])
    assert np.allclose(shares.sum(axis=1), 1)
    assert shares.min() >= 0.02 / 4 - 1e-12


def test_costs_have_the_mean_that_is_said_of_them():
    quality = np.full(200_000, 0.4)
    costs = reward_of("costs", "test")
    drawn = costs.draw(quality, np.random.default_rng(1))
    assert drawn.max() < 0
    assert abs(drawn.mean() - costs.mean(0.4)) < 4 * drawn.std() / np.sqrt(drawn.size)
