"""Properties of the score and of the kernel mean that hold for any sample."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import kwis
from kwis.kernel.profiles import KERNELS

# Kernels are compared after a change of units, so the edge of a compact one could fall on either side of a
# row.
SMOOTH = st.sampled_from([kernel for kernel in KERNELS.values() if not kernel.compact])
BANDWIDTHS = st.floats(0.05, 50)


@st.composite
def samples(draw):
    """Context (second column of codes), weight and folds of a few rows."""
    n = draw(st.integers(4, 12))
    context = draw(arrays.arrays(float, (n, 2), elements=st.integers(-40, 40).map(lambda x: x / 8)))
    context[:, 1] = np.round(context[:, 1])
    weight = draw(arrays.arrays(float, n, elements=st.integers(0, 80).map(lambda x: x / 16)))
    k = draw(st.integers(2, min(n, 4)))
    return context, weight, draw(st.permutations((np.arange(n) % k).tolist()).map(np.array))


def close(got, expected, scale):
    return np.abs(np.asarray(got) - np.asarray(expected)).max() <= 1e-9 * scale


@given(sample=samples(), h=BANDWIDTHS, kernel=SMOOTH, factor=st.floats(1e-6, 1e6))
def test_the_score_grows_with_the_square_of_the_weights(sample, h, kernel, factor):
    context, weight, folds = sample
    score, gradient = kwis.cv_score(context, weight, h, folds, kernel=kernel, categorical=1)
    got, got_gradient = kwis.cv_score(context, weight * factor, h, folds, kernel=kernel, categorical=1)
    assert close(got, score * factor**2, score * factor**2 + 1e-300)
    assert close(got_gradient, gradient * factor**2, (score + np.abs(gradient).max()) * factor**2 + 1e-300)


@given(sample=samples(), h=BANDWIDTHS, kernel=SMOOTH, shift=st.integers(0, 50))
def test_the_score_does_not_change_when_all_weights_shift(sample, h, kernel, shift):
    context, weight, folds = sample
    score, _ = kwis.cv_score(context, weight, [h, 2 * h], folds, kernel=kernel)
    assert close(
        kwis.cv_score(context, weight + shift, [h, 2 * h], folds, kernel=kernel)[0],
        score,
        1 + weight.max() ** 2,
    )


@given(sample=samples(), h=BANDWIDTHS, kernel=SMOOTH, seed=st.integers(0, 99))
def test_the_order_of_rows_and_the_names_of_folds_do_not_matter(sample, h, kernel, seed):
    context, weight, folds = sample
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(len(weight)), rng.permutation(10)
    score, gradient = kwis.cv_score(context, weight, h, folds, kernel=kernel, categorical=1)
    got, got_gradient = kwis.cv_score(
        context[order], weight[order], h, names[folds[order]], kernel=kernel, categorical=1
    )
    assert close(got, score, score + 1e-12)
    assert close(got_gradient, gradient, score + np.abs(gradient).max() + 1e-12)
    mean = kwis.kernel_mean(weight, context, bandwidth=h, kernel=kernel, categorical=1)
    assert close(
        kwis.kernel_mean(weight[order], context[order], bandwidth=h, kernel=kernel, categorical=1),
        mean[order],
        weight.max() + 1,
    )


@given(
    sample=samples(),
    h=BANDWIDTHS,
    kernel=SMOOTH,
    shift=st.tuples(st.integers(-1000, 1000), st.integers(-9, 9)),
)
def test_a_shift_of_the_contexts_and_new_names_for_codes_do_not_matter(sample, h, kernel, shift):
    context, weight, folds = sample
    score, gradient = kwis.cv_score(context, weight, h, folds, kernel=kernel, categorical=1)
    got, got_gradient = kwis.cv_score(
        context + np.array(shift), weight, h, folds, kernel=kernel, categorical=1
    )
    assert close(got, score, score + 1e-12)
    assert close(got_gradient, gradient, score + np.abs(gradient).max() + 1e-12)


@given(sample=samples(), h=BANDWIDTHS, kernel=SMOOTH, factor=st.floats(1e-100, 1e100))
def test_the_unit_of_contexts_and_bandwidth_does_not_matter(sample, h, kernel, factor):
    context, weight, folds = sample
    score, gradient = kwis.cv_score(context, weight, [h, h / 2], folds, kernel=kernel)
    got, got_gradient = kwis.cv_score(
        context * factor, weight, [h * factor, h / 2 * factor], folds, kernel=kernel
    )
    assert close(got, score, score + 1e-12)
    assert close(got_gradient, gradient, score + np.abs(gradient).max() + 1e-12)


@given(sample=samples(), h=BANDWIDTHS, kernel=SMOOTH)
def test_gradients_per_feature_add_up_to_the_shared_one(sample, h, kernel):
    context, weight, folds = sample
    score, shared = kwis.cv_score(context, weight, h, folds, kernel=kernel, categorical=1)
    _, each = kwis.cv_score(context, weight, [h, h], folds, kernel=kernel, categorical=1)
    assert close(each.sum(), shared[0], score + np.abs(each).max() + 1e-12)


@given(sample=samples(), h=st.floats(1e-300, 1e300), kernel=st.sampled_from(list(KERNELS.values())))
def test_a_kernel_mean_lies_between_the_smallest_and_the_largest_weight(sample, h, kernel):
    context, weight, _ = sample
    for at in (None, context + 0.5):
        mean = kwis.kernel_mean(weight, context, bandwidth=h, at=at, kernel=kernel)
        assert (mean >= weight.min() - 1e-12).all()
        assert (mean <= weight.max() * (1 + 1e-12)).all()


@given(sample=samples(), kernel=st.sampled_from(list(KERNELS.values())))
def test_a_vanishing_bandwidth_averages_rows_with_the_same_context(sample, kernel):
    context, weight, _ = sample
    same = (context[:, None] == context[None]).all(axis=2)
    mean = kwis.kernel_mean(weight, context, bandwidth=1e-200, kernel=kernel, categorical=1)
    assert close(mean, same @ weight / same.sum(axis=1), weight.max() + 1)


@given(sample=samples(), factor=st.sampled_from([1e-3, 8.0, 1e5]))
def test_the_selected_bandwidth_follows_the_unit_of_the_contexts(sample, factor):
    context, weight, folds = sample
    assume(np.ptp(context[:, 0]) > 0)
    plain, scaled = (kwis.select_bandwidth(context * unit, weight, folds=folds) for unit in (1.0, factor))
    assert scaled.score == pytest.approx(plain.score, rel=1e-7, abs=1e-12)
    assert plain.score <= kwis.cv_score(context, weight, np.inf, folds)[0] * (1 + 1e-12)
