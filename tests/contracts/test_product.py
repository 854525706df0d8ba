"""A larger product of questions, on a cluster of two processes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import kwis
from tests.contracts.doors import DOORS
from tests.contracts.logs import shop
from tests.contracts.questions import by_age
from tests.contracts.same import answered, worst_gap

PROPENSITIES = ("propensity", None, "told", "logged", False)
ROWS: tuple[dict[str, Any], ...] = ({}, {"group": "user"}, {"row_weight": "thinned", "time": "day"})
TARGETS = ("p_new", kwis.chosen("pick"), by_age)
INTERVALS = (None, kwis.Bootstrap(40), kwis.Bootstrap(40, method="percentile"))
SOME_DOORS = (
    "seven Parquet files",
    "Arrow batches",
    "CSV",
    "a Dask dataframe",
    "Parquet files read by workers",
)


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    options: dict[str, Any] = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("product")


@pytest.mark.slow
@pytest.mark.parametrize(("propensity", "rows"), list(itertools.product(PROPENSITIES, ROWS)), ids=str)
def test_every_combination_gives_one_answer(
    propensity: Any, rows: dict[str, Any], folder: Path, processes: Any
) -> None:
    frame = shop(420, seed=31)
    roles = {
        "reward": ["click", "spend"],
        "context": ["age", "country", "signup"],
        "propensity": propensity,
        **rows,
    }
    for target, interval in itertools.product(TARGETS, INTERVALS):
        options: dict[str, Any] = {
            "estimators": ["wis", "normalised-kernel-wis"],
            "interval": interval,
            "by": "country",
        }
        expected = answered(lambda: kwis.evaluate(kwis.read_log(frame, **roles), target, **options))  # noqa: B023
        for door in SOME_DOORS:
            log, more = DOORS[door](frame, roles, folder, processes)
            found = answered(lambda: kwis.evaluate(log, target, **options, **more))  # noqa: B023
            # Reading may warn before the evaluation does, so only what is known of the answer is compared
            # here.
            assert worst_gap((expected.evaluation, expected.words), (found.evaluation, found.words)) <= 1e-10
