"""Tables of raw columns: what every reader returns and every lookup by column name goes through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kwis.data.columns import EXACT, Array, Column, column_of, dated, joined, object_array
from kwis.data.likely import absence
from kwis.data.lists import ListColumn, block_as_lists, list_column, lists_joined
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.typing import Ints


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Table:
    """Named columns of equal length.

    Attributes
    ----------
    blocks
        Names that stand for several columns: a matrix given as one array, or a column of equally long lists.
    opaque
        Columns of types that cannot be used (maps, images), remembered so that asking for one gets a clear
        answer.
    uneven
        Columns left out because files differ in them, with the sentence that says how.
    lists
        Columns of lists that are of different lengths or hold text: candidates, scores aligned with them.
    """

    columns: Mapping[str, Column]
    blocks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    opaque: tuple[str, ...] = ()
    uneven: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, ListColumn] = field(default_factory=dict)

    @property
    def n(self) -> int:
        if self.columns:
            return len(next(iter(self.columns.values())))
        return len(next(iter(self.lists.values()))) if self.lists else 0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def column(self, name: str, role: str = "column") -> Column:
        """The column of that name; an error names the argument (``role``) and the nearest name there is."""
        if isinstance(name, str) and name in self.columns:
            return self.columns[name]
        raise InputError(self._absence(name, role))

    def expand(self, names: str | Iterable[str], role: str) -> tuple[str, ...]:
        """Names of single columns, blocks replaced by their members."""
        if not isinstance(names, Iterable):
            raise InputError(f"`{role}` must be column names, got {names!r}")
        expanded: list[str] = []
        for name in [names] if isinstance(names, str) else names:
            if not isinstance(name, str) or (name not in self.columns and name not in self.blocks):
                raise InputError(self._absence(name, role))
            expanded.extend((name,) if name in self.columns else self.blocks[name])
        return tuple(dict.fromkeys(expanded))

    def take(self, rows: Ints) -> Table:
        return replace(
            self,
            columns={name: column.take(rows) for name, column in self.columns.items()},
            lists={name: column.take(rows) for name, column in self.lists.items()},
        )

    def _absence(self, name: object, role: str) -> str:
        if not isinstance(name, str):
            return f"`{role}` must be a column name, got {name!r}"
        if name in self.uneven:
            return self.uneven[name]
        if name in self.opaque or name in self.lists:
            return (
                f"`{role}` must name a column of numbers, text, dates or yes/no values, and `{name}` holds "
                f"none of these"
            )
        if name in self.blocks:
            return f"`{role}` must name one column, and `{name}` holds {len(self.blocks[name])}"
        return absence(self.columns, name, role, tuple(self.blocks))


def table_of(parts: Sequence[tuple[str, Any]], *, piece: bool = False) -> Table:
    """Table from named arrays, lists or ready columns; matrices and columns of lists become blocks.

    A ``piece`` holds only some rows of a log: whether its text is dates is decided when the pieces are
    stacked.
    """
    columns: dict[str, Column] = {}
    blocks: dict[str, tuple[str, ...]] = {}
    lists: dict[str, ListColumn] = {}
    opaque: list[str] = []
    for name, values in parts:
        pieces = _pieces(name, values)
        if pieces is None:
            opaque.append(name)
            continue
        if isinstance(pieces, ListColumn):
            lists[name] = pieces
            continue
        if not isinstance(pieces, Column):
            blocks[name] = tuple(pieces)
        for key, column in ({name: pieces} if isinstance(pieces, Column) else pieces).items():
            if key in columns:
                refuse_alike([key, key])
            columns[key] = column if piece else settled(column)
    refuse_alike([*columns, *lists, *opaque])
    lengths = {name: len(column) for name, column in columns.items()}
    lengths |= {name: len(column) for name, column in lists.items()}
    if len(set(lengths.values())) > 1:
        first, other = (
            next(iter(lengths)),
            next(name for name, n in lengths.items() if n != next(iter(lengths.values()))),
        )
        raise InputError(
            f"columns must have the same length, got {lengths[first]} for `{first}` and {lengths[other]} for "
            f"`{other}`"
        )
    return Table(columns=columns, blocks=blocks, opaque=tuple(opaque), lists=lists)


def refuse_alike(names: Iterable[str], where: str = "") -> None:
    """Refuse two columns of one name, and names that differ in case only: databases and people take these for
    the same.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.casefold())
        if other == name:
            raise InputError(f"column names must be unique, got {name!r} twice{where}")
        if other is not None:
            raise InputError(f"column names must differ in more than case, got {other!r} and {name!r}{where}")
        seen[name.casefold()] = name


