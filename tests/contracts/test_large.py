"""Logs of more rows than kernel sums take in full: neighbours are sampled alike, and ``exact=True`` asks for
all pairs, through every door.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kwis
from kwis.estimators.kernel_wis import EXACT_ROWS
from tests.contracts.doors import DOORS, in_memory
from tests.contracts.logs import shop
from tests.contracts.questions import SOME, plain
from tests.contracts.same import Answer, answered, worst_gap

SOME_DOORS = ("three Parquet files", "Arrow batches", "CSV", "a Dask dataframe")


@cache
def large() -> Any:
    return shop(EXACT_ROWS + 2_000, seed=12)


def answer(door: Any, folder: Path, client: Any, exact: bool | None) -> Answer:
    def evaluate() -> kwis.Evaluation:
        log, more = door(large(), plain(reward=["click", "spend"], propensity="told"), folder, client)
        asked = {"estimators": SOME, "by": "country", "repair": "never", "rng": 3, "exact": exact}
        return kwis.evaluate(log, ["p_new", "pick"], **asked, **more)

    return answered(evaluate)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [None, True])
def test_a_large_log_gets_one_answer(exact: bool | None, tmp_path: Path, client: Any) -> None:
    expected = answer(in_memory, tmp_path, None, exact)
    sampled = [row for row in expected.evaluation.rows if row.estimate.precision is not None]
    assert bool(sampled) == (exact is None)
    for door in SOME_DOORS:
        assert worst_gap(expected, answer(DOORS[door], tmp_path, client, exact)) <= 1e-10
