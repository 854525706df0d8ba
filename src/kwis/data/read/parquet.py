"""What Parquet files say about themselves: rows, columns and what these hold, without reading any row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kwis.data.read.duck import first_line
from kwis.data.read.files import files_of, format_of
from kwis.data.table import refuse_alike
from kwis.errors import InputError

Kind = Literal["number", "date", "text", "empty"]


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file says about itself: rows of each group, columns and what they hold."""

    path: str
    groups: tuple[int, ...]
    types: tuple[tuple[str, Any], ...]

    @property
    def rows(self) -> int:
        return sum(self.groups)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.types)

    @classmethod
    def of(cls, path: str) -> Footer:
        from pyarrow import parquet

        with readable(path), parquet.ParquetFile(path) as file:
            groups = tuple(file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups))
            refuse_alike([column.name for column in file.schema_arrow], f" in {path!r}")
            return cls(path, groups, tuple((column.name, column.type) for column in file.schema_arrow))


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Whatever is wrong with a file becomes one sentence that names it."""
    import pyarrow as pa

    try:
        yield
    except UnicodeDecodeError:
        why = "it is not UTF-8"
    except (pa.ArrowException, OSError) as failure:
        why = first_line(failure)
    else:
        return
    raise InputError(f"`source` must hold files that can be read, and {path!r} cannot: {why}")


def kind_of(type_: Any) -> Kind | None:
    """What an Arrow type holds, yes/no counting as the numbers 0 and 1; None for types that no column of a
    log can have.
    """
    from pyarrow import types

    if types.is_null(type_):
        return "empty"
    if (
        types.is_boolean(type_)
        or types.is_integer(type_)
        or types.is_floating(type_)
        or types.is_decimal(type_)
    ):
        return "number"
    if types.is_date(type_) or types.is_timestamp(type_):
        return "date"
    if types.is_dictionary(type_):
        return kind_of(type_.value_type)
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    return None


def refuse_uneven(footers: Sequence[Footer], names: Sequence[str]) -> None:
    """Refuse files that lack a column, or hold text in one where the others hold numbers; a file without rows
    may hold anything.
    """
    first: dict[str, tuple[Kind, str]] = {}
    for footer in (footer for footer in footers if footer.rows):
        types = dict(footer.types)
        for name in names:
            if name not in types:
                raise InputError(f"column `{name}` is missing from file {footer.path!r}")
            kind = kind_of(types[name])
            if kind is None:
                raise InputError(
                    f"`{name}` must hold numbers, dates or text, got {types[name]} in {footer.path!r}"
                )
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
