"""Every name of Open Bandit Pipeline's ``ope``: what it computes or refuses, and how scripts call it."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import kwis
from kwis.compat import obp
from kwis.compat.obp import ope
from kwis.errors import InputError, UnsupportedError

N, K = 400, 4
DOCS = Path(__file__).parents[2] / "docs" / "open-bandit-pipeline.md"


@pytest.fixture(scope="module")
def feedback() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    context = rng.normal(size=(N, 3))
    pi_b = np.exp(context @ rng.normal(size=(3, K)) * 0.7)
    pi_b /= pi_b.sum(axis=1, keepdims=True)
    pi_e = np.exp(context @ rng.normal(size=(3, K)))
    pi_e /= pi_e.sum(axis=1, keepdims=True)
    action = np.array([rng.choice(K, p=row) for row in pi_b])
    return {
        "n_rounds": N,
        "n_actions": K,
        "context": context,
        "action": action,
        "position": None,
        "reward": (rng.random(N) < 0.2 + 0.1 * action).astype(float),
        "pscore": pi_b[np.arange(N), action],
        "pi_b": pi_b[:, :, None],
        "action_dist": pi_e[:, :, None],
        "predictions": np.clip(0.2 + 0.1 * np.arange(K) + 0.1 * rng.normal(size=(N, K)), 0, 1)[:, :, None],
    }


def call(feedback: dict[str, Any]) -> dict[str, Any]:
    keys = ("context", "action", "reward", "pscore", "action_dist", "pi_b", "position")
    return {**{key: feedback[key] for key in keys}, "estimated_rewards_by_reg_model": feedback["predictions"]}


def parts(feedback: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Weights, rewards, predictions for the logged actions and for the target."""
    rows, action = np.arange(N), feedback["action"]
    weight = feedback["action_dist"][rows, action, 0] / feedback["pscore"]
    guess = feedback["predictions"][:, :, 0]
    return weight, feedback["reward"], guess[rows, action], (feedback["action_dist"][:, :, 0] * guess).sum(1)


def test_the_docs_have_every_name_and_every_name_is_here() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", DOCS.read_text(), flags=re.MULTILINE)
    assert len(listed) == len(set(listed)) == 50
    for name in listed:
        assert hasattr(obp, name), name
        assert getattr(ope, name) is getattr(obp, name)
    assert set(listed) | {"KernelWIS", "BaseOffPolicyEstimatorTuning"} == set(obp.__all__)


def test_sub_gaussian_weights_are_harmonic_means(feedback: dict[str, Any]) -> None:
    weight, reward, guess, value = parts(feedback)
    shrunk = np.array([1 / (0.7 / w + 0.3) for w in weight])
    plain = obp.SubGaussianInverseProbabilityWeighting(lambda_=0.3).estimate_policy_value(**call(feedback))
    assert plain == pytest.approx(np.mean(shrunk * reward), rel=1e-12)
    robust = obp.SubGaussianDoublyRobust(lambda_=0.3).estimate_policy_value(**call(feedback))
    assert robust == pytest.approx(np.mean(value + shrunk * (reward - guess)), rel=1e-12)


@pytest.mark.parametrize(
    ("tuned", "fixed"),
    [
        (obp.InverseProbabilityWeightingTuning, obp.InverseProbabilityWeighting),
        (obp.DoublyRobustTuning, obp.DoublyRobust),
        (obp.SwitchDoublyRobustTuning, obp.SwitchDoublyRobust),
        (obp.DoublyRobustWithShrinkageTuning, obp.DoublyRobustWithShrinkage),
        (obp.SubGaussianInverseProbabilityWeightingTuning, obp.SubGaussianInverseProbabilityWeighting),
        (obp.SubGaussianDoublyRobustTuning, obp.SubGaussianDoublyRobust),
    ],
)
@pytest.mark.parametrize("method", ["slope", "mse"])
def test_a_tuned_estimate_is_that_of_its_choice(
    feedback: dict[str, Any], tuned: Any, fixed: Any, method: str
) -> None:
    lambdas = [0.0, 0.1, 0.5, 1.0] if "SubGaussian" in tuned.__name__ else [0.5, 2.0, 10.0, np.inf]
    estimator = tuned(lambdas=lambdas, tuning_method=method)
    value = estimator.estimate_policy_value(**call(feedback))
    assert estimator.best_hyperparam in lambdas
    same = fixed(lambda_=estimator.best_hyperparam).estimate_policy_value(**call(feedback))
    assert value == pytest.approx(same, rel=1e-12)
    assert estimator.estimator_name == fixed().estimator_name
    ends = estimator.estimate_interval(**call(feedback), n_bootstrap_samples=30, random_state=1)
    assert ends["95.0% CI (lower)"] < ends["95.0% CI (upper)"]


