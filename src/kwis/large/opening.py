"""From whatever the user calls a log to its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kwis import _validation as check
from kwis.errors import InputError
from kwis.large.runner import Runner
from kwis.large.source import (
    ArrayBlock,
    Columns,
    Footer,
    NpyBlock,
    block_rows,
    parquet_blocks,
    parquet_files,
    same_kinds,
)
from kwis.sample import WeightedSample

_ARRAYS = ("context", "weight", "reward")


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """Blocks of a log; ``columns`` is None and ``categorical`` counts where contexts are used as they are."""

    blocks: Sequence[Any]
    columns: Columns | None
    categorical: tuple[int, ...] = ()


def opened(
    source: Any, columns: Columns, runner: Runner, client: Any, *, every: bool, block_rows: int | None
) -> Opened:
    """The blocks of ``source``; with ``every``, all columns without another role make the context."""
    rows = None if block_rows is None else check.whole(block_rows, "block_rows", 1)
    if isinstance(source, WeightedSample):
        return _sample(source, client, rows)
    if hasattr(source, "to_delayed"):
        return _dataframe(source, columns, runner, every)
    if isinstance(source, str | Path) and all((Path(source) / f"{name}.npy").is_file() for name in _ARRAYS):
        return _arrays(str(source), rows)
    if not isinstance(source, str | Path | Sequence):
        raise InputError(
            f"`source` must be Parquet files, a folder of them, a WeightedSample or a Dask dataframe, got "
            f"{type(source).__name__}"
        )
    return _files(source, columns, runner, every, rows)


def _sample(sample: WeightedSample, client: Any, rows: int | None) -> Opened:
    if client is not None:
        raise InputError(
            "`source` must be files or a Dask dataframe with a `client`: rows in memory here are not sent to "
            "workers"
        )
    if sample.group is not None:
        raise InputError(
            "`source` must not have groups: standard errors of large logs treat every row as a draw of its "
            "own"
        )
    step = block_rows(sample.n, rows)
    return Opened(
        [
            ArrayBlock(
                sample.context[first : first + step],
                sample.weight[first : first + step],
                sample.reward[first : first + step],
                None if sample.mass is None else sample.mass[first : first + step],
                first,
            )
            for first in range(0, sample.n, step)
        ],
        None,
        sample.categorical,
    )


def _arrays(folder: str, rows: int | None) -> Opened:
    shapes = NpyBlock(folder, 0, 0).shapes()
    for name, shape in shapes.items():
        axes, wanted = (2, "(n, d)") if name == "context" else (1, "(n,)")
        if len(shape) != axes:
            raise InputError(f"`{name}` must have shape {wanted}, got {shape} in {folder!r}")
    whole = {name: shape[0] for name, shape in shapes.items()}
    if len(set(whole.values())) > 1:
        raise InputError(
            f"`source` must have arrays of one length, got {', '.join(f'{k} {v}' for k, v in whole.items())} "
            f"in {folder!r}"
        )
    n = whole["context"]
    step = block_rows(n, rows)
    return Opened([NpyBlock(folder, first, min(first + step, n)) for first in range(0, n, step)], None)


def _files(source: Any, columns: Columns, runner: Runner, every: bool, rows: int | None) -> Opened:
    paths = parquet_files(source)
    footers: list[Footer] = [
        runner.fetch(one) for one in runner.each(Footer.of, [(path,) for path in paths], "opening files")
    ]
    filled = [footer for footer in footers if sum(footer.groups)]
    if not filled:
        raise InputError(f"`source` must have at least one row, got 0 in {len(paths)} files")
    named = completed(columns, filled[0].names, every)
    same_kinds(footers, named.needed)
    n = sum(sum(footer.groups) for footer in filled)
    return Opened(parquet_blocks(filled, block_rows(n, rows)), named)


def _dataframe(source: Any, columns: Columns, runner: Runner, every: bool) -> Opened:
    frames = getattr(runner, "frame_blocks", None)
    if frames is None:
        raise InputError(
            "`client` must be given for a Dask dataframe: it says where its partitions are worked on"
        )
    return Opened(frames(source), completed(columns, tuple(str(name) for name in source.columns), every))


def completed(columns: Columns, names: Sequence[str], every: bool) -> Columns:
    """The same with weights and context settled: usual names where none are given."""
    found = columns
    if found.weight is None and found.target is None:
        raise InputError(
            "`target` must name the column of the policy to evaluate, or `weight` that of its importance "
            "weights, got neither"
        )
    if found.weight is None and found.propensity is None:
        usual = next((name for name in ("propensity", "pscore") if name in names), None)
        if usual is None:
            raise InputError(
                "`propensity` must name the column of the logger's probabilities, got none called propensity "
                "or pscore"
            )
        found = replace(found, propensity=usual)
    if every:
        taken = {*found.needed, "action", "propensity", "pscore"}
        found = replace(found, context=tuple(name for name in names if name not in taken))
    return found
