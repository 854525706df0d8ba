"""Standard errors that are right, and consistency along a bandwidth schedule."""

from itertools import pairwise

import numpy as np
import pytest

import kwis
from tests.statistical.bandits import Bandit

MILD = Bandit()


def draws(bandit, estimator, n, simulations, key):
    """Estimates on independent samples."""
    samples = (bandit.sample(n, np.random.default_rng([key, n, seed]))[0] for seed in range(simulations))
    return [estimator.estimate(sample) for sample in samples]


def distance_to_normal(z):
    """Kolmogorov's distance between the draws and the standard normal."""
    from scipy.special import ndtr

    ordered, n = ndtr(np.sort(z)), z.size
    return max((np.arange(1, n + 1) / n - ordered).max(), (ordered - np.arange(n) / n).max())


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [kwis.VIS(), kwis.TruncatedVIS(), kwis.WIS(), kwis.KernelWIS(0.5, normalised=True)],
    ids=lambda e: e.name,
)
def test_the_error_in_standard_errors_is_near_normal(estimator):
    simulations = 600
    estimates = draws(MILD, estimator, 400, simulations, key=1)
    z = np.array([(e.value - MILD.value()) / e.std_error for e in estimates])
    print(
        f"{estimator.name:24s} mean {z.mean():+.3f}  sd {z.std():.3f}  distance {distance_to_normal(z):.3f}"
    )
    assert abs(z.mean()) < 4 / np.sqrt(simulations)
    assert z.std() == pytest.approx(1.0, abs=4 / np.sqrt(2 * simulations))
    assert distance_to_normal(z) < 1.63 / np.sqrt(simulations)  # 1 % critical value


@pytest.mark.parametrize("groups", [5])
def test_standard_errors_by_group_are_right_where_rows_alone_would_be_too_small(groups):
    bandit = Bandit(users=groups)
    values, errors, naive = [], [], []
    for seed in range(400):
        (sample,) = bandit.sample(400, np.random.default_rng([2, seed]))
        estimate = kwis.WIS().estimate(sample)
        alone = kwis.WeightedSample(context=sample.context, weight=sample.weight, reward=sample.reward)
        values.append(estimate.value)
        errors.append(estimate.std_error)
        naive.append(kwis.WIS().estimate(alone).std_error)
    slack = 4 / np.sqrt(2 * 400)
    assert np.mean(errors) / np.std(values) == pytest.approx(1.0, abs=slack)
    assert np.mean(naive) < np.mean(errors)


def schedule(n):
    """Shrinks, but slowly enough for neighbourhoods to grow: ``n h^2 / log n`` goes to infinity in two
    dimensions.
    """
    return n ** (-1 / 6)


def study(sizes, simulations, normalised):
    """Bias and root mean squared error along the schedule."""
    rows = []
    for n in sizes:
        errors = (
            np.array(
                [
                    e.value
                    for e in draws(
                        MILD, kwis.KernelWIS(schedule(n), normalised=normalised), n, simulations, key=3
                    )
                ]
            )
            - MILD.value()
        )
        rows.append((n, schedule(n), errors.mean(), np.sqrt((errors**2).mean())))
        print(
            f"{'normalised' if normalised else 'plain':12s} n={n:5d}  h={rows[-1][1]:.3f}  bias "
            f"{rows[-1][2]:+.4f}  rmse {rows[-1][3]:.4f}"
        )
    return rows


@pytest.mark.parametrize("normalised", [False, True], ids=["plain", "normalised"])
def test_kernel_wis_is_consistent_along_a_bandwidth_schedule(normalised):
    errors = [row[3] for row in study((60, 240, 960), 120, normalised)]
    # A fourfold sample halves the error; the ratio of two such errors over 120 runs is good to about a tenth.
    for larger, smaller in pairwise(errors):
        assert smaller == pytest.approx(larger / 2, rel=0.35)


def test_neighbourhoods_that_do_not_grow_miss_the_truth():
    """The condition of the theorem matters: with hardly a row in reach, Kernel-WIS stays near the value of
    the logging policy.
    """
    for n in (240, 960):
        estimates = draws(MILD, kwis.KernelWIS(0.1 / np.sqrt(n)), n, 60, key=4)
        bias = np.mean([e.value for e in estimates]) - MILD.value()
        logged = MILD.value("logging") - MILD.value()
        assert bias == pytest.approx(logged, abs=0.25 * abs(logged))


@pytest.mark.slow
@pytest.mark.parametrize("normalised", [False, True], ids=["plain", "normalised"])
def test_the_error_keeps_falling_to_large_samples(normalised):
    rows = study((100, 400, 1600, 6400), 200, normalised)
    errors = [row[3] for row in rows]
    for larger, smaller in pairwise(errors):
        assert smaller == pytest.approx(larger / 2, rel=0.3)
    assert abs(rows[-1][2]) < 3 * errors[-1] / np.sqrt(200) + 0.002