def test_tuning_one_candidate_is_no_tuning(feedback: dict[str, Any]) -> None:
    value = obp.DoublyRobustTuning(lambdas=[2.0]).estimate_policy_value(**call(feedback))
    assert value == pytest.approx(
        obp.DoublyRobust(lambda_=2.0).estimate_policy_value(**call(feedback)), rel=1e-13
    )


def test_wrong_types_are_type_errors_and_wrong_values_value_errors(feedback: dict[str, Any]) -> None:
    for make in (
        lambda: obp.InverseProbabilityWeighting(lambda_="1"),
        lambda: obp.DoublyRobust(use_estimated_pscore="yes"),
        lambda: obp.DoublyRobustTuning(lambdas=1.0),
        lambda: obp.DoublyRobustTuning(lambdas=["a"]),
        lambda: obp.DirectMethod().estimate_interval(**call(feedback), alpha=1),
        lambda: obp.DirectMethod().estimate_interval(**call(feedback), n_bootstrap_samples=2.5),
    ):
        with pytest.raises(TypeError) as caught:
            make()
        assert isinstance(caught.value, InputError)
    for make in (
        lambda: obp.InverseProbabilityWeighting(lambda_=float("nan")),
        lambda: obp.SubGaussianDoublyRobust(lambda_=1.5),
        lambda: obp.DoublyRobustTuning(lambdas=[]),
        lambda: obp.DoublyRobustTuning(lambdas=[1.0], tuning_method="cv"),
        lambda: obp.DirectMethod().estimate_interval(**call(feedback), alpha=2.0),
        lambda: obp.DirectMethod().estimate_interval(**call(feedback), n_bootstrap_samples=0),
    ):
        with pytest.raises(ValueError, match="must"):
            make()


def test_one_resample_is_an_interval_of_one_value(feedback: dict[str, Any]) -> None:
    ends = obp.DoublyRobust().estimate_interval(**call(feedback), n_bootstrap_samples=1, random_state=0)
    assert ends["mean"] == ends["95.0% CI (lower)"] == ends["95.0% CI (upper)"]


def test_further_arguments_are_left_alone(feedback: dict[str, Any]) -> None:
    plain = obp.InverseProbabilityWeighting().estimate_policy_value(**call(feedback))
    assert plain == obp.InverseProbabilityWeighting().estimate_policy_value(**call(feedback), q_hat=3, seed=1)


def test_a_stochastic_policy_is_replayed_by_its_chances(feedback: dict[str, Any]) -> None:
    shares = feedback["action_dist"][np.arange(N), feedback["action"], 0]
    value = obp.ReplayMethod().estimate_policy_value(**call(feedback))
    assert value == pytest.approx(float(shares @ feedback["reward"] / shares.sum()), rel=1e-12)


def test_balanced_weights_are_those_given(feedback: dict[str, Any]) -> None:
    weights = np.random.default_rng(0).exponential(size=N)
    found = obp.BalancedInverseProbabilityWeighting(lambda_=2.0).estimate_policy_value(
        **call(feedback), estimated_importance_weights=weights
    )
    assert found == pytest.approx(float(np.mean(np.minimum(weights, 2.0) * feedback["reward"])), rel=1e-12)
    with pytest.raises(ValueError, match="`estimated_importance_weights` must be given for b-ipw"):
        obp.BalancedInverseProbabilityWeighting().estimate_policy_value(**call(feedback))


@pytest.mark.parametrize("folds", [1, 3])
def test_models_of_propensities_and_weights_find_them(feedback: dict[str, Any], folds: int) -> None:
    shared = {
        "context": feedback["context"],
        "action": feedback["action"],
        "n_folds": folds,
        "random_state": 0,
    }
    model = LogisticRegression(max_iter=1000)
    propensity = obp.PropensityScoreEstimator(base_model=model, n_actions=K, calibration_cv=1)
    found = propensity.fit_predict(**shared)
    assert np.corrcoef(found, feedback["pscore"])[0, 1] > 0.8
    target = np.tile([0.1, 0.2, 0.3, 0.4], (N, 1))[:, :, None]  # the same in every context
    weights = obp.ImportanceWeightEstimator(base_model=model, n_actions=K).fit_predict(
        **shared, action_dist=target
    )
    logged = np.bincount(feedback["action"], minlength=K) / N
    found = np.array([weights[feedback["action"] == k].mean() for k in range(K)])
    assert found == pytest.approx(target[0, :, 0] / logged, rel=0.4)
    with pytest.raises(ValueError, match="`base_model` must be a classifier"):
        obp.PropensityScoreEstimator(base_model=LinearRegression(), n_actions=K)


