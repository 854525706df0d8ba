"""Dask dataframes as a source: each partition is read on the worker that has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kwis.data.read.batches import BATCH_ROWS, Read
from kwis.errors import InputError
from kwis.runtime.runner import Runner


@dataclass(frozen=True, slots=True, eq=False)
class DaskFrame:
    """A Dask dataframe, its partitions in order."""

    frame: Any
    rows: None = None

    @property
    def types(self) -> dict[str, Any]:
        """Names of the columns; what they hold is known where the partitions are."""
        return {str(name): None for name in self.frame.columns}

    def parts(self, runner: Runner) -> list[Any]:
        partitions = getattr(runner, "partitions", None)
        return self._here() if partitions is None else partitions(self.frame)

    def _here(self) -> list[Any]:
        """Partitions computed by Dask's own scheduler, where there is no cluster."""
        import dask

        compute: Any = dask.compute  # type: ignore[attr-defined]
        return list(compute(*self.frame.to_delayed()))

    @property
    def read(self) -> Read:
        return read_partition


def read_partition(partition: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Batches of one partition."""
    import pyarrow as pa

    known = {str(name) for name in partition.columns}
    missing = [name for name in columns if name not in known]
    if missing:
        raise InputError(f"column `{missing[0]}` is missing from a partition of the dataframe")
    whole = pa.Table.from_pandas(partition[list(columns)], preserve_index=False)
    for start in range(0, whole.num_rows, BATCH_ROWS):
        yield whole.slice(start, BATCH_ROWS)
