"""Kernel-WIS with several bandwidths and kernels in one evaluation."""

from __future__ import annotations

import numpy as np
import pytest

import kwis

SETTINGS = {
    "narrow": kwis.KernelWIS(0.3, normalised=True),
    "wide": kwis.KernelWIS(2.0, normalised=True),
    "other kernel": kwis.KernelWIS(0.3, kernel="laplace", normalised=True),
    "selected": kwis.KernelWIS("cv", normalised=True),
}


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(3)
    n = 250
    x, action = rng.normal(size=n), rng.integers(0, 2, n)
    new = 1 / (1 + np.exp(-2 * x))
    table = {
        "x": x,
        "action": action,
        "reward": rng.normal(size=n) + x * action,
        "propensity": np.full(n, 0.5),
        "new": np.where(action == 1, new, 1 - new),
    }
    return kwis.read_log(table, propensity="propensity", context=["x"])


@pytest.mark.parametrize("interval", [None, kwis.Bootstrap(50)])
def test_each_has_the_estimate_and_interval_it_has_alone(log, interval):
    options = {"interval": interval, "repair": "never"}
    together = kwis.evaluate(log, "new", estimators=list(SETTINGS.values()), **options)
    rows = [row for row in together.rows if row.target == "new"]
    assert len({row.estimator for row in rows}) == len(rows) == len(SETTINGS)
    assert len({row.estimate.value for row in rows}) == len(SETTINGS)
    for row, estimator in zip(rows, SETTINGS.values(), strict=True):
        alone = kwis.evaluate(log, "new", estimators=[estimator], **options)
        (one,) = (other for other in alone.rows if other.target == "new")
        assert row.estimate.value == pytest.approx(one.estimate.value, abs=1e-12)
        assert (row.interval.low, row.interval.high) == pytest.approx(
            (one.interval.low, one.interval.high), abs=1e-10
        )
