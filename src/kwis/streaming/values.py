"""Columns of a batch as checked arrays; every error names the row and its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.data.columns import Label
from kwis.data.distributions import TOLERANCE, named, rounded_off
from kwis.errors import InputError
from kwis.large.arrow import kind_of, numbers
from kwis.streaming.compiled import chained, mixed
from kwis.streaming.counts import text_key
from kwis.streaming.source import Batch
from kwis.typing import Floats, Ints

_MISSING = np.uint64(0xD6E8FEB86659FD93)


def finite(batch: Batch, name: str, role: str) -> Floats:
    """Finite numbers of a column."""
    column = batch.table.column(name)
    kind = kind_of(column.type, name, batch.where or "the source")
    if kind in ("text", "date"):
        raise InputError(
            f"{named(name, role)} must hold numbers, got {'text' if kind == 'text' else 'dates'}{batch.where}"
        )
    values = numbers(column)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InputError(f"{named(name, role)} must be finite, got {values[row]} at {batch.row(row)}")
    return values


def probabilities(batch: Batch, name: str, role: str) -> Floats:
    """Numbers in [0, 1]; a rounding error past either end is taken off."""
    values = finite(batch, name, role)
    shares, bad = rounded_off(values)
    _refuse(bad, values, f"{named(name, role)} must be in [0, 1]", batch)
    return shares


def propensities(batch: Batch, name: str) -> Floats:
    """Numbers in (0, 1]."""
    values = finite(batch, name, "propensity")
    _refuse((values <= 0) | (values > 1), values, f"{named(name, 'propensity')} must be in (0, 1]", batch)
    return values


def masses(batch: Batch, name: str | None) -> Floats:
    """Positive numbers; ones where no column says how many interactions a row stands for."""
    if name is None:
        return np.ones(batch.n)
    values = finite(batch, name, "row_weight")
    _refuse(values <= 0, values, f"{named(name, 'row_weight')} must be positive", batch)
    return values


def _refuse(bad: Any, values: Floats, rule: str, batch: Batch) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{rule}, got {values[row]} at {batch.row(row)}")


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Codes into the labels that occur in a batch."""

    codes: Ints
    names: tuple[Label, ...]

    @classmethod
    def of(cls, batch: Batch, name: str, role: str) -> Labels:
        """A label in every row: text, numbers, yes/no or dates."""
        codes, names = _coded(batch.table.column(name))
        absent = np.array([label is None or label == "" or label != label for label in names], dtype=bool)[
            codes
        ]
        if absent.any():
            raise InputError(
                f"{named(name, role)} must have a label in every row, got none at "
                f"{batch.row(int(np.argmax(absent)))}"
            )
        return cls(codes, tuple(_label(label) for label in names))

    def same(self, other: Labels) -> Any:
        """Where both have the same label."""
        index = {label: code for code, label in enumerate(self.names)}
        translated = np.array([index.get(label, -1) for label in other.names], dtype=np.int64)
        return self.codes == translated[other.codes]

    def counts(self) -> dict[Label, int]:
        return dict(zip(self.names, np.bincount(self.codes, minlength=len(self.names)).tolist(), strict=True))


def _coded(column: Any) -> tuple[Ints, list[Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    coded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    return np.asarray(
        coded.indices.to_numpy(zero_copy_only=False), dtype=np.int64
    ), coded.dictionary.to_pylist()


def _label(value: Any) -> Label:
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    return str(value)


def by_action(
    batch: Batch, columns: dict[str, str], action: Labels, role: str
) -> tuple[Floats, dict[str, Floats]]:
    """Probability of the logged action from one column per action, and of every action by the text of its
    label.
    """
    shares = {label: probabilities(batch, name, role) for label, name in columns.items()}
    total = np.sum(list(shares.values()), axis=0)
    bad = np.abs(total - 1) > TOLERANCE
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"`{role}` must be a distribution that sums to 1 over the actions, got {total[row]:.6g} at "
            f"{batch.row(row)}"
        )
    logged = np.empty(batch.n)
    for code, label in enumerate(action.names):
        rows = action.codes == code
        if str(label) not in shares:
            place = batch.row(int(np.argmax(rows)))
            raise InputError(
                f"`{role}` must have a column for every action of the log, got none for {label!r} at {place}"
            )
        logged[rows] = shares[str(label)][rows]
    return logged, shares


def column_keys(batch: Batch, names: Sequence[str], salt: int) -> Ints:
    """64 bits per row, equal where all the columns are: numbers by their value as floats, text and gaps by
    what they are.
    """
    hashes = np.full(batch.n, np.uint64(salt), dtype=np.uint64)
    for name in names:
        chained(hashes, _bits(batch, name))
    return hashes


def _bits(batch: Batch, name: str) -> Ints:
    column = batch.table.column(name)
    if kind_of(column.type, name, batch.where or "the source") == "text":
        codes, labels = _coded(column)
        keys = [_MISSING if not label else text_key(label) for label in labels]
        return np.array(keys, dtype=np.uint64)[codes]
    values = numbers(column) + 0.0  # -0.0 and 0.0 are equal but not the same bits
    bits = np.where(np.isnan(values), _MISSING, values.view(np.uint64))
    return _whole_bits(column, values, bits)


def _whole_bits(column: Any, values: Floats, bits: Ints) -> Ints:
    """Bits of whole numbers beyond 2^53, which floats no longer tell apart."""
    import pyarrow as pa

    if not pa.types.is_integer(column.type) or column.null_count or not (np.abs(values) > 2**53).any():
        return bits
    whole = np.ascontiguousarray(column.to_numpy())
    return np.where(
        np.abs(values) > 2**53,
        whole.astype(np.uint64 if whole.dtype.kind == "u" else np.int64).view(np.uint64),
        bits,
    )


def label_keys(batch: Batch, name: str, role: str) -> Ints:
    """64 bits per row from a key or a group, which must be there in every row."""
    keys = _bits(batch, name)
    if (keys == _MISSING).any():
        raise InputError(
            f"{named(name, role)} must have a label in every row, got none at "
            f"{batch.row(int(np.argmax(keys == _MISSING)))}"
        )
    return np.asarray(mixed(keys, np.uint64(1)))