def stacked(pieces: Sequence[Table], *, piece: bool = False) -> Table:
    """One table of pieces that have the same columns, in their order; a ``piece`` itself if it is not all
    rows.
    """
    names = {name: None for part in pieces for name in part.columns}
    blocks = {
        name: members
        for name, members in pieces[0].blocks.items()
        if all(part.blocks.get(name) == members for part in pieces)
    }
    loose = {
        member
        for part in pieces
        for name, members in part.blocks.items()
        if name not in blocks
        for member in members
    }
    columns: dict[str, Column] = {}
    for name in names:
        if name in loose or not all(name in part for part in pieces):
            continue
        whole = joined([part.columns[name] for part in pieces])
        if whole is None:
            kinds = " and ".join(sorted({part.columns[name].kind for part in pieces}))
            raise InputError(f"`{name}` must be of one type in the whole log, got {kinds}")
        columns[name] = whole if piece else settled(whole)
    lists = _stacked_lists(pieces, blocks)
    opaque = {
        name: None
        for part in pieces
        for name in (*part.opaque, *part.blocks, *part.lists)
        if name not in blocks and name not in columns and name not in lists
    }
    return Table(columns=columns, blocks=blocks, opaque=tuple(opaque), lists=lists)


def _stacked_lists(pieces: Sequence[Table], blocks: Mapping[str, tuple[str, ...]]) -> dict[str, ListColumn]:
    """Columns of lists, which some pieces have as blocks where their lists happen to be equally long."""
    found: dict[str, ListColumn] = {}
    for name in {name: None for piece in pieces for name in (*piece.lists, *piece.blocks)}:
        if name in blocks:
            continue
        parts = [
            piece.lists[name]
            if name in piece.lists
            else block_as_lists(piece.columns, piece.blocks[name])
            if name in piece.blocks
            else None
            for piece in pieces
        ]
        whole = lists_joined([part for part in parts if part is not None]) if None not in parts else None
        if whole is not None:
            found[name] = whole
    return found


def settled(column: Column) -> Column:
    """A column that is complete: dates recognised, large ones out of the way of work."""
    whole = dated(column)
    return replace(whole, values=kept(whole.values))


def is_single(values: Any) -> bool:
    """Whether something is one value rather than one per row."""
    if isinstance(values, np.ndarray):
        return values.ndim == 0
    return isinstance(values, str | bytes) or not hasattr(values, "__len__")


def _pieces(name: str, values: Any) -> Column | dict[str, Column] | ListColumn | None:
    """One column, several for a matrix or equally long lists of numbers, other lists as they are, None for
    what cannot be used.
    """
    if isinstance(values, Column | ListColumn):
        return values
    array = values if isinstance(values, np.ndarray) else _array(values)
    if array.ndim == 3 and array.shape[2] == 1:  # Open Bandit Pipeline's shape of a distribution
        array = array[:, :, 0]
    if array.ndim == 1 and array.dtype.kind == "O":
        array = _stacked(array)
    if array.ndim == 2:
        return {f"{name}_{j}": column_of(array[:, j]) for j in range(array.shape[1])}
    if array.ndim != 1 or array.dtype.kind in "cV":
        return None
    try:
        return column_of(array)
    except TypeError:
        plain = np.ma.filled(array, None) if isinstance(array, np.ma.MaskedArray) else array
        return list_column(plain.tolist())


def _array(values: Any) -> Array:
    try:
        array = np.asarray(values)
        mixed = array.ndim == 1 and array.dtype.kind == "f" and isinstance(values, list | tuple)
        # NumPy makes floats of whole numbers of both signs that 64 bits do not hold.
        return (
            object_array(values)
            if mixed and any(isinstance(item, int) and abs(item) > EXACT for item in values)
            else array
        )
    except ValueError:  # lists of different lengths
        return object_array(list(values))


def _stacked(array: Array) -> Array:
    """Matrix from a column of equally long lists of numbers; anything else comes back as it is."""
    if (
        not len(array)
        or np.ma.getmaskarray(array).any()
        or not all(isinstance(item, list | tuple | np.ndarray) for item in array)
    ):
        return array
    if len({len(item) for item in array}) != 1 or not len(array[0]):
        return array
    try:
        stacked = np.array(
            [np.ma.filled(item, np.nan) if isinstance(item, np.ma.MaskedArray) else item for item in array]
        )
    except ValueError:  # lists of lists of different lengths
        return array
    return stacked if stacked.ndim == 2 and stacked.dtype.kind in "biuf" else array
