"""The compiled pieces on their own: the exponential, kernel products and kernels for many weight vectors."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from kwis.kernel import blocked, fused, kernel_products
from kwis.kernel.geometry import Geometry
from kwis.kernel.held_out import Folds
from kwis.kernel.many import ManyCV
from kwis.kernel.profiles import RBF
from tests.kernel.samples import plan_of, sample
from tests.reference import kernel_regression as twin


@pytest.mark.parametrize(
    ("dtype", "tolerance", "lowest"), [(np.float64, 1e-15, 999.0), (np.float32, 5e-7, 119.0)]
)
def test_the_exponential_is_exact_to_rounding(dtype, tolerance, lowest):
    y = np.concatenate([np.linspace(0, 3, 2001), np.linspace(0, lowest, 5003), [0.5, 1.5, lowest]]).astype(
        dtype
    )
    out = np.empty_like(y)
    fused.kernel_from_distances(y, dtype(1), out)
    np.testing.assert_allclose(out, np.exp2(-y.astype(np.longdouble)).astype(float), rtol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_exponential_of_what_is_too_far_is_zero(dtype):
    y = np.array([1001.0, 1e5, 1e30], dtype)
    out = np.ones_like(y)
    fused.kernel_from_distances(y, dtype(1), out)
    np.testing.assert_array_equal(out, 0)


@pytest.mark.parametrize("n", [255, 256, 257, 700])
@pytest.mark.parametrize("vectors", [1, 2, 5, 17])
@pytest.mark.parametrize(
    ("bandwidth", "categorical"), [(0.7, ()), (np.array([0.6, 0.9, 2.0]), (1,)), (1e-200, (1,)), (np.inf, ())]
)
def test_compiled_kernel_products_are_those_of_numpy(n, vectors, bandwidth, categorical):
    from kwis.kernel import tiles

    context, _, _ = sample((n,), 3, categorical)
    many = np.random.default_rng(n).standard_normal((n, vectors))
    geometry = Geometry.of(context, categorical)
    expected = blocked.kernel_products(geometry.scaled(bandwidth), RBF, many)
    np.testing.assert_allclose(
        tiles.kernel_products(geometry, bandwidth, many), expected, rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("n", [60, 620])
@pytest.mark.parametrize("kernel", ["rbf", "matern52", "epanechnikov"])
def test_kernel_products_are_sums_over_all_rows(n, kernel):
    context, weight, _ = sample((n,), 3, (0,))
    h = np.array([0.9, 0.7, 1.1])
    rows = np.arange(0, n, 7)
    sums = kernel_products(
        context,
        h,
        plan_of("blocked", context, np.arange(n) % 2, (0,), kernel).kernel,
        (0,),
        np.stack([weight, weight**2, weight**3], axis=1),
    )
    for i in rows:
        k, _, _ = twin.kernel_row(
            context[i].astype(twin.REAL), context.astype(twin.REAL), h, kernel, (0,)
        )  # its own row is the largest: 1
        np.testing.assert_allclose(sums[i], [float(k @ weight**power) for power in (1, 2, 3)], rtol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 3e-6)])
@pytest.mark.parametrize("categorical", [(), (0, 2)])
def test_many_weight_vectors_score_as_each_alone(compiled, dtype, tolerance, categorical):
    context, weight, folds = sample((50, 41), 4, categorical)
    weights = np.stack([weight, weight**2, 3 + weight, 0.01 * weight], axis=1)
    bandwidths = np.array([8.0, 0.9, 0.06])
    wanted = np.array([[True] * 4, [True, False, True, True], [False, False, True, False]])
    scores = ManyCV(Geometry.of(context, categorical), Folds.of(folds), RBF, compiled).scan(
        weights, bandwidths, wanted, dtype
    )
    alone = plan_of("blocked", context, folds, categorical)
    for index, column in np.ndindex(wanted.shape):
        expected = alone.score(weights[:, column], bandwidths[index]).value if wanted[index, column] else 0
        assert scores[index, column] == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("compiled", [False, True])
def test_so_many_vectors_that_a_matrix_product_sums_them_score_as_few_do(compiled):
    context, weight, folds = sample((50, 41), 4, ())
    weights = weight[:, None] ** np.linspace(0.5, 2, 20)
    many = ManyCV(Geometry.of(context, ()), Folds.of(folds), RBF, compiled)
    bandwidths = np.array([8.0, 0.9])
    together = many.scan(weights, bandwidths, np.ones((2, 20), dtype=bool), np.float64)
    apart = many.scan(weights, bandwidths, np.arange(20) < np.array([[10], [10]]), np.float64)
    np.testing.assert_allclose(apart[:, :10], together[:, :10], rtol=1e-12)
    assert not apart[:, 10:].any()


def test_kernels_made_by_squaring_score_as_those_made_alone():
    context, weight, folds = sample((50, 41), 4, ())
    many = ManyCV(Geometry.of(context, ()), Folds.of(folds), RBF, compiled=True)
    # Halving the square of a bandwidth squares its kernel: up to ten times here, in two chains, out of order.
    bandwidths = np.concatenate([8.0 * 2.0 ** (-np.arange(11) / 2), [1.7, 3.4, 0.85]])[::-1].copy()
    wanted = np.ones((bandwidths.size, 1), dtype=bool)
    together = many.scan(weight[:, None], bandwidths, wanted, np.float64)[:, 0]
    alone = [many.scan(weight[:, None], bandwidths[[i]], wanted[:1], np.float64)[0, 0] for i in range(14)]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


CALLS = {
    "fused.py": ["exp2.py"],
    "fused_features.py": ["exp2.py", "fused.py"],
    "fused_pairs.py": ["exp2.py", "fused.py"],
    "fused_sums.py": ["exp2.py", "fused.py", "fused_pairs.py"],
    "fused_rows.py": ["exp2.py", "fused.py"],
    "fused_many.py": ["exp2.py", "fused.py"],
    "fused_columns.py": ["exp2.py"],
    "fused_kept.py": ["exp2.py", "fused.py", "fused_features.py", "fused_pairs.py"],
}


@pytest.mark.parametrize(("file", "calls"), CALLS.items())
def test_compiled_files_carry_the_fingerprint_of_those_they_call(file, calls):
    """The compiler's cache looks at one file only: without this, code compiled from an older version of the
    others would be kept.
    """
    folder = Path(fused.__file__).parent
    for called in calls:
        fingerprint = hashlib.sha256((folder / called).read_bytes()).hexdigest()[:12]
        line = f"# Calls {called} {fingerprint}: the cache of compiled code is keyed by this file alone."
        assert line in (folder / file).read_text().splitlines(), f"{file} must hold the line: {line}"
