"""Estimated propensities: held out, calibrated, and robust to rare actions."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from kwis.data.log import LoggedBandit
from kwis.data.read.read_log import read_log
from kwis.data.sample_log import sample_log
from kwis.errors import InputError
from kwis.models.propensity.calibrate import likeliest_exponent, to_power
from kwis.models.propensity.estimate import estimate_propensities
from kwis.models.propensity.reliability import reliability

LINEAR = LogisticRegression(max_iter=500)


@pytest.fixture(scope="module")
def log() -> LoggedBandit:
    return sample_log(2_000, rng=2).read()


def softmax_log(n: int = 3_000, seed: int = 0, **columns: np.ndarray) -> tuple[LoggedBandit, np.ndarray]:
    """A log whose logger is a softmax of a linear function, and its true distribution."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    scores = x @ np.array([[1.0, 0.0, -1.0], [0.3, -0.5, 0.2]])
    whole = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    action = (rng.random(n)[:, None] > whole.cumsum(axis=1)[:, :-1]).sum(axis=1)
    table = {"x": x, "action": action, "reward": rng.normal(size=n), **columns}
    return read_log(table, context="x", row_weight="mass" if "mass" in columns else None), whole


def test_a_known_policy_is_recovered() -> None:
    log, whole = softmax_log()
    estimate = estimate_propensities(log, LINEAR)
    assert np.abs(estimate.distribution - whole).mean() < 0.02
    np.testing.assert_allclose(estimate.distribution.sum(axis=1), 1)
    np.testing.assert_array_equal(estimate.logged, estimate.distribution[np.arange(len(log)), log.action])
    best = -np.log(whole[np.arange(len(log)), log.action]).mean()
    assert best - 0.01 < estimate.log_loss < best + 0.01
    assert estimate.log_loss < estimate.log_loss_without_context


def test_the_default_is_a_mixture_that_predicts_no_worse_than_its_parts(log: LoggedBandit) -> None:
    estimate = estimate_propensities(log)
    assert set(estimate.candidates) == {"smooth regression", "boosted trees"}
    assert estimate.log_loss <= min(estimate.candidates.values()) + 0.005
    assert re.fullmatch(r"\d+% smooth regression and \d+% boosted trees", estimate.model)


def test_no_row_is_predicted_by_a_model_that_saw_it(log: LoggedBandit) -> None:
    """One neighbour remembers every row it saw; held out, it does no better than chance."""
    estimate = estimate_propensities(log, KNeighborsClassifier(1))
    assert estimate.log_loss > 0.95 * estimate.log_loss_without_context


def test_groups_stay_in_one_fold(log: LoggedBandit) -> None:
    estimate = estimate_propensities(log, LINEAR)
    assert log.group is not None
    for fold in range(5):
        inside, outside = set(log.group[estimate.folds == fold]), set(log.group[estimate.folds != fold])
        assert not inside & outside


def test_without_groups_every_action_is_in_every_fold_as_often_as_possible() -> None:
    log, _ = softmax_log(500)
    folds = estimate_propensities(log, LINEAR).folds
    counts = np.array([[((folds == fold) & (log.action == k)).sum() for k in range(3)] for fold in range(5)])
    assert (counts.max(axis=0) - counts.min(axis=0)).max() <= 1


def test_calibration_repairs_an_overconfident_model() -> None:
    log, whole = softmax_log()
    x = np.column_stack([log["x_0"], log["x_1"]] * 4)  # naive Bayes counts the same evidence four times
    doubled = read_log({"x": x, "action": log.action, "reward": log.reward[:, 0]}, context="x")
    estimate = estimate_propensities(doubled, GaussianNB())
    curve = reliability(doubled, estimate.distribution)
    assert curve.expected_calibration_error < 2 * curve.expected_by_chance
    raw = GaussianNB().fit(doubled.features(), doubled.action).predict_proba(doubled.features())
    assert reliability(doubled, raw).expected_calibration_error > 5 * curve.expected_calibration_error
    assert np.abs(estimate.distribution - whole).mean() < np.abs(raw - whole).mean() / 2


@pytest.mark.parametrize(
    "model",
    [LINEAR, DecisionTreeClassifier(random_state=0), GaussianNB(), make_pipeline(StandardScaler(), LINEAR)],
)
def test_an_action_that_was_taken_once_gets_the_floor(model: object) -> None:
    log, _ = softmax_log(400)
    action = log.action.copy()
    action[7] = 3
    rare = read_log(
        {"x": np.column_stack([log["x_0"], log["x_1"]]), "action": action, "reward": log.reward[:, 0]},
        context="x",
    )
    estimate = estimate_propensities(rare, model)
    assert estimate.distribution.shape == (400, 4)
    assert estimate.floor == 1 / 400
    assert (estimate.distribution >= 1 / 400).all()
    np.testing.assert_allclose(estimate.distribution.sum(axis=1), 1)
    assert estimate.logged[7] < 0.02
    assert np.isfinite(estimate.log_loss)


