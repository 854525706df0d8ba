"""The estimators on all test sets at once, against the public ones on each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.estimators.state_wis import state_codes, sums_by_state
from kwis.intervals.endpoints import percentile
from kwis.typing import Bandwidth
from kwis_paper import names, pairs
from kwis_paper.datasets import load
from kwis_paper.estimates import PLAIN, SHARED, TestSetEstimates, plain_estimates
from kwis_paper.grid import cells
from kwis_paper.simulate import Experiment, Laboratory
from kwis_paper.stages import Sums, _draw_counts, bootstrap
from kwis_paper.store import LEVELS

_PUBLIC = {
    "vis": kwis.VIS(),
    "wis": kwis.WIS(),
    "state-wis": kwis.StateWIS(),
    "truncated-vis": kwis.TruncatedVIS(),
}
_BANDWIDTHS = [4.0, np.inf]


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory(load("digits"))


@pytest.fixture(scope="module")
def experiment(laboratory: Laboratory) -> Experiment:
    return laboratory.experiment(
        next(cell for cell in cells(["digits"], ["non-oracle"]) if cell.evaluation != cell.behaviour)
    )


def _kernel_estimates(
    experiment: Experiment, bandwidth: Bandwidth
) -> tuple[TestSetEstimates, TestSetEstimates]:
    plain, normalised = Sums(experiment.context).kernel_wis(experiment, bandwidth)
    return plain.estimates, normalised.estimates


def _samples(experiment: Experiment) -> list[kwis.WeightedSample]:
    pairs = zip(experiment.weight.T, experiment.reward.T, strict=True)
    return [
        kwis.WeightedSample(context=experiment.context, weight=weight, reward=reward)
        for weight, reward in pairs
    ]


@pytest.mark.parametrize("name", list(_PUBLIC))
def test_estimates_without_a_bandwidth_are_those_of_the_public_estimator(
    name: str, laboratory: Laboratory, experiment: Experiment
) -> None:
    ours = plain_estimates(experiment, Sums(laboratory.test_context).states)[name]
    public = [_PUBLIC[name].estimate(sample) for sample in _samples(experiment)]
    assert np.allclose(ours.value, [one.value for one in public], rtol=1e-12)
    assert np.allclose(ours.std_error, [one.std_error for one in public], rtol=1e-10)


def test_repeated_states_are_averaged(laboratory: Laboratory, experiment: Experiment) -> None:
    twice = np.arange(450) // 2
    context = experiment.context[twice]
    doubled = replace(experiment, context=context)
    ours = plain_estimates(doubled, sums_by_state(state_codes(context)))["state-wis"]
    public = [kwis.StateWIS().estimate(sample) for sample in _samples(doubled)]
    assert np.allclose(ours.value, [one.value for one in public], rtol=1e-12)
    assert np.allclose(ours.std_error, [one.std_error for one in public], rtol=1e-10)
    assert not np.allclose(
        ours.value,
        plain_estimates(experiment, Sums(laboratory.test_context).states)["state-wis"].value,
        rtol=1e-3,
    )


@pytest.mark.parametrize("bandwidth", _BANDWIDTHS)
def test_kernel_estimates_are_those_of_the_public_estimator(bandwidth: float, experiment: Experiment) -> None:
    for normalised, ours in zip((False, True), _kernel_estimates(experiment, bandwidth), strict=True):
        public = [
            kwis.KernelWIS(bandwidth, normalised=normalised).estimate(sample)
            for sample in _samples(experiment)
        ]
        assert np.allclose(ours.value, [one.value for one in public], rtol=1e-12)
        assert np.allclose(ours.std_error, [one.std_error for one in public], rtol=1e-9)


def test_the_kernel_average_is_the_mean_over_all_pairs(experiment: Experiment) -> None:
    gaps = ((experiment.context[:, None] - experiment.context) ** 2).sum(axis=2)
    assert _kernel_estimates(experiment, 4.0)[0].kernel_average == pytest.approx(
        np.exp(-gaps / 32).mean(), rel=1e-10
    )
    assert _kernel_estimates(experiment, np.inf)[0].kernel_average == 1.0


def test_one_bandwidth_per_feature_reaches_the_kernel(experiment: Experiment) -> None:
    each = np.linspace(3.0, 6.0, 64)
    ours = _kernel_estimates(experiment, each)[0]
    public = kwis.KernelWIS(tuple(each)).estimate(_samples(experiment)[0])
    assert ours.value[0] == pytest.approx(public.value, rel=1e-12)


def test_too_many_rows_for_a_matrix_are_left_to_the_engine(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = _kernel_estimates(experiment, 4.0)
    monkeypatch.setattr(pairs, "_MOST_ROWS", 100)
    asked = _kernel_estimates(experiment, 4.0)
    for one, other in zip(kept, asked, strict=True):
        assert np.allclose(one.value, other.value, rtol=1e-12)
        assert np.allclose(one.std_error, other.std_error, rtol=1e-9)


def test_the_compiled_exponential_is_that_of_numpy(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_numpy = _kernel_estimates(experiment, 2.0)[1]
    monkeypatch.setattr(pairs, "_COMPILED_ROWS", 1)
    compiled = _kernel_estimates(experiment, 2.0)[1]
    assert np.allclose(compiled.value, by_numpy.value, rtol=1e-12)
    assert np.allclose(compiled.std_error, by_numpy.std_error, rtol=1e-9)


def test_the_next_bandwidth_does_not_see_the_last(experiment: Experiment) -> None:
    sums = Sums(experiment.context)
    first = sums.kernel_wis(experiment, 4.0)[0].value
    sums.kernel_wis(experiment, 1.0)
    assert np.array_equal(sums.kernel_wis(experiment, 4.0)[0].value, first)


def test_rows_of_weight_zero_contribute_nothing(experiment: Experiment) -> None:
    weight = experiment.weight.copy()
    weight[::3] = 0.0
    thinned = replace(experiment, weight=weight)
    for normalised, ours in zip((False, True), _kernel_estimates(thinned, 2.0), strict=True):
        public = [kwis.KernelWIS(2.0, normalised=normalised).estimate(sample) for sample in _samples(thinned)]
        assert np.allclose(ours.value, [one.value for one in public], rtol=1e-12)
        assert np.allclose(ours.std_error, [one.std_error for one in public], rtol=1e-9)


@pytest.mark.parametrize("bandwidth", [0.4, 4.0])
def test_the_tiniest_weights_leave_every_error_finite(bandwidth: float, experiment: Experiment) -> None:
    weight = experiment.weight.copy()
    weight[::3] *= 1e-310
    tiny = replace(experiment, weight=weight)
    states = Sums(tiny.context).states
    ours = [*_kernel_estimates(tiny, bandwidth), plain_estimates(tiny, states)["state-wis"]]
    public = [kwis.KernelWIS(bandwidth), kwis.KernelWIS(bandwidth, normalised=True), kwis.StateWIS()]
    for found, estimator in zip(ours, public, strict=True):
        expected = [estimator.estimate(sample) for sample in _samples(tiny)]
        assert np.isfinite(found.std_error).all()
        assert np.allclose(found.value, [one.value for one in expected], rtol=1e-12)
        assert np.allclose(found.std_error, [one.std_error for one in expected], rtol=1e-9)


@pytest.mark.parametrize("bandwidth", _BANDWIDTHS)
def test_bootstrap_ends_redo_the_whole_statistic_on_resampled_rows(
    bandwidth: float, laboratory: Laboratory, experiment: Experiment
) -> None:
    replicates = 40
    ends = bootstrap(experiment, replicates, Sums(laboratory.test_context), bandwidth)
    assert set(ends) == {*PLAIN, *SHARED}
    counts = _draw_counts(450, replicates, names.stream("bootstrap", *experiment.cell.names))
    assert (counts.sum(axis=0) == 450).all()
    sample = _samples(experiment)[4]
    estimators = {
        **_PUBLIC,
        "kernel-wis": kwis.KernelWIS(bandwidth),
        "normalised-kernel-wis": kwis.KernelWIS(bandwidth, normalised=True),
    }
    for name, estimator in estimators.items():
        values = [
            estimator.estimate(sample.take(np.repeat(np.arange(450), column.astype(int)))).value
            for column in counts.T
        ]
        for level, (low, high) in zip(LEVELS, ends[name][:, :, 4], strict=True):
            assert (low, high) == pytest.approx(percentile(np.array(values), level), rel=1e-5)


def test_a_reward_of_one_leaves_no_width_to_normalised_intervals(
    laboratory: Laboratory, experiment: Experiment
) -> None:
    ones = replace(experiment, reward=np.ones_like(experiment.reward))
    ends = bootstrap(ones, 20, Sums(laboratory.test_context), 4.0)
    for name in ("wis", "normalised-kernel-wis"):
        assert np.allclose(ends[name], 1.0, atol=1e-12)
    assert np.ptp(ends["vis"][-1]) > 0.01
