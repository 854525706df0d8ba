"""Exact Kernel-WIS in blocks against the in-memory estimator and against a dense twin."""

from __future__ import annotations

import numpy as np
import pytest

import kwis
from kwis.large import kernel_wis
from tests.large.logs import sample, table, write

FORMS = [False, True]


def check_same(found, log, bandwidth, kernel="rbf", rel=1e-10):
    for normalised in FORMS:
        expected = kwis.KernelWIS(bandwidth, kernel=kernel, normalised=normalised).estimate(log)
        got = found.normalised if normalised else found.plain
        assert got.value == pytest.approx(expected.value, rel=rel)
        assert got.std_error == pytest.approx(expected.std_error, rel=rel)
        assert got.effective_n == pytest.approx(expected.effective_n, rel=rel)
        assert (got.n, got.name) == (expected.n, expected.name)
    assert found.exact


@pytest.mark.parametrize("block_rows", [1, 37, 256, 1000])
def test_blocks_of_any_size_give_the_estimate_of_the_whole(block_rows):
    log = sample(40 if block_rows == 1 else 1000)
    check_same(kernel_wis(log, bandwidth=0.6, block_rows=block_rows), log, 0.6)


@pytest.mark.parametrize("bandwidth", [1e-9, 0.05, 3.0, 1e6, np.inf, [0.5, np.inf, 2.0]])
def test_any_bandwidth_gives_the_estimate_of_the_whole(bandwidth):
    log = sample(900, categorical=(1,))
    check_same(kernel_wis(log, bandwidth=bandwidth, block_rows=280), log, bandwidth)


@pytest.mark.parametrize("kernel", ["laplace", "epanechnikov", "matern32"])
def test_other_kernels_give_the_estimate_of_the_whole(kernel):
    log = sample(700, categorical=(2,))
    check_same(kernel_wis(log, bandwidth=1.5, kernel=kernel, block_rows=300), log, 1.5, kernel)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_masses_and_rewards_of_any_size_give_the_estimate_of_the_whole(scale):
    log = sample(800, mass=True, scale=scale)
    check_same(kernel_wis(log, bandwidth=0.8, block_rows=300), log, 0.8)


def test_a_dense_twin_gives_the_same_numbers():
    log = sample(400, categorical=(1,), mass=True, seed=3)
    squares = (((log.context[:, None, [0, 2]] - log.context[None, :, [0, 2]]) / 0.7) ** 2).sum(axis=2)
    kernel = np.exp(-0.5 * squares - (log.context[:, None, 1] != log.context[None, :, 1]) / 0.7**2)
    c, w, r, n = log.mass, log.weight, log.reward, log.n

    def value(counts, normalised):
        applied = w / ((kernel @ (counts * w)) / (kernel @ counts))
        return np.sum(counts * applied * r) / np.sum(counts * (applied if normalised else 1))

    found = kernel_wis(log, bandwidth=0.7, block_rows=150)
    for normalised, got in ((False, found.plain), (True, found.normalised)):
        assert got.value == pytest.approx(value(c, normalised), rel=1e-12)
        step = 1e-6
        influence = [
            (value(c + step * c * (np.arange(n) == j), normalised) - value(c, normalised)) / step * n
            for j in range(n)
        ]
        assert got.std_error == pytest.approx(np.sqrt(np.sum(np.square(influence)) / (n * (n - 1))), rel=1e-4)


def test_the_same_bits_whatever_the_number_of_threads(monkeypatch):
    log = sample(1500)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("KWIS_THREADS", threads)
        found.append(kernel_wis(log, bandwidth=0.6, block_rows=200).normalised)
    assert (found[0].value, found[0].std_error) == (found[1].value, found[1].std_error)


def test_parquet_files_give_the_estimate_of_the_log_in_memory(tmp_path):
    folder = write(tmp_path / "log", table(2500))
    context = ["age", "income", "country", "member"]
    found = kernel_wis(folder, target="p_new", context=context, bandwidth=0.5, block_rows=600)
    log = kwis.read_log(str(folder), propensity="propensity", context=context)
    weight = np.asarray(log["p_new"]) / log.propensity
    whole = kwis.WeightedSample(
        context=log.context, weight=weight, reward=log.reward[:, 0], categorical=log.categorical
    )
    check_same(found, whole, 0.5)


