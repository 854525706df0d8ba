"""Marginalised estimators of Open Bandit Pipeline's interface: against loops, and as scripts call them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, Ridge

from kwis.compat.obp import ope
from kwis.errors import InputError

N, K, VALUES, COLUMNS = 600, 20, 3, 4
MIPS, SNMIPS = (
    ope.MarginalizedInverseProbabilityWeighting,
    ope.SelfNormalizedMarginalizedInverseProbabilityWeighting,
)


@pytest.fixture(scope="module")
def feedback() -> dict[str, Any]:
    """Many actions, described by four columns; the reward goes by the first."""
    rng = np.random.default_rng(4)
    context = rng.normal(size=(N, 2))
    chances = rng.dirichlet(np.full(VALUES, 0.5), size=(K, COLUMNS)).transpose(0, 2, 1)
    pi_b, pi_e = (np.exp(slope * context @ rng.normal(size=(2, K))) for slope in (1, 2))
    pi_b, pi_e = (shares / shares.sum(axis=1, keepdims=True) for shares in (pi_b, pi_e))
    action = np.array([rng.choice(K, p=row) for row in pi_b])
    embed = np.array([[rng.choice(VALUES, p=chances[a, :, d]) for d in range(COLUMNS)] for a in action])
    return {
        "n_rounds": N,
        "n_actions": K,
        "context": context,
        "action": action,
        "position": None,
        "reward": embed[:, 0] + rng.normal(size=N),
        "pscore": pi_b[np.arange(N), action],
        "pi_b": pi_b[:, :, None],
        "action_embed": embed,
        "p_e_a": chances,
        "action_dist": pi_e[:, :, None],
    }


def call(feedback: dict[str, Any], **changes: Any) -> dict[str, Any]:
    keys = ("context", "action", "reward", "action_embed", "pi_b", "p_e_a", "action_dist", "position")
    return {**{key: feedback[key] for key in keys}, **changes}


def weights(feedback: dict[str, Any], columns: tuple[int, ...]) -> list[float]:
    """The chance of the columns' values under the target over that under the logger, row by row."""
    found = []
    for i in range(N):
        sums = [0.0, 0.0]
        for a in range(K):
            chance = 1.0
            for d in columns:
                chance *= feedback["p_e_a"][a, feedback["action_embed"][i, d], d]
            for side, policy in enumerate(("action_dist", "pi_b")):
                sums[side] += feedback[policy][i, a, 0] * chance
        found.append(sums[0] / sums[1])
    return found


def estimate(feedback: dict[str, Any], columns: tuple[int, ...], *, normalised: bool) -> tuple[float, float]:
    """Value and standard error of the twin."""
    w, r = np.array(weights(feedback, columns)), feedback["reward"]
    if not normalised:
        return float(np.mean(w * r)), float(np.std(w * r, ddof=1) / np.sqrt(N))
    value = float((w * r).sum() / w.sum())
    return value, float(np.std(w * (r - value) / w.mean(), ddof=1) / np.sqrt(N))


