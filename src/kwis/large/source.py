"""Where the rows of a large log are, and how one part of it is read; nothing here holds more than that part.

A :class:`Block` is a description small enough to be sent anywhere: paths, row groups and row numbers. Whoever
works on a block reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from kwis.data.read.files import files_of, format_of
from kwis.data.table import refuse_alike
from kwis.errors import InputError
from kwis.large.arrow import Kind, alike, kind_of
from kwis.typing import Floats

_FEWEST, _MOST, _BLOCKS = (
    8192,
    1 << 18,
    32,
)  # rows of a block, and how many blocks a log is cut into between these limits


@dataclass(frozen=True, slots=True)
class Weigher:
    """A rule that makes importance weights of columns: ``rule(table, place)`` gets an Arrow table of
    ``names``, and where a row of it is.

    Two with the same ``token`` count as the same rule.
    """

    token: str
    names: tuple[str, ...]
    rule: Callable[[Any, Callable[[int], str]], Floats] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns are what.

    Attributes
    ----------
    weight
        Importance weights, where the log has them or a :class:`Weigher` makes them; otherwise they are
        ``target / propensity``.
    target
        Probability of the logged action under the policy evaluated; with ``action``, the action it takes for
        certain.
    mass
        How many interactions a row stands for.
    """

    reward: str = "reward"
    weight: str | Weigher | None = None
    target: str | None = None
    propensity: str | None = None
    action: str | None = None
    mass: str | None = None
    context: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """Every column that has to be read, each once."""
        weight = self.weight.names if isinstance(self.weight, Weigher) else (self.weight,)
        named = (self.reward, *weight, self.target, self.propensity, self.action, self.mass, *self.context)
        return tuple(dict.fromkeys(name for name in named if name is not None))


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows ``start`` to ``stop`` of one row group of a Parquet file; ``offset`` rows of the file come before
    the group.
    """

    path: str
    group: int
    start: int
    stop: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ParquetBlock:
    """Consecutive rows of Parquet files."""

    pieces: tuple[Piece, ...]

    def place(self, row: int = 0) -> str:
        for piece in self.pieces:
            if row < piece.stop - piece.start:
                return f"row {piece.offset + piece.start + row} of {piece.path!r}"
            row -= piece.stop - piece.start
        return repr(self.pieces[-1].path)

    def table(self, names: Sequence[str]) -> Any:
        return alike([_read_piece(piece, names) for piece in self.pieces])


def _read_piece(piece: Piece, names: Sequence[str]) -> Any:
    from pyarrow import parquet

    with _reading(piece.path), parquet.ParquetFile(piece.path) as file:
        _same_columns(file.schema_arrow.names, names, piece.path)
        whole = file.read_row_group(piece.group, columns=list(names)).select(list(names))
    return whole.slice(piece.start, piece.stop - piece.start)


@dataclass(frozen=True, slots=True)
class FrameBlock:
    """One partition of a Dask dataframe, which exists on its worker only."""

    frame: Any = field(compare=False)
    token: str = field(default_factory=lambda: uuid4().hex)

    def place(self, row: int = 0) -> str:
        return f"row {row} of a partition of the dataframe"

    def table(self, names: Sequence[str]) -> Any:
        import pyarrow as pa

        _same_columns([str(name) for name in self.frame.columns], names, "the dataframe")
        return pa.Table.from_pandas(self.frame[list(names)], preserve_index=False)


@dataclass(frozen=True, slots=True, eq=False)
class ArrayBlock:
    """Consecutive rows of arrays in memory or memory-mapped files, the context encoded already."""

    context: Floats
    weight: Floats
    reward: Floats
    mass: Floats | None = None
    first: int = 0

    def place(self, row: int = 0) -> str:
        return f"row {self.first + row}"


@dataclass(frozen=True, slots=True)
class NpyBlock:
    """Rows ``start`` to ``stop`` of ``context.npy``, ``weight.npy`` and ``reward.npy`` in one folder, mapped
    into memory when read.
    """

    folder: str
    start: int
    stop: int

    def place(self, row: int = 0) -> str:
        return f"row {self.start + row} of the arrays in {self.folder!r}"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each whole array."""
        return {
            name: _mapped(Path(self.folder) / f"{name}.npy").shape for name in ("context", "weight", "reward")
        }

    def arrays(self) -> ArrayBlock:
        folder, rows = Path(self.folder), slice(self.start, self.stop)
        context, weight, reward = (
            _mapped(folder / f"{name}.npy")[rows] for name in ("context", "weight", "reward")
        )
        return ArrayBlock(context, weight, reward, first=self.start)


