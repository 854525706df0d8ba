"""Weights over features of the actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kwis
from kwis.errors import InputError, UnsupportedError
from kwis.policy.discrete import weigh
from kwis.policy.marginal import feature_groups, marginal
from kwis.policy.target import resolve_targets

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
    for i in range(50):
        alike = [k for k in range(ACTIONS) if COLOUR[NAMES[k]] == COLOUR[NAMES[log.action[i]]]]
        expected = sum(target[i, k] for k in alike) / sum(log.behaviour[i, k] for k in alike)  # type: ignore[index]
        assert found.weights["new"][i] == pytest.approx(expected, rel=1e-12)
    listed = answer(log, target, action_features=[(COLOUR[name], 1) for name in NAMES])
    np.testing.assert_array_equal(listed.weights["new"], found.weights["new"])


def test_features_of_their_own_change_nothing() -> None:
    log, target, _ = drawn(50, 0)
    own = answer(log, target, action_features=np.arange(ACTIONS))
    np.testing.assert_allclose(own.weights["new"], answer(log, target).weights["new"])


def test_errors_are_smaller_where_features_say_all() -> None:
    errors = []
    for seed in range(20):
        log, target, truth = drawn(300, seed)
        plain = resolve_targets(log, {"new": kwis.distribution(target)})[0]
        both = plain, marginal(log, plain, feature_groups(log, COLOUR))
        errors.append([kwis.WIS().estimate(weigh(log, one)).value - truth for one in both])
    over_actions, over_features = np.sqrt(np.mean(np.square(errors), axis=0))
    assert over_features < 0.7 * over_actions


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


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"a00": "red"}, "must name every action of the log, got none for 'a01'"),
        (["red"], "must have one row per action, 30 of them, got 1"),
        ([[{}]] * ACTIONS, "must be labels or numbers that can be compared"),
    ],
)
def test_wrong_features_are_refused(features: Any, message: str) -> None:
    log, target, _ = drawn(50, 0)
    with pytest.raises(InputError, match=message):
        answer(log, target, action_features=features)


def test_distributions_are_needed() -> None:
    log, target, _ = drawn(50, 0)
    logged = kwis.probability(target[np.arange(50), log.action], name="new")
    with pytest.raises(UnsupportedError, match="new has none"):
        kwis.evaluate(log, logged, estimators=["wis"], repair="never", action_features=COLOUR)


def test_repaired_propensities_have_weights_over_actions() -> None:
    log, target, _ = drawn(300, 0)
    found = answer(log, target, action_features=COLOUR, repair="always")
    assert any("not over `action_features`" in note for note in found.notes)
