"""Evaluations as JSON and as data frames."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from kwis._text import escaped_in_json
from kwis.errors import InputError, UnsupportedError
from kwis.result.brief import trustworthy
from kwis.result.records import LOGGING_POLICY, Change, Plain, Row
from kwis.result.segmented import Segments
from kwis.results import Interval
from kwis.runtime.writing import writable, write_whole

if TYPE_CHECKING:
    from kwis.result.evaluation import Evaluation

SCHEMA = "kwis-evaluation/1"
"""Name and version of the JSON written; the version changes when a key goes or changes its meaning."""

_PER_ROW = frozenset(("influence", "leverage", "distribution"))
_LIBRARIES = ("pandas", "polars", "pyarrow")


def plain(value: Any) -> Plain:
    """Dictionaries, lists, text and numbers; what has no value becomes null, infinity the text ``"inf"``."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            entry.name: plain(getattr(value, entry.name))
            for entry in dataclasses.fields(value)
            if entry.name not in _PER_ROW
        }
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(entry) for entry in value.tolist()]
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def json_of(evaluation: Evaluation, path: str | PathLike[str] | None) -> str:
    """JSON of everything but the arrays with one entry per row; also written to ``path`` if there is one."""
    entries = {
        entry.name: plain(getattr(evaluation, entry.name))
        for entry in dataclasses.fields(evaluation)
        if entry.name != "weights"
    }
    text = escaped_in_json(
        json.dumps({"schema": SCHEMA, **entries}, indent=2, ensure_ascii=False, allow_nan=False)
    )
    if path is not None:
        write_whole(writable(path), f"{text}\n".encode())
    return text


def frame_of(evaluation: Evaluation, library: str | None) -> Any:
    """Rows as a frame of the library named, or of the first that is installed."""
    return _frame([_record(evaluation.changes, row) for row in evaluation.rows], library)


def summary_frame_of(evaluation: Evaluation, library: str | None) -> Any:
    """One line per target and reward: the estimate to use, its difference and its verdict."""
    rows = []
    for found in evaluation.recommendations:
        record = _record(evaluation.changes, found.row)
        relative, second = found.change.relative, found.runner_up
        several = [row.estimate.value for row in trustworthy(evaluation, found.target, found.reward)]
        rows.append(
            {
                **record,
                **_ends("relative_", relative, "relative"),
                "decided": found.change.decided,
                "runner_up": None if second is None else second.estimator,
                "runner_up_value": math.nan if second is None else second.estimate.value,
                "trustworthy": len(several),
                "trustworthy_low": min(several, default=math.nan),
                "trustworthy_high": max(several, default=math.nan),
            }
        )
    return _frame(rows, library)


def changes_frame_of(evaluation: Evaluation, library: str | None) -> Any:
    """One line per difference: targets against the logging policy, and against each other."""
    return _frame([_change_record(change) for change in evaluation.changes], library)


def segments_frame_of(evaluation: Evaluation, library: str | None) -> Any:
    """One line per segment of every split, policy and reward; ``by`` and ``segment`` name it."""
    rows = [
        {
            "by": ", ".join(found.columns),
            "segment": ", ".join(segment.values),
            "rows": segment.n,
            **_record(segment.changes, row),
        }
        for found in evaluation.segments
        for segment in found.segments
        for row in segment.rows
    ]
    if not rows:
        raise InputError("`by` must be given to kwis.evaluate for segments, got none")
    return _frame(rows, library)


def _change_record(change: Change) -> dict[str, Any]:
    return {
        "target": change.target,
        "baseline": change.baseline,
        "reward": change.reward,
        "estimator": change.estimator,
        "recommended": change.recommended,
        **_ends("", change.interval, "change"),
        **_ends("simultaneous_", change.simultaneous),
        **_ends("relative_", change.relative, "relative"),
        "level": change.interval.level,
        "std_error": change.std_error,
        "p_value": change.p_value,
        "side": change.side,
    }


def frame_of_segments(found: Segments, library: str | None) -> Any:
    """Rows of all segments as such a frame; the values that make a segment stand first."""
    return _frame(
        [
            {
                **dict(zip(found.columns, segment.values, strict=True)),
                "rows": segment.n,
                **_record(segment.changes, row),
            }
            for segment in found.segments
            for row in segment.rows
        ],
        library,
    )


def _frame(records: Sequence[Mapping[str, Any]], library: str | None) -> Any:
    if library is not None and library not in _LIBRARIES:
        raise InputError(f"`library` must be one of {', '.join(_LIBRARIES)}, got {library!r}")
    name = library or next((name for name in _LIBRARIES if find_spec(name) is not None), None)
    if name is None or find_spec(name) is None:
        raise UnsupportedError(f"a frame needs {name or 'pandas, polars or pyarrow'} to be installed")
    columns = {key: [record[key] for record in records] for key in records[0]}
    module = import_module(name)
    return module.table(columns) if name == "pyarrow" else module.DataFrame(columns)


def _record(changes: Sequence[Change], row: Row) -> dict[str, Any]:
    change = next(
        (
            found
            for found in changes
            if (found.target, found.reward, found.estimator, found.baseline)
            == (row.target, row.reward, row.estimator, LOGGING_POLICY)
        ),
        None,
    )
    bandwidth = row.estimate.bandwidth
    return {
        "target": row.target,
        "reward": row.reward,
        "estimator": row.estimator,
        "recommended": row.recommended,
        "value": row.estimate.value,
        **_ends("", row.interval),
        "level": row.interval.level,
        "interval": row.interval.method,
        "std_error": row.estimate.std_error,
        **_ends("change_", None if change is None else change.interval, "change"),
        **_ends("change_simultaneous_", None if change is None else change.simultaneous),
        "p_value": math.nan if change is None else change.p_value,
        "n": row.estimate.n,
        "effective_n": row.estimate.effective_n,
        "bandwidth": math.nan if bandwidth is None or np.ndim(bandwidth) else float(bandwidth),
        "verdict": row.verdict.level,
        "reasons": "; ".join(row.verdict.reasons),
    }


def _ends(prefix: str, interval: Interval | None, value: str | None = None) -> dict[str, float]:
    low, high, middle = (math.nan,) * 3 if interval is None else (interval.low, interval.high, interval.value)
    return {**({} if value is None else {value: middle}), f"{prefix}low": low, f"{prefix}high": high}