def test_a_raised_probability_is_counted_and_said() -> None:
    log, _ = softmax_log(400)
    estimate = estimate_propensities(log, LINEAR, floor=0.2)
    assert (estimate.distribution >= 0.2).all()
    np.testing.assert_allclose(estimate.distribution.sum(axis=1), 1)
    assert estimate.floored == (estimate.logged <= 0.2).sum() > 0
    assert estimate.note.endswith(f"; {estimate.floored} of them were raised to 0.2")


def test_two_rows_of_a_training_part_with_one_action_do_not_break_it() -> None:
    with pytest.warns(UserWarning, match="only 4 rows"):
        log = read_log(
            {"x": np.arange(4.0), "action": ["a", "b", "b", "b"], "reward": np.ones(4)}, context="x"
        )
    estimate = estimate_propensities(log, LINEAR, folds=2, floor=0.01)
    assert np.isfinite(estimate.logged).all()


def test_row_weights_undo_a_thinned_log() -> None:
    """Nine in ten rows of one action are dropped; weights of ten bring its share back."""
    rng = np.random.default_rng(0)
    log, whole = softmax_log(6_000)
    kept = (log.action != 0) | (rng.random(6_000) < 0.1)
    mass = np.where(log.action == 0, 10.0, 1.0)[kept]
    table = {
        "x": np.column_stack([log["x_0"], log["x_1"]])[kept],
        "action": log.action[kept],
        "reward": log.reward[kept, 0],
        "mass": mass,
    }
    weighted = read_log(table, context="x", row_weight="mass")
    for model in (LINEAR, make_pipeline(StandardScaler(), LINEAR)):
        assert np.abs(estimate_propensities(weighted, model).distribution - whole[kept]).mean() < 0.04
    assert (
        np.abs(estimate_propensities(read_log(table, context="x"), LINEAR).distribution - whole[kept]).mean()
        > 0.12
    )
    with pytest.raises(
        InputError,
        match=(
            r"^`model` must take `sample_weight` for a log with row weights, and KNeighborsClassifier does "
            r"not$"
        ),
    ):
        estimate_propensities(weighted, KNeighborsClassifier())


def test_the_seed_decides_everything(log: LoggedBandit) -> None:
    one, two, other = (estimate_propensities(log, LINEAR, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.distribution, two.distribution)
    assert (one.distribution != other.distribution).any()


def test_a_log_takes_estimated_propensities_with_a_note(log: LoggedBandit) -> None:
    estimate = estimate_propensities(log, DummyClassifier())
    new = estimate.attach(replace(log, propensity=None))
    assert new.propensity_origin == "estimated"
    np.testing.assert_array_equal(new.propensity, estimate.logged)
    assert new.notes[-1] == (
        "propensities were estimated from the context by DummyClassifier, cross-fitted over 5 folds and "
        "calibrated"
    )


def test_what_cannot_be_a_model_is_refused(log: LoggedBandit) -> None:
    with pytest.raises(
        InputError,
        match=r"^`model` must be one of smooth regression, boosted trees for this log, got 'logistic'$",
    ):
        estimate_propensities(log, "logistic")
    with pytest.raises(
        InputError, match=r"^`model` must be a scikit-learn classifier with `predict_proba`, got int$"
    ):
        estimate_propensities(log, 3)
    with pytest.raises(
        InputError, match=r"^`model` must be able to learn the log, and LogisticRegression failed: [^\n]+$"
    ):
        estimate_propensities(log, LogisticRegression(C=-1))
    with pytest.raises(
        InputError, match=r"^`floor` must be below 1 over the number of actions \(3\), got 0\.4$"
    ):
        estimate_propensities(log, LINEAR, floor=0.4)
    with pytest.raises(InputError, match=r"^`folds` must be a whole number of at least 2, got 1$"):
        estimate_propensities(log, LINEAR, folds=1)


def test_the_models_of_the_folds_say_of_their_held_out_rows_what_is_used(log: LoggedBandit) -> None:
    estimate = estimate_propensities(log)
    own = estimate.refits[np.arange(len(log)), estimate.folds]
    np.testing.assert_allclose(own, estimate.logged, rtol=1e-9)
    assert estimate.refits.shape == (len(log), 5)
    assert 0 < np.abs(estimate.refits - estimate.logged[:, None]).max() < 0.5


def test_a_cautious_mixture_is_sharpened() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 3))
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    action = (rng.random((4000, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    cautious = to_power(chances, 0.5)
    np.testing.assert_allclose(
        cautious, np.sqrt(chances) / np.sqrt(chances).sum(axis=1, keepdims=True), rtol=1e-12
    )
    exponent = likeliest_exponent(cautious, action, None)
    assert exponent == pytest.approx(2.0, abs=0.15)

    def loss(power: float) -> float:
        raised = cautious**power
        return float(
            -np.log(raised / raised.sum(axis=1, keepdims=True))[np.arange(4000), action].sum()
            + np.log(power) ** 2 / 2
        )

    assert all(loss(exponent) <= loss(exponent * factor) for factor in (0.9, 0.99, 1.01, 1.1))
