"""Every way to hand the same rows to ``kwis.evaluate``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

import kwis

Door = Callable[[Any, Mapping[str, Any], Path, Any], tuple[Any, dict[str, Any]]]
"""From a data frame, roles, a folder to write to and a Dask client to a log and further arguments of
``evaluate``.
"""


def arrow(frame: Any) -> Any:
    return pa.Table.from_pandas(frame, preserve_index=False)


def folder_of(frame: Any, folder: Path, files: int) -> Path:
    """Parquet files of unequal sizes, with row groups of 61 rows."""
    where = folder / f"in {files} files"
    if not where.exists():
        where.mkdir()
        edges = [
            0,
            *sorted(np.random.default_rng(files).choice(np.arange(1, len(frame)), files - 1, replace=False)),
            len(frame),
        ]
        for number in range(files):
            part = arrow(frame).slice(edges[number], edges[number + 1] - edges[number])
            parquet.write_table(part, where / f"part-{number}.parquet", row_group_size=61)
    return where


def _batches(frame: Any) -> Any:
    whole, start, sizes = arrow(frame), 0, [1, 7, 64, 3, 101]
    while start < whole.num_rows:
        size = sizes[start % len(sizes)]
        yield from whole.slice(start, size).combine_chunks().to_batches()
        start += size


def _csv(frame: Any, folder: Path) -> Path:
    path = folder / "log.csv"
    if not path.exists():
        frame.to_csv(path, index=False)
    return path


def _json(frame: Any, folder: Path) -> Path:
    path = folder / "log.jsonl"
    if not path.exists():
        with duckdb.connect() as connection:
            connection.register("frame", arrow(frame))
            connection.execute(f"COPY (SELECT * FROM frame) TO '{path}' (FORMAT json)")
    return path


def _database(frame: Any, folder: Path) -> Path:
    path = folder / "log.duckdb"
    if not path.exists():
        with duckdb.connect(str(path)) as connection:
            connection.register("frame", arrow(frame))
            connection.execute("CREATE TABLE decisions AS SELECT * FROM frame")
    return path


def _dask(frame: Any, partitions: int = 3) -> Any:
    from dask import dataframe

    return dataframe.from_pandas(frame, npartitions=partitions, sort=False)


def in_memory(frame: Any, roles: Mapping[str, Any], folder: Path, client: Any) -> tuple[Any, dict[str, Any]]:
    return kwis.read_log(frame, **roles), {}


DOORS: dict[str, Door] = {
    "a scanned frame": lambda frame, roles, folder, client: (kwis.scan_log(frame, **roles), {"exact": True}),
    "one Parquet file": lambda frame, roles, folder, client: (
        kwis.scan_log(folder_of(frame, folder, 1), **roles),
        {},
    ),
    "three Parquet files": lambda frame, roles, folder, client: (
        kwis.scan_log(folder_of(frame, folder, 3), **roles),
        {},
    ),
    "seven Parquet files": lambda frame, roles, folder, client: (
        kwis.scan_log(folder_of(frame, folder, 7), **roles),
        {},
    ),
    "seven Parquet files in memory": lambda frame, roles, folder, client: (
        kwis.read_log(folder_of(frame, folder, 7), **roles),
        {},
    ),
    "Arrow batches": lambda frame, roles, folder, client: (kwis.scan_log(_batches(frame), **roles), {}),
    "CSV": lambda frame, roles, folder, client: (kwis.scan_log(_csv(frame, folder), **roles), {}),
    "a DuckDB query": lambda frame, roles, folder, client: (
        kwis.scan_log(_database(frame, folder), query="SELECT * FROM decisions", **roles),
        {},
    ),
    "a Dask dataframe": lambda frame, roles, folder, client: (
        kwis.scan_log(_dask(frame), **roles),
        {"client": client},
    ),
    "Parquet files read by workers": lambda frame, roles, folder, client: (
        kwis.scan_log(folder_of(frame, folder, 3), **roles),
        {"client": client},
    ),
}

MORE_DOORS: dict[str, Door] = {
    "in memory, with a cluster": lambda frame, roles, folder, client: (
        kwis.read_log(frame, **roles),
        {"exact": True, "client": client},
    ),
    "an Arrow table": lambda frame, roles, folder, client: (kwis.read_log(arrow(frame), **roles), {}),
    "a list of Arrow tables": lambda frame, roles, folder, client: (
        kwis.scan_log(list(_batches(frame)), **roles),
        {"client": client},
    ),
    "JSON lines": lambda frame, roles, folder, client: (kwis.scan_log(_json(frame, folder), **roles), {}),
    "CSV read by a worker": lambda frame, roles, folder, client: (
        kwis.scan_log(_csv(frame, folder), **roles),
        {"client": client},
    ),
    "a query on files": lambda frame, roles, folder, client: (
        kwis.scan_log(folder_of(frame, folder, 1), query="SELECT * FROM log", **roles),
        {},
    ),
    "a Dask dataframe without a cluster": lambda frame, roles, folder, client: (
        kwis.scan_log(_dask(frame, 5), **roles),
        {},
    ),
    "a scan read at once": lambda frame, roles, folder, client: (
        kwis.scan_log(folder_of(frame, folder, 7), **roles).read(client),
        {},
    ),
}
