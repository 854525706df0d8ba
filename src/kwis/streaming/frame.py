"""Dask dataframes as a source: each partition is read on the worker that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kwis.errors import InputError
from kwis.large.runner import Runner
from kwis.large.source import FrameBlock
from kwis.streaming.source import BATCH_ROWS, Batch


@dataclass(frozen=True, slots=True, eq=False)
class DaskFrame:
    """A Dask dataframe; a row is known by its partition and its place there, so that a ``key`` is worth
    having.
    """

    frame: Any
    rows: None = None

    @property
    def types(self) -> dict[str, Any]:
        """Names of the columns; what they hold is known where the partitions are."""
        return {str(name): None for name in self.frame.columns}

    def size(self, parts: Sequence[Any], runner: Runner, most: int) -> int:  # noqa: ARG002 - counting is cheap
        return sum(runner.fetch(rows) for rows in runner.each(_rows, parts, "counting rows"))

    def check(self, columns: Sequence[str]) -> None:
        """All partitions of a dataframe have the same columns."""

    def head(self, runner: Runner) -> Any:
        for part in self.parts(runner):
            found = runner.fetch(runner.call(_first, *part, list(self.types)))
            if found is not None:
                return found
        raise InputError("`source` must have rows, got none")

    def parts(self, runner: Runner) -> list[tuple[int, Any]]:
        blocks = getattr(runner, "frame_blocks", None)
        return list(enumerate(self._here() if blocks is None else blocks(self.frame)))

    def _here(self) -> list[FrameBlock]:
        """Partitions computed by Dask's own scheduler, where there is no cluster."""
        import dask

        compute: Any = dask.compute  # type: ignore[attr-defined]
        return [FrameBlock(part) for part in compute(*self.frame.to_delayed())]

    @property
    def read(self) -> Callable[[tuple[int, Any], Sequence[str]], Iterator[Batch]]:
        return read_partition


def read_partition(part: tuple[int, Any], columns: Sequence[str]) -> Iterator[Batch]:
    """Batches of one partition; rows are numbered within it."""
    index, block = part
    whole = block.table(list(columns))
    for start in range(0, whole.num_rows, BATCH_ROWS):
        name = f"partition {index}"
        yield Batch(
            table=whole.slice(start, BATCH_ROWS), identity=name, place=name, start=start, offset=start
        )


def _rows(index: int, block: Any) -> int:  # noqa: ARG001 - a part has both
    return len(block.frame)


def _first(index: int, block: Any, columns: Sequence[str]) -> Any:
    return next((batch.table for batch in read_partition((index, block), columns)), None)
