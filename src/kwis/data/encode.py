"""From raw columns to contexts in which distances mean something; the one place where this is decided.

===============================  ===========================================================================
raw column                       becomes
===============================  ===========================================================================
number                           one column, standardised: less its mean, divided by its standard deviation
date                             the same, from its seconds; hours or weekdays that matter deserve columns
                                 of their own
yes/no, numbers that are only    one column of codes, compared for equality
0 and 1, text
number or date with gaps         the median where missing, then standardised, and a yes/no column ``<name>
                                 missing``
text or yes/no with gaps         missing is a level like any other
text that is nearly all numbers  refused, as :mod:`kwis.data.written` says, unless ``categorical`` lists the
                                 column
text with over 1,000 levels      the 100 most frequent keep their codes, all others share one, and a warning
                                 says so
the same in every row, or empty  dropped, and a note says so
===============================  ===========================================================================

One unit of distance is one standard deviation. Two rows drawn at random differ by a squared distance of 2 on
average in a numeric column; kernels count a mismatch of codes as ``exp(-1/h^2)``, which is the RBF kernel at
a squared distance of 2. So a column weighs about the same whichever kind it is, and a shared bandwidth makes
sense.

Means and deviations are over the rows of the log, each counted once whatever its ``row_weight``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kwis.data.columns import Column, Label
from kwis.data.scaling import standardise
from kwis.data.table import Table
from kwis.data.written import refuse_all_mixed
from kwis.errors import InputError
from kwis.runtime.arrays import kept, room
from kwis.runtime.process import warn
from kwis.typing import Floats, Ints

MANY_LEVELS = 1_000
KEPT_LEVELS = 100
MISSING = "(missing)"
OTHER = "(other)"
_GLIMPSE = 1_000  # rows that mostly show already that a column has other numbers than 0 and 1
_SMALLEST = 1e-300  # nearer to 0 a standard deviation underflows
_DUMMIES_PER_COLUMN = 20
_DUMMIES = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """How one column of the encoded context came about.

    Attributes
    ----------
    name, source
        Its own name, and the raw column it was made from.
    kind
        ``"number"``, ``"date"`` (both standardised) or ``"category"`` (codes).
    centre, scale
        Numbers and dates: ``encoded = (raw - centre) / scale``, dates in seconds since 1970.
    levels
        Categories: the label of each code.
    """

    name: str
    source: str
    kind: Literal["number", "date", "category"]
    centre: float = 0.0
    scale: float = 1.0
    levels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoding:
    """Contexts ready for distances, and what they are made of.

    There is always a column: where nothing is left of the context, a column of zeros says that all contexts
    are alike.
    """

    context: Floats
    features: tuple[Feature, ...]
    notes: tuple[str, ...] = ()

    @property
    def categorical(self) -> tuple[int, ...]:
        return tuple(j for j, feature in enumerate(self.features) if feature.kind == "category")

    def without(self, sources: Iterable[str]) -> Encoding:
        """Encoding that leaves out everything made from the given raw columns."""
        unwanted = set(sources)
        kept = [
            (feature, self.context[:, j])
            for j, feature in enumerate(self.features)
            if feature.source not in unwanted
        ]
        return _assemble(kept, len(self.context), self.notes)

    def take(self, rows: Ints) -> Encoding:
        return replace(self, context=kept(self.context[rows]))

    def design(self) -> Floats:
        """Dense ``(n, D)`` matrix for regressions: numbers as they are, categories as 0/1 columns.

        Two levels make one column; otherwise each of the 20 most frequent levels makes one (fewer where there
        are so many categorical columns that over 600 would result) and rarer levels are all zeros.
        """
        if not self.categorical:
            return self.context
        share = max(1, min(_DUMMIES_PER_COLUMN, _DUMMIES // max(1, len(self.categorical))))
        parts = [
            _dummies(self.context[:, j], share) if feature.kind == "category" else self.context[:, [j]]
            for j, feature in enumerate(self.features)
        ]
        return kept(np.hstack(parts))


def _dummies(codes: Floats, most: int) -> Floats:
    levels, counts = np.unique(codes, return_counts=True)
    if len(levels) <= 2:
        return (codes == levels[-1]).astype(np.float64)[:, None]
    frequent = levels[np.argsort(-counts, kind="stable")[:most]]
    return (codes[:, None] == np.sort(frequent)).astype(np.float64)


def encode(table: Table, names: Iterable[str], categorical: Iterable[str] = ()) -> Encoding:
    """Encode the named raw columns, in that order; ``categorical`` lists numbers that are labels (codes,
    postcodes).
    """
    as_labels = set(categorical)
    pieces: list[tuple[Feature, Floats]] = []
    constant: list[str] = []
    empty: list[str] = []
    names = tuple(names)
    refuse_all_mixed({name: table.column(name, "context") for name in names if name not in as_labels})
    for name in names:
        column = table.column(name, "context")
        made = (
            _categorical(name, column)
            if _is_categorical(column, name in as_labels)
            else _numeric(name, column)
        )
        pieces.extend((feature, kept(values)) for feature, values in made)
        if not made:
            (empty if column.missing.all() else constant).append(name)
    notes = []
    if constant:
        notes.append(f"{_listed(constant)} left out of the context: the same in every row")
    if empty:
        notes.append(f"{_listed(empty)} left out of the context: no values at all")
    return _assemble(pieces, table.n, tuple(notes))


def _assemble(pieces: list[tuple[Feature, Floats]], n: int, notes: tuple[str, ...]) -> Encoding:
    if not pieces:
        pieces = [(Feature(name="(no context)", source="", kind="number"), np.zeros(n))]
        notes = (*notes, "no context is left, so all rows count as alike")
    context = room((n, len(pieces)))
    for j, (_, values) in enumerate(pieces):
        context[:, j] = values
    return Encoding(context=kept(context), features=tuple(feature for feature, _ in pieces), notes=notes)


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:10])
    return (
        f"{shown} and {len(names) - 10} more were"
        if len(names) > 10
        else shown + (" were" if len(names) > 1 else " was")
    )


def _is_categorical(column: Column, as_labels: bool) -> bool:
    if column.kind in ("text", "boolean") or as_labels:
        return True
    if column.kind == "date":
        return False
    first = column.values[:_GLIMPSE]
    if ((first != 0) & (first != 1) & (first == first)).any():
        return False
    present = column.values[~column.missing]
    return bool(len(present)) and bool(np.isin(present, (0, 1)).all())


def _numeric(name: str, column: Column) -> list[tuple[Feature, Floats]]:
    kind: Literal["number", "date"] = "date" if column.kind == "date" else "number"
    missing = column.missing
    values = seconds(column) if kind == "date" else column.values.astype(np.float64)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise InputError(f"`{name}` (context) must be finite, got {values[row]} at row {row}")
    made: list[tuple[Feature, Floats]] = []
    if missing.all():
        return made
    filled = np.where(missing, np.median(values[~missing]), values) if missing.any() else values
    if filled.min() < filled.max() and np.abs(filled).max() > _SMALLEST:
        scaled, scaling = standardise(filled[:, None])
        feature = Feature(
            name=name, source=name, kind=kind, centre=float(scaling.mean[0]), scale=float(scaling.scale[0])
        )
        made.append((feature, scaled[:, 0]))
    if missing.any():
        gap = Feature(name=f"{name} missing", source=name, kind="category", levels=(False, True))
        made.append((gap, missing.astype(np.float64)))
    return made


def seconds(column: Column) -> Floats:
    """Dates as seconds since 1970, NaN where missing."""
    return np.where(column.missing, np.nan, column.values.astype(np.int64) / 1e6)


def _categorical(name: str, column: Column) -> list[tuple[Feature, Floats]]:
    codes, levels = column.coded()
    missing = codes < 0
    if missing.any() and not missing.all():
        codes = np.where(missing, len(levels), codes)
        levels = (*levels, MISSING)
    if len(levels) > MANY_LEVELS:
        codes, levels = _pooled(name, codes, levels)
    if len(levels) < 2:
        return []
    return [(Feature(name=name, source=name, kind="category", levels=levels), codes.astype(np.float64))]


def _pooled(name: str, codes: Ints, levels: tuple[Label, ...]) -> tuple[Ints, tuple[Label, ...]]:
    """The most frequent levels keep a code each; those seen once, and all others, share the last."""
    warn(
        f"`{name}` has {len(levels)} different values; the {KEPT_LEVELS} most frequent are kept and the "
        f"others count as one",
        2,
    )
    counts = np.bincount(codes, minlength=len(levels))
    frequent = np.argsort(-counts, kind="stable")[:KEPT_LEVELS]
    kept = np.sort(frequent[counts[frequent] > 1])
    new = np.full(len(levels), len(kept))
    new[kept] = np.arange(len(kept))
    return new[codes], (*(levels[code] for code in kept), OTHER)
