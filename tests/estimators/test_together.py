"""One pass for a family of estimators and all rewards gives what each gives alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.estimators import together
from kwis.estimators.together import Job, estimates_together, resamples_together, reweighted_together
from kwis.estimators.traits import family
from kwis.intervals.draws import count_chunks

N = 120


def _samples(mass: bool, grouped: bool) -> list[kwis.PredictedSample]:
    rng = np.random.default_rng(5)
    context = rng.normal(size=(N, 2)).round(0)
    weight = rng.exponential(size=N) * (rng.random(N) > 0.2)
    group = rng.integers(0, 30, N) if grouped else None
    masses = rng.uniform(0.5, 3, N) if mass else None
    return [
        kwis.PredictedSample(
            kwis.WeightedSample(context=context, weight=weight, reward=reward, group=group, mass=masses),
            predicted=rng.random(N),
            predicted_value=rng.random(N),
        )
        for reward in (rng.random(N), 1e3 * rng.normal(size=N))
    ]


@pytest.mark.parametrize("estimator", [kwis.KernelWIS(1.0), kwis.KernelWIS(np.inf), kwis.StateWIS()])
@pytest.mark.parametrize(("mass", "grouped"), [(False, False), (True, True)])
def test_a_family_done_together_equals_each_member_alone(estimator, mass, grouped):
    samples = _samples(mass, grouped)
    members = [
        estimator,
        replace(estimator, normalised=True),
        kwis.DoublyRobust(replace(estimator, normalised=True)),
    ]
    jobs = [Job(member, sample) for member in members for sample in samples]
    counts = next(count_chunks(N, samples[0].group, 30, np.random.default_rng(1)))
    for job, estimate, values in zip(
        jobs, estimates_together(jobs), resamples_together(jobs, counts), strict=True
    ):
        alone = job.estimator.estimate(job.sample)
        assert estimate.name == alone.name
        assert estimate.value == pytest.approx(alone.value, rel=1e-12)
        assert estimate.std_error == pytest.approx(alone.std_error, rel=1e-10)
        assert estimate.effective_n == pytest.approx(alone.effective_n, rel=1e-12)
        assert estimate.mean_weight == pytest.approx(alone.mean_weight, rel=1e-12)
        assert estimate.isolation == pytest.approx(alone.isolation, rel=1e-12)
        np.testing.assert_allclose(estimate.leverage, alone.leverage, rtol=1e-11)
        np.testing.assert_allclose(
            estimate.influence, alone.influence, rtol=1e-9, atol=1e-9 * np.abs(alone.influence).max()
        )
        np.testing.assert_allclose(values, job.estimator.resampled(job.sample, counts).values, rtol=1e-11)


@pytest.mark.parametrize("estimator", [kwis.KernelWIS(1.0), kwis.KernelWIS(np.inf), kwis.StateWIS()])
@pytest.mark.parametrize("scale", [1.0, 1e200])
def test_other_weights_done_together_equal_each_alone(estimator, scale, monkeypatch):
    monkeypatch.setattr(together, "_CELLS", 2 * N)  # two weights at once
    samples = _samples(mass=True, grouped=False)
    members = [
        estimator,
        replace(estimator, normalised=True),
        kwis.DoublyRobust(replace(estimator, normalised=True)),
    ]
    jobs = [Job(member, sample) for member in members for sample in samples]
    rng = np.random.default_rng(2)
    weights = samples[0].weight[:, None] * rng.uniform(0.5, 2, (N, 5)) * [scale, 1, 1, 1, 1]
    for job, values in zip(jobs, reweighted_together(jobs, list(weights.T)), strict=True):
        for weight, value in zip(weights.T, values, strict=True):
            plain = kwis.WeightedSample(
                context=job.sample.context, weight=weight, reward=job.sample.reward, mass=job.sample.mass
            )
            sample = kwis.PredictedSample(
                plain, predicted=job.sample.predicted, predicted_value=job.sample.predicted_value
            )
            assert value == pytest.approx(job.estimator.estimate(sample).value, rel=1e-11)


def test_a_family_shares_kernel_and_bandwidth_but_not_the_form():
    assert family(kwis.KernelWIS(1.0)) == family(kwis.KernelWIS(1.0, normalised=True))
    assert family(kwis.KernelWIS(1.0)) == family(kwis.DoublyRobust(kwis.KernelWIS(1.0, normalised=True)))
    assert family(kwis.KernelWIS(1.0)) != family(kwis.KernelWIS(2.0))
    assert family(kwis.KernelWIS(1.0)) != family(kwis.KernelWIS(1.0, kernel="laplace"))
    assert family(kwis.WIS()) is None


def test_a_resample_of_a_family_without_any_weight_has_no_value():
    weight = np.array([0.0, 0.0, 2.0, 1.0])
    sample, level = (  # the mean of the latter is 0 on the first resample, which is a value
        kwis.WeightedSample(context=np.zeros((4, 1)), weight=weight, reward=reward)
        for reward in ([1.0, 2.0, 3.0, 5.0], [0.0, 0.0, 1.0, -2.0])
    )
    counts = np.array([[1, 2, 0], [1, 2, 1], [1, 0, 2], [1, 0, 1]], dtype=float)
    jobs = [Job(kwis.StateWIS(normalised), one) for normalised in (False, True) for one in (sample, level)]
    for values, expected in zip(
        resamples_together(jobs, counts), [[11 / 3, 17 / 5], [0.0, 0.4]] * 2, strict=True
    ):
        assert np.isnan(values[1])
        assert values[[0, 2]] == pytest.approx(expected)


def test_rewards_that_vary_are_what_makes_a_weight_matter():
    reward = np.array([0.0, 0.0, 4.0, 4.0, 0.5])
    sample = kwis.WeightedSample(context=np.zeros((5, 1)), weight=np.ones(5), reward=reward)
    jobs = [Job(kwis.StateWIS(normalised), sample) for normalised in (False, True)]
    columns = together._Columns.of(jobs)
    assert columns.values.tolist() == [[r / 8, 1.0] for r in reward]  # once, by a power of two below 1
    assert (columns.scales, columns.place) == ([3], [0, 0])
    size = reward + np.abs(reward - reward.mean())
    assert columns.importance == pytest.approx((size / size.mean() + 1) / 2)
