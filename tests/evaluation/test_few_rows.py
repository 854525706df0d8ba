"""Differences among few rows, as in a segment."""

import math
from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.evaluation.intervals import Intervals
from kwis.evaluation.measure import Measured

PLAIN = Intervals(method=None, level=0.95, seed=0)
FEW = replace(PLAIN, few_rows=True)


def pair(context, weight, reward, group=None):
    """A target and the logging policy, by WIS."""
    made = []
    for name, own in (("target", weight), ("logging policy", np.ones(len(weight)))):
        sample = kwis.WeightedSample(context=context, weight=own, reward=reward, group=group)
        estimate = kwis.WIS().estimate(sample)
        made.append(
            Measured(
                target=name,
                reward="r",
                estimator=kwis.WIS(),
                asked=kwis.WIS(),
                sample=sample,
                estimate=estimate,
            )
        )
    return made


def heavy_pair(rng, n=90, chance=0.3):
    """Some 25 effective rows of 90, and rewards of 0 or 1 with the same chance whatever the action: no true
    difference.
    """
    return pair(np.zeros((n, 1)), np.exp(1.1 * rng.normal(size=n)), (rng.random(n) < chance).astype(float))


def test_a_difference_is_in_doubt_though_nearly_all_heavy_rows_agree():
    weight = np.where(np.arange(72) < 12, 10.0, 0.4)
    target, logging = pair(np.zeros((72, 1)), weight, np.array([0.0] * 11 + [1.0] + [1.0, 0.0] * 30))
    assert PLAIN.of(target.minus(logging)).high < -0.05
    assert FEW.of(target.minus(logging)).high > 0


def test_no_arm_is_shorter_and_both_grow_with_the_level():
    rng = np.random.default_rng(4)
    for _ in range(20):
        target, logging = heavy_pair(rng)
        plain, few, higher = (
            made.of(target.minus(logging)) for made in (PLAIN, FEW, replace(FEW, level=0.99))
        )
        assert higher.low <= few.low <= plain.low
        assert plain.high <= few.high <= higher.high


def test_a_p_value_below_one_minus_the_level_is_an_interval_without_0():
    rng = np.random.default_rng(5)
    sides = []
    for _ in range(15):
        target, logging = heavy_pair(rng, chance=rng.choice([0.1, 0.3]))
        for level in (0.5, 0.8, 0.95):
            intervals = replace(FEW, level=level)
            found = intervals.of(target.minus(logging))
            p_value = intervals.p_value(target.minus(logging), found)
            assert (p_value < 1 - level) == (found.low > 0 or found.high < 0)
            sides.append(p_value < 1 - level)
    assert 5 < sum(sides) < 40


def test_the_p_value_does_not_depend_on_the_level():
    target, logging = heavy_pair(np.random.default_rng(6))
    found = [
        made.p_value(target.minus(logging), made.of(target.minus(logging)))
        for made in (FEW, replace(FEW, level=0.5))
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_differences_among_few_heavy_rows_are_covered():
    rng = np.random.default_rng(7)
    covered = {False: 0, True: 0}
    for _ in range(300):
        target, logging = heavy_pair(rng, chance=0.15)
        for few, made in ((False, PLAIN), (True, FEW)):
            found = made.of(target.minus(logging))
            covered[few] += found.low <= 0 <= found.high
    spread = math.sqrt(300 * 0.95 * 0.05)
    assert covered[False] < 285 - 2 * spread
    assert covered[True] > 285 - 2 * spread