Block = ParquetBlock | FrameBlock | ArrayBlock | NpyBlock
"""One part of a log; ``place(row)`` says where a row of it is, for messages."""


def _mapped(path: Path) -> Floats:
    with _reading(str(path)):
        return np.load(path, mmap_mode="r", allow_pickle=False)


class _reading:  # noqa: N801 - reads as a statement
    """Whatever goes wrong with a file becomes one sentence that names it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, problem: BaseException | None, _: Any) -> None:
        if problem is not None and isinstance(problem, Exception) and not isinstance(problem, InputError):
            reason = " ".join(str(problem).split()).rstrip(".")
            raise InputError(
                f"`source` must hold files that can be read, and {self.path!r} cannot: {reason}"
            ) from None


def _same_columns(have: Iterable[str], names: Sequence[str], path: str) -> None:
    missing = [name for name in names if name not in set(have)]
    if missing:
        raise InputError(f"`source` must have the column `{missing[0]}` in every file, and {path!r} has not")


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file says about itself: rows of each group, columns and what they hold."""

    path: str
    groups: tuple[int, ...]
    types: tuple[tuple[str, Any], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.types)

    def places(self) -> Iterator[tuple[str, int, int, int]]:
        """Path, number, rows and first row of each row group."""
        for group, size in enumerate(self.groups):
            yield self.path, group, size, sum(self.groups[:group])

    def kind(self, name: str) -> Kind:
        return kind_of(dict(self.types)[name], name, repr(self.path))

    @classmethod
    def of(cls, path: str) -> Footer:
        from pyarrow import parquet

        with _reading(path), parquet.ParquetFile(path) as file:
            groups = tuple(file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups))
            refuse_alike([column.name for column in file.schema_arrow], f" in {path!r}")
            return cls(path, groups, tuple((column.name, column.type) for column in file.schema_arrow))


def same_kinds(footers: Sequence[Footer], names: Sequence[str]) -> None:
    """Refuse files that lack a column, or hold text in one where the others hold numbers; a file without rows
    may hold anything.
    """
    first: dict[str, tuple[Kind, str]] = {}
    for footer in (footer for footer in footers if sum(footer.groups)):
        _same_columns(footer.names, names, footer.path)
        for name in names:
            kind = footer.kind(name)
            known, path = first.setdefault(name, (kind, footer.path))
            if known == "empty":
                first[name] = (kind, footer.path)
            elif kind not in (known, "empty"):
                raise InputError(
                    f"`{name}` must be of one type in all files, got {kind} in {footer.path!r} and {known} "
                    f"in {path!r}"
                )


def parquet_files(source: Any) -> list[str]:
    """Paths of the Parquet files meant by a folder, a path, a pattern or a list of them, in the order of
    their names.
    """
    many = [source] if isinstance(source, str | Path) else list(source)
    paths = [path for entry in many for path in files_of(str(entry))]
    other = [path for path in paths if format_of(path) != "parquet"]
    if other or not paths:
        hint = "; kwis.read_log reads other files" if other else ""
        raise InputError(f"`source` must be Parquet files, got {other[0] if other else 'none'!r}{hint}")
    return paths


def block_rows(n: int, wanted: int | None = None) -> int:
    """Rows of a block: a function of the log alone, so that sums are the same whoever computes them."""
    return wanted or min(max(_FEWEST, -(-n // _BLOCKS)), _MOST)


def parquet_blocks(footers: Sequence[Footer], rows: int) -> list[ParquetBlock]:
    """Blocks of ``rows`` rows, the last one shorter; files and row groups without rows leave no trace."""
    blocks: list[ParquetBlock] = []
    pieces: list[Piece] = []
    room = rows
    for path, group, size, offset in (one for footer in footers for one in footer.places()):
        start = 0
        while start < size:
            stop = min(size, start + room)
            pieces.append(Piece(path, group, start, stop, offset))
            room, start = room - (stop - start), stop
            if room == 0:
                blocks.append(ParquetBlock(tuple(pieces)))
                pieces, room = [], rows
    return [*blocks, ParquetBlock(tuple(pieces))] if pieces else blocks
