"""Kernel-WIS of large logs beside itself from all pairs of rows at the exact bandwidth: how far estimates
move, and whether the error that they state covers it.

``python -m tests.statistical.test_approximation FIRST LAST`` prints one line per log.
"""

import sys

import numpy as np
import pytest

import kwis
from benchmarks.everyday import Case
from kwis.policy.discrete import weigh
from kwis.policy.target import resolve_targets

ROWS, LOGS = 20_000, 100
MOST = 0.05  # of the standard error


def moved(number: int) -> tuple[float, float, float, float]:
    """By how much an estimate differs from the exact one and the error it states, in standard errors; and
    both bandwidths. Propensities are right in every other log, and wrong by the context in the rest.
    """
    case = Case(rows=ROWS)
    table = case.table(seed=1_000 + number)
    if number % 2:
        tilt = np.exp(0.4 * np.tanh(table["x0"] + number % 3 * table["x1"]))
        table["propensity"] = np.clip(table["propensity"] * tilt, 0.01, 1.0)
    log = kwis.read_log(table, **case.roles)
    sample = weigh(log, resolve_targets(log, "new0")[0], 0)
    quick, exact = (kwis.KernelWIS(normalised=True, exact=exact).estimate(sample) for exact in (None, True))
    stated = 0.0 if quick.precision is None else quick.precision.error
    unit = exact.std_error
    return (
        abs(quick.value - exact.value) / unit,
        stated / unit,
        float(quick.bandwidth),
        float(exact.bandwidth),
    )


@pytest.mark.slow
def test_estimates_move_by_a_small_part_of_their_standard_error_which_they_state():
    found = np.array([moved(number)[:2] for number in range(LOGS)])
    assert (found[:, 0] <= MOST).all()
    assert np.mean(found[:, 0] <= 1.96 * found[:, 1]) >= 0.95


if __name__ == "__main__":
    for number in range(*map(int, sys.argv[1:])):
        print(number, *(f"{figure:.5g}" for figure in moved(number)), flush=True)
