"""Mismatches of categorical columns."""

from __future__ import annotations

import numpy as np
import pytest

from kwis.kernel.geometry import Scaled, mismatches


@pytest.mark.parametrize("penalty", [[0.1, 0.1, 0.1], [0.1, 2.0, 0.3], [1e280] * 3])
@pytest.mark.parametrize("levels", [3, 200])
def test_mismatches_are_the_penalties_of_the_columns_that_differ(penalty, levels):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, levels, (70, 3)).astype(float)
    every = Scaled(np.zeros((70, 0)), codes, np.array(penalty))
    few = Scaled(np.zeros((20, 0)), rng.integers(0, levels + 1, (20, 3)).astype(float), np.array(penalty))
    for one in (every.take(slice(20)), few):
        differ = one.codes[:, None] != every.codes[None]
        found = mismatches(one, every)
        np.testing.assert_allclose(found, (differ * np.array(penalty)).sum(axis=2), rtol=1e-14)
        assert not found[~differ.any(axis=2)].any()
