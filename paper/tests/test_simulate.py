from __future__ import annotations

import numpy as np
import pytest

from kwis_paper import names
from kwis_paper.datasets import load
from kwis_paper.grid import Cell, cells
from kwis_paper.policies import Gibbs
from kwis_paper.simulate import Design, Laboratory


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory(load("digits"))


def _cell(setting: str, **wanted: object) -> Cell:
    return next(
        cell
        for cell in cells(["digits"], [setting])
        if all(getattr(cell, name) == value for name, value in wanted.items())
    )


def test_a_quarter_of_the_rows_is_held_out(laboratory: Laboratory) -> None:
    train, test = laboratory.rows
    assert test.size == 450
    assert sorted([*train, *test]) == list(range(1797))
    assert np.array_equal(Laboratory(load("digits")).rows[1], test)
    assert Laboratory(load("digits"), Design(test_share=0.5)).rows[1].size == 899


def test_folds_are_balanced(laboratory: Laboratory) -> None:
    sizes = np.bincount(laboratory.fold_labels)
    assert sizes.size == 5
    assert sizes.max() - sizes.min() <= 1


def test_the_weights_are_ratios_of_the_two_policies_at_the_logged_actions(laboratory: Laboratory) -> None:
    cell = _cell("non-oracle", policy_type="Gibbs", logging=Gibbs((0,), 0.3), behaviour=Gibbs((1,), 0.5))
    experiment = laboratory.experiment(cell)
    assert experiment.weight.shape == experiment.reward.shape == (450, 9)
    label = laboratory.dataset.label[laboratory.rows[1]]
    action = laboratory.log(cell.logging, 3).action
    evaluation, behaviour = cell.evaluation.probabilities(label, 10), cell.behaviour.probabilities(label, 10)
    by_hand = [evaluation[row, taken] / behaviour[row, taken] for row, taken in enumerate(action)]
    assert np.array_equal(experiment.weight[:, 2], by_hand)
    assert np.array_equal(laboratory.train_weights([cell])[:, 0], experiment.train_weight)


def test_one_log_serves_every_cell_of_a_logging_policy(laboratory: Laboratory) -> None:
    logging = Gibbs((0,), 0.3)
    rewards = [
        laboratory.experiment(_cell(setting, logging=logging)).reward for setting in ("oracle", "non-oracle")
    ]
    assert np.array_equal(*rewards)


def test_test_sets_differ_and_come_from_their_names_alone(laboratory: Laboratory) -> None:
    logging = Gibbs((), 0.5)
    first, second = laboratory.log(logging, 1), laboratory.log(logging, 2)
    assert (first.action != second.action).mean() > 0.2
    rng = names.stream("digits", "log", logging.name, 1)
    uniform = rng.random(450)
    probabilities = logging.probabilities(laboratory.dataset.label[laboratory.rows[1]], 10)
    assert np.array_equal(first.action, (probabilities.cumsum(axis=1) <= uniform[:, None]).sum(axis=1))


def test_logs_do_not_depend_on_what_was_asked_before(laboratory: Laboratory) -> None:
    cell = _cell("learnt-non-oracle", policy_type="SNIW")
    fresh = Laboratory(load("digits")).experiment(cell)
    again = laboratory.experiment(cell)
    assert np.array_equal(fresh.weight, again.weight)
    assert np.array_equal(fresh.reward, again.reward)
    assert fresh.difference == again.difference


def test_the_truths_are_those_of_the_test_rows(laboratory: Laboratory) -> None:
    cell = _cell("oracle", policy_type="Gibbs", logging=Gibbs((0, 1), 0.3))
    experiment = laboratory.experiment(cell)
    label = laboratory.dataset.label[laboratory.rows[1]]
    by_hand = cell.evaluation.probabilities(label, 10)[np.arange(450), label].mean()
    assert experiment.published == pytest.approx(by_hand, abs=1e-15)
    assert experiment.expected == pytest.approx(0.1 + 0.8 * by_hand, abs=1e-15)


def test_right_propensities_give_weights_of_mean_one_and_the_expected_truth(laboratory: Laboratory) -> None:
    """VIS over all nine test sets and many cells is unbiased for the expected truth, and not for the
    published one.
    """
    gibbs = [
        cell
        for cell in cells(["digits"], ["oracle"])
        if cell.policy_type == "Gibbs" and cell.logging == Gibbs((), 0.3)
    ]
    errors, offsets = [], []
    for cell in gibbs:
        experiment = laboratory.experiment(cell)
        terms = experiment.weight * experiment.reward
        spread = terms.std() / np.sqrt(terms.size)
        errors.append((terms.mean() - experiment.expected) / spread)
        offsets.append(abs(terms.mean() - experiment.published) / spread)
        assert abs(experiment.weight.mean() - 1) <= 5 * experiment.weight.std() / np.sqrt(terms.size)
    assert np.max(np.abs(errors)) < 4
    assert np.max(offsets) > 4


def test_learnt_policies_are_distributions_and_classifiers_improve_with_training(
    laboratory: Laboratory,
) -> None:
    for cell in (_cell("learnt-oracle", policy_type="IW"), _cell("learnt-oracle", policy_type="SNIW")):
        for table in (laboratory.probabilities(cell.logging), laboratory.target(cell)):
            assert np.allclose(table.sum(axis=1), 1)
            assert (table >= 0).all()
    logging = {
        cell.logging.name: laboratory.value(cell.logging) for cell in cells(["digits"], ["learnt-oracle"])
    }
    assert logging["linear/early"] < logging["linear/late"]
    assert logging["one-layer/early"] < logging["one-layer/late"]


def test_curves_of_training_are_kept_for_the_figures(laboratory: Laboratory) -> None:
    laboratory.classifier("linear")
    curves = laboratory.curves()
    assert curves["linear/accuracy"].shape == (150,)
    assert curves["linear/epochs"].tolist() == sorted(curves["linear/epochs"])


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_the_closeness_reading_of_continuous_rewards_comes_near_the_published_spread_of_values() -> None:
    laboratory = Laboratory(load("optdigitsDist"), Design(rule="closeness", noise="lost"))
    values = [laboratory.value(policy) for policy in {cell.logging for cell in cells(["optdigitsDist"])}]
    # The largest mean logged reward is 0.75 in the paper's percentiles, over test sets of 1,405 rows.
    assert float(laboratory.rewards.expected(max(values))) == pytest.approx(0.75, abs=0.03)
    curves = laboratory.curves()
    assert curves["autoencoder/test_reconstruction"].shape == (19,)
    heat = curves["rewards"].reshape(10, 10)
    assert heat[3, 9] > heat[3, 6]
    assert curves["pictures/3"].shape == (128,)