def test_marginal_weights_over_the_action_itself_are_importance_weights(feedback: dict[str, Any]) -> None:
    """A description that names the action: the ratio of its chances is the ordinary weight."""
    exact = np.eye(K)[:, :, None]
    shared = {**call(feedback), "action_embed": feedback["action"][:, None]}
    plain = obp.InverseProbabilityWeighting().estimate_policy_value(**call(feedback))
    estimator = obp.MarginalizedInverseProbabilityWeighting(n_actions=K)
    assert estimator.estimate_policy_value(**shared, p_e_a=exact) == pytest.approx(plain, rel=1e-12)
    assert estimator.estimate_policy_value(**shared) == pytest.approx(plain, rel=0.1)
    normalised = obp.SelfNormalizedMarginalizedInverseProbabilityWeighting(n_actions=K)
    assert normalised.estimate_policy_value(**{**shared, "reward": np.ones(N)}, p_e_a=exact) == pytest.approx(
        1.0, rel=1e-12
    )
    coarse = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])[:, :, None]
    pair = (feedback["action"] // 2)[:, None]
    found = estimator.estimate_policy_value(**{**shared, "action_embed": pair}, p_e_a=coarse)
    total = 0.0
    for i, code in enumerate(pair[:, 0]):
        top = feedback["action_dist"][i, 2 * code : 2 * code + 2, 0].sum()
        total += top / feedback["pi_b"][i, 2 * code : 2 * code + 2, 0].sum() * feedback["reward"][i]
    assert found == pytest.approx(total / N, rel=1e-12)


def test_several_loggers_are_weighted_together_or_by_their_variance(feedback: dict[str, Any]) -> None:
    weight, reward, guess, value = parts(feedback)
    logger = np.arange(N) % 3
    shared = {**call(feedback), "stratum_idx": logger, "pscore_avg": np.full(N, 0.25)}
    naive = obp.MultiLoggersNaiveInverseProbabilityWeighting().estimate_policy_value(**shared)
    assert naive == pytest.approx(np.mean(weight * reward), rel=1e-12)
    balanced = obp.MultiLoggersBalancedInverseProbabilityWeighting().estimate_policy_value(**shared)
    assert balanced == pytest.approx(np.mean(weight * feedback["pscore"] / 0.25 * reward), rel=1e-12)
    for estimator, terms in (
        (obp.MultiLoggersWeightedInverseProbabilityWeighting(), weight * reward),
        (obp.MultiLoggersWeightedDoublyRobust(), value + weight * (reward - guess)),
    ):
        means = [terms[logger == k].mean() for k in range(3)]
        trust = [(logger == k).sum() / terms[logger == k].var() for k in range(3)]
        expected = sum(t * m for t, m in zip(trust, means, strict=True)) / sum(trust)
        assert estimator.estimate_policy_value(**shared) == pytest.approx(expected, rel=1e-12)
    assert isinstance(obp.MultiLoggersNaiveDoublyRobust(), obp.BaseMultiLoggersOffPolicyEstimator)


def test_a_short_column_is_refused_in_a_sentence(feedback: dict[str, Any]) -> None:
    model = obp.RegressionModel(n_actions=K, base_model=LinearRegression())
    for name in ("action", "reward"):
        wrong = {key: feedback[key] for key in ("context", "action", "reward")}
        with pytest.raises(ValueError, match=f"`{name}` must"):
            model.fit_predict(**{**wrong, name: wrong[name][:-1]}, n_folds=3)


def test_mrdr_fitting_is_weighted_least_squares(feedback: dict[str, Any]) -> None:
    shared = {key: feedback[key] for key in ("context", "action", "reward", "pscore", "action_dist")}
    model = obp.RegressionModel(n_actions=K, base_model=LinearRegression(), fitting_method="mrdr")
    found = model.fit_predict(**shared)
    p = feedback["pscore"]
    counts = feedback["action_dist"][np.arange(N), feedback["action"], 0] * (1 - p) / p**2
    design = np.column_stack([feedback["context"], np.eye(K)[feedback["action"]]])
    root = np.sqrt(counts)[:, None]
    slopes = np.linalg.lstsq(root * design, root[:, 0] * feedback["reward"], rcond=None)[0]
    np.testing.assert_allclose(found[np.arange(N), feedback["action"], 0], design @ slopes, atol=1e-9)


def test_slates_and_continuous_actions_say_what_they_are_for() -> None:
    with pytest.raises(UnsupportedError, match="SlateStandardIPS is for slates"):
        obp.SlateStandardIPS(len_list=3)
    with pytest.raises(UnsupportedError, match="KernelizedDoublyRobust is for continuous actions"):
        obp.KernelizedDoublyRobust(kernel="gaussian", bandwidth=0.1)
    grid = np.linspace(-4, 4, 8001)
    for kernel in (obp.triangular_kernel, obp.gaussian_kernel, obp.epanechnikov_kernel, obp.cosine_kernel):
        assert np.trapezoid(kernel(grid), grid) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("module", "name"),
    [("dataset", "SyntheticBanditDataset"), ("policy", "IPWLearner"), ("utils", "softmax")],
)
def test_what_is_no_part_of_ope_is_to_be_kept(module: str, name: str) -> None:
    said = rf"obp\.{module}\.{name} .* keep the import from obp\.{module},"
    with pytest.raises(UnsupportedError, match=said):
        exec(f"from kwis.compat.obp.{module} import {name}", {})


