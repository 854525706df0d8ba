"""Where tables come from: Parquet files, OpenML, a CSV file, scikit-learn's bundled digits."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kwis import InputError
from kwis_paper.encoding import Feature, Levels, Numbers, Table

TARGET = "target"
_MISSING_TEXT = {"", "?", "na", "nan", "null", "none"}


def read_parquet(path: Path, label: str = TARGET) -> Table:
    """Table in a Parquet file: text columns are categorical, numbers numeric, nulls missing."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = parquet.read_table(path)
    _require_label(label, table.column_names, path)
    features: list[Feature] = []
    for name in table.column_names:
        values = table.column(name)
        if name == label:
            continue
        if (
            pa.types.is_integer(values.type)
            or pa.types.is_floating(values.type)
            or pa.types.is_boolean(values.type)
        ):
            features.append(Numbers(name, _numbers(values.to_pylist())))
        else:
            features.append(
                Levels.of(name, [None if value is None else str(value) for value in values.to_pylist()])
            )
    return Table(tuple(features), _labels(table.column(label).to_pylist(), label))


def read_csv(path: Path, label: str) -> Table:
    """Table in a CSV file with a header: a column is numeric if every value present is a number."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        body = [row for row in rows if row]
    _require_label(label, header, path)
    for line, row in enumerate(body):
        if len(row) != len(header):
            raise InputError(
                f"`{path.name}` must have {len(header)} fields in every row, got {len(row)} at row {line}"
            )
    columns = [[_present(value) for value in column] for column in zip(*body, strict=True)]
    features = [_feature(name, values) for name, values in zip(header, columns, strict=True) if name != label]
    return Table(tuple(features), _labels(columns[header.index(label)], label))


def fetch_openml(openml_id: int, data_home: str | None = None) -> Table:
    """Table from OpenML by its id, kept in scikit-learn's cache."""
    from sklearn.datasets import fetch_openml as fetch

    with warnings.catch_warnings():
        # It tries again, and if that fails too the error says so.
        warnings.filterwarnings("ignore", "A network error occurred")
        # This parser needs no pandas; it codes the levels of nominal features, which `categories` names.
        bunch = fetch(data_id=openml_id, as_frame=False, parser="liac-arff", data_home=data_home)
    data = np.asarray(bunch.data, dtype=np.float64)
    features: list[Feature] = []
    for column, name in enumerate(bunch.feature_names):
        levels = (bunch.categories or {}).get(name)
        if levels is None:
            features.append(Numbers(name, data[:, column]))
        else:
            features.append(
                Levels.of(
                    name,
                    [None if math.isnan(code) else _plain(levels[int(code)]) for code in data[:, column]],
                )
            )
    return Table(tuple(features), _labels([_plain(value) for value in bunch.target], TARGET))


def bundled_digits() -> Table:
    """The 1,797 digits that come with scikit-learn."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    features = tuple(
        Numbers(name, digits.data[:, column]) for column, name in enumerate(digits.feature_names)
    )
    return Table(features, tuple(str(value) for value in digits.target))


def verify_checksum(path: Path, recorded: str) -> None:
    """Compare a file with the checksum in the MANIFEST.json beside it, or with ``recorded`` where there is
    none.
    """
    expected = _manifest(path.parent).get(path.name, recorded)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise InputError(f"`{path.name}` must have the sha256 checksum {expected}, got {found}")


def _manifest(folder: Path) -> dict[str, str]:
    path = folder / "MANIFEST.json"
    if not path.is_file():
        return {}
    entries = json.loads(path.read_text(encoding="utf-8"))["datasets"]
    return {entry["file"]: entry["sha256"] for entry in entries}


def _feature(name: str, values: Sequence[str | None]) -> Feature:
    try:
        return Numbers(name, _numbers([None if value is None else float(value) for value in values]))
    except ValueError:
        return Levels.of(name, values)


def _present(text: str) -> str | None:
    clean = text.strip()
    return None if clean.lower() in _MISSING_TEXT else clean


def _numbers(values: Sequence[Any]) -> Any:
    return np.array([math.nan if value is None else float(value) for value in values])


def _labels(values: Sequence[Any], name: str) -> tuple[str, ...]:
    for row, value in enumerate(values):
        if value is None:
            raise InputError(f"`{name}` must have a class in every row, got none at row {row}")
    return tuple(str(value) for value in values)


def _plain(value: Any) -> str:
    """Level as text; whole numbers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _require_label(label: str, names: Sequence[str], path: Path) -> None:
    if label not in names:
        known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise InputError(f"`label` must be a column of {path.name} ({known}), got {label!r}")
