"""The door for logs larger than memory: what :func:`kwis.read_log` is to logs that fit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kwis._text import visible
from kwis.columns import Label
from kwis.distributions import ColumnsByAction
from kwis.io.assemble import checked_source
from kwis.io.source import Roles
from kwis.logged import PropensitySource
from kwis.streaming.frame import DaskFrame
from kwis.streaming.source import ArrowData, ParquetFiles, Source


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScannedLog:
    """A log that stays where it is until it is evaluated.

    Attributes
    ----------
    roles
        Which columns are what.
    key
        Column that tells a row from all others in resamples; None: its file and its number there.
    """

    source: Source
    roles: Roles
    key: str | None = None

    @property
    def n(self) -> int | None:
        """Number of rows, where that can be known without reading them."""
        return self.source.rows

    def __repr__(self) -> str:
        rows = "an unknown number of" if self.n is None else f"{self.n:,}"
        files = f" in {len(self.source.footers)} files" if isinstance(self.source, ParquetFiles) else ""
        return visible(f"ScannedLog: {rows} decisions{files}, columns {', '.join(self.source.types)}")


def scan_log(
    source: Any,
    *,
    action: str | None = None,
    reward: str | Sequence[str] | None = None,
    propensity: ColumnsByAction | None = "propensity",
    propensity_source: PropensitySource | None = None,
    context: str | Sequence[str] | None = None,
    row_weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
    logger: str | None = None,
    actions: Sequence[Label] | None = None,
    categorical: str | Sequence[str] = (),
    key: str | None = None,
) -> ScannedLog:
    """Point at a log that may be larger than memory; ``kwis.evaluate`` then reads it once, batch by batch.

    Parameters
    ----------
    source
        A Parquet file, a folder or pattern of them, a list of paths; or Arrow tables and record batches: one, a list, or an
        iterator, which can be evaluated once; or a Dask dataframe, which is evaluated through its ``client``.
    action, reward, propensity_source, context, row_weight, group, time, logger, actions, categorical
        As for :func:`kwis.read_log`.
    propensity
        Column with the probability of the logged action, or one column per action; it cannot be estimated from a scan.
    key
        Column that identifies a row. Resamples count a row by it, so that intervals stay the same when files are renamed, merged
        or reordered; without it a row is known by its place in its file, and that by its name within the folder of all files.
    """
    paths = isinstance(source, str | os.PathLike) or (
        isinstance(source, list | tuple) and all(isinstance(entry, str | os.PathLike) for entry in source)
    )
    roles = Roles(
        action=action,
        reward=reward,
        propensity=propensity,
        context=context,
        row_weight=row_weight,
        group=group,
        time=time,
        logger=logger,
        actions=actions,
        categorical=categorical,
        propensity_source=checked_source(propensity_source),
    )
    found: Source = ParquetFiles.of(source) if paths else DaskFrame(source) if hasattr(source, "to_delayed") else ArrowData.of(source)
    return ScannedLog(source=found, roles=roles, key=key)