def test_an_estimator_of_a_script_takes_part(feedback: dict[str, Any]) -> None:
    class Constant(obp.BaseOffPolicyEstimator):
        estimator_name = "constant"

        def estimate_policy_value(self, **_: Any) -> float:
            return 0.5

        def estimate_interval(self, **_: Any) -> dict[str, float]:
            return {"mean": 0.5, "95.0% CI (lower)": 0.4, "95.0% CI (upper)": 0.6}

    ope_ = obp.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=[Constant()])
    assert ope_.estimate_policy_values(action_dist=feedback["action_dist"]) == {"constant": 0.5}
    with pytest.raises(TypeError, match="abstract"):
        obp.BaseOffPolicyEstimator()  # type: ignore[abstract]


class FakeFigure:
    saved: list[Path]

    def __init__(self) -> None:
        self.saved = []

    def savefig(self, path: Path, **_: Any) -> None:
        self.saved.append(path)


class FakeAxis:
    def __init__(self) -> None:
        self.points: list[float] = []

    def errorbar(self, place: int, mean: float, yerr: Any, **_: Any) -> None:
        assert np.min(yerr) >= 0
        self.points.append(mean)

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: None


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A stand-in for matplotlib that remembers its panels."""
    panels: list[Any] = []
    plt = types.ModuleType("matplotlib.pyplot")

    def subplots(_: int, columns: int, **__: Any) -> Any:
        axes = [FakeAxis() for _ in range(columns)]
        panels.extend(axes)
        return FakeFigure(), [axes]

    plt.subplots = subplots  # type: ignore[attr-defined]
    plt.close = lambda _: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "matplotlib", types.ModuleType("matplotlib"))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", plt)
    return panels


def test_figures_show_every_estimator_and_every_policy(
    feedback: dict[str, Any], figures: list[Any], tmp_path: Path
) -> None:
    estimators = [obp.InverseProbabilityWeighting(), obp.SelfNormalizedInverseProbabilityWeighting()]
    ope_ = obp.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=estimators)
    shared = {"n_bootstrap_samples": 20, "random_state": 0}
    figure = ope_.visualize_off_policy_estimates(
        action_dist=feedback["action_dist"], **shared, is_relative=True, fig_dir=tmp_path, fig_name="a.png"
    )
    ends = ope_.estimate_intervals(action_dist=feedback["action_dist"], **shared)
    unit = feedback["reward"].mean()
    assert figures[0].points == pytest.approx([one["mean"] / unit for one in ends.values()])
    assert figure.saved == [tmp_path / "a.png"]
    figures.clear()
    ope_.visualize_off_policy_estimates_of_multiple_policies(
        policy_name_list=["new", "old"],
        action_dist_list=[feedback["action_dist"], feedback["pi_b"]],
        **shared,
    )
    assert [len(axis.points) for axis in figures] == [2, 2]


def test_a_figure_without_matplotlib_is_refused_in_a_sentence(
    feedback: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    ope_ = obp.OffPolicyEvaluation(
        bandit_feedback=feedback, ope_estimators=[obp.InverseProbabilityWeighting()]
    )
    with pytest.raises(UnsupportedError, match="a figure needs matplotlib: pip install matplotlib"):
        ope_.visualize_off_policy_estimates(action_dist=None)  # before anything is estimated


class TestShapesOfScripts:
    """How its quickstart scripts call it: a reward model, a list of estimators, summaries, errors."""

    def test_evaluating_a_policy_on_logged_data(self, feedback: dict[str, Any]) -> None:
        lambdas = [10.0, 50.0, 100.0, np.inf]
        regression = ope.RegressionModel(
            n_actions=feedback["n_actions"], base_model=LogisticRegression(max_iter=1000, random_state=1)
        )
        predicted = regression.fit_predict(
            context=feedback["context"],
            action=feedback["action"],
            reward=feedback["reward"],
            pscore=feedback["pscore"],
            n_folds=3,
            random_state=1,
        )
        estimators = [
            ope.InverseProbabilityWeighting(),
            ope.SelfNormalizedInverseProbabilityWeighting(),
            ope.DirectMethod(),
            ope.DoublyRobust(),
            ope.SelfNormalizedDoublyRobust(),
            ope.SwitchDoublyRobustTuning(lambdas=lambdas, estimator_name="switch-dr (tuned)"),
            ope.DoublyRobustWithShrinkageTuning(lambdas=lambdas, estimator_name="dr-os (tuned)"),
            ope.InverseProbabilityWeightingTuning(lambdas=lambdas, estimator_name="ipw (tuned)"),
        ]
        evaluation = ope.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=estimators)
        values, intervals = evaluation.summarize_off_policy_estimates(
            action_dist=feedback["action_dist"],
            estimated_rewards_by_reg_model=predicted,
            n_bootstrap_samples=50,
            random_state=1,
        )
        assert list(values.index) == list(intervals.index) == [one.estimator_name for one in estimators]
        assert np.isfinite(values.to_numpy()).all()
        errors = evaluation.evaluate_performance_of_estimators(
            ground_truth_policy_value=0.35,
            action_dist=feedback["action_dist"],
            estimated_rewards_by_reg_model=predicted,
            metric="relative-ee",
        )
        assert set(errors) == {one.estimator_name for one in estimators}
        table = evaluation.summarize_estimators_comparison(
            ground_truth_policy_value=0.35,
            action_dist=feedback["action_dist"],
            estimated_rewards_by_reg_model=predicted,
            metric="se",
        )
        assert list(table.columns) == ["se"]

    def test_estimated_weights_and_propensities_by_estimator(self, feedback: dict[str, Any]) -> None:
        model = LogisticRegression(max_iter=1000)
        propensity = ope.PropensityScoreEstimator(base_model=model, n_actions=K).fit_predict(
            context=feedback["context"], action=feedback["action"], n_folds=2, random_state=1
        )
        weights = ope.ImportanceWeightEstimator(base_model=model, n_actions=K).fit_predict(
            context=feedback["context"],
            action=feedback["action"],
            action_dist=feedback["action_dist"],
            n_folds=2,
            random_state=1,
        )
        estimators = [
            ope.InverseProbabilityWeighting(use_estimated_pscore=True),
            ope.BalancedInverseProbabilityWeighting(),
        ]
        evaluation = ope.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=estimators)
        values = evaluation.estimate_policy_values(
            action_dist=feedback["action_dist"],
            estimated_pscore={"ipw": propensity},
            estimated_importance_weights={"b-ipw": weights},
        )
        assert values["b-ipw"] == pytest.approx(float(np.mean(weights * feedback["reward"])), rel=1e-12)
        assert values["ipw"] != obp.InverseProbabilityWeighting().estimate_policy_value(**call(feedback))

    def test_several_loggers(self, feedback: dict[str, Any]) -> None:
        logged = {**feedback, "stratum_idx": np.arange(N) % 2, "pscore_avg": feedback["pscore"]}
        evaluation = ope.MultiLoggersOffPolicyEvaluation(
            bandit_feedback=logged,
            ope_estimators=[
                ope.MultiLoggersNaiveInverseProbabilityWeighting(),
                ope.MultiLoggersBalancedDoublyRobust(),
                ope.MultiLoggersWeightedDoublyRobust(),
            ],
        )
        values, _ = evaluation.summarize_off_policy_estimates(
            action_dist=feedback["action_dist"],
            estimated_rewards_by_reg_model=feedback["predictions"],
            n_bootstrap_samples=20,
            random_state=0,
        )
        assert len(values) == 3
        with pytest.raises(kwis.InputError, match="`bandit_feedback` must have 'stratum_idx'"):
            ope.MultiLoggersOffPolicyEvaluation(
                bandit_feedback=feedback, ope_estimators=[ope.MultiLoggersNaiveInverseProbabilityWeighting()]
            )
