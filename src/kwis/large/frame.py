"""What a log becomes for the estimators: encoded contexts, weights and rewards in safe units, read block by
block.

The encoding is that of :mod:`kwis.data.encode` over the whole log, made from its
:class:`~kwis.large.summary.Summary`; only gaps in numbers are filled with the mean instead of the median,
which no single pass can know.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kwis.data.encode import KEPT_LEVELS, MANY_LEVELS
from kwis.errors import InputError, KwisWarning
from kwis.large.arrow import labels, numbers
from kwis.large.source import ArrayBlock, Block, Columns, NpyBlock
from kwis.large.summary import ColumnSummary, Summary, weights_of
from kwis.sample import balanced
from kwis.typing import Floats

CACHE_BYTES = 1 << 28
"""Blocks already read are kept in memory up to this size, in every process, unless the caller says otherwise.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column of the encoded context, and how it is made from a raw one."""

    source: str
    kind: Literal["number", "category", "gap"]
    centre: float = 0.0
    scale: float = 1.0
    levels: tuple[str | None, ...] = ()
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of one block, ready for an estimator."""

    context: Floats
    weight: Floats
    reward: Floats
    mass: Floats

    @property
    def n(self) -> int:
        return int(self.weight.size)

    @property
    def bytes(self) -> int:
        return int(self.context.nbytes + self.weight.nbytes + self.reward.nbytes + self.mass.nbytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """How every block of one log is to be read; small, so that it travels with every task.

    Attributes
    ----------
    n, mass
        Rows of the whole log, and how many interactions they stand for.
    weight_shift, reward_shift
        Powers of two that bring weights and rewards into safe units; exact, and undone in the results.
    cache_bytes
        How much of the blocks already read each process keeps.
    mean_weight, mean_reward, reward_size
        Means over the log, the last of absolute rewards, in those units; they guide samples only.
    """

    columns: Columns | None
    features: tuple[Feature, ...]
    n: int
    mass: float
    mean_weight: float
    weight_shift: int
    reward_shift: int
    mean_reward: float
    reward_size: float
    cache_bytes: int = CACHE_BYTES
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        summary: Summary,
        columns: Columns | None,
        categorical: tuple[int, ...] = (),
        cache_bytes: int = CACHE_BYTES,
    ) -> Frame:
        if not summary.n:
            raise InputError("`source` must have at least one row, got 0")
        if summary.heaviest == 0:
            raise InputError(
                f"`weight` must be positive in at least one row for kernel-wis, got 0.0 in all {summary.n} "
                f"rows"
            )
        ends = np.array([summary.lightest, summary.heaviest])
        weight_shift = int(np.frexp(balanced(ends, summary.mass)[1])[1] - np.frexp(ends[1])[1])
        reward_shift = -int(np.frexp(summary.largest_reward)[1])
        features, notes = _given(summary, categorical) if columns is None else _encoded(summary)
        return cls(
            columns=columns,
            features=features,
            n=summary.n,
            mass=summary.mass,
            mean_weight=_mean(summary.weight, summary.mass, weight_shift, 1.0),
            weight_shift=weight_shift,
            reward_shift=reward_shift,
            mean_reward=_mean(summary.reward, summary.mass, reward_shift, 0.0),
            reward_size=_mean(summary.reward_size, summary.mass, reward_shift, 1.0),
            cache_bytes=cache_bytes,
            notes=notes,
        )

    @property
    def d(self) -> int:
        return len(self.features)

    @property
    def categorical(self) -> tuple[int, ...]:
        return tuple(j for j, feature in enumerate(self.features) if feature.kind != "number")

    @property
    def ends(self) -> Floats:
        """Least and largest value of each column of the context."""
        return np.array(
            [[feature.low for feature in self.features], [feature.high for feature in self.features]]
        )

    def load(self, block: Block) -> Rows:
        """Rows of a block, from memory if they were read not long ago."""
        return _cache.load(block, self)

    def read(self, block: Block) -> Rows:
        """Rows of a block, read anew."""
        if isinstance(block, NpyBlock):
            block = block.arrays()
        if isinstance(block, ArrayBlock):
            context = np.asarray(block.context, dtype=np.float64) - [
                feature.centre for feature in self.features
            ]
            return self._rows(context, np.asarray(block.weight), np.asarray(block.reward), block.mass)
        assert self.columns is not None
        table = block.table(self.columns.needed)
        context = np.column_stack([_feature(feature, table) for feature in self.features])
        mass = None if self.columns.mass is None else numbers(table.column(self.columns.mass))
        return self._rows(
            context, weights_of(table, self.columns, block), numbers(table.column(self.columns.reward)), mass
        )

    def _rows(self, context: Floats, weight: Floats, reward: Floats, mass: Floats | None) -> Rows:
        counted = np.ones(weight.size) if mass is None else mass
        return Rows(
            context, np.ldexp(weight, self.weight_shift), np.ldexp(reward, self.reward_shift), counted
        )


