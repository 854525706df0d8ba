"""Approximate Kernel-WIS against the exact one: its error bar, its samples, and when it is taken."""

from __future__ import annotations

import numpy as np
import pytest

import kwis
from kwis.kernel.clouds import Space
from kwis.large import draw, estimate, kernel_wis
from kwis.large.approximate import approximate, sample_size, screen
from kwis.large.blocks import exact, unit
from kwis.large.estimate import framed
from kwis.large.opening import opened
from kwis.large.runner import Threads
from kwis.large.source import Columns


def log_of(n, d=4, seed=0, zero=0.1):
    """Skewed weights that depend on the context, rewards of 0 and 1 that do too."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n, d))
    weight = rng.gamma(0.5, 2, n) * np.exp(0.5 * context[:, 0]) * (rng.random(n) > zero)
    reward = (rng.random(n) < 1 / (1 + np.exp(-context[:, 0] - context[:, 1]))).astype(float)
    return kwis.WeightedSample(context=context, weight=weight, reward=reward)


def misses(log, bandwidth, size, seeds):
    """Differences to the exact values, in units of the stated errors, plain and normalised."""
    runner = Threads()
    parts = opened(log, Columns(), runner, None, every=True, block_rows=1500)
    frame = framed(runner, parts)
    space = Space.of(frame.ends, frame.categorical, bandwidth, kwis.RBF)
    truth = exact(runner, parts.blocks, frame, space)
    found = [approximate(runner, parts.blocks, frame, space, size=size, seed=seed)[0] for seed in seeds]
    pairs = [((one.plain, truth.plain), (one.normalised, truth.normalised)) for one in found]
    off = np.array([[(got.value - true.value) / got.error for got, true in both] for both in pairs])
    return off, found, truth


@pytest.mark.parametrize("bandwidth", [0.3, 1.0])
def test_the_error_bar_covers_the_difference_to_the_exact_value(bandwidth):
    off, found, truth = misses(log_of(4000), bandwidth, 800, range(40))
    # 40 runs at a nominal 95 %: fewer than 34 covered has a chance below 1 in 1,000.
    assert ((np.abs(off) < 1.96).sum(axis=0) >= 34).all()
    assert (np.abs(off.mean(axis=0)) < 3.3 / np.sqrt(40)).all()
    for name in ("plain", "normalised"):
        errors = [getattr(one, name).std_error for one in found]
        assert np.mean(errors) == pytest.approx(getattr(truth, name).std_error, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "bandwidth"), [(10, 1.5), (4, 0.3)])
def test_the_default_error_bar_covers_at_fifty_thousand_rows(d, bandwidth):
    off, _, _ = misses(log_of(50_000, d), bandwidth, sample_size(50_000), range(50))
    assert ((np.abs(off) < 1.96).mean(axis=0) >= 0.9).all()


def test_the_first_step_alone_is_biased_upward_and_the_check_takes_that_out():
    log, seeds = log_of(4000), range(12)
    _, found, truth = misses(log, 0.3, 400, seeds)
    corrected = np.array([one.plain.value for one in found])
    runner = Threads()
    parts = opened(log, Columns(), runner, None, every=True, block_rows=1500)
    frame = framed(runner, parts)
    space = Space.of(frame.ends, frame.categorical, 0.3, kwis.RBF)
    first = []
    for seed in seeds:
        near = draw.joined(
            *(
                draw.draw_neighbours(block, number, frame, 400, seed)
                for number, block in enumerate(parts.blocks)
            )
        )
        screened = [
            screen(block, number, frame, space, near, 400, seed) for number, block in enumerate(parts.blocks)
        ]
        first.append(unit(sum(one.totals.load_reward for one in screened) / frame.mass, frame))
    error = corrected.std() / np.sqrt(12)
    assert np.mean(first) - truth.plain.value > 5 * error
    assert abs(corrected.mean() - truth.plain.value) < 4 * error


def test_a_check_of_every_row_gives_the_exact_value():
    log = log_of(1500)
    runner = Threads()
    parts = opened(log, Columns(), runner, None, every=True, block_rows=400)
    frame = framed(runner, parts)
    space = Space.of(frame.ends, frame.categorical, 0.5, kwis.RBF)
    found, made = approximate(runner, parts.blocks, frame, space, size=1500, seed=0)
    truth = exact(runner, parts.blocks, frame, space)
    assert made.checked == 1500
    assert made.error == 0
    assert found.plain.value == pytest.approx(truth.plain.value, rel=1e-10)
    assert found.normalised.value == pytest.approx(truth.normalised.value, rel=1e-10)


def test_the_same_seed_gives_the_same_bits_and_another_seed_another_sample():
    log = log_of(3000)
    one, again, other = (
        kernel_wis(log, bandwidth=0.5, exact=False, neighbours=300, rng=seed, block_rows=700).plain.value
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


def test_it_is_taken_above_a_size_and_always_reported(monkeypatch):
    log = log_of(3000)
    monkeypatch.setattr(estimate, "EXACT_ROWS", 2000)
    found = kernel_wis(log, bandwidth=0.5, neighbours=500)
    assert not found.exact
    assert found.approximation.checked == 500
    note = next(note for note in found.notes if note.startswith("Kernel-WIS is approximate"))
    assert "3,000 rows" in note
    assert "500 rows checked exactly" in note
    assert kernel_wis(log, bandwidth=0.5, neighbours=500, exact=True).exact
    assert kernel_wis(log, bandwidth=np.inf, neighbours=500).exact  # WIS needs no neighbours


def test_the_standard_error_includes_that_of_the_approximation():
    log = log_of(3000)
    found = kernel_wis(log, bandwidth=0.3, neighbours=200, exact=False)
    true = kwis.KernelWIS(0.3, normalised=True).estimate(log)
    assert found.normalised.std_error > found.approximation.normalised_error
    assert found.normalised.std_error > 0.95 * true.std_error


def test_systematic_draws_have_the_chances_asked_for():
    rng = np.random.default_rng(0)
    chance = np.clip(rng.gamma(0.3, 0.5, 400), 1e-3, 1.0)
    order = rng.random(400)
    hits = np.zeros(400)
    for seed in range(4000):
        taken = draw.systematic(chance, order, np.random.default_rng(seed))
        assert abs(taken.size - chance.sum()) < 1.0001
        hits[taken] += 1
    spread = np.sqrt(chance * (1 - chance) / 4000)
    assert (np.abs(hits / 4000 - chance) <= 4.5 * spread + 1e-9).all()


def test_priority_samples_give_unbiased_totals():
    log = log_of(600)
    runner = Threads()
    parts = opened(log, Columns(), runner, None, every=True, block_rows=200)
    frame = framed(runner, parts)
    values = []
    for seed in range(400):
        kept = [
            draw.Sampled.candidates(frame.load(block), np.ones(200), frame, number, seed, 61)
            for number, block in enumerate(parts.blocks)
        ]
        found = draw.chosen_of(draw.keep_smallest(61, *kept), 60)
        assert found.rank.size == 60
        values.append(np.sum(found.rows.reward / found.chance))
    true = np.ldexp(log.reward.sum(), frame.reward_shift)
    assert np.mean(values) == pytest.approx(true, abs=4 * np.std(values) / 20)


def test_the_bound_on_ranks_keeps_at_least_as_many_rows_as_wanted_and_few_more():
    log = log_of(3000)
    runner = Threads()
    parts = opened(log, Columns(), runner, None, every=True, block_rows=3000)
    frame = framed(runner, parts)
    found = draw.Sampled.candidates(frame.load(parts.blocks[0]), np.ones(3000), frame, 0, 0, 3000)
    for wanted in (1, 300, 2999, 3000):
        kept = np.count_nonzero(found.rank <= draw.rank_bound(draw.rank_counts(found), wanted))
        assert wanted <= kept <= 1.15 * wanted + 20
    assert draw.rank_bound(draw.rank_counts(found), 3001) == np.inf
