"""Folds of a few rows, down to leave-one-out, are predicted in blocks; the numbers are those of any other
folds.
"""

import pickle

import numpy as np
import pytest

import kwis
from kwis.bandwidth.select import Problem
from kwis.bandwidth.standardised import Standardised
from kwis.kernel import cross_validation
from kwis.kernel.many import ManyCV


def _data(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    context = rng.standard_normal((n, 3))
    context[:, 2] = rng.integers(0, 3, n)
    return context, np.exp(0.5 * context[:, 0] + 0.3 * rng.standard_normal(n))


def _leave_one_out(context: np.ndarray, weight: np.ndarray, h: float) -> float:
    """The formula, row by row, for numeric columns 0 and 1 and a categorical column 2."""
    errors = []
    for i in range(len(weight)):
        others = np.arange(len(weight)) != i
        q = ((context[i, :2] - context[others, :2]) ** 2).sum(axis=1) / h**2
        k = np.exp(-q / 2 - (context[i, 2] != context[others, 2]) / h**2)
        errors.append((weight[i] - (k @ weight[others]) / k.sum()) ** 2)
    return float(np.mean(errors))


@pytest.mark.parametrize("n", [40, 700])
def test_leave_one_out_is_its_formula(n: int) -> None:
    context, weight = _data(n)
    score, gradient = kwis.cv_score(context, weight, 0.8, np.arange(n), categorical=[2])
    assert score == pytest.approx(_leave_one_out(context, weight, 0.8), rel=1e-12)
    step = 1e-5
    slope = (
        _leave_one_out(context, weight, 0.8 * np.exp(step))
        - _leave_one_out(context, weight, 0.8 * np.exp(-step))
    ) / (2 * step)
    assert gradient[0] == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "epanechnikov"])
def test_a_scan_of_small_folds_is_made_of_their_scores(kernel: str) -> None:
    context, weight = _data(120)
    problem = Problem.of(context, [2], np.arange(120) // 3, kernel, None, 0)
    plan = cross_validation(problem.geometry, problem.folds, problem.kernel)
    bandwidths = np.array([2.0, 1.0, 0.3])
    scores = [plan.finish.score(weight, float(h)).value for h in bandwidths]
    assert plan.finish.scan(weight, bandwidths) == pytest.approx(scores, rel=1e-12)
    vectors = np.stack([weight, weight[::-1]], axis=1)
    many = ManyCV(problem.geometry, problem.folds, problem.kernel, False).scan(
        vectors, bandwidths, np.ones((3, 2), dtype=bool), np.float64
    )
    assert many[:, 0] == pytest.approx(scores, rel=1e-9)


def test_leave_one_out_selects_a_bandwidth_for_any_number_of_vectors() -> None:
    context, weight = _data(150)
    vectors = np.stack([weight * scale for scale in (1.0, 2.0, 3.0, 4.0, 5.0)], axis=1)
    one = kwis.select_bandwidth(context, weight, folds=np.arange(150))
    for choice in kwis.select_bandwidths(context, vectors, folds=np.arange(150)):
        assert choice.value == pytest.approx(one.value, rel=1e-3)
    assert Standardised.of(weight, Problem.of(context, (), np.arange(150), "rbf", None, 0).folds).score > 0


def test_kernels_of_the_package_survive_pickling_as_themselves() -> None:
    assert pickle.loads(pickle.dumps(kwis.RBF)) is kwis.RBF
    assert pickle.loads(pickle.dumps(kwis.KernelWIS(1.5))) == kwis.KernelWIS(1.5)
