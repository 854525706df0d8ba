"""Kernel-WIS from sampled neighbours against all pairs: values, error bar, influence, and how many neighbours
are taken.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.estimators import kernel_wis, precision, reaction, sampled
from kwis.estimators.reaction import calibrated
from kwis.estimators.sampled import SampledWeights
from kwis.estimators.together import Job, estimates_together, reweighted_together
from kwis.estimators.trend import Trend
from kwis.kernel import points_of
from kwis.kernel.sampling import priority
from kwis.runtime.arrays import stretches
from kwis.runtime.threads import engine
from tests.reference import sampled_neighbours as twin
from tests.reference.estimators import standard_error


def sample_of(n, d=4, seed=0, *, groups=False, mass=False, categorical=(), spread=1.0):
    """Skewed weights and rewards of 0 and 1 that depend on the context; predictions that explain a part of
    the rewards.
    """
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n, d))
    for column in categorical:
        context[:, column] = rng.integers(0, 3, n)
    weight = rng.gamma(0.5, 2, n) ** spread * np.exp(0.5 * context[:, 0]) * (rng.random(n) > 0.1)
    chance = 1 / (1 + np.exp(-context[:, 0] - context[:, 1]))
    log = kwis.WeightedSample(
        context=context,
        weight=weight,
        reward=(rng.random(n) < chance).astype(float),
        group=rng.integers(0, n // 5, n) if groups else None,
        mass=rng.integers(1, 4, n).astype(float) if mass else None,
        categorical=categorical,
    )
    return kwis.PredictedSample(log, predicted=chance, predicted_value=chance + 0.1)


def forms(bandwidth, **options):
    """Plain, normalised and doubly robust Kernel-WIS."""
    plain = kwis.KernelWIS(bandwidth, **options)
    normalised = replace(plain, normalised=True)
    return [plain, normalised, kwis.DoublyRobust(normalised)]


def both(samples, bandwidth, seed=0):
    """Estimates from sampled neighbours and from all pairs."""
    approximate = [Job(form, one) for form in forms(bandwidth, exact=False, rng=seed) for one in samples]
    exact = [Job(form, one) for form in forms(bandwidth, exact=True) for one in samples]
    return estimates_together(approximate), estimates_together(exact)


@pytest.fixture
def one_attempt(monkeypatch):
    """No more neighbours than those of the first attempt, and few of them."""
    monkeypatch.setattr(precision, "TOLERANCE", np.inf)
    monkeypatch.setattr(precision, "_FEWEST", 600)


def drawn(sample, weights, size=20, importance=None, seed=3, categorical=()):
    """Weights applied from sampled neighbours, and the neighbours with their chances."""
    n = sample.n
    points = points_of(sample.context, 0.8, kwis.RBF, categorical)
    mass = np.ones(n) if sample.mass is None else sample.mass
    importance = np.ones(n) if importance is None else importance
    seen, draw = {}, sampled._draw_neighbours
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampled, "_draw_neighbours", lambda *given: seen.setdefault("near", draw(*given)))
        found = SampledWeights.of(points, weights, mass, importance, size=size, seed=seed, dtype=np.float64)
    return found, seen["near"]


@pytest.mark.parametrize(
    ("mass", "categorical", "n", "size", "degree"),
    [(False, (), 60, 12, None), (False, (), 60, 20, 0), (True, (1,), 110, 60, 1), (False, (1,), 200, 140, 2)],
)
def test_it_is_the_slow_twin(mass, categorical, n, size, degree, monkeypatch):
    """With as many rows checked as a polynomial of the given degree in the contexts needs."""
    seen, of = [], Trend.of
    monkeypatch.setattr(Trend, "of", lambda *given: seen.append(of(*given)) or seen[-1])
    sample = sample_of(n, 3, mass=mass, categorical=categorical)
    masses = np.ones(n) if sample.mass is None else sample.mass
    found, near = drawn(sample, [sample.weight], size, categorical=categorical)
    assert (seen[0].degree if seen[0] else None) == degree
    columns = np.column_stack([sample.reward, np.ones(n)])
    parts = found.parts(columns)
    plain, normalised, errors = twin.values(
        *near,
        found.rows.tolist(),
        found.chance,
        sample.context,
        sample.weight,
        masses,
        sample.reward,
        0.8,
        categorical,
    )
    assert parts.sums[0] / masses.sum() == pytest.approx(plain, rel=1e-12)
    assert parts.sums[0] / parts.sums[1] == pytest.approx(normalised, rel=1e-12)
    approximate, counted = masses * parts.weight, masses[found.rows] / found.chance
    correction = masses[found.rows] * (found.exact[:, 0] ** 2 - parts.weight[found.rows] ** 2)
    squares = sum(approximate**2) + sum(counted * correction)
    assert parts.effective_n == pytest.approx(parts.sums[1] ** 2 / squares, rel=1e-12)
    spread = masses[:, None] * (parts.drawn - [[normalised, 0]] * parts.drawn[:, 1:])
    assert np.sqrt(np.square(masses * parts.drawn[:, 0]).sum()) / masses.sum() == pytest.approx(
        errors[0], rel=1e-12
    )
    assert np.sqrt(np.square(spread[:, 0]).sum()) / parts.sums[1] == pytest.approx(errors[1], rel=1e-12)


@pytest.mark.parametrize("mass", [False, True])
@pytest.mark.parametrize("stretch", [1 << 17, 7])
@pytest.mark.parametrize("heavy", [0.08, 2.0])
def test_how_sums_react_to_a_row_is_the_slow_twin(monkeypatch, mass, stretch, heavy):
    for module in (sampled, reaction):
        monkeypatch.setattr(module, "stretches", lambda n: stretches(n, stretch))
    monkeypatch.setattr(reaction, "_HEAVY", heavy)
    sample = sample_of(30, 2, mass=mass)
    masses = np.ones(30) if sample.mass is None else sample.mass
    found, near = drawn(sample, [sample.weight], 14)
    columns = np.column_stack([sample.reward - 0.3, np.ones(30)])
    parts = found.parts(columns)
    data = *near, found.rows.tolist(), found.chance, sample.context, sample.weight, masses
    squares = (masses * sample.weight) ** 2
    heaviest = [row for row in range(30) if squares[row] >= heavy * sum(squares)]
    assert bool(heaviest) == (heavy < 1)
    mean, noise = twin.reaction(*data, columns, parts.sums, 0.8, heaviest)
    np.testing.assert_allclose(parts.direct, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(parts.noise, noise, rtol=1e-9, atol=1e-9)
    assert parts.isolation == pytest.approx(twin.isolation(*data, 0.8), rel=1e-12)
    assert (parts.neighbours, parts.checked) == (near[0].size, 7)  # half as many rows are checked


@pytest.mark.parametrize("stretch", [1 << 17, 7])
def test_sums_of_several_weightings_are_those_of_the_slow_twin(monkeypatch, stretch):
    monkeypatch.setattr(sampled, "stretches", lambda n: stretches(n, stretch))
    sample = sample_of(25, 2, mass=True)
    rng = np.random.default_rng(1)
    weights = [sample.weight, 5 * rng.permutation(sample.weight), rng.uniform(0.5, 2, 25)]
    found, near = drawn(sample, weights, 12)
    sums = found.sums(np.column_stack([sample.reward, np.ones(25)]))
    for place, weight in enumerate(weights):
        data = sample.context, weight, sample.mass, sample.reward, 0.8
        plain, normalised, _ = twin.values(*near, found.rows.tolist(), found.chance, *data)
        assert sums[0, place] == pytest.approx(plain * sample.mass.sum(), rel=1e-12)
        assert sums[0, place] / sums[1, place] == pytest.approx(normalised, rel=1e-12)


def test_half_as_many_rows_are_checked_as_are_neighbours_and_two_at_least():
    sample = sample_of(40, 2)
    assert [drawn(sample, [sample.weight], size)[0].rows.size for size in (1, 4, 10)] == [2, 2, 5]
    assert not drawn(sample, [sample.weight], 39)[0].whole


def test_the_error_of_rounding_is_doubled_and_rests_on_five_hundred_rows():
    sample = sample_of(600, 2)
    points = points_of(sample.context, 0.8, kwis.RBF, ())
    found = SampledWeights.of(points, [sample.weight], np.ones(600), np.ones(600), size=600, seed=3)
    assert found.whole
    parts = found.parts(sample.reward[:, None])
    assert (parts.neighbours, parts.checked, parts.noise) == (600, 500, None)
    spread = (
        2 * np.sqrt(1 - found.chance) / found.chance * np.abs(found.gap[:, 0]) * sample.reward[found.rows]
    )
    np.testing.assert_allclose(np.abs(parts.drawn[found.rows, 0]), spread)
    assert sorted(set(found.signs.tolist())) == [-1.0, 1.0]


def test_rows_that_matter_most_are_checked():
    sample = sample_of(60, 2)
    for scale, sure in ((1e4, True), (1e-9, False)):
        importance = np.where(np.arange(60) == 17, scale, 1.0)
        found, _ = drawn(sample, [sample.weight], importance=importance)
        assert (17 in found.rows) is sure
        assert not sure or found.chance[found.rows == 17] == 1.0
    heavy = kwis.WeightedSample(
        context=sample.context,
        weight=np.ones(60),
        reward=sample.reward,
        mass=np.where(np.arange(60) == 17, 1e4, 1.0),
    )
    found, _ = drawn(heavy, [heavy.weight])
    assert found.chance[found.rows == 17] == 1.0
    lone = sample.weight.copy()
    lone[17] = 0.0  # a row without a weight may be checked too: it counts a quarter of an ordinary one
    chances = [one.chance[one.rows == 17] for one in (drawn(sample, [lone], seed=k)[0] for k in range(30))]
    assert any(chance.size for chance in chances)


@pytest.mark.parametrize("mass", [False, True])
def test_an_estimate_is_made_of_its_sums_and_of_what_the_approximation_adds(monkeypatch, mass):
    for name, value in (("TOLERANCE", np.inf), ("_FEWEST", 20), ("_PER_ROOT", 0)):
        monkeypatch.setattr(precision, name, value)
    monkeypatch.setattr(sampled, "_precision", lambda *_: np.float64)
    sample = sample_of(60, 2, groups=True, mass=mass)
    masses = np.ones(60) if sample.mass is None else sample.mass
    jobs = [Job(kwis.KernelWIS(0.8, exact=False, rng=3, normalised=form), sample) for form in (False, True)]
    columns = np.column_stack([np.ldexp(sample.reward, -1), np.ones(60)])  # rewards of 1 are halved
    sizes = np.abs(columns) + np.abs(columns - columns.mean(axis=0))
    importance = (sizes / sizes.mean(axis=0)).mean(axis=1)
    parts = drawn(sample, [sample.weight], 20, importance)[0].parts(columns)
    total, load = masses.sum(), parts.sums[1]
    per_row = masses * (60 / total)
    for form, found in enumerate(estimates_together(jobs)):
        value = parts.sums[0] / (load if form else total)

        def effect(moves, constant, form=form, value=value):
            plain = moves[:, 0] - constant
            normalised = (moves[:, 0] - value * moves[:, 1]) * total / load
            return 2 * per_row * (normalised if form else plain)

        errors = effect(parts.drawn, 0.0)
        errors = errors * precision.few_terms(errors)
        raw, noise = effect(parts.direct, value), effect(parts.noise, 0.0)
        squares = [standard_error(one.tolist(), sample.group.tolist()) ** 2 for one in (raw, noise)]
        influence = raw * np.sqrt(1 - squares[1] / squares[0]) + errors
        np.testing.assert_allclose(found.influence, influence - influence.mean(), rtol=1e-9, atol=1e-9)
        assert found.value == pytest.approx(2 * value, rel=1e-12)
        assert found.precision.error == pytest.approx(np.sqrt(np.square(errors).sum()) / 60)
        assert found.mean_weight == pytest.approx(load / total)
        shares = masses * (parts.weight if form else 1.0)
        np.testing.assert_allclose(found.leverage, shares / shares.sum(), rtol=1e-9)
        assert (found.precision.neighbours, found.precision.checked) == (parts.neighbours, 10)


@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
def test_with_all_rows_as_neighbours_it_is_exact(kernel, monkeypatch):
    monkeypatch.setattr(sampled, "_precision", lambda *_: np.float64)
    samples = [sample_of(700, groups=True, mass=True, categorical=(2,))]
    for form in forms(0.6, exact=False, kernel=kernel):
        found, truth = form.estimate(samples[0]), _all_pairs(form).estimate(samples[0])
        assert found.precision.neighbours == 700
        assert found.value == pytest.approx(truth.value, rel=1e-10)
        assert found.std_error == pytest.approx(truth.std_error, rel=1e-10)
        assert found.isolation == pytest.approx(truth.isolation, rel=1e-10)
        assert found.effective_n == pytest.approx(truth.effective_n, rel=1e-10)
        np.testing.assert_allclose(
            found.influence, truth.influence, rtol=1e-8, atol=1e-10 * np.abs(truth.influence).max()
        )


def _all_pairs(form):
    return (
        kwis.DoublyRobust(replace(form.weighting, exact=True))
        if isinstance(form, kwis.DoublyRobust)
        else replace(form, exact=True)
    )


@pytest.mark.parametrize("spread", [1.0, 8.0, 60.0])
def test_single_precision_is_enough_whatever_the_weights(spread):
    sample = sample_of(1500, spread=spread)
    for found, truth in zip(*both([sample], 0.7), strict=True):
        assert found.precision.neighbours == 1500
        assert found.value == pytest.approx(truth.value, rel=1e-5)
        assert found.std_error == pytest.approx(truth.std_error, rel=1e-4)
        assert found.precision.error < 1e-5 * truth.std_error


@pytest.mark.slow
@pytest.mark.parametrize(("d", "bandwidth", "near"), [(4, 0.4, 0.08), (4, 1.0, 0.02), (10, 1.5, 0.02)])
def test_the_stated_error_covers_the_difference_to_all_pairs(one_attempt, d, bandwidth, near):
    off, errors = [], []
    for seed in range(40):
        found, truth = both([sample_of(2500, d, seed)], bandwidth, seed)
        off.append(
            [(got.value - true.value) / got.precision.error for got, true in zip(found, truth, strict=True)]
        )
        errors.append(
            [got.std_error**2 - got.precision.error**2 for got in found]
            / np.square([true.std_error for true in truth])
        )
    # 40 runs at a nominal 95 %: fewer than 34 covered has a chance below 1 in 1,000.
    assert ((np.abs(off) < 1.96).sum(axis=0) >= 34).all()
    assert (np.abs(np.mean(off, axis=0)) < 3.3 / np.sqrt(40)).all()
    assert np.sqrt(np.mean(errors, axis=0)) == pytest.approx(
        1.0, abs=near
    )  # weights from few neighbours are noisy, and influence with them


@pytest.mark.parametrize(("groups", "mass"), [(True, False), (False, True)])
def test_groups_mass_and_several_rewards(one_attempt, monkeypatch, groups, mass):
    monkeypatch.setattr(precision, "_FEWEST", 1500)
    sample = sample_of(4000, groups=groups, mass=mass)
    other = sample.with_reward(1e4 * np.random.default_rng(1).normal(sample.context[:, 1]))
    other = kwis.PredictedSample(other, predicted=sample.predicted, predicted_value=sample.predicted_value)
    found, truth = both([sample, other], 1.0)
    for got, true in zip(found, truth, strict=True):
        assert abs(got.value - true.value) < 3.5 * got.precision.error
        assert got.precision.error < 0.1 * true.std_error
        assert got.std_error == pytest.approx(true.std_error, rel=0.05)
        assert np.corrcoef(got.influence, true.influence)[0, 1] > 0.97
        assert abs(got.influence.mean()) < 1e-9 * np.abs(got.influence).max()
        assert got.effective_n == pytest.approx(true.effective_n, rel=0.03)
        assert got.isolation == pytest.approx(true.isolation, rel=0.05)


def test_the_error_of_the_approximation_is_in_the_error_of_any_difference(one_attempt):
    sample = sample_of(3000)
    found, truth = both([sample], 0.35)
    twice = np.concatenate([found[1].influence, truth[1].influence]).reshape(2, -1)
    apart = np.sqrt(np.square(twice[0] - twice[1]).sum()) / sample.n
    assert found[1].precision.error > 0.2 * truth[1].std_error
    assert apart > 0.95 * found[1].precision.error


def test_it_takes_as_many_neighbours_as_its_tolerance_needs(monkeypatch):
    monkeypatch.setattr(precision, "_FEWEST", 300)
    monkeypatch.setattr(precision, "_PER_ROOT", 1)
    sample = sample_of(6000)
    wide, narrow = (
        kwis.KernelWIS(h, exact=False, normalised=True).estimate(sample).precision for h in (3.0, 0.3)
    )
    assert 300 <= wide.neighbours < 3000
    assert narrow.neighbours == 6000
    monkeypatch.setattr(precision, "MOST_PAIRS", 6000 * 1000)
    monkeypatch.setattr(precision, "_USUAL", 2)
    bound = kwis.KernelWIS(0.3, exact=False, normalised=True).estimate(sample).precision
    assert bound.neighbours == pytest.approx(1000, rel=0.05)
    assert bound.error > narrow.error


def test_size_and_the_user_decide_whether_pairs_are_sampled(monkeypatch):
    sample = sample_of(500)
    monkeypatch.setattr(kernel_wis, "EXACT_ROWS", 499)
    assert kwis.KernelWIS(0.5).estimate(sample).precision is not None
    assert kwis.KernelWIS(0.5, exact=True).estimate(sample).precision is None
    assert kwis.KernelWIS(np.inf).estimate(sample).precision is None  # WIS needs no neighbours
    monkeypatch.setattr(kernel_wis, "EXACT_ROWS", 500)
    assert kwis.KernelWIS(0.5).estimate(sample).precision is None
    assert kwis.KernelWIS(0.5, exact=False).estimate(sample).precision is not None


def test_contexts_of_few_cells_are_exact_at_every_size():
    rng = np.random.default_rng(0)
    sample = kwis.WeightedSample(
        context=rng.integers(0, 3, (900, 2)),
        weight=rng.random(900),
        reward=rng.random(900),
        categorical=(0, 1),
    )
    assert kwis.KernelWIS(0.5, exact=False).estimate(sample).precision is None


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(one_attempt):
    sample = sample_of(3000)
    found = []
    for threads, seed in ((1, 1), (3, 1), (1, 2)):
        with engine(threads):
            found.append(kwis.KernelWIS(0.5, exact=False, rng=seed).estimate(sample))
    assert found[0].value == found[1].value
    np.testing.assert_array_equal(found[0].influence, found[1].influence)
    assert found[0].value != found[2].value


def test_isolated_rows_are_all_that_a_tiny_bandwidth_leaves(one_attempt):
    sample = sample_of(3000)
    found, truth = both([sample], 1e-3)
    for got, true in zip(found, truth, strict=True):
        assert got.isolation == pytest.approx(true.isolation, abs=1e-6)
        assert got.value == pytest.approx(true.value, rel=1e-6)
        assert got.std_error == pytest.approx(true.std_error, rel=1e-6)


def test_other_weights_of_the_same_rows_are_corrected_too(monkeypatch):
    monkeypatch.setattr(precision, "_FEWEST", 300)
    monkeypatch.setattr(precision, "_PER_ROOT", 1)
    sample = sample_of(3000)
    weights = sample.weight[:, None] * np.random.default_rng(4).uniform(0.8, 1.25, (3000, 3))
    jobs, exact = ([Job(form, sample) for form in forms(0.8, exact=one)] for one in (False, True))
    for job, found, truth in zip(
        jobs,
        reweighted_together(jobs, list(weights.T)),
        reweighted_together(exact, list(weights.T)),
        strict=True,
    ):
        error = job.estimator.estimate(sample).std_error
        assert (np.abs(found - truth) < 0.3 * error).all()
        # Neighbours are the same for all weights, so that differences between them are far more precise than
        # the values.
        assert (np.abs((found - found[0]) - (truth - truth[0])) < 0.12 * error).all()


def test_fewer_neighbours_show_as_well_by_how_much_other_weights_move_a_known_value(monkeypatch):
    monkeypatch.setattr(precision, "_FEWEST", 300)
    monkeypatch.setattr(precision, "_PER_ROOT", 1)
    sample = sample_of(3000)
    weights = sample.weight[:, None] * np.random.default_rng(4).uniform(0.95, 1.05, (3000, 3))
    jobs, exact = ([Job(form, sample) for form in forms(0.8, exact=one)] for one in (False, True))
    known = [one.estimate(sample).value for one in forms(0.8, exact=True)]
    truth = np.array(reweighted_together(exact, list(weights.T)))
    told, untold = (
        np.abs(np.array(reweighted_together(jobs, list(weights.T), values)) - truth).max(axis=1)
        for values in (known, None)
    )
    assert (told < untold).all()
    errors = np.array([one.estimate(sample).std_error for one in forms(0.8, exact=True)])
    assert (told < 0.05 * errors).all()


def test_priority_samples_give_unbiased_totals():
    rng = np.random.default_rng(0)
    size, values = rng.gamma(0.5, 1, 500) + 0.1, rng.normal(3, 1, 500)
    totals = []
    for seed in range(400):
        rows, chance = priority(size, 60, np.random.default_rng(seed))
        assert rows.size == 60
        totals.append(np.sum(values[rows] / chance))
    assert np.mean(totals) == pytest.approx(values.sum(), abs=4 * np.std(totals) / 20)
    rows, chance = priority(size, 500, rng)
    assert rows.size == 500
    assert (chance == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 5_000])
def test_a_hundred_logs_of_twenty_thousand_rows_move_by_a_small_part_of_their_error(first):
    """From all pairs in single precision at the two narrow bandwidths, from sampled neighbours at the two
    wide ones.
    """
    off, moves, errors, sampled_logs = [], [], [], 0
    for seed in range(first, first + 100):
        d, bandwidth, whole = [(10, 1.0, True), (4, 0.5, True), (10, 2.5, False), (10, 4.0, False)][seed % 4]
        found, truth = both([sample_of(20_000, d, seed)], bandwidth, seed)
        sampled_logs += found[0].precision.neighbours < 20_000
        assert not whole or found[0].precision.neighbours == 20_000
        off.append(
            [
                abs(got.value - true.value) / got.precision.error
                for got, true in zip(found, truth, strict=True)
            ]
        )
        moves.append(
            [abs(got.value - true.value) / true.std_error for got, true in zip(found, truth, strict=True)]
        )
        errors.append([got.std_error / true.std_error for got, true in zip(found, truth, strict=True)])
    covered = (np.array(off) < 1.96).sum(axis=0)
    assert sampled_logs >= 40
    assert (covered >= 95).all(), covered
    assert np.max(moves) <= 0.05
    assert np.abs(np.array(errors) - 1).max() < 0.02


def test_standard_errors_hold_where_thirty_effective_rows_make_them_up():
    """The weight of a row multiplies the noise of what others do to it."""
    rng = np.random.default_rng(7_000)
    context = rng.normal(size=(20_000, 10))
    heavy = kwis.WeightedSample(
        context=context,
        weight=rng.pareto(1.2, 20_000) * np.exp(0.5 * context[:, 0]),
        reward=(rng.random(20_000) < 1 / (1 + np.exp(-context[:, 0]))).astype(float),
    )
    found, truth = (
        estimates_together(
            [Job(kwis.KernelWIS(4.0, exact=exact, normalised=form), heavy) for form in (False, True)]
        )
        for exact in (False, True)
    )
    assert truth[0].effective_n < 500
    for got, true in zip(found, truth, strict=True):
        assert got.precision.neighbours < 2_000
        assert got.std_error == pytest.approx(true.std_error, rel=0.01)
        assert np.corrcoef(got.influence, true.influence)[0, 1] > 0.9999


def test_calibrated_weights_meet_the_totals_that_are_known():
    rng = np.random.default_rng(0)
    weight, terms = rng.uniform(1, 2, 40), rng.normal(size=(40, 3)) * [1.0, 1e6, 1e-6]
    totals = weight @ terms * [1.1, 0.9, 1.05]
    np.testing.assert_allclose(calibrated(weight, terms, totals) @ terms, totals, rtol=1e-9)
    np.testing.assert_allclose(calibrated(weight, terms, weight @ terms), weight, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_single_precision_is_for_weights_of_similar_size_whatever_their_unit(scale):
    points = points_of(np.zeros((2, 1)), 1.0, kwis.RBF, ())
    for spread, kind in ((0.5, np.float32), (2.0, np.float64)):
        weight = np.array([[scale], [scale * sampled._SINGLE_SPAN * spread]])
        assert sampled._precision(points, weight) is kind
    far = points_of(np.array([[0.0], [1e9]]), 1.0, kwis.RBF, ())  # single precision would lose neighbours
    assert sampled._precision(far, np.full((2, 1), scale)) is np.float64
    assert sampled._precision(points, np.zeros((2, 1))) is np.float64


def test_weights_of_zero_leave_no_effective_rows_and_no_isolation_above_1():
    sample = sample_of(40, 2)
    found, _ = drawn(sample, [sample.weight])
    without = replace(found, applied=0 * found.applied, exact=0 * found.exact)
    assert without.parts(sample.reward[:, None]).effective_n == 0.0
    lonely = replace(found, around=found.around / 1e6, exact_around=found.exact_around / 1e6)
    assert lonely.parts(sample.reward[:, None]).isolation == 1.0
