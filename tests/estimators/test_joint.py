"""Contrasts and what chance does to several of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kwis
from kwis.estimators.joint import Contrast, Joint, model_error
from kwis.stats.influence import standard_error


def samples(group=None, n=400, seed=0):
    rng = np.random.default_rng(seed)
    context, reward = rng.normal(size=(n, 2)), rng.gamma(2.0, size=n)
    weights = rng.gamma(2.0, 0.5, size=(2, n))
    return [kwis.WeightedSample(context=context, weight=w, reward=reward, group=group) for w in weights]


@pytest.mark.parametrize("group", [None, np.repeat(np.arange(100), 4)])
def test_standard_errors_and_correlations_are_those_of_the_estimates(group):
    first, second = (Contrast.of(kwis.WIS(), sample) for sample in samples(group))
    apart = first.minus(second)
    joint = Joint.of([one.influence for one in (first, second, apart)], group)
    errors = [one.estimate.std_error for one in (first, second)]
    assert joint.std_errors[:2] == pytest.approx(errors, rel=1e-12)
    assert joint.std_errors[2] == pytest.approx(apart.std_error, rel=1e-12)
    assert joint.correlations()[0, 1] == pytest.approx(apart.correlation, rel=1e-9)


def test_a_difference_is_that_of_the_paired_estimator():
    pair = samples()
    first, second = (Contrast.of(kwis.WIS(), sample) for sample in pair)
    apart = first.minus(second)
    assert apart.value == first.value - second.value
    assert apart.std_error == standard_error(first.influence - second.influence, None)
    # In the rewards' own unit: no two weighted means of them are further apart.
    assert apart.most == np.ptp(pair[0].reward)
    assert first.minus(Contrast.of(kwis.VIS(), pair[1])).most == math.inf


def test_refits_of_one_propensity_model_move_both_sides_together():
    first, second = (Contrast.of(kwis.WIS(), sample) for sample in samples())
    moves = np.array([0.0, 0.2, -0.1, 0.4])
    fields = ("estimator", "asked", "sample", "estimate")
    with_refits = [
        Contrast(**{name: getattr(one, name) for name in fields}, refitted=one.value + moves)
        for one in (first, second)
    ]
    assert with_refits[0].model_error == pytest.approx(model_error(moves[:, None])[0])
    assert with_refits[0].minus(with_refits[1]).model_error == pytest.approx(0.0, abs=1e-12)
    assert with_refits[0].minus(second).model_error == pytest.approx(with_refits[0].model_error)


def test_huge_influence_overflows_nowhere():
    influence = np.random.default_rng(0).standard_normal((2, 100)) * 1e200
    joint = Joint.of(list(influence))
    assert joint.std_errors == pytest.approx([standard_error(one, None) for one in influence], rel=1e-12)
    assert math.isfinite(joint.critical_value(0.95, 0))
