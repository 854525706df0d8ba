"""What :func:`kwis.evaluate` does with a log that is not in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import LogArguments, refuse_said
from kwis.errors import InputError, UnsupportedError
from kwis.intervals.protocol import streamed_replicates
from kwis.large.runner import Progress
from kwis.result.evaluation import Evaluation
from kwis.streaming.collect import collected
from kwis.streaming.evaluate import REPLICATES, evaluate_scanned
from kwis.streaming.scan import ScannedLog, scan_log


def opened(log: Any, said: LogArguments, client: Any, progress: Progress | None) -> LoggedBandit | ScannedLog:
    """A log in memory from whatever somebody calls one and what is said about it; a scanned log if it is too
    large for that.
    """
    if isinstance(log, ScannedLog):
        refuse_said(said)
        return collected(log, client=client, progress=progress) or log
    try:
        scanned = scan_log(log, **said)
        return collected(scanned, client=client, progress=progress) or scanned
    except InputError as trouble:  # whoever calls evaluate knows no `source`
        raise InputError(str(trouble).replace("`source`", "`log`", 1)) from None


def evaluate_large(
    log: ScannedLog,
    target: Any,
    *,
    interval: Any,
    by: Any,
    reward_model: Any,
    propensity_model: Any,
    repair: str,
    **options: Any,
) -> Evaluation:
    """Evaluate a log that is too large for memory.

    ``interval`` None means percentiles of a Poisson bootstrap with 200 resamples.
    """
    if repair == "always":
        raise UnsupportedError(
            "`repair` must not be 'always' for a log that is scanned: repair needs its rows in memory"
        )
    for name, given in (
        ("by", len(by) if hasattr(by, "__len__") else by),
        ("reward_model", reward_model),
        ("propensity_model", propensity_model),
    ):
        if given:
            raise UnsupportedError(
                f"`{name}` must go with a log in memory, from kwis.read_log, got one that is scanned"
            )
    return evaluate_scanned(log, target, replicates=_replicates(interval), **options)


def said_of(log: ScannedLog, source: Any) -> ScannedLog:
    """The log, with what somebody says of its propensities."""
    return replace(log, roles=replace(log.roles, propensity_source=source))


def _replicates(interval: Any) -> int:
    if interval is None:
        return REPLICATES
    replicates = streamed_replicates(interval)
    if replicates is not None:
        return replicates
    raise UnsupportedError(
        "`interval` must be a percentile Bootstrap or InfluenceInterval for a log that is scanned, which "
        "keeps no rows for any other"
    )