@pytest.mark.parametrize("normalised", [False, True])
def test_weights_are_those_of_the_whole_description(feedback: dict[str, Any], normalised: bool) -> None:
    estimator = (SNMIPS if normalised else MIPS)(n_actions=K)
    expected, _ = estimate(feedback, (0, 1, 2, 3), normalised=normalised)
    assert estimator.estimate_policy_value(**call(feedback)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("method", ["exact", "greedy"])
@pytest.mark.parametrize("least", [1, 3])
def test_columns_are_left_out_while_estimates_agree(
    feedback: dict[str, Any], normalised: bool, method: str, least: int
) -> None:
    def interval(columns: tuple[int, ...]) -> tuple[float, float]:
        value, error = estimate(feedback, columns, normalised=normalised)
        return value, float(stats.t.ppf(0.95, N - 1)) * error

    last = tuple(range(COLUMNS))
    kept, going = [interval(last)], True
    for size in range(COLUMNS - 1, least - 1, -1):
        tried = [
            (interval(one), one) for one in combinations(range(COLUMNS) if method == "exact" else last, size)
        ]
        for found, columns in sorted(tried, key=lambda one: -one[0][1]):
            close = (abs(found[0] - old[0]) <= found[1] + (6**0.5 - 1) * old[1] for old in kept)
            going = going and all(close)
            if going:
                last = columns
                kept.append(found)
    kind = SNMIPS if normalised else MIPS
    estimator = kind(n_actions=K, embedding_selection_method=method, min_emb_dim=least, delta=0.1)
    expected, _ = estimate(feedback, last, normalised=normalised)
    assert estimator.estimate_policy_value(**call(feedback)) == pytest.approx(expected, rel=1e-10)


def test_a_column_that_matters_stays() -> None:
    """Two columns, of which only the first says what an action brings; weights over the second are all 1."""
    rng = np.random.default_rng(0)
    pi_b, pi_e = np.full((2000, 4), 0.25), np.tile([0.4, 0.4, 0.1, 0.1], (2000, 1))
    action = rng.integers(0, 4, 2000)
    given = {
        "action": action,
        "reward": (action < 2) + 0.1 * rng.normal(size=2000),
        "action_embed": np.column_stack([action // 2, action % 2]),
        "pi_b": pi_b[:, :, None],
        "action_dist": pi_e[:, :, None],
        "p_e_a": np.stack([np.eye(2)[np.arange(4) // 2], np.eye(2)[np.arange(4) % 2]], axis=2),
    }
    for method in ("exact", "greedy"):
        for least in (1, 2):
            estimator = MIPS(n_actions=4, embedding_selection_method=method, min_emb_dim=least)
            assert estimator.estimate_policy_value(**given) == pytest.approx(0.8, abs=0.05)


def test_a_script_with_many_actions_runs(feedback: dict[str, Any]) -> None:
    reward_model = ope.RegressionModel(n_actions=K, action_context=np.eye(K), base_model=Ridge())
    keys = ("context", "action", "reward")
    predicted = reward_model.fit_predict(**{key: feedback[key] for key in keys}, n_folds=2, random_state=1)
    forest = RandomForestClassifier(n_estimators=5, min_samples_leaf=10, random_state=1)
    estimators = [
        ope.DirectMethod(estimator_name="DM"),
        ope.InverseProbabilityWeighting(estimator_name="IPS"),
        ope.DoublyRobust(estimator_name="DR"),
        MIPS(n_actions=K, estimator_name="MIPS"),
        MIPS(n_actions=K, estimator_name="MIPS (true)"),
        MIPS(n_actions=K, embedding_selection_method="greedy", min_emb_dim=2, estimator_name="MIPS (slope)"),
        SNMIPS(n_actions=K, pi_a_x_e_estimator=forest, estimator_name="snMIPS"),
    ]
    evaluation = ope.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=estimators)
    shared = {
        "action_dist": feedback["action_dist"],
        "estimated_rewards_by_reg_model": predicted,
        "action_embed": feedback["action_embed"],
        "pi_b": feedback["pi_b"],
        "p_e_a": {"MIPS (true)": feedback["p_e_a"]},
    }
    values = evaluation.estimate_policy_values(**shared)
    assert list(values) == [one.estimator_name for one in estimators]
    expected, _ = estimate(feedback, (0, 1, 2, 3), normalised=False)
    assert values["MIPS (true)"] == pytest.approx(expected, rel=1e-10)
    assert values["MIPS"] != pytest.approx(expected, rel=1e-6)
    alone = evaluation.estimate_policy_values(
        action_dist=feedback["action_dist"], estimated_rewards_by_reg_model=predicted
    )
    assert alone["MIPS"] == values["MIPS"]  # description and `pi_b` may be in the feedback
    _, intervals = evaluation.summarize_off_policy_estimates(**shared, n_bootstrap_samples=30, random_state=0)
    assert (intervals["95.0% CI (lower)"] <= intervals["95.0% CI (upper)"]).all()
    errors = evaluation.evaluate_performance_of_estimators(
        **shared, ground_truth_policy_value=1.0, metric="se"
    )
    assert set(errors) == set(values)


@pytest.mark.parametrize("kind", [MIPS, SNMIPS])
@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"n_actions": 2.0}, TypeError),
        ({"n_actions": 0}, ValueError),
        ({"delta": "0.05"}, TypeError),
        ({"delta": -0.05}, ValueError),
        ({"delta": 1.05}, ValueError),
        ({"pi_a_x_e_estimator": LinearRegression()}, ValueError),
        ({"embedding_selection_method": "all"}, ValueError),
        ({"min_emb_dim": 1.0}, TypeError),
        ({"min_emb_dim": 0}, ValueError),
    ],
)
def test_wrong_settings_have_the_exceptions_of_obp(kind: Any, settings: dict[str, Any], error: Any) -> None:
    with pytest.raises(error, match=f"`{next(iter(settings))}` must be"):
        kind(**{"n_actions": K, **settings})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action_embed": np.zeros(N, dtype=int)}, "`action_embed` must have shape"),
        ({"action_embed": np.full((N, COLUMNS), 0.5)}, "`action_embed` must be whole numbers below 3"),
        ({"action_embed": np.full((N, COLUMNS), 3)}, "`action_embed` must be whole numbers below 3"),
        ({"p_e_a": np.ones((5, 3))}, r"`p_e_a` must have shape \(20, C, 4\)"),
        ({"pi_b": np.ones((N, K, 1))}, "`pi_b` must be a distribution"),
        ({"pi_b": np.ones((N, 5, 1)) / 5}, "`pi_b` must have the shape of `action_dist`"),
        ({"p_e_a": None, "context": np.zeros(N)}, "`context` must have shape"),
        ({"action_embed": None}, "`action_embed` must be given"),
    ],
)
def test_wrong_data_are_refused_in_a_sentence(
    feedback: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        MIPS(n_actions=K).estimate_policy_value(**call(feedback, **changes))
