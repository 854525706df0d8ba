"""One pass over a log: how many rows, the range of its weights and rewards, and what each column of the
context holds.

Summaries of two parts merge into that of both; merged in the order of the parts, they do not depend on who
computed them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kwis.data.distributions import rounded_off
from kwis.errors import InputError, UnsupportedError
from kwis.large.arrow import Kind, kind_of, labels, numbers
from kwis.large.source import ArrayBlock, Block, Columns, NpyBlock, Weigher
from kwis.typing import Floats

_MOST_LEVELS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """What is known of one column of the context after some rows: moments of numbers, or how often each label
    occurred.
    """

    name: str
    kind: Kind
    count: int = 0
    missing: int = 0
    mean: float = 0.0
    squares: float = 0.0  # sum of squared deviations from the mean
    low: float = np.inf
    high: float = -np.inf
    binary: bool = True
    levels: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        if not other.count + other.missing:
            return self
        if not self.count + self.missing or self.kind == "empty":
            return replace(other, missing=self.missing + other.missing)
        count = self.count + other.count
        step, share = other.mean - self.mean, other.count / max(count, 1)
        return replace(
            self,
            count=count,
            missing=self.missing + other.missing,
            mean=self.mean + step * share,
            squares=self.squares + other.squares + step * step * share * self.count,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            binary=self.binary and other.binary,
            levels=_few(self.levels + other.levels, self.name),
        )


def _few(levels: Counter[str], name: str) -> Counter[str]:
    if len(levels) > _MOST_LEVELS:
        raise UnsupportedError(
            f"`context` must not have a column of over {_MOST_LEVELS:,} different labels in a log this "
            f"large, got `{name}`; leave it out"
        )
    return levels


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All of it for some rows of the log."""

    n: int = 0
    lightest: float = np.inf  # smallest positive weight
    heaviest: float = 0.0
    mass: float = 0.0
    weight: float = 0.0  # sums, counting mass
    reward: float = 0.0
    largest_reward: float = 0.0
    reward_size: float = 0.0  # of absolute rewards
    columns: tuple[ColumnSummary, ...] = ()

    def __add__(self, other: Summary) -> Summary:
        if not self.n:
            return other
        if not other.n:
            return self
        return Summary(
            n=self.n + other.n,
            lightest=min(self.lightest, other.lightest),
            heaviest=max(self.heaviest, other.heaviest),
            mass=self.mass + other.mass,
            weight=self.weight + other.weight,
            reward=self.reward + other.reward,
            largest_reward=max(self.largest_reward, other.largest_reward),
            reward_size=self.reward_size + other.reward_size,
            columns=tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)),
        )


def total(*summaries: Summary) -> Summary:
    """Summary of all parts, in their order."""
    found = Summary()
    for summary in summaries:
        found = found + summary
    return found


def summarise(block: Block, columns: Columns | None) -> Summary:
    """Read one block and check it: the one place where a value that breaks a rule is refused, with
    its file.
    """
    if isinstance(block, ArrayBlock | NpyBlock):
        arrays = block.arrays() if isinstance(block, NpyBlock) else block
        features = tuple(
            _of_feature(j, np.asarray(arrays.context[:, j], dtype=np.float64), block)
            for j in range(arrays.context.shape[1])
        )
        return _summary(np.asarray(arrays.weight), np.asarray(arrays.reward), arrays.mass, features, block)
    assert columns is not None
    table = block.table(columns.needed)
    mass = None if columns.mass is None else numbers(table.column(columns.mass))
    features = tuple(_of_column(table, name, name in columns.categorical, block) for name in columns.context)
    return _summary(
        weights_of(table, columns, block), numbers(table.column(columns.reward)), mass, features, block
    )


def _summary(
    weight: Floats, reward: Floats, mass: Floats | None, features: tuple[ColumnSummary, ...], block: Block
) -> Summary:
    _refuse(~np.isfinite(reward), reward, "reward", "finite", block)
    _refuse(~((weight >= 0) & (weight < np.inf)), weight, "weight", "a number of at least 0", block)
    if mass is not None:
        _refuse(~((mass > 0) & (mass < np.inf)), mass, "row_weight", "a positive number", block)
    if not weight.size:
        return Summary(columns=features)
    counted = np.ones(weight.size) if mass is None else mass
    positive = weight[weight > 0]
    return Summary(
        n=weight.size,
        lightest=float(positive.min(initial=np.inf)),
        heaviest=float(weight.max()),
        mass=float(counted.sum()),
        weight=_sum(counted, weight),
        reward=_sum(counted, reward),
        largest_reward=float(np.abs(reward).max()),
        reward_size=_sum(counted, np.abs(reward)),
        columns=features,
    )


def _sum(counted: Floats, values: Floats) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sum(counted * values))


def weights_of(table: Any, columns: Columns, block: Block) -> Floats:
    """Importance weights of the rows: a column of them, or the target's probability over the logger's."""
    if isinstance(columns.weight, Weigher):
        return columns.weight.rule(table.select(list(columns.weight.names)), block.place)
    if columns.weight is not None:
        return numbers(table.column(columns.weight))
    assert columns.target is not None
    assert columns.propensity is not None
    propensity = numbers(table.column(columns.propensity))
    _refuse(~((propensity > 0) & (propensity <= 1)), propensity, columns.propensity, "in (0, 1]", block)
    if columns.action is not None:
        return np.where(
            _equal(table.column(columns.target), table.column(columns.action)), 1 / propensity, 0.0
        )
    target = numbers(table.column(columns.target))
    chance, bad = rounded_off(target)
    _refuse(bad, target, columns.target, "in [0, 1]", block)
    return chance / propensity


def _equal(one: Any, other: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if one.type != other.type:
        one, other = one.cast(pa.string()), other.cast(pa.string())
    return pc.fill_null(pc.equal(one, other), False).to_numpy()


def _refuse(bad: Any, values: Floats, name: str, rule: str, block: Block) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"`{name}` must be {rule}, got {values[row]} at {block.place(row)}")


def _of_feature(j: int, values: Floats, block: Block) -> ColumnSummary:
    # Contexts of arrays are used as they are: nothing fills a gap before it reaches kernels compiled for
    # numbers only.
    _refuse(~np.isfinite(values), values, "context", "finite", block)
    return _of_numbers(str(j), values, block)


def _of_column(table: Any, name: str, as_labels: bool, block: Block) -> ColumnSummary:
    column = table.column(name)
    kind = kind_of(column.type, name, block.place())
    if kind == "text" or as_labels:
        codes, found = labels(column)
        counts = np.bincount(codes, minlength=len(found))
        levels = Counter(
            {label: int(count) for label, count in zip(found, counts, strict=True) if label is not None}
        )
        present = sum(levels.values())
        return ColumnSummary(
            name=name, kind="text", count=present, missing=len(codes) - present, levels=_few(levels, name)
        )
    return _of_numbers(name, numbers(column), block, kind)


def _of_numbers(name: str, values: Floats, block: Block, kind: Kind = "number") -> ColumnSummary:
    _refuse(np.isinf(values), values, name, "finite", block)
    present = values[~np.isnan(values)]
    if not present.size:
        return ColumnSummary(name=name, kind=kind, missing=values.size)
    mean = float(present.mean())
    return ColumnSummary(
        name=name,
        kind=kind,
        count=present.size,
        missing=values.size - present.size,
        mean=mean,
        squares=float(np.sum((present - mean) ** 2)),
        low=float(present.min()),
        high=float(present.max()),
        binary=kind == "number" and bool(np.isin(present, (0, 1)).all()),
    )
