"""Evidence for a repair: rows of a group that share one draw count once, and wilder weights need
more of it.
"""

from __future__ import annotations

import numpy as np
import pytest

from kwis.data.read.read_log import read_log
from kwis.models.propensity.gain import gain_p_value, gains_of_draws
from kwis.models.propensity.repaired import repair_propensities
from kwis.models.propensity.tame import between, tame_share, useful_share
from kwis.sample import effective_size
from tests.models.propensity.test_repair import drawn, softmax


def shared_log(
    users: int, each: int, seed: int, *, power: float = 1.0, whole: bool = True, shared: bool = True
):
    """Users with a context and, where it is shared, one draw each; propensities right, or to some power."""
    rng = np.random.default_rng([seed, users])
    user = np.repeat(np.arange(users), each)
    x = rng.normal(size=(users, 3))[user]
    chances = softmax(0.8 * x @ np.random.default_rng(7).normal(size=(3, 4)))
    action = drawn(chances[::each], rng)[user] if shared else drawn(chances, rng)
    given = softmax(power * np.log(chances))
    columns = {"x": x, "action": action, "reward": rng.random(len(user)), "user": user}
    columns["p"] = given if whole else given[np.arange(len(user)), action]
    return read_log(columns, context="x", propensity="p", group="user", actions=list(range(4)))


def test_a_group_with_one_draw_counts_as_one_row():
    rng = np.random.default_rng(0)
    gain = rng.normal(0.05, 0.3, 60)
    one = gain_p_value([gain], [None], [None], 1)
    shared = gain_p_value([np.repeat(gain, 10)], [None], [np.repeat(np.arange(60), 10)], 1)
    assert shared == pytest.approx(one)
    assert gain_p_value([np.repeat(gain, 10)], [None], [None], 1) < 0.1 * one


def test_rows_of_a_group_that_are_independent_keep_most_of_what_they_say():
    gain = np.random.default_rng(1).normal(0.1, 0.4, 4_000)
    total = gains_of_draws([gain], [np.repeat(np.arange(400), 10)])[0].sum()
    assert 0.7 * gain.sum() < total <= gain.sum()


def test_groups_of_one_row_change_nothing():
    gain = np.random.default_rng(2).normal(size=50)
    np.testing.assert_array_equal(gains_of_draws([gain], [np.arange(50)])[0], gain)


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_users_who_share_a_draw_are_rarely_repaired_without_need(whole):
    assert sum(not repair_propensities(shared_log(40, 25, seed, whole=whole)).kept for seed in range(8)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("users", "each"), [(40, 25), (200, 5)])
def test_users_who_share_a_draw_are_hardly_ever_repaired_without_need(users, each, whole):
    assert (
        np.mean(
            [
                not repair_propensities(shared_log(users, each, 100 + seed, whole=whole)).kept
                for seed in range(100)
            ]
        )
        <= 0.06
    )


def test_wrong_propensities_of_users_with_draws_of_their_own_are_still_repaired():
    assert (
        sum(
            not repair_propensities(shared_log(150, 8, seed, power=0.4, shared=False)).kept
            for seed in range(4)
        )
        == 4
    )


def wilder(n: int = 400):
    """A right distribution, one that is wilder for no reason, and actions drawn from the former."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(n, 4))
    right, wild = softmax(0.5 * scores), softmax(0.5 * scores + 0.8 * rng.normal(size=(n, 4)))
    return right, wild, drawn(right, rng)


def way(given, made, action):
    return lambda share: between(given, made, share)[np.arange(len(action)), action]


def test_a_repair_that_only_makes_weights_wilder_is_left_out():
    right, wild, action = wilder()
    assert useful_share(way(right, wild, action), 0.02, None, None) < 0.3
    assert useful_share(way(right, right, action), 0.02, None, None) == 1.0


def test_a_repair_that_actions_call_for_is_used():
    right, _, action = wilder(2_000)
    timid = softmax(0.3 * np.log(right))
    rows = np.arange(len(action))
    assert effective_size(1 / right[rows, action]) < 0.9 * effective_size(1 / timid[rows, action])
    assert useful_share(way(timid, right, action), 0.02, None, None) > 0.7
    assert useful_share(way(timid, right, action), 1e-9, None, None) == 1.0


def test_without_a_distribution_nothing_becomes_wilder_unless_evidence_is_clear():
    right, wild, action = wilder()
    wilder_way = way(right, wild, action)
    share = tame_share(wilder_way, 0.02, None)
    assert 0 < share < 1
    assert effective_size(1 / wilder_way(share)) >= 0.9 * effective_size(1 / wilder_way(0.0))
    assert tame_share(wilder_way, 1e-9, None) == 1.0
    assert tame_share(way(wild, right, action), 0.02, None) == 1.0


def test_between_two_distributions_is_a_distribution():
    right, wild, _ = wilder(20)
    right[0] = [0.0, 0.5, 0.5, 0.0]
    wild[0] = [0.0, 0.2, 0.8, 0.0]
    for share in (0.0, 0.4, 1.0):
        made = between(right, wild, share)
        np.testing.assert_allclose(made.sum(axis=1), 1)
        for k in range(1, 3):
            expected = right[0, k] ** (1 - share) * wild[0, k] ** share
            assert made[0, k] == pytest.approx(
                expected / sum(right[0, j] ** (1 - share) * wild[0, j] ** share for j in (1, 2))
            )
