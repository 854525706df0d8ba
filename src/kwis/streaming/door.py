"""What :func:`kwis.evaluate` does with a log that is not in memory."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from kwis.errors import InputError, UnsupportedError
from kwis.evaluation.answer import Evaluation
from kwis.intervals import Bootstrap, InfluenceInterval
from kwis.io.assemble import checked_source
from kwis.logged import PropensitySource
from kwis.streaming.evaluate import REPLICATES, evaluate_scanned
from kwis.streaming.scan import ScannedLog, scan_log


def evaluate_large(
    log: Any, target: Any, *, interval: Any, by: Any, reward_model: Any, propensity_model: Any, **options: Any
) -> Evaluation:
    """Evaluate a scanned log, or the path of one (or a Dask dataframe) whose columns have their usual names.

    ``interval`` None means percentiles of a Poisson bootstrap with 200 resamples.
    """
    if isinstance(log, str | os.PathLike) or hasattr(log, "to_delayed"):
        log = _scanned(log)
    if not isinstance(log, ScannedLog):
        raise InputError(f"`log` must be what kwis.read_log or kwis.scan_log returns, or a path, got {type(log).__name__}")
    for name, given in (
        ("by", len(by) if hasattr(by, "__len__") else by),
        ("reward_model", reward_model),
        ("propensity_model", propensity_model),
    ):
        if given:
            raise UnsupportedError(f"`{name}` must go with a log in memory, from kwis.read_log, got one that is scanned")
    return evaluate_scanned(log, target, replicates=_replicates(interval), **options)


def said_of(log: Any, source: PropensitySource) -> ScannedLog:
    """The log, with what somebody says of its propensities."""
    scanned = log if isinstance(log, ScannedLog) else _scanned(log)
    return replace(scanned, roles=replace(scanned.roles, propensity_source=checked_source(source)))


def _scanned(log: Any) -> ScannedLog:
    try:
        return scan_log(log)
    except InputError as trouble:  # whoever calls evaluate knows no `source`
        raise InputError(str(trouble).replace("`source`", "`log`", 1)) from None


def _replicates(interval: Any) -> int:
    if interval is None:
        return REPLICATES
    if isinstance(interval, InfluenceInterval):
        return 0
    if isinstance(interval, Bootstrap) and interval.method == "percentile" and not interval.reselect:
        return interval.replicates
    raise UnsupportedError(
        "`interval` must be a percentile Bootstrap or InfluenceInterval for a log that is scanned, which keeps no rows for any other"
    )
