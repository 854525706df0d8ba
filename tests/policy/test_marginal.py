"""Weights over features of the actions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import kwis
from kwis.errors import UnsupportedError
from kwis.models.propensity.support import support
from kwis.policy.action_features import feature_groups
from kwis.policy.discrete import weigh
from kwis.policy.marginal import marginal
from kwis.policy.target import resolve_targets
from tests.reference import action_features as twin

ACTIONS = 30
NAMES = [f"a{i:02d}" for i in range(ACTIONS)]
COLOUR = {name: ("red", "blue", "green")[i % 3] for i, name in enumerate(NAMES)}


def drawn(n: int, seed: int, within: float = 0.0) -> tuple[kwis.LoggedBandit, np.ndarray, float]:
    """A log of many actions whose reward goes by the colour, and by ``within`` among those of one colour; a
    target, and its value.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    scores = np.random.default_rng(7).normal(size=(2, ACTIONS))
    logging = np.exp(x[:, None] * scores[0])
    target = np.exp(2 * scores[1]) * np.ones((n, 1))
    logging, target = (one / one.sum(axis=1, keepdims=True) for one in (logging, target))
    action = (rng.random((n, 1)) > logging.cumsum(axis=1)[:, :-1]).sum(axis=1)
    kind = np.arange(ACTIONS) % 3
    gain = kind + within * (np.arange(ACTIONS) > ACTIONS / 2)
    table: dict[str, Any] = {
        "x": x,
        "action": np.array(NAMES)[action],
        "reward": gain[action] + rng.normal(size=n),
        **{f"p_{name}": logging[:, i] for i, name in enumerate(NAMES)},
    }
    log = kwis.read_log(
        table, action="action", reward="reward", context=["x"], propensity="p_", actions=NAMES
    )
    return log, target, float(target[0] @ gain)


def answer(log: kwis.LoggedBandit, target: np.ndarray, **options: Any) -> kwis.Evaluation:
    options = {"estimators": ["wis"], "repair": "never", **options}
    return kwis.evaluate(log, {"new": kwis.distribution(target)}, **options)


def value_of(found: kwis.Evaluation, name: str) -> Any:
    return next(row.estimate for row in found.rows if row.target == "new" and row.estimator == name)


def test_weights_are_those_of_the_twin() -> None:
    log, target, _ = drawn(50, 0)
    found = answer(log, target, action_features=COLOUR)
    colours = [COLOUR[name] for name in NAMES]
    expected = twin.weights(target, log.behaviour, log.action, colours)
    np.testing.assert_allclose(found.weights["new"], expected, rtol=1e-12)
    about = found.diagnostics["new"].weights
    assert about.expected_effective_n == pytest.approx(twin.effective_n(target, log.behaviour, colours))
    listed = answer(log, target, action_features=[(COLOUR[name], 1) for name in NAMES])
    np.testing.assert_array_equal(listed.weights["new"], found.weights["new"])


def test_features_of_their_own_change_nothing() -> None:
    log, target, _ = drawn(50, 0)
    own = answer(log, target, action_features=np.arange(ACTIONS))
    np.testing.assert_array_equal(own.weights["new"], answer(log, target).weights["new"])
    assert any("no two of them share their `action_features`" in note for note in own.notes)


def test_errors_are_smaller_where_features_say_all() -> None:
    errors = []
    for seed in range(20):
        log, target, truth = drawn(300, seed)
        plain = resolve_targets(log, {"new": kwis.distribution(target)})[0]
        both = plain, marginal(log, plain, feature_groups(log, COLOUR))
        errors.append([kwis.WIS().estimate(weigh(log, one)).value - truth for one in both])
    over_actions, over_features = np.sqrt(np.mean(np.square(errors), axis=0))
    assert over_features < 0.7 * over_actions


def test_the_doubly_robust_form_is_offcem() -> None:
    log, target, _ = drawn(300, 1, within=1.0)
    plain = resolve_targets(log, {"new": kwis.distribution(target)})[0]
    policy = marginal(log, plain, feature_groups(log, COLOUR))
    predicted = kwis.predict_rewards(log, rng=0)
    found = kwis.DoublyRobust().estimate(predicted.attach(weigh(log, policy), policy))
    expected = twin.offcem(
        target,
        log.behaviour,
        log.action,
        [COLOUR[name] for name in NAMES],
        log.reward[:, 0],
        predicted.expected,
    )
    assert found.value == pytest.approx(expected, rel=1e-12)


def test_features_reach_actions_that_nobody_logged() -> None:
    """Red, blue and green were logged; an action that was not has the reward of its colour."""
    log, _, _ = drawn(200, 0)
    assert log.behaviour is not None
    never = log.behaviour.copy()
    never[:, 3:6] = 0
    rows = np.flatnonzero((log.action < 3) | (log.action > 5))
    log = replace(log, behaviour=never / never.sum(axis=1, keepdims=True)).take(rows)
    sure = np.tile(np.eye(ACTIONS)[3], (log.n, 1))
    plain = resolve_targets(log, {"new": kwis.distribution(sure)})[0]
    policy = marginal(log, plain, feature_groups(log, COLOUR))
    assert support(log, plain).beyond == 1.0
    assert support(log, policy).beyond == 0.0
    assert not weigh(log, plain).weight.any()
    assert (weigh(log, policy).weight > 0).sum() == (log.action % 3 == 0).sum()


def test_a_uniform_logger_needs_no_columns() -> None:
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=300), "action": np.array(NAMES)[rng.integers(0, ACTIONS, 300)]}
    table["reward"] = rng.normal(size=300)
    log = kwis.read_log(table, propensity=1 / ACTIONS, context=["x"], actions=NAMES)
    found = answer(log, np.tile(np.eye(ACTIONS)[0], (300, 1)), action_features=COLOUR)
    assert set(np.round(found.weights["new"], 12)) == {0.0, 3.0}


def test_a_reward_model_mends_what_features_leave_out() -> None:
    names, errors = ["wis", "doubly-robust-wis"], []
    for seed in range(2):
        log, target, truth = drawn(1000, seed, within=3.0)
        found = answer(log, target, action_features=COLOUR, estimators=names)
        errors.append([value_of(found, name).value - truth for name in names])
    alone, mended = np.abs(np.mean(errors, axis=0))
    assert mended < alone / 2


def test_the_answer_says_what_was_done_and_takes_care() -> None:
    log, target, _ = drawn(400, 0)
    found = answer(log, target, action_features=COLOUR)
    assert any("3 values of `action_features`" in note for note in found.notes)
    assert found.recommended["new"].row.verdict.level != "trust"
    assert not found.sensitivity


def test_distributions_are_needed() -> None:
    log, target, _ = drawn(50, 0)
    logged = kwis.probability(target[np.arange(50), log.action], name="new")
    with pytest.raises(UnsupportedError, match="new has none"):
        kwis.evaluate(log, logged, estimators=["wis"], repair="never", action_features=COLOUR)


def test_repaired_propensities_have_weights_over_actions() -> None:
    log, target, _ = drawn(300, 0)
    found = answer(log, target, action_features=COLOUR, repair="always")
    assert any("not over `action_features`" in note for note in found.notes)
