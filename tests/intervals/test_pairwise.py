"""Many differences at once are those worked out one by one."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.estimators.joint import Contrast, Joint, critical_value_of_pairs
from kwis.intervals.apart import Apart, Side
from kwis.intervals.pairwise import Differences

ESTIMATORS = [
    kwis.VIS(),
    kwis.WIS(),
    kwis.KernelWIS(0.5, normalised=True),
    kwis.TruncatedVIS(1.5),
    kwis.ShrunkenIS("clipping", 2.0),
]

STUDENT = kwis.StudentInterval()


def _sides(estimators, group=None, mass=None, unit=1.0, n=60):
    rng = np.random.default_rng(3)
    context, reward = rng.normal(size=(n, 2)), unit * rng.random(n)
    samples = [
        kwis.WeightedSample(
            context=context, weight=rng.exponential(size=n), reward=reward, group=group, mass=mass
        )
        for _ in estimators
    ]
    return [Contrast.of(one, sample) for one, sample in zip(estimators, samples, strict=True)]


def _check(sides, method=STUDENT):
    pairs = list(itertools.permutations(range(len(sides)), 2))
    found = Differences.of(method, sides, pairs)
    lows, highs = found.ends(0.9)
    chances = found.p_values()
    for number, (a, b) in enumerate(pairs):
        difference = sides[a].minus(sides[b])
        alone = method.of(difference, 0.9)
        ends = [lows[number], found.value[number], highs[number]]
        assert ends == pytest.approx([alone.low, alone.value, alone.high], rel=1e-9)
        assert found.std_error[number] == pytest.approx(difference.std_error, rel=1e-9)
        assert chances[number] == pytest.approx(method.p_value_of(difference), rel=1e-6)


@pytest.mark.parametrize("bias_aware", [True, False])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("uneven", [False, True])
def test_every_difference_is_the_one_worked_out_alone(bias_aware, grouped, uneven):
    rng = np.random.default_rng(1)
    sides = _sides(
        ESTIMATORS,
        group=rng.integers(20, size=60) if grouped else None,
        mass=rng.integers(1, 4, size=60) if uneven else None,
    )
    _check(sides, kwis.StudentInterval(bias_aware=bias_aware, model_error=0.01 if grouped else 0.0))


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_squares_of_huge_and_of_tiny_influences_stay_in_range(unit):
    _check(_sides(ESTIMATORS[:3], unit=unit))


def test_the_error_of_a_model_is_that_of_the_difference():
    rng = np.random.default_rng(2)
    sides = [replace(side, refitted=rng.normal(size=5)) for side in _sides(ESTIMATORS[:3])]
    _check([*sides, _sides(ESTIMATORS[:1])[0]])


def test_an_estimate_without_leverage_counts_every_row_alike():
    first, second, third = _sides([kwis.WIS()] * 3)
    _check([first, replace(second, estimate=replace(second.estimate, leverage=None)), third])


def test_an_estimate_less_itself_is_nothing():
    (side,) = _sides([kwis.WIS()])
    found = Differences.of(STUDENT, [side], [(0, 0)])
    assert (found.value[0], found.std_error[0], found.p_values()[0]) == (0.0, 0.0, 1.0)


def _without_leverage(side):
    return replace(side, estimate=replace(side.estimate, leverage=None))


@pytest.mark.parametrize("leverage", ["all", "some", "none"])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
def test_many_differences_are_the_same_in_compiled_code(monkeypatch, leverage, grouped, unit):
    monkeypatch.setattr("kwis.intervals.pairwise._MANY", 1)
    monkeypatch.setattr("kwis.intervals.apart._DRAWS", 32)
    monkeypatch.setattr("kwis.intervals.apart._PAIRS", 7)
    group = np.random.default_rng(1).integers(20, size=60) if grouped else None
    sides = _sides(ESTIMATORS[: 3 if unit != 1 else None], group=group, unit=unit)
    if leverage != "all":
        sides = [_without_leverage(side) if leverage == "none" else side for side in sides]
        sides.append(_without_leverage(sides[0]))
    assert (Apart.of([Side.of(side, True, 0.1) for side in sides], 0.1, None) is None) == (leverage == "some")
    _check(sides)


def test_differences_of_estimates_of_very_different_sizes_are_not_lost(monkeypatch):
    monkeypatch.setattr("kwis.intervals.pairwise._MANY", 1)
    _check([*_sides(ESTIMATORS[:3]), *_sides(ESTIMATORS[:2], unit=1e-40)])


@pytest.mark.parametrize("grouped", [False, True])
def test_a_pair_in_compiled_code_does_not_depend_on_the_others(monkeypatch, grouped):
    monkeypatch.setattr("kwis.intervals.pairwise._MANY", 1)
    group = np.random.default_rng(1).integers(20, size=60) if grouped else None
    sides = _sides([kwis.WIS(), kwis.KernelWIS(0.5, normalised=True), kwis.WIS()], group=group)
    sides.append(_sides([kwis.WIS()], group=group, unit=300.0)[0])
    pairs = list(itertools.combinations(range(4), 2))
    together = Differences.of(STUDENT, sides, pairs)
    for number, (a, b) in enumerate(pairs):
        alone = Differences.of(STUDENT, [sides[a], sides[b]], [(0, 1)])
        for name in ("value", "std_error", "error", "freedom", "bias"):
            assert getattr(together, name)[number] == getattr(alone, name)[0], name


def test_an_estimate_and_its_difference_know_what_their_bias_is_measured_by():
    rng = np.random.default_rng(3)
    samples = [
        kwis.WeightedSample(context=rng.normal(size=(50, 1)), weight=rng.exponential(size=50), reward=reward)
        for reward in rng.random((2, 50))
    ]
    kernel, whole = kwis.KernelWIS(0.5, normalised=True), kwis.WIS()
    for first, second in ((kernel, kernel), (kernel, whole), (whole, kernel)):
        sides = [Contrast.of(one, sample) for one, sample in zip((first, second), samples, strict=True)]
        known = [replace(one, reference=one.unbiased) for one in sides]
        difference, again = sides[0].minus(sides[1]), known[0].minus(known[1])
        assert difference.reference is None
        assert again.reference is not None
        assert again.unbiased.value == difference.unbiased.value
        assert (again.unbiased.influence == difference.unbiased.influence).all()
    plain = Contrast.of(whole, samples[0])
    assert plain.unbiased is None
    assert plain.minus(plain).unbiased is None


def test_many_pairs_need_the_same_critical_value_in_compiled_code(monkeypatch):
    influences = list(np.random.default_rng(4).standard_normal((6, 500)))
    pairs = [*itertools.permutations(range(6), 2), (0, 0)]
    found = []
    for many in (1, 1000):
        monkeypatch.setattr("kwis.estimators.joint._MANY", many)
        found.append(critical_value_of_pairs(influences, pairs, None, 0.95, 0))
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_a_pair_does_not_depend_on_the_others():
    sides = _sides(ESTIMATORS)
    pairs = list(itertools.combinations(range(len(sides)), 2))
    together = Differences.of(STUDENT, sides, pairs)
    for number, pair in enumerate(pairs):
        alone = Differences.of(STUDENT, sides, [pair])
        assert together.ends(0.9)[0][number] == alone.ends(0.9)[0][0]


def _influences(count, n=3000):
    rng = np.random.default_rng(5)
    return list(rng.normal(size=(n, count)).T + rng.normal(size=n))


def test_all_pairs_hold_together_as_their_own_matrix_says():
    influences = _influences(6)
    pairs = list(itertools.combinations(range(6), 2))
    apart = [influences[a] - influences[b] for a, b in pairs]
    expected = Joint.of(apart).critical_value(0.95, seed=0)
    assert critical_value_of_pairs(influences, pairs, None, 0.95, 1) == pytest.approx(expected, abs=0.03)
    assert expected > 2.5


def test_pairs_that_measure_the_same_add_nothing():
    influences = _influences(4)
    pairs = list(itertools.combinations(range(4), 2))
    usual = critical_value_of_pairs(influences, pairs, None, 0.95, 1)
    again = [*influences, influences[0].copy()]
    more = list(itertools.combinations(range(5), 2))
    assert critical_value_of_pairs(again, more, None, 0.95, 1) == pytest.approx(usual, abs=0.03)


def test_small_differences_of_large_influences_keep_their_correlations():
    rng = np.random.default_rng(7)
    large, small = 1e9 * rng.normal(size=3000), rng.normal(size=(4, 3000))
    pairs = list(itertools.combinations(range(4), 2))
    expected = critical_value_of_pairs(list(small), pairs, None, 0.95, 1)
    found = critical_value_of_pairs(list(small + large), pairs, None, 0.95, 1)
    assert found == pytest.approx(expected, abs=0.03)


def test_groups_count_as_draws():
    influences = [np.repeat(one, 2) for one in _influences(4, 1500)]
    noise = [one + (-1.0) ** np.arange(3000) * 10 * k for k, one in enumerate(influences)]
    pairs = list(itertools.combinations(range(4), 2))
    group = np.repeat(np.arange(1500), 2)
    expected = critical_value_of_pairs(influences, pairs, group, 0.95, 1)
    assert critical_value_of_pairs(noise, pairs, group, 0.95, 1) == pytest.approx(expected, abs=0.01)
