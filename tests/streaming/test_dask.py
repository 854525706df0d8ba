"""The same accumulators on the workers of a Dask cluster that the test starts and stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kwis
from tests.streaming.logs import table, write

distributed = pytest.importorskip("distributed")

OPTIONS: dict[str, Any] = {
    "estimators": ["wis", "truncated-vis", "state-wis"],
    "interval": kwis.Bootstrap(20, method="percentile"),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def test_a_cluster_gives_the_numbers_of_one_machine(tmp_path: Path, client: Any) -> None:
    folder = write(tmp_path / "log", table(1500), [200, 200, 900])
    scanned = kwis.scan_log(folder, context=["age", "country"])
    here, there = (kwis.evaluate(scanned, "p_new", client=one, **OPTIONS) for one in (None, client))
    for a, b in zip(here.rows, there.rows, strict=True):
        assert (b.estimate.value, b.estimate.std_error) == pytest.approx(
            (a.estimate.value, a.estimate.std_error), rel=1e-14
        )
        assert (b.interval.low, b.interval.high) == pytest.approx(
            (a.interval.low, a.interval.high), rel=1e-14
        )
    assert here.diagnostics["p_new"].verdict == there.diagnostics["p_new"].verdict


def test_a_dask_dataframe_is_read_where_its_partitions_are(client: Any) -> None:
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(table(1500).to_pandas(), npartitions=3, sort=False)
    roles: dict[str, Any] = {"context": ["age", "country"], "key": "id"}
    there = kwis.evaluate(kwis.scan_log(frame, **roles), "p_new", client=client, **OPTIONS)
    here = kwis.evaluate(kwis.scan_log(table(1500), **roles), "p_new", **OPTIONS)
    for a, b in zip(here.rows, there.rows, strict=True):
        assert (b.estimate.value, b.interval.low) == pytest.approx(
            (a.estimate.value, a.interval.low), rel=1e-12
        )
    with pytest.raises(kwis.InputError, match=r"^`client` must be given for a Dask dataframe this large"):
        kwis.evaluate(frame, "p_new")
    rows = (kwis.evaluate(kwis.scan_log(table(1500), **roles), "p_new", client=client, **OPTIONS)).rows
    assert [row.estimate.value for row in rows] == [
        row.estimate.value for row in here.rows
    ]  # rows that are here stay here
