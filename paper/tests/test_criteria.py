"""Bandwidths chosen for the estimate: the path, both criteria against their twins, and what is refused."""

import math

import numpy as np
import pytest

import kwis
from kwis.kernel import kernel_products
from kwis_paper.beyond.columns import CRITERIA
from kwis_paper.beyond.criteria import choose_bandwidth, estimate_path
from paper.tests import criteria_twin as twin

GRID = np.array([math.inf, 4.0, 2.0, 1.0, 0.5, 0.25])


def arrays(n=80, sets=3, seed=0):
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n, 2))
    weight = np.exp(rng.normal(0, 0.7, (n, sets)) + 0.5 * context[:, :1])
    weight[3] = 0.0
    reward = (rng.random((n, sets)) < 0.4 + 0.3 * np.tanh(context[:, 1:])).astype(float)
    return context, weight, reward


def sums_of(context):
    return lambda h: lambda vectors: kernel_products(context, h, kwis.RBF, (), vectors)


def by_estimator(context, weight, reward, normalised, **more):
    sample = kwis.WeightedSample(context=context, weight=weight, reward=reward, **more)
    found = [kwis.KernelWIS(float(h), normalised=normalised).estimate(sample) for h in GRID]
    return [one.value for one in found], [one.influence for one in found], [one.std_error for one in found]


@pytest.mark.parametrize("normalised", [False, True], ids=["plain", "normalised"])
@pytest.mark.parametrize("extra", ["", "mass", "group"])
def test_a_path_is_the_estimator_at_every_bandwidth(normalised, extra):
    context, weight, reward = arrays()
    more = {"mass": np.random.default_rng(1).uniform(0.5, 3, 80), "group": np.arange(80) // 4}
    more = {name: value for name, value in more.items() if name == extra}
    path = estimate_path(weight, reward, GRID[::-1], sums_of(context), normalised=normalised, **more)
    np.testing.assert_array_equal(path.bandwidths, GRID)
    for t in range(3):
        values, _, errors = by_estimator(context, weight[:, t], reward[:, t], normalised, **more)
        np.testing.assert_allclose(path.value[:, t], values, rtol=1e-10)
        np.testing.assert_allclose(np.sqrt(path.variance[:, t]), errors, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_both_criteria_are_those_of_their_twins(seed):
    context, weight, reward = arrays(seed=seed)
    for t, anchor in enumerate((2, 0, 4)):
        sample = kwis.WeightedSample(context=context, weight=weight[:, t], reward=reward[:, t])
        narrow = choose_bandwidth(sample, "slope", grid=GRID)
        near = choose_bandwidth(sample, "plug-in", grid=GRID, anchor=GRID[anchor])
        values, influences, _ = by_estimator(context, weight[:, t], reward[:, t], True)
        assert narrow.value == GRID[twin.slope(values, influences)]
        place, errors = twin.plug_in(values, influences, anchor)
        assert near.value == GRID[place]
        np.testing.assert_allclose(near.end_scores, errors, rtol=1e-9)
        assert near.score == pytest.approx(min(errors), rel=1e-9)


def test_the_anchor_is_the_choice_of_the_cross_validation_unless_given():
    context, weight, reward = arrays(120, 1)
    sample = kwis.WeightedSample(context=context, weight=weight[:, 0], reward=reward[:, 0])
    by_itself = choose_bandwidth(sample, grid=GRID)
    given = choose_bandwidth(sample, grid=GRID, anchor=kwis.select_bandwidth(context, weight[:, 0]).value)
    assert by_itself.value == given.value
    np.testing.assert_array_equal(by_itself.end_points, given.end_points)


def test_equal_weights_leave_every_criterion_indifferent_to_the_estimate():
    context, _, reward = arrays(60, 1)
    sample = kwis.WeightedSample(context=context, weight=np.ones(60), reward=reward[:, 0])
    for criterion in CRITERIA:
        choice = choose_bandwidth(sample, criterion)
        assert kwis.KernelWIS(choice.value, normalised=True).estimate(sample).value == pytest.approx(
            reward.mean(), rel=1e-12
        )


def test_groups_row_weights_and_categories_of_the_sample_count():
    context, weight, reward = arrays(80, 1)
    mixed = np.column_stack([context, np.arange(80) % 3])
    more = {
        "mass": np.random.default_rng(1).uniform(0.5, 3, 80),
        "group": np.arange(80) // 4,
        "categorical": [2],
    }
    sample = kwis.WeightedSample(context=mixed, weight=weight[:, 0], reward=reward[:, 0], **more)
    choice = choose_bandwidth(sample, "slope", grid=GRID, normalised=False, kernel=kwis.Laplace)
    errors = [kwis.KernelWIS(float(h), kernel=kwis.Laplace).estimate(sample).std_error for h in GRID]
    np.testing.assert_allclose(choice.end_scores, np.square(errors), rtol=1e-9)


def test_an_unknown_criterion_is_refused_in_a_sentence():
    context, weight, reward = arrays(20, 1)
    sample = kwis.WeightedSample(context=context, weight=weight[:, 0], reward=reward[:, 0])
    with pytest.raises(kwis.InputError, match=r"`criterion` must be one of slope, plug-in, got 'best'"):
        choose_bandwidth(sample, "best")
