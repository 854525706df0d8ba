from __future__ import annotations

import math

import numpy as np
import pytest

from kwis_paper.policies import ASCENTS, CLASSIFIERS, Gibbs, chosen_probability, sample_actions

_LABEL = np.array([0, 1, 2, 3, 3, 0])


def test_a_faulty_action_is_replaced_by_the_next_and_the_last_by_the_first() -> None:
    assert Gibbs((0, 3), 0.5).greedy(_LABEL, 4).tolist() == [1, 1, 2, 0, 0, 1]
    assert Gibbs((), 0.5).greedy(_LABEL, 4).tolist() == _LABEL.tolist()


@pytest.mark.parametrize("temperature", [1e-3, 0.3, 0.5, 50.0])
def test_gibbs_probabilities_sum_to_one(temperature: float) -> None:
    probabilities = Gibbs((1,), temperature).probabilities(_LABEL, 4)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-14)
    assert (probabilities >= 0).all()


def test_gibbs_probabilities_are_those_of_the_paper_s_formula() -> None:
    probabilities = Gibbs((0,), 0.5).probabilities(np.array([0]), 3)
    greedy, other = math.exp(1 / 0.5), 1.0
    total = greedy + 2 * other
    assert np.allclose(probabilities, [[other / total, greedy / total, other / total]], rtol=1e-14)


def test_a_lower_temperature_is_more_concentrated() -> None:
    sharp, soft = (Gibbs((), temperature).probabilities(_LABEL, 4).max() for temperature in (0.3, 0.5))
    assert sharp > soft > 0.25


def test_sampling_inverts_the_cumulative_probabilities() -> None:
    probabilities = np.array([[0.2, 0.0, 0.8]] * 4)
    assert sample_actions(probabilities, np.array([0.0, 0.199, 0.2, np.nextafter(1.0, 0.0)])).tolist() == [
        0,
        0,
        2,
        2,
    ]


def test_rounding_of_the_cumulative_sum_leaves_no_draw_without_an_action() -> None:
    probabilities = np.full((1, 10), 0.1) - 1e-12
    assert sample_actions(probabilities, np.array([np.nextafter(1.0, 0.0)])).tolist() == [9]


def test_sampled_frequencies_are_the_probabilities() -> None:
    rng = np.random.default_rng(0)
    probabilities = np.tile([0.5, 0.1, 0.4], (20_000, 1))
    shares = np.bincount(sample_actions(probabilities, rng.random(20_000)), minlength=3) / 20_000
    assert np.abs(shares - [0.5, 0.1, 0.4]).max() < 4 * math.sqrt(0.25 / 20_000)


def test_the_chosen_probability_is_that_of_the_action_taken() -> None:
    table = np.array([[0.1, 0.9], [0.6, 0.4]])
    assert chosen_probability(table, np.array([1, 0])).tolist() == [0.9, 0.6]


def test_policies_have_names_of_their_own() -> None:
    everyone = [
        Gibbs((), 0.3),
        Gibbs((0,), 0.3),
        Gibbs((0, 1), 0.3),
        Gibbs((0, 1), 0.5),
        *ASCENTS,
        *CLASSIFIERS,
    ]
    assert len({policy.name for policy in everyone}) == len(everyone) == 12
    assert Gibbs((0, 1), 0.5).name == "gibbs[0,1]@0.5"
