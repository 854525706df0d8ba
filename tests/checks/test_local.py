"""The local mean weight: what Kernel-WIS divides by, with its band and the tests of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kwis
from kwis.checks.local_map import Place, local_mean_weight, local_mean_weights
from kwis.checks.propensity import propensity_report
from kwis.data.sample_log import sample_log
from kwis.policy.discrete import weigh
from kwis.policy.target import resolve_target
from tests.checks.logs import simulated, tilted
from tests.estimators.catalogue import some_sample
from tests.reference import diagnostics as twin


@pytest.fixture(scope="module")
def report():
    log = simulated(300)
    return propensity_report(log, [resolve_target(log, tilted(log), "tilted")])


def test_mean_and_band_equal_their_slow_twin(report):
    sample = some_sample(25, mass=True)
    found = local_mean_weight(sample, "tilted", report, bandwidth=0.7)
    for i in range(25):
        mean, error = twin.local_mean(
            sample.context.tolist(), sample.weight.tolist(), sample.mass.tolist(), 0.7, i
        )
        assert found.mean[i] == pytest.approx(mean, rel=1e-10)
        assert (found.high[i] - found.mean[i]) / 1.959963984540054 == pytest.approx(error, rel=1e-9)
        assert found.high[i] - found.mean[i] == pytest.approx(found.mean[i] - found.low[i], rel=1e-9)
    assert found.outside == np.mean((found.low > 1) | (found.high < 1))


def test_copies_in_one_group_narrow_no_band(report):
    sample = some_sample(30)
    copied = sample.take(np.repeat(np.arange(30), 5), group=np.repeat(np.arange(30), 5))
    once, often = (local_mean_weight(one, "tilted", report, bandwidth=0.7) for one in (sample, copied))
    np.testing.assert_allclose(often.mean[::5], once.mean, rtol=1e-10)
    np.testing.assert_allclose(often.high[::5], once.high, rtol=1e-10)


def test_it_is_what_kernel_wis_divides_by(report):
    sample = some_sample(30)
    found = local_mean_weight(sample, "tilted", report, bandwidth=0.9)
    np.testing.assert_allclose(
        found.mean, kwis.kernel_mean(sample.weight, sample.context, bandwidth=0.9), rtol=1e-10
    )


def test_an_infinite_bandwidth_is_the_mean_weight_everywhere(report):
    sample = some_sample(30)
    found = local_mean_weight(sample, "tilted", report, bandwidth=math.inf)
    np.testing.assert_allclose(found.mean, sample.weight.mean(), rtol=1e-12)
    assert found.bandwidth == math.inf


def test_a_large_log_is_mapped_on_a_seeded_subset(report, monkeypatch):
    monkeypatch.setattr("kwis.checks.local_map._PAIRS", 4000)
    sample = some_sample(200)
    found, again, other = (
        local_mean_weight(sample, "tilted", report, bandwidth=1.0, rng=seed) for seed in (1, 1, 2)
    )
    assert found.rows.size == 20
    np.testing.assert_array_equal(found.rows, again.rows)
    assert (found.rows != other.rows).any()
    whole = kwis.kernel_mean(sample.weight, sample.context, bandwidth=1.0)
    np.testing.assert_allclose(found.mean, whole[found.rows], rtol=1e-10)


def test_the_map_and_the_tests_point_to_brazil():
    log = sample_log().read()
    target = resolve_target(log, "p_new")
    report = propensity_report(log, [target])
    by_country = [0.4 if name == "country" else math.inf for name in log.feature_names]
    found = local_mean_weight(weigh(log, target), "p_new", report, bandwidth=by_country)
    assert found.p_value < 1e-6
    assert found.tests[0].region == "everywhere"
    assert max(found.tests, key=lambda test: test.z).region == "country = BR"
    brazil = (log["country"] == "BR")[found.rows]
    assert found.mean[brazil].mean() > found.mean[~brazil].mean() + 0.1
    assert len(found.rows) == 1000


def test_tests_are_those_of_the_target_alone(report):
    found = local_mean_weight(some_sample(20), "somebody else", report)
    assert (found.tests, found.p_value) == ((), 1.0)
    assert found.bandwidth == pytest.approx(math.sqrt(2) * 20 ** (-1 / 6))


def test_maps_of_many_targets_are_those_of_each(report, monkeypatch):
    monkeypatch.setattr("kwis.checks.local_map._PAIRS", 700 * 40)
    sample = some_sample(700, mass=True)
    rng = np.random.default_rng(1)
    weights = [scale * rng.exponential(size=700) for scale in (1.0, 1.0, 1e-200, 1.0)]
    bandwidths = [0.7, None, 0.7, math.inf]
    places = [
        Place(target="tilted", sample=sample.with_weight(weight), bandwidth=h)
        for weight, h in zip(weights, bandwidths, strict=True)
    ]
    together = local_mean_weights(places, report)
    for place, found in zip(places, together, strict=True):
        alone = local_mean_weight(place.sample, "tilted", report, bandwidth=place.bandwidth)
        np.testing.assert_allclose(found.mean, alone.mean, rtol=1e-12)
        np.testing.assert_allclose(found.high, alone.high, rtol=1e-12)
    for i, row in enumerate(together[0].rows[:5]):
        columns = (sample.context.tolist(), weights[0].tolist(), sample.mass.tolist())
        mean, error = twin.local_mean(*columns, 0.7, row)
        assert together[0].mean[i] == pytest.approx(mean, rel=1e-10)
        assert together[0].high[i] - together[0].mean[i] == pytest.approx(1.959963984540054 * error, rel=1e-9)
