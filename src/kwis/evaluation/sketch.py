"""Which rows a log has, in a few numbers: enough to tell how many rows two logs share.

Every row gets a number from its values, equal rows one after the other different ones. The smallest of these
numbers are a random sample of the rows, the same sample in every log that has them (Broder, 1997).
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from kwis.data.columns import Column
from kwis.data.log import LoggedBandit
from kwis.result.diff import SKETCH

_BITS = np.uint64(12)  # 52 bits are left, which every reader of JSON holds exactly


def sketch_of(log: LoggedBandit) -> tuple[int, ...]:
    """The smallest numbers of the rows of a log; all of them if it is small."""
    hashes = np.zeros(log.n, dtype=np.uint64)
    names = [log.key] if log.key is not None else sorted(log.table.columns)
    for name in names:
        mark = np.uint64(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little"))
        hashes ^= _mixed(_numbers(log.table.column(name)) + mark)
    ranked = np.sort(hashes)
    fresh = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    starts = np.flatnonzero(fresh)
    copy = np.arange(log.n) - np.repeat(starts, np.diff(np.append(starts, log.n)))
    every = _mixed(ranked + copy.astype(np.uint64)) >> _BITS
    smallest = np.partition(every, SKETCH)[:SKETCH] if every.size > SKETCH else every
    return tuple(np.sort(smallest).tolist())


def _numbers(column: Column) -> Any:
    """A number for every value of a column: equal for equal values, whatever the log."""
    values = np.asarray(column.natural())
    if values.dtype.kind in "biuf":
        return (values.astype(np.float64) + 0.0).view(np.uint64)
    if values.dtype.kind in "mM":
        return values.astype("datetime64[us]").astype(np.int64).view(np.uint64)
    texts, codes = np.unique(values.astype(str), return_inverse=True)
    known = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() for text in texts]
    return np.array([int.from_bytes(one, "little") for one in known], dtype=np.uint64)[codes.ravel()]


def _mixed(values: Any) -> Any:
    """Bits stirred well (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))
