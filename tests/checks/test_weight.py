"""Spread, mean, tail and most influential rows of the weights."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.checks.bound import expected_effective_n
from kwis.checks.pareto import pareto_k
from kwis.checks.verdict import verdict
from kwis.checks.weight import weight_diagnostics
from kwis.policy.target import resolve_targets
from tests.estimators.catalogue import some_sample
from tests.reference import diagnostics as twin
from tests.reference.estimators import effective_size


def sample_of(weight, **options):
    n = len(weight)
    return kwis.WeightedSample(context=np.zeros((n, 1)), weight=weight, reward=np.arange(n) / n, **options)


def test_the_numbers_are_those_of_their_definitions():
    sample = some_sample(40, mass=True)
    found = weight_diagnostics(sample)
    loads = sample.weight * sample.mass
    assert found.n == 40
    assert found.effective_n == pytest.approx(
        effective_size(sample.weight.tolist(), sample.mass.tolist()), rel=1e-12
    )
    assert found.largest_share == pytest.approx(loads.max() / loads.sum(), rel=1e-12)
    assert found.zero_share == pytest.approx(sample.mass[1] / sample.mass.sum(), rel=1e-12)
    assert found.mean == pytest.approx(loads.sum() / sample.mass.sum(), rel=1e-12)


def test_the_mean_weight_is_tested_by_row_or_by_group():
    rng = np.random.default_rng(0)
    weight = rng.lognormal(0, 0.5, 200)
    found = weight_diagnostics(sample_of(weight))
    assert found.std_error == pytest.approx(weight.std(ddof=1) / math.sqrt(200), rel=1e-12)
    z = (weight.mean() - 1) / found.std_error
    assert found.p_value == pytest.approx(math.erfc(abs(z) / math.sqrt(2)), rel=1e-9)
    doubled = weight_diagnostics(sample_of(np.repeat(weight, 2), group=np.repeat(np.arange(200), 2)))
    assert doubled.std_error == pytest.approx(found.std_error, rel=1e-12)


def test_the_rows_of_a_group_count_as_one():
    weight, mass = np.array([1.0, 2.0, 3.0, 4.0, 2.0]), np.array([1.0, 1.0, 2.0, 1.0, 0.5])
    found = weight_diagnostics(sample_of(weight, mass=mass, group=["a", "a", "b", "c", "b"]))
    assert found.groups == 3
    assert found.effective_n == pytest.approx((3 + 7 + 4) ** 2 / (3**2 + 7**2 + 4**2), rel=1e-12)
    assert found.largest_share == pytest.approx(7 / 14, rel=1e-12)


def test_quantiles_count_rows_as_often_as_they_stand_for():
    weight = np.array([4.0, 1.0, 2.0, 3.0])
    plain = weight_diagnostics(sample_of(weight))
    assert dict(zip(plain.probabilities, plain.quantiles, strict=True)) == {
        0.0: 1, 0.01: 1, 0.05: 1, 0.25: 1, 0.5: 2, 0.75: 3, 0.95: 4, 0.99: 4, 1.0: 4,
    }  # fmt: skip
    heavy = weight_diagnostics(sample_of(weight, mass=[1, 7, 1, 1]))
    assert heavy.quantiles[4] == 1


def test_influential_rows_are_those_that_move_wis():
    sample = some_sample(30, groups=10)
    found = weight_diagnostics(sample, most=3).influential
    assert len(found) == 3
    everyone = kwis.WIS().estimate(sample).value
    moves = [
        everyone - kwis.WIS().estimate(sample.take(np.delete(np.arange(30), i))).value for i in range(30)
    ]
    assert found[0].row == int(np.argmax(np.abs(moves)))
    for row in found:
        assert row.weight == sample.weight[row.row]
        assert row.reward == sample.reward[row.row]
        assert row.share == pytest.approx(sample.weight[row.row] / sample.weight.sum())
        assert row.effect == pytest.approx(moves[row.row], rel=0.2)


def test_influential_rows_keep_their_number_in_the_log():
    part = some_sample(30).take(np.arange(10, 30))
    assert all(row.row >= 10 for row in weight_diagnostics(part).influential)


def test_all_weights_zero_and_all_weights_one_are_fine():
    none = weight_diagnostics(sample_of(np.zeros(30)))
    assert (none.effective_n, none.largest_share, none.zero_share, none.mean, none.p_value) == (0, 0, 1, 0, 0)
    assert math.isnan(none.pareto_k)
    same = weight_diagnostics(sample_of(np.ones(30)))
    assert (same.effective_n, same.mean, same.p_value, same.pareto_k) == (30, 1, 1, -math.inf)
    single = weight_diagnostics(sample_of(np.ones(1)))
    assert math.isnan(single.std_error)
    assert math.isnan(single.p_value)


def test_huge_weights_stay_finite():
    rng = np.random.default_rng(0)
    found = weight_diagnostics(sample_of(rng.uniform(0.5, 1.5, 60) * np.resize([1e300, 1.0, 1e-300], 60)))
    assert np.isfinite(
        [found.effective_n, found.largest_share, found.mean, found.std_error, found.pareto_k]
    ).all()


@pytest.mark.parametrize("n", [30, 200, 3000])
@pytest.mark.parametrize("tail", [0.8, 1.5, 5.0])
def test_the_tail_index_equals_its_slow_twin(n, tail):
    weight = np.random.default_rng(n).pareto(tail, n) + 0.01
    assert pareto_k(weight) == pytest.approx(twin.pareto_shape(twin.tail_excess(weight.tolist())), rel=1e-9)


@pytest.mark.parametrize("shape", [0.2, 0.5, 0.9])
def test_the_tail_index_finds_the_shape_of_a_pareto_tail(shape):
    found = [pareto_k(np.random.default_rng(seed).pareto(1 / shape, 10_000)) for seed in range(20)]
    assert np.mean(found) == pytest.approx(shape, abs=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_the_tail_index_agrees_with_arviz(seed):
    array_stats = pytest.importorskip("arviz_stats.base", reason="arviz-stats is not installed").array_stats
    rng = np.random.default_rng(seed)
    weight = rng.pareto(rng.uniform(0.7, 4), int(rng.integers(60, 3000))) + 0.01
    assert pareto_k(weight) == pytest.approx(float(array_stats.psislw(-np.log(weight), r_eff=1)[1]), rel=1e-8)


def test_the_tail_index_ignores_weights_of_zero_and_the_unit():
    weight = np.random.default_rng(2).pareto(1.5, 500)
    assert pareto_k(np.append(weight, np.zeros(300))) == pareto_k(weight)
    assert pareto_k(weight * 1e200) == pytest.approx(pareto_k(weight), rel=1e-9)
    assert math.isnan(pareto_k(weight[:24]))
    assert math.isfinite(pareto_k(weight[:25]))


@pytest.mark.parametrize("thinned", [False, True])
def test_large_weights_that_were_not_drawn_count_in_what_is_expected(thinned):
    rng = np.random.default_rng(0)
    n, rare = 400, 0.002
    action = np.zeros(n, dtype=int)
    action[:5] = 1  # so that both are actions of the log
    mass = rng.integers(1, 9, n).astype(float)
    columns = {"x": rng.normal(size=n), "action": action, "reward": rng.normal(size=n), "m": mass}
    columns |= {
        "p_0": np.full(n, 1 - rare),
        "p_1": np.full(n, rare),
        "q_0": np.full(n, 0.7),
        "q_1": np.full(n, 0.3),
    }
    roles = {"row_weight": "m"} if thinned else {}
    log = kwis.read_log(columns, reward="reward", propensity="p", context=["x"], **roles)
    target = resolve_targets(log, "q")[0]
    counted = mass if thinned else np.ones(n)
    expected = sum(counted) ** 2 / sum(m**2 * (0.7**2 / (1 - rare) + 0.3**2 / rare) for m in counted)
    assert expected_effective_n(log, target) == pytest.approx(expected, rel=1e-9)
    assert expected_effective_n(log, replace(target, distribution=None)) == np.inf


def test_a_log_that_lacks_its_largest_weights_is_not_to_be_trusted():
    found = weight_diagnostics(
        kwis.WeightedSample(context=np.zeros((900, 1)), weight=np.ones(900), reward=np.arange(900.0))
    )
    assert verdict(found).level == "trust"
    lacking = verdict(replace(found, expected_effective_n=31.4))
    assert lacking.level == "do not trust"
    assert lacking.reasons == (
        "rare weights larger than any logged would leave only 31 effective rows, fewer than 50",
    )


def test_the_rows_of_largest_effect_are_the_first_of_equal_ones():
    rng = np.random.default_rng(3)
    sample = sample_of(np.ones(500)).with_weight(rng.integers(1, 4, 500).astype(float))
    effect = np.abs(kwis.WIS().estimate(sample).influence)
    expected = np.argsort(-effect, kind="stable")
    for most in (1, 10, 499, 500, 600):
        found = weight_diagnostics(sample, most=most).influential
        assert [one.row for one in found] == expected[:most].tolist()