def _mean(total: float, mass: float, shift: int, otherwise: float) -> float:
    """Mean in safe units; ``otherwise`` where the sum is beyond any float."""
    return math.ldexp(total / mass, shift) if math.isfinite(total) else otherwise


def _given(summary: Summary, categorical: tuple[int, ...]) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
    """Contexts used as they are, but for a shift that changes no distance."""
    return tuple(
        Feature(source=column.name, kind="category")
        if j in categorical
        else Feature(source=column.name, kind="number", centre=column.mean, low=column.low, high=column.high)
        for j, column in enumerate(summary.columns)
    ), ()


def _encoded(summary: Summary) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
    made = [(column, _features(column)) for column in summary.columns]
    features = tuple(feature for _, found in made for feature in found)
    notes = []
    constant = [f"`{column.name}`" for column, found in made if not found]
    if constant:
        notes.append(f"left out of the context, the same in every row: {', '.join(constant)}")
    filled = [
        f"`{column.name}`"
        for column, found in made
        if column.missing and any(one.kind == "number" for one in found)
    ]
    if filled:
        notes.append(f"gaps filled with the mean, beside a column that marks them: {', '.join(filled)}")
    if not features:
        features = (Feature(source="", kind="number"),)
        notes.append("no context is left, so all rows count as alike")
    return features, tuple(notes)


def _features(column: ColumnSummary) -> tuple[Feature, ...]:
    if not column.count:
        return ()
    if column.kind == "text":
        levels = _levels(column)
        return (Feature(source=column.name, kind="category", levels=levels),) if len(levels) > 1 else ()
    if column.binary and column.low < column.high:
        return (Feature(source=column.name, kind="category"),)
    gap = (Feature(source=column.name, kind="gap"),) if column.missing else ()
    if column.low == column.high:
        return gap
    scale = math.sqrt(column.squares / (column.count + column.missing))
    ends = ((column.low - column.mean) / scale, (column.high - column.mean) / scale)
    return (
        Feature(
            source=column.name, kind="number", centre=column.mean, scale=scale, low=ends[0], high=ends[1]
        ),
        *gap,
    )


def _levels(column: ColumnSummary) -> tuple[str | None, ...]:
    """Labels that have a code of their own; None stands for missing, and what is not listed shares
    one code.
    """
    counts: list[tuple[str | None, int]] = sorted(column.levels.items())
    if column.missing:
        counts.append((None, column.missing))
    if len(counts) <= MANY_LEVELS:
        return tuple(label for label, _ in counts)
    warnings.warn(
        f"`{column.name}` has {len(counts)} different values; the {KEPT_LEVELS} most frequent are kept and "
        f"the others count as one",
        KwisWarning,
        stacklevel=2,
    )
    frequent = sorted(counts, key=lambda entry: -entry[1])[:KEPT_LEVELS]
    return tuple(label for label, count in frequent if count > 1)


def _feature(feature: Feature, table: Any) -> Floats:
    if not feature.source:
        return np.zeros(table.num_rows)
    column = table.column(feature.source)
    if feature.levels:
        codes, found = labels(column)
        code_of = {label: code for code, label in enumerate(feature.levels)}
        return np.array([code_of.get(label, len(code_of)) for label in found], dtype=np.float64)[codes]
    values = numbers(column)
    missing = np.isnan(values)
    if feature.kind == "gap":
        return missing.astype(np.float64)
    if feature.kind == "category":
        return np.where(missing, -1.0, values)
    return (np.where(missing, feature.centre, values) - feature.centre) / feature.scale


class _Cache:
    """Blocks read last, up to a number of bytes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, Rows] = OrderedDict()
        self._bytes = 0

    def load(self, block: Block, frame: Frame) -> Rows:
        if isinstance(block, ArrayBlock):
            return frame.read(block)
        key = (block, frame)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        rows = frame.read(block)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = rows
                self._bytes += rows.bytes
            while self._bytes > frame.cache_bytes and self._kept:
                self._bytes -= self._kept.popitem(last=False)[1].bytes
        return rows


_cache = _Cache()
