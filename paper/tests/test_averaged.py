from __future__ import annotations

import math

import numpy as np
import pytest

from kwis_paper.beyond.averaged import bound, held_out_errors, shares
from tests.reference import kernel_regression


@pytest.fixture
def errors() -> np.ndarray:
    rng = np.random.default_rng(7)
    return rng.uniform(size=(4, 400)) ** 2 * np.array([[1.0], [0.7], [0.9], [0.72]])


def test_held_out_errors_are_those_of_the_slow_cross_validation() -> None:
    rng = np.random.default_rng(3)
    context, weight, folds = rng.normal(size=(60, 2)), rng.exponential(size=60), np.arange(60) % 4
    found = held_out_errors(context, weight, folds, np.array([np.inf, 1.3, 0.4]))
    for row, h in zip(found[1:], (1.3, 0.4), strict=True):
        by_fold = [row[folds == fold].mean() for fold in range(4)]
        assert np.mean(by_fold) == pytest.approx(
            float(kernel_regression.cv_score(context, weight, h, folds)[0])
        )
    assert found[0, 5] == pytest.approx((weight[5] - weight[folds != folds[5]].mean()) ** 2)


def test_the_bound_is_that_of_tolstikhin_and_seldin_written_out(errors: np.ndarray) -> None:
    rho, n = np.array([0.1, 0.6, 0.0, 0.3]), 400
    mean = sum(share * sum(row) / n for share, row in zip(rho, errors, strict=True))
    pairs = np.array(
        [sum((a - b) ** 2 for a in row for b in row) / (2 * n * (n - 1)) for row in errors[:, :n]]
    )
    divergence = sum(share * math.log(share / 0.25) for share in rho if share)
    nu = math.log(math.sqrt(n) / 2 + 1) / math.log(1.15) + 1
    price = divergence + math.log(2 * nu / 0.05)
    written = mean + 2.15 * math.sqrt((math.e - 2) * float(rho @ pairs) * price / n) + 2.3 * price / n
    assert bound(rho, errors) == pytest.approx(written)


def test_shares_are_those_with_the_smallest_bound(errors: np.ndarray) -> None:
    found, scaled = shares(errors), errors / errors.max()
    assert found.sum() == pytest.approx(1.0)
    for gamma in np.geomspace(1.0, 1e7, 300):
        rho = np.exp(-gamma * (scaled.mean(axis=1) - scaled.mean(axis=1).min()))
        assert bound(found, scaled) <= bound(rho / rho.sum(), scaled) + 1e-3
    assert bound(found, scaled) <= bound(np.full(4, 0.25), scaled)
    assert found.argmax() == errors.mean(axis=1).argmin()


def test_shares_are_equal_where_nothing_tells_bandwidths_apart(errors: np.ndarray) -> None:
    assert shares(np.zeros((3, 5))) == pytest.approx([1 / 3] * 3)
    assert shares(np.repeat(errors[:1], 3, axis=0)) == pytest.approx([1 / 3] * 3)


def test_much_data_settles_on_the_best_bandwidth() -> None:
    rng = np.random.default_rng(5)
    found = shares(rng.uniform(size=(3, 200_000)) * np.array([[1.0], [0.5], [0.9]]))
    assert found == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)
