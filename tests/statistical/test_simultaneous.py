"""Intervals that promise to hold all at once: how often they do, for the differences of three policies on the
same rows.
"""

import itertools
import math

import numpy as np
import pytest

import kwis
from kwis.evaluation.compare import compared
from kwis.evaluation.intervals import Intervals
from kwis.evaluation.measure import Measured
from kwis.runtime.threads import engine
from tests.statistical.bandits import Bandit

POLICIES = ("evaluated", "other", "logging")
BANDITS = {"mild": Bandit(), "users": Bandit(users=5), "heavy": Bandit(sharpness=2.2)}
ESTIMATORS = {"wis": kwis.WIS(), "normalised-kernel-wis": kwis.KernelWIS(0.4, normalised=True)}


def differences(bandit, estimator, n, seed, level=0.95):
    """Every pair of policies, with the interval of its own and the one that holds together with the
    others.
    """
    samples = bandit.sample(n, np.random.default_rng([11, seed]), POLICIES)
    measured = [
        Measured(
            target=name,
            reward="reward",
            estimator=estimator,
            asked=estimator,
            sample=sample,
            estimate=estimator.estimate(sample),
        )
        for name, sample in zip(POLICIES, samples, strict=True)
    ]
    pairs = list(itertools.combinations(measured, 2))
    return compared(pairs, {}, Intervals(method=None, level=level, seed=seed))


def study(setting, estimator, simulations, n=300):
    """Share of simulations in which all intervals hold: those made to hold together, and those made each for
    itself.
    """
    bandit = BANDITS[setting]
    truth = {name: bandit.value(name) for name in POLICIES}
    together = alone = 0
    with engine():
        for seed in range(simulations):
            found = differences(bandit, ESTIMATORS[estimator], n, seed)
            gaps = [truth[one.target] - truth[one.baseline] for one in found]
            together += all(gap in one.simultaneous for gap, one in zip(gaps, found, strict=True))
            alone += all(gap in one.interval for gap, one in zip(gaps, found, strict=True))
    print(
        f"{setting:6s} {estimator:22s} together {together / simulations:.1%}, each for itself "
        f"{alone / simulations:.1%}"
    )
    return together / simulations, alone / simulations


def slack(simulations):
    return 2 * math.sqrt(0.95 * 0.05 / simulations)


def test_all_differences_hold_at_once_as_often_as_promised():
    simulations = 150
    together, alone = study("mild", "wis", simulations)
    assert 0.93 - slack(simulations) <= together <= 0.97 + slack(simulations)
    assert alone < together


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("setting", ["mild", "users"])
def test_differences_hold_at_once_over_many_samples(setting, estimator):
    together, alone = study(setting, estimator, 1000)
    assert 0.92 <= together <= 0.975
    assert alone < together


@pytest.mark.slow
def test_heavy_weights_cost_simultaneous_intervals_some_coverage_too():
    together, _ = study("heavy", "wis", 1000)
    assert 0.85 <= together <= 0.97