def test_context_is_every_column_without_another_role(tmp_path):
    folder = write(tmp_path / "log", table(1200))
    named = kernel_wis(folder, target="p_new", context=["age", "income", "country", "member"], bandwidth=0.5)
    assert kernel_wis(str(folder), target="p_new", bandwidth=0.5).plain.value == named.plain.value


def test_a_target_may_be_the_action_it_takes(tmp_path):
    whole = table(900)
    rng = np.random.default_rng(5)
    whole = whole.append_column("choice", [rng.integers(0, 2, 900)])
    weight = (whole["choice"].to_numpy() == whole["action"].to_numpy()) / whole["propensity"].to_numpy()
    folder = write(tmp_path / "log", whole.append_column("w", [weight]))
    by_choice = kernel_wis(folder, target="choice", action="action", context=["age"], bandwidth=0.5)
    assert (
        by_choice.normalised.value
        == kernel_wis(folder, weight="w", context=["age"], bandwidth=0.5).normalised.value
    )


def test_memory_mapped_arrays_give_the_estimate_of_the_whole(tmp_path):
    log = sample(1100)
    for name in ("context", "weight", "reward"):
        np.save(tmp_path / f"{name}.npy", getattr(log, name))
    check_same(kernel_wis(tmp_path, bandwidth=0.6, block_rows=400), log, 0.6)


def test_the_bandwidth_is_selected_as_on_the_whole_where_it_is_small():
    log = sample(900)
    found = kernel_wis(log)
    assert found.selection.rows == 900
    assert found.plain.bandwidth == found.selection.choice.value
    assert any("bandwidth was selected on all 900 rows" in note for note in found.notes)


def test_a_bandwidth_selected_on_a_subset_says_so():
    found = kernel_wis(sample(3000), selection_rows=1000)
    assert abs(found.selection.rows - 1000) <= 1
    assert found.selection.log_error >= 0
    assert any(f"selected on {found.selection.rows:,} of 3,000 rows" in note for note in found.notes)


def test_progress_is_told_to_the_end():
    told = []
    kernel_wis(
        sample(600),
        bandwidth=0.5,
        block_rows=200,
        progress=lambda done, total, what: told.append((done, total, what)),
    )
    assert {"reading the log once", "kernel sums of the weights", "kernel sums of the influence"} <= {
        what for _, _, what in told
    }
    assert (6, 6, "kernel sums of the weights") in told


def test_the_bandwidth_counts_rows_by_their_mass():
    log = sample(300, d=1)
    mass = np.where(np.arange(300) % 10 == 0, 50.0, 1.0)
    heavy = kwis.WeightedSample(context=log.context, weight=log.weight, reward=log.reward, mass=mass)
    order = np.random.default_rng([0, 300]).permutation(300)
    expected = kwis.select_bandwidth(log.context[order], log.weight[order], mass=mass[order])
    assert kernel_wis(heavy).plain.bandwidth == pytest.approx(expected.value, rel=1e-6)
    assert kernel_wis(log).plain.bandwidth != pytest.approx(expected.value, rel=0.1)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_bandwidth_is_selected_on_very_few_rows(n):
    selection = kernel_wis(sample(n)).selection
    assert selection.rows == n
    assert np.isnan(selection.log_error) or n == 4


def test_held_out_scores_are_those_of_leaving_one_out():
    log = sample(500)
    scores, errors = kwis.large.score_bandwidths(log, [0.3, 1.0], rows=500)
    for score, bandwidth in zip(scores, [0.3, 1.0], strict=True):
        expected, _ = kwis.cv_score(log.context, log.weight, bandwidth, folds=np.arange(500))
        assert score == pytest.approx(expected, rel=1e-9)
    assert (errors > 0).all()


def test_held_out_scores_and_their_errors_count_rows_by_their_mass():
    log = sample(300, d=1, mass=True)
    (score,), (error,) = kwis.large.score_bandwidths(log, [0.5], rows=300)
    near = log.mass * np.exp(-((log.context - log.context.T) ** 2) / (2 * 0.5**2))
    np.fill_diagonal(near, 0)
    squares = (log.weight - near @ log.weight / near.sum(axis=1)) ** 2
    total = log.mass.sum()
    expected = (log.mass * squares).sum() / total
    assert score == pytest.approx(expected, rel=1e-9)
    assert error == pytest.approx(
        np.sqrt(300 / 299 * ((log.mass * (squares - expected)) ** 2).sum()) / total, rel=1e-9
    )
