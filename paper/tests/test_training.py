from __future__ import annotations

import numpy as np
import pytest

from kwis_paper import training
from kwis_paper.datasets import load
from kwis_paper.optimise import Adam, Parameters
from kwis_paper.policies import chosen_probability
from kwis_paper.training import selected_epochs, train_classifier


@pytest.mark.parametrize("shapes", [[(3, 4)], [(3, 5), (5, 4)]])
def test_the_gradient_of_a_classifier_is_that_of_its_cross_entropy(shapes: list[tuple[int, int]]) -> None:
    rng = np.random.default_rng(1)
    parameters = Parameters.of(shapes, rng)
    context, label = rng.standard_normal((7, 3)), rng.integers(0, 4, 7)

    def loss(flat: np.ndarray) -> float:
        activation = context
        layers = parameters.like(flat).layers
        for number, (weight, bias) in enumerate(layers):
            activation = activation @ weight + bias
            if number < len(layers) - 1:
                activation = np.maximum(activation, 0)
        return -np.mean(
            [row[answer] - np.log(np.exp(row).sum()) for row, answer in zip(activation, label, strict=True)]
        )

    numeric = np.array(
        [
            (loss(parameters.flat + nudge) - loss(parameters.flat - nudge)) / 2e-6
            for nudge in 1e-6 * np.eye(parameters.flat.size)
        ]
    )
    assert np.allclose(training._gradient(parameters, context, label), numeric, atol=1e-7)


def test_adam_takes_steps_of_the_given_size_at_first() -> None:
    parameters = Parameters.of([(2, 1)], np.random.default_rng(0))
    before = parameters.flat.copy()
    Adam(parameters, 0.01).step(np.array([3.0, -2.0, 1e-3]))
    assert np.allclose(parameters.flat - before, [-0.01, 0.01, -0.01], atol=1e-6)
    assert np.shares_memory(parameters.layers[0][0], parameters.flat)


def test_the_paper_s_example_selects_the_paper_s_epochs() -> None:
    accuracy = np.full(150, 0.97)
    accuracy[:45] = 0.9
    accuracy[:5] = 0.5
    assert selected_epochs(accuracy) == (6, 46)


def test_a_poor_classifier_starts_from_an_accuracy_of_a_tenth() -> None:
    assert selected_epochs(np.array([0.05, 0.08, 0.12, 0.3, 0.46, 0.44])) == (3, 5)


def test_a_level_is_reached_at_its_own_value() -> None:
    assert selected_epochs(np.array([0.1, 0.15, 0.55, 0.5])) == (2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["linear", "one-layer"])
def test_classifiers_of_the_digits_have_an_early_and_a_late_policy(architecture: str) -> None:
    digits = load("digits")
    rows = np.random.default_rng(0).permutation(digits.n)[:1300]
    trained = train_classifier(
        "digits", architecture, digits.context, digits.label, rows, np.random.default_rng(1)
    )
    assert trained.early_epoch < trained.late_epoch <= training.CLASSIFIER_EPOCHS
    for policy in (trained.early, trained.late):
        assert policy.shape == (digits.n, 10)
        assert np.allclose(policy.sum(axis=1), 1)
    early, late = (
        chosen_probability(policy, digits.label).mean() for policy in (trained.early, trained.late)
    )
    assert 0.1 < early < 0.3 < 0.5 < late
    assert trained.accuracy.max() > 0.9
    again = train_classifier(
        "digits", architecture, digits.context, digits.label, rows, np.random.default_rng(1)
    )
    assert np.array_equal(again.late, trained.late)
