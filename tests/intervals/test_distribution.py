"""The distribution of the rewards under a policy, and its band."""

import math

import numpy as np
import pytest

import kwis
from tests.estimators.catalogue import some_sample


def by_hand(sample, points, level, seed):
    """Shares at the points, and their band: as many standard errors as the largest error at all points."""
    n = sample.n
    mass = np.ones(n) if sample.mass is None else sample.mass
    load = sample.weight * mass * n / (sample.weight @ mass)
    share = np.array([load[sample.reward <= point].sum() / n for point in points])
    labels = range(n) if sample.group is None else np.unique(sample.group)
    group = np.arange(n) if sample.group is None else sample.group
    sums = np.array(
        [
            [
                (load * ((sample.reward <= point) - at))[group == label].sum()
                for point, at in zip(points, share, strict=True)
            ]
            for label in labels
        ]
    )
    error = np.sqrt(np.square(sums).sum(axis=0) * len(labels) / (len(labels) - 1)) / n
    some = error > 1e-9
    correlation = np.corrcoef(sums[:, some], rowvar=False)
    draws = np.random.default_rng(seed).multivariate_normal(np.zeros(some.sum()), correlation, 50_000)
    reach = np.quantile(np.abs(draws).max(axis=1), level) * error
    low, high = share - reach, share + reach
    return (
        share,
        [max(0.0, *low[: k + 1]) for k in range(len(points))],
        [min(1.0, *high[k:]) for k in range(len(points))],
    )


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize(("mass", "groups"), [(False, 0), (True, 0), (True, 11)])
def test_shares_and_band_are_those_by_hand(level, mass, groups):
    sample = some_sample(40, 2, mass=mass, groups=groups, zeros=False)
    found = kwis.reward_distribution(sample, level)
    points = np.sort(sample.reward)
    share, low, high = by_hand(sample, points, level, 5)
    assert found.reward.tolist() == points.tolist()
    np.testing.assert_allclose(found.share, share, atol=1e-12)
    # 2,000 draws: a quantile of the largest error is known to a few per cent of the reach.
    np.testing.assert_allclose(found.low, low, atol=0.03)
    np.testing.assert_allclose(found.high, high, atol=0.03)
    assert found.level == level
    assert (np.diff(found.low) >= 0).all()
    assert (np.diff(found.high) >= 0).all()


@pytest.mark.parametrize(("n", "points"), [(100, 100), (101, 100), (1_000, 100)])
def test_at_most_a_hundred_points_from_the_lowest_reward_to_the_highest(n, points):
    sample = kwis.WeightedSample(context=np.zeros((n, 1)), weight=np.ones(n), reward=np.arange(n))
    found = kwis.reward_distribution(sample)
    assert found.reward.size == points
    assert (found.reward[0], found.reward[-1], found.share[-1]) == (0, n - 1, 1.0)
    assert np.diff(found.reward).max() - np.diff(found.reward).min() <= 1


def test_it_is_of_level_095_and_seed_0_unless_told_otherwise():
    sample = some_sample(20)
    plain, said, other = (kwis.reward_distribution(sample, *given) for given in ((), (0.95, 0), (0.95, 1)))
    assert plain.low.tolist() == said.low.tolist()
    assert plain.low.tolist() != other.low.tolist()


def test_equal_rewards_have_a_share_of_1_and_no_error():
    found = kwis.reward_distribution(
        kwis.WeightedSample(context=np.zeros((3, 1)), weight=[1.0, 2.0, 5.0], reward=np.full(3, 7.0))
    )
    assert [x.tolist() for x in (found.reward, found.share, found.low, found.high)] == [
        [7.0],
        [1.0],
        [1.0],
        [1.0],
    ]


def test_what_has_no_distribution_is_refused():
    nothing = kwis.WeightedSample(context=np.zeros((3, 1)), weight=np.zeros(3), reward=np.arange(3))
    with pytest.raises(kwis.InputError, match="`weight` must be positive in at least one row"):
        kwis.reward_distribution(nothing)
    one = kwis.WeightedSample(context=[[0.0]], weight=[1.0], reward=[1.0])
    with pytest.raises(kwis.KwisError, match="at least 2 rows"):
        kwis.reward_distribution(one)
    with pytest.raises(kwis.InputError, match="`level` must be between 0 and 1"):
        kwis.reward_distribution(some_sample(), math.nan)
