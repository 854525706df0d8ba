"""Contrasts and what chance does to several of them."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

import kwis
from kwis.estimators.joint import Contrast, Joint, independent_critical_value, model_error
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


ALONE = NormalDist().inv_cdf(0.95)  # of one error at level 0.9


def test_errors_that_move_together_need_no_more_than_one_alone():
    influence = np.random.default_rng(1).normal(size=50)
    joint = Joint.of([influence, -3 * influence])
    assert joint.critical_value(0.9, 0) == pytest.approx(ALONE, rel=0.01)
    assert joint.critical_value(0.9, 0) >= ALONE
    assert Joint.of([influence]).critical_value(0.9, 0) == ALONE


def test_independent_errors_need_as_much_as_sidak_says():
    signs = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]], dtype=float)
    for count in (2, 3):
        joint = Joint.of(list(np.tile(signs[:count], 5)))
        expected = independent_critical_value(count, 0.9)
        assert 2 * NormalDist().cdf(expected) - 1 == pytest.approx(0.9 ** (1 / count))
        assert joint.critical_value(0.9, 0) == pytest.approx(expected, abs=0.02)  # 40,000 draws
        assert joint.critical_value(0.9, 0) != joint.critical_value(0.9, 1)
    assert independent_critical_value(1, 0.9) == pytest.approx(ALONE)


def test_a_contrast_that_no_row_moves_has_no_error_and_no_say():
    influence = np.array([2.0, -1.0, -1.0, 0.0])
    joint = Joint.of([influence, np.zeros(4)], np.array([0, 0, 1, 2]))
    assert (joint.rows, joint.draws) == (4, 3)
    assert joint.std_errors == pytest.approx([math.sqrt((1 + 1) * 3 / 2) / 4, 0.0])
    assert joint.correlations() == pytest.approx(np.ones((1, 1)))
    assert joint.critical_value(0.9, 0) == ALONE


def contrast_of(value, influence, **fields):
    sample = kwis.WeightedSample(context=np.zeros((4, 1)), weight=np.ones(4), reward=np.arange(4.0))
    estimate = kwis.Estimate(name="own", value=value, n=4, influence=influence)
    return Contrast(estimator=kwis.WIS(), asked=kwis.WIS(), sample=sample, estimate=estimate, **fields)


def test_a_difference_has_resamples_and_refits_where_its_sides_have_them():
    first = contrast_of(1.0, np.ones(4), resampled=np.array([3.0, 1.0]), refitted=np.array([1.0, 2.0]))
    second = contrast_of(0.5, np.ones(4), resampled=np.array([1.0, 4.0]), refitted=np.array([0.0, 5.0]))
    bare = contrast_of(0.25, None)
    apart = first.minus(second)
    assert (apart.resampled.tolist(), apart.refitted.tolist()) == ([2.0, -3.0], [1.0, -3.0])
    assert apart.sides == (first, second)
    for pair in ((first, bare), (bare, first)):
        apart = pair[0].minus(pair[1])
        assert apart.resampled is None
        assert apart.refitted.tolist() == [1.0, 2.0]
        assert math.isnan(apart.std_error)
    assert bare.minus(bare).refitted is None
    assert bare.model_error == 0.0


def test_the_error_of_a_model_adds_to_that_of_the_rows():
    moves = np.array([1.0, -1.0, 2.0, -2.0])
    refits = np.array([0.0, 0.1, 0.5])
    error = math.hypot(standard_error(moves, None), model_error(refits[:, None])[0])
    assert contrast_of(1.0, moves, refitted=refits).std_error == pytest.approx(error)


def test_the_correlation_of_two_sides_is_that_of_their_influence():
    a, b = np.array([1.0, -1.0, 2.0, -2.0]), np.array([2.0, -1.0, 1.0, -2.0])
    cosine = (a @ b) / math.sqrt((a @ a) * (b @ b))
    assert contrast_of(1.0, a).minus(contrast_of(2.0, 0.1 * b)).correlation == pytest.approx(cosine)
    assert contrast_of(1.0, a).minus(contrast_of(1.0, a)).correlation == 1.0
    assert contrast_of(1.0, a).minus(contrast_of(1.0, -a)).correlation == -1.0
    for side in (np.zeros(4), None):
        assert contrast_of(1.0, a).minus(contrast_of(1.0, side)).correlation == 0.0


def test_a_bandwidth_is_that_of_the_estimator():
    plain = contrast_of(1.0, None)
    assert not plain.has_bandwidth
    for estimator, held in ((kwis.KernelWIS(1.0), True), (kwis.DoublyRobust(), False)):
        assert replace(plain, estimator=estimator).has_bandwidth is held
    assert plain.most == math.inf
