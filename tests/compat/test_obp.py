"""Open Bandit Pipeline's estimators, its own formulas computed here row by row, and the shape of its example
scripts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kwis.compat import obp
from kwis.errors import InputError, KwisError, UnsupportedError

N, K = 300, 4


@pytest.fixture(scope="module")
def case() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    pi_b, pi_e = rng.dirichlet(np.ones(K) * 2, N), rng.dirichlet(np.ones(K), N)
    action = np.array([rng.choice(K, p=row) for row in pi_b])
    return {
        "context": rng.normal(size=(N, 3)),
        "action": action,
        "reward": (rng.random(N) < 0.3 + 0.1 * action).astype(float),
        "pscore": pi_b[np.arange(N), action],
        "action_dist": pi_e[:, :, None],
        "predictions": rng.random((N, K, 1)),
    }


def arguments(case: dict[str, Any]) -> dict[str, Any]:
    logged = {key: case[key] for key in ("action", "reward", "pscore", "action_dist", "context")}
    return {**logged, "estimated_rewards_by_reg_model": case["predictions"]}


def by_hand(
    case: dict[str, Any],
    weigh: Any,
    *,
    normalise: bool = False,
    rewards: bool = True,
    predictions: bool = False,
) -> float:
    """One loop for all: mean of v + w (r - q), where v and q are 0 without predictions and w is divided by
    its mean.
    """
    ratios = [case["action_dist"][i, a, 0] / case["pscore"][i] for i, a in enumerate(case["action"])]
    weights = [weigh(ratio) for ratio in ratios]
    load = math.fsum(weights) / N if normalise else 1.0
    total = 0.0
    for i, a in enumerate(case["action"]):
        guess = [case["predictions"][i, k, 0] if predictions else 0.0 for k in range(K)]
        total += math.fsum(case["action_dist"][i, k, 0] * guess[k] for k in range(K))
        if rewards:
            total += weights[i] / load * (case["reward"][i] - guess[a])
    return total / N


FORMULAS = [
    (obp.InverseProbabilityWeighting(), {"weigh": lambda w: w}),
    (obp.InverseProbabilityWeighting(lambda_=1.5), {"weigh": lambda w: min(w, 1.5)}),
    (obp.SelfNormalizedInverseProbabilityWeighting(), {"weigh": lambda w: w, "normalise": True}),
    (
        obp.SelfNormalizedInverseProbabilityWeighting(lambda_=2),
        {"weigh": lambda w: min(w, 2), "normalise": True},
    ),
    (obp.DirectMethod(), {"weigh": lambda w: w, "rewards": False, "predictions": True}),
    (obp.DoublyRobust(), {"weigh": lambda w: w, "predictions": True}),
    (obp.DoublyRobust(lambda_=1.5), {"weigh": lambda w: min(w, 1.5), "predictions": True}),
    (obp.SelfNormalizedDoublyRobust(), {"weigh": lambda w: w, "normalise": True, "predictions": True}),
    (obp.SwitchDoublyRobust(lambda_=1.5), {"weigh": lambda w: w if w <= 1.5 else 0.0, "predictions": True}),
    (
        obp.DoublyRobustWithShrinkage(lambda_=2.0),
        {"weigh": lambda w: 2 * w / (w * w + 2), "predictions": True},
    ),
    (obp.DoublyRobustWithShrinkage(), {"weigh": lambda w: 0.0, "predictions": True}),
    (obp.DoublyRobustWithShrinkage(lambda_=np.inf), {"weigh": lambda w: w, "predictions": True}),
]


@pytest.mark.parametrize(
    ("estimator", "formula"), FORMULAS, ids=lambda value: getattr(value, "estimator_name", None)
)
def test_the_value_is_that_of_the_formula(
    estimator: Any, formula: dict[str, Any], case: dict[str, Any]
) -> None:
    assert estimator.estimate_policy_value(**arguments(case)) == pytest.approx(
        by_hand(case, **formula), abs=1e-12, rel=1e-12
    )


BY_POSITION = [
    (obp.InverseProbabilityWeighting(), "reward action action_dist pscore"),
    (obp.DoublyRobust(), "reward action action_dist estimated_rewards_by_reg_model pscore"),
    (
        obp.DoublyRobustTuning(lambdas=[1.0, 5.0]),
        "reward action action_dist estimated_rewards_by_reg_model pscore",
    ),
    (obp.DirectMethod(), "action_dist estimated_rewards_by_reg_model"),
    (obp.ReplayMethod(), "reward action action_dist"),
    (obp.MultiLoggersBalancedInverseProbabilityWeighting(), "reward action action_dist pscore_avg"),
]


@pytest.mark.parametrize(
    ("estimator", "order"), BY_POSITION, ids=lambda value: getattr(value, "estimator_name", "")
)
def test_arguments_by_position_are_in_the_order_of_theirs(
    estimator: Any, order: str, case: dict[str, Any]
) -> None:
    """The order of version 0.5.7."""
    named = {**arguments(case), "pscore_avg": case["pscore"]}
    placed = [named[name] for name in order.split()]
    assert estimator.estimate_policy_value(*placed) == estimator.estimate_policy_value(**named)
    draws = {"n_bootstrap_samples": 5, "random_state": 0}
    assert estimator.estimate_interval(*placed, **draws) == estimator.estimate_interval(**named, **draws)


def test_arguments_by_position_that_do_not_fit_are_refused(case: dict[str, Any]) -> None:
    estimator = obp.ReplayMethod()
    with pytest.raises(TypeError, match=r"^`reward` must be given once, got it by position and by name$"):
        estimator.estimate_policy_value(case["reward"], reward=case["reward"])
    with pytest.raises(
        TypeError,
        match=r"^rm takes 4 arguments by position \(reward, action, action_dist, position\), got 5$",
    ):
        estimator.estimate_policy_value(*[None] * 5)


def test_their_submodules_can_be_imported() -> None:
    from kwis.compat.obp.ope.estimators import BaseOffPolicyEstimator, InverseProbabilityWeighting
    from kwis.compat.obp.ope.meta import OffPolicyEvaluation

    assert InverseProbabilityWeighting is obp.InverseProbabilityWeighting
    assert BaseOffPolicyEstimator is obp.BaseOffPolicyEstimator
    assert OffPolicyEvaluation is obp.OffPolicyEvaluation


def test_replay_averages_the_rows_that_agree(case: dict[str, Any]) -> None:
    choice = np.random.default_rng(0).integers(K, size=N)
    chosen = np.eye(K)[choice]
    agreeing = [r for r, a, c in zip(case["reward"], case["action"], choice, strict=True) if a == c]
    found = obp.ReplayMethod().estimate_policy_value(
        reward=case["reward"], action=case["action"], action_dist=chosen
    )
    assert found == pytest.approx(sum(agreeing) / len(agreeing), rel=1e-13)


def test_replay_refuses_what_it_cannot_answer(case: dict[str, Any]) -> None:
    shared = {"reward": case["reward"], "action": case["action"]}
    with pytest.raises(
        UnsupportedError,
        match=r"^`action_dist` must have a chance to choose the logged action in some row for rm, got none$",
    ):
        obp.ReplayMethod().estimate_policy_value(**shared, action_dist=np.eye(K)[(case["action"] + 1) % K])


@pytest.mark.parametrize(
    "estimator",
    [obp.SelfNormalizedInverseProbabilityWeighting(), obp.KernelWIS(), obp.KernelWIS(bandwidth=1.0)],
)
def test_rewards_of_one_give_an_interval_of_one(estimator: Any, case: dict[str, Any]) -> None:
    """The normaliser is drawn anew with the rows: a frozen one gives about [0.75, 1.34] here."""
    found = estimator.estimate_interval(
        **{**arguments(case), "reward": np.ones(N)}, n_bootstrap_samples=200, random_state=0
    )
    assert list(found) == ["mean", "95.0% CI (lower)", "95.0% CI (upper)"]
    assert list(found.values()) == pytest.approx([1, 1, 1], abs=1e-12)


def test_an_interval_redoes_the_ratio_on_every_resample(case: dict[str, Any]) -> None:
    found = obp.SelfNormalizedInverseProbabilityWeighting().estimate_interval(
        **arguments(case), n_bootstrap_samples=4000, random_state=1
    )
    rng = np.random.default_rng(2)
    weight = case["action_dist"][np.arange(N), case["action"], 0] / case["pscore"]
    draws = rng.integers(N, size=(4000, N))
    ratios = (weight * case["reward"])[draws].sum(axis=1) / weight[draws].sum(axis=1)
    width = np.subtract(*np.quantile(ratios, [0.975, 0.025]))
    for key, expected in [("mean", ratios.mean()), ("95.0% CI (lower)", np.quantile(ratios, 0.025))]:
        assert found[key] == pytest.approx(expected, abs=0.05 * width)
    assert found["95.0% CI (upper)"] == pytest.approx(np.quantile(ratios, 0.975), abs=0.05 * width)


def test_the_same_seed_gives_the_same_interval(case: dict[str, Any]) -> None:
    first, again, other = (
        obp.DoublyRobust().estimate_interval(**arguments(case), n_bootstrap_samples=50, random_state=seed)
        for seed in (5, 5, 6)
    )
    assert first == again != other


def test_keys_name_the_level(case: dict[str, Any]) -> None:
    found = obp.DirectMethod().estimate_interval(
        **arguments(case), alpha=0.1, n_bootstrap_samples=20, random_state=0
    )
    assert list(found) == ["mean", "90.0% CI (lower)", "90.0% CI (upper)"]


def test_a_script_of_theirs_runs(case: dict[str, Any]) -> None:
    """The quickstart of their documentation, with another import."""
    from kwis.compat.obp.ope import DirectMethod as DM  # noqa: N817
    from kwis.compat.obp.ope import DoublyRobust as DR  # noqa: N817
    from kwis.compat.obp.ope import InverseProbabilityWeighting as IPW  # noqa: N817
    from kwis.compat.obp.ope import OffPolicyEvaluation, RegressionModel

    pytest.importorskip("pandas")
    from sklearn.linear_model import LogisticRegression

    bandit_feedback = {
        "n_rounds": N,
        "n_actions": K,
        "position": None,
        **{key: case[key] for key in ("context", "action", "reward", "pscore")},
    }
    regression_model = RegressionModel(
        n_actions=K, base_model=LogisticRegression(C=100, max_iter=1000, random_state=12345)
    )
    estimated = regression_model.fit_predict(
        context=bandit_feedback["context"],
        action=bandit_feedback["action"],
        reward=bandit_feedback["reward"],
        n_folds=3,
        random_state=12345,
    )
    assert estimated.shape == (N, K, 1)
    ope = OffPolicyEvaluation(
        bandit_feedback=bandit_feedback, ope_estimators=[IPW(), DM(), DR(), obp.KernelWIS()]
    )
    values = ope.estimate_policy_values(
        action_dist=case["action_dist"], estimated_rewards_by_reg_model=estimated
    )
    assert list(values) == ["ipw", "dm", "dr", "kernel-wis"]
    table, intervals = ope.summarize_off_policy_estimates(
        action_dist=case["action_dist"],
        estimated_rewards_by_reg_model=estimated,
        n_bootstrap_samples=200,
        random_state=12345,
    )
    assert list(table.columns) == ["estimated_policy_value", "relative_estimated_policy_value"]
    assert list(table.index) == list(intervals.index) == list(values)
    assert list(intervals.columns) == ["mean", "95.0% CI (lower)", "95.0% CI (upper)"]
    np.testing.assert_array_equal(table["estimated_policy_value"], list(values.values()))
    np.testing.assert_allclose(
        table["relative_estimated_policy_value"] * case["reward"].mean(), list(values.values())
    )
    assert (intervals["95.0% CI (lower)"] <= table["estimated_policy_value"]).all()
    assert (table["estimated_policy_value"] <= intervals["95.0% CI (upper)"]).all()
    errors = ope.evaluate_performance_of_estimators(
        0.5,
        action_dist=case["action_dist"],
        estimated_rewards_by_reg_model=estimated,
        metric="relative-ee",
    )
    assert errors == pytest.approx({name: abs(value - 0.5) / 0.5 for name, value in values.items()})
    compared = ope.summarize_estimators_comparison(0.5, case["action_dist"], estimated)
    np.testing.assert_allclose(compared["se"], [(value - 0.5) ** 2 for value in values.values()])


def test_each_estimator_may_have_a_reward_model_of_its_own(case: dict[str, Any]) -> None:
    feedback = {key: case[key] for key in ("action", "reward", "pscore")}
    one, other = obp.DirectMethod(estimator_name="one"), obp.DirectMethod(estimator_name="other")
    ope = obp.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=[one, other])
    values = ope.estimate_policy_values(
        case["action_dist"], {"one": np.ones((N, K, 1)), "other": np.full((N, K, 1), 2.0)}
    )
    assert values == pytest.approx({"one": 1.0, "other": 2.0})
    with pytest.raises(
        InputError, match=r"^`estimated_rewards_by_reg_model` must have an entry for 'other', got 'one'$"
    ):
        ope.estimate_policy_values(case["action_dist"], {"one": np.ones((N, K, 1))})
    weighted = obp.OffPolicyEvaluation(feedback, [obp.InverseProbabilityWeighting(), one])
    assert set(weighted.estimate_policy_values(case["action_dist"], {"one": np.ones((N, K, 1))})) == {
        "ipw",
        "one",
    }


def test_positions_pick_their_slice(case: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    position = rng.integers(2, size=N)
    wide = rng.dirichlet(np.ones(K), (N, 2)).transpose(0, 2, 1)
    guesses = rng.random((N, K, 2))
    narrow = {**arguments(case), "action_dist": wide[np.arange(N), :, position]}
    narrow["estimated_rewards_by_reg_model"] = guesses[np.arange(N), :, position]
    whole = {**narrow, "action_dist": wide, "estimated_rewards_by_reg_model": guesses, "position": position}
    for estimator in (obp.InverseProbabilityWeighting(), obp.DoublyRobust(), obp.DirectMethod()):
        assert estimator.estimate_policy_value(**whole) == estimator.estimate_policy_value(**narrow)
    with pytest.raises(
        InputError,
        match=r"^`position` must be given where `action_dist` has several positions, got None for 2$",
    ):
        obp.DoublyRobust().estimate_policy_value(**{**whole, "position": None})


def test_estimated_propensities_replace_the_logged_ones(case: dict[str, Any]) -> None:
    other = np.full(N, 1 / K)
    estimator = obp.InverseProbabilityWeighting(use_estimated_pscore=True)
    found = estimator.estimate_policy_value(**arguments(case), estimated_pscore=other)
    assert found == obp.InverseProbabilityWeighting().estimate_policy_value(
        **{**arguments(case), "pscore": other}
    )
    with pytest.raises(InputError, match=r"^`estimated_pscore` must be given for ipw, got None$"):
        estimator.estimate_policy_value(**arguments(case))


def broken(name: str, row: int, value: Any, case: dict[str, Any]) -> Any:
    array = np.array(case[name], dtype=float if name != "action" else int)
    array[row] = value
    return array


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (lambda c: {"pscore": None}, "`pscore` must be given for dr, got None"),
        (lambda c: {"pscore": broken("pscore", 17, 0, c)}, "`pscore` must be in (0, 1], got 0.0 at row 17"),
        (lambda c: {"reward": broken("reward", 17, np.nan, c)}, "`reward` must be finite, got nan at row 17"),
        (
            lambda c: {"reward": c["reward"][1:]},
            "`reward` must have one entry per row of `action_dist`, got 299 for 300 rows",
        ),
        (lambda c: {"action": broken("action", 17, 4, c)}, "`action` must be from 0 to 3, got 4 at row 17"),
        (
            lambda c: {"action": c["action"] + 0.5},
            "`action` must be whole numbers of shape (n,), got float64 of shape (300,)",
        ),
        (
            lambda c: {"action_dist": c["action_dist"][1:]},
            "`action_dist` must have one row per logged action, got 299 for 300 actions",
        ),
        (
            lambda c: {"action_dist": c["action_dist"] * 2},
            "`action_dist` must sum to 1 over the actions, got 2 at row 0",
        ),
        (
            lambda c: {"action_dist": c["action_dist"][:, 0, 0]},
            "`action_dist` must have shape (n, K) or (n, K, L), got (300,)",
        ),
        (
            lambda c: {"action_dist": np.full((N, K), "x")},
            "`action_dist` must hold real numbers, got an array of type <U1",
        ),
        (
            lambda c: {"estimated_rewards_by_reg_model": None},
            "`estimated_rewards_by_reg_model` must be given for dr, got None",
        ),
        (
            lambda c: {"estimated_rewards_by_reg_model": np.ones((N, 3, 1))},
            (
                "`estimated_rewards_by_reg_model` must have the shape of `action_dist`, got (300, 3) and "
                "(300, "
                "4)"
            ),
        ),
    ],
)
def test_bad_arguments_get_one_sentence(changes: Any, sentence: str, case: dict[str, Any]) -> None:
    for method in (obp.DoublyRobust().estimate_policy_value, obp.DoublyRobust().estimate_interval):
        with pytest.raises(InputError) as caught:
            method(**{**arguments(case), **changes(case)})
        assert str(caught.value) == sentence


def test_bad_settings_get_one_sentence(case: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^`lambda_` must be a number of at least 0, got -1$"):
        obp.InverseProbabilityWeighting(lambda_=-1)
    with pytest.raises(InputError, match=r"^`alpha` must be between 0 and 1, got 5$"):
        obp.DirectMethod().estimate_interval(**arguments(case), alpha=5)
    with pytest.raises(
        InputError, match=r"^`n_bootstrap_samples` must be a whole number of at least 1, got 0$"
    ):
        obp.DirectMethod().estimate_interval(**arguments(case), n_bootstrap_samples=0)
    with pytest.raises(InputError, match=r"^`bandit_feedback` must have 'action', got reward$"):
        obp.OffPolicyEvaluation(
            bandit_feedback={"reward": case["reward"]}, ope_estimators=[obp.DirectMethod()]
        )
    with pytest.raises(
        InputError,
        match=r"^`ope_estimators` must be at least one, with different names, got dm, dm; `estimator_name=`",
    ):
        obp.OffPolicyEvaluation(bandit_feedback=case, ope_estimators=[obp.DirectMethod(), obp.DirectMethod()])
    with pytest.raises(
        InputError, match=r"^`fitting_method` must be one of normal, iw, mrdr, got 'weighted'$"
    ):
        obp.RegressionModel(n_actions=K, fitting_method="weighted")
    with pytest.raises(KwisError):  # every weight is 0, so there is nothing to divide by
        obp.SelfNormalizedInverseProbabilityWeighting(lambda_=0).estimate_policy_value(**arguments(case))


def test_cross_fitted_predictions_never_saw_their_row(case: dict[str, Any]) -> None:
    """A model that remembers its rows predicts them only where they were not held out."""
    from sklearn.neighbors import KNeighborsRegressor

    rows = np.arange(N)
    reward = np.random.default_rng(0).normal(size=N)
    model = obp.RegressionModel(n_actions=K, base_model=KNeighborsRegressor(1))
    shared = {"context": case["context"], "action": case["action"], "reward": reward}
    np.testing.assert_array_equal(model.fit_predict(**shared)[rows, case["action"], 0], reward)
    assert (model.fit_predict(**shared, n_folds=5)[rows, case["action"], 0] != reward).all()
    with pytest.raises(InputError, match=r"^`fit` must be called before `predict`$"):
        model.predict(case["context"])


def test_importance_weighted_fitting_is_weighted_least_squares(case: dict[str, Any]) -> None:
    from sklearn.linear_model import LinearRegression

    shared = {key: case[key] for key in ("context", "action", "reward", "pscore", "action_dist")}
    found = obp.RegressionModel(n_actions=K, base_model=LinearRegression(), fitting_method="iw").fit_predict(
        **shared
    )
    weight = case["action_dist"][np.arange(N), case["action"], 0] / case["pscore"]
    design = np.column_stack([case["context"], np.eye(K)[case["action"]]])
    root = np.sqrt(weight)[:, None]
    slopes = np.linalg.lstsq(root * design, root[:, 0] * case["reward"], rcond=None)[0]
    np.testing.assert_allclose(found[np.arange(N), case["action"], 0], design @ slopes, atol=1e-10)
