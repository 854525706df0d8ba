from __future__ import annotations

import numpy as np
import pytest

from kwis import InputError
from kwis_paper import vae
from kwis_paper.datasets import load
from kwis_paper.optimise import Parameters
from kwis_paper.policies import Gibbs, sample_actions
from kwis_paper.rewards import Rewards, continuous, single_action
from kwis_paper.vae import Autoencoder, train_autoencoder

_LABEL = np.array([0, 2, 1, 1])


def _codes(latent: list[list[float]]) -> Autoencoder:
    curve = np.zeros(1)
    return Autoencoder(
        latent=np.array(latent),
        train_reconstruction=curve,
        train_divergence=curve,
        test_reconstruction=curve,
        test_divergence=curve,
    )


def test_one_reward_in_ten_is_flipped() -> None:
    rewards = single_action(_LABEL, 3)
    rows = np.arange(4)
    clean = rewards.observed(rows, np.array([0, 2, 0, 1]), np.full(4, 0.5))
    assert clean.tolist() == [1, 1, 0, 1]
    assert rewards.observed(rows, np.array([0, 2, 0, 1]), np.full(4, 0.05)).tolist() == [0, 0, 1, 0]


def test_the_published_value_of_a_gibbs_policy_is_its_probability_of_the_right_action() -> None:
    policy = Gibbs((1,), 0.5).probabilities(_LABEL, 3)
    expected = np.mean([policy[row, label] for row, label in enumerate(_LABEL)])
    assert single_action(_LABEL, 3).value(policy, np.arange(4)) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("noise", ["flip", "lost"])
def test_the_expected_truth_is_the_mean_of_what_is_logged(noise: str) -> None:
    rng = np.random.default_rng(3)
    n = 200_000
    label = rng.integers(0, 4, n)
    table = rng.random((n, 4))
    table[np.arange(n), label] = 1.0
    rewards = Rewards(table, noise)
    policy = Gibbs((0,), 0.5).probabilities(label, 4)
    rows = np.arange(n)
    logged = rewards.observed(rows, sample_actions(policy, rng.random(n)), rng.random(n))
    published = rewards.value(policy, rows)
    assert abs(logged.mean() - rewards.expected(published)) < 4 * logged.std() / np.sqrt(n)
    assert abs(logged.mean() - published) > 10 * logged.std() / np.sqrt(n)


def test_flipped_rewards_are_expected_at_a_tenth_and_eight_tenths_of_the_value() -> None:
    assert single_action(_LABEL, 3).expected(0.5) == pytest.approx(0.5)
    assert single_action(_LABEL, 3).expected(1.0) == pytest.approx(0.9)
    assert Rewards(np.ones((1, 1)), "lost").expected(0.5) == pytest.approx(0.45)


def test_continuous_rewards_grow_with_the_distance_in_latent_space_as_printed() -> None:
    autoencoder = _codes([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [0.0, 3.0]])
    table = continuous(autoencoder, _LABEL, 3).table
    assert np.allclose(table[0], [1.0, 3 / 4, 1.0])
    assert np.allclose(table[1], [4 / 5, 1.0, 1.0])


def test_closeness_pays_one_minus_the_relative_distance() -> None:
    autoencoder = _codes([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [0.0, 3.0]])
    table = continuous(autoencoder, _LABEL, 3, rule="closeness").table
    assert np.allclose(table[0], [1.0, 1 - 3 / 4, 0.0])
    assert np.allclose(table[1], [1 - 4 / 5, 0.0, 1.0])


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(InputError, match="`rule` must be closeness or distance, got 'nearness'"):
        continuous(_codes([[0.0], [1.0], [2.0], [3.0]]), _LABEL, 3, rule="nearness")


def test_the_gradient_of_the_autoencoder_is_that_of_its_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vae, "LATENT", 2)
    rng = np.random.default_rng(5)
    parameters = Parameters.of([(4, 3), (3, 4), (2, 3), (3, 4)], rng)
    pixels = rng.random((6, 4))

    def loss(flat: np.ndarray) -> float:
        # The same seed gives the same noise, so the loss is a smooth function of the parameters.
        return sum(vae._forward(parameters.like(flat), pixels, np.random.default_rng(7)).losses()) / 6

    nudges = 1e-6 * np.eye(parameters.flat.size)
    numeric = np.array(
        [(loss(parameters.flat + nudge) - loss(parameters.flat - nudge)) / 2e-6 for nudge in nudges]
    )
    exact = vae._gradient(parameters, vae._forward(parameters, pixels, np.random.default_rng(7)))
    assert np.allclose(exact, numeric, atol=1e-7)


@pytest.fixture(scope="module")
def digits_codes() -> Autoencoder:
    digits = load("digits")
    assert digits.pixels is not None
    order = np.random.default_rng(0).permutation(digits.n)
    return train_autoencoder(digits.pixels / 16, order[:1348], order[1348:], np.random.default_rng(1))


def test_training_lowers_the_reconstruction_error_and_keeps_the_divergence_off_zero(
    digits_codes: Autoencoder,
) -> None:
    assert digits_codes.latent.shape == (1797, vae.LATENT)
    assert digits_codes.train_reconstruction.shape == (vae.EPOCHS,)
    assert digits_codes.train_reconstruction[-1] < 0.9 * digits_codes.train_reconstruction[0]
    assert digits_codes.test_reconstruction[-1] < 0.9 * digits_codes.test_reconstruction[0]
    assert digits_codes.test_divergence[-1] > 1.0


def test_three_looks_more_like_nine_than_like_six(digits_codes: Autoencoder) -> None:
    """The one thing the paper says of its heatmap of rewards."""
    label = load("digits").label
    table = continuous(digits_codes, label, 10, rule="closeness").table
    assert table[label == 3, 9].mean() > table[label == 3, 6].mean() + 0.1
    assert table.min() >= 0
    assert table.max() == 1
