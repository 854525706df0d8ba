"""Small sets of rows that regions are put together from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kwis.checks.family import Family
from kwis.typing import Ints

_MOST = 25  # cells of a set of columns: two of four regions each, and of rows in none


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What regions are put together from: rows that are in the same region of each of a few columns. Rows are
    added to one cell for all these columns, which takes less time than adding them to each region.

    Attributes
    ----------
    of_row
        ``(n, m)`` the cell of each row in each set of columns, -1 for none.
    of_region, starts
        Cells of all regions, and where those of each region begin and end.
    number
        How many cells there are.
    """

    of_row: Ints
    of_region: Ints
    starts: Ints
    number: int

    @classmethod
    def of(cls, family: Family) -> Self:
        places = _places(family)
        levels = [np.flatnonzero(np.bincount(column + 1)) - 1 for column in places.T]
        of_row, regions, number = [], [], 0
        for columns in _together([len(own) for own in levels]):
            grid = np.stack(np.meshgrid(*(levels[j] for j in columns), indexing="ij"))
            shape, grid = grid.shape[1:], grid.reshape(len(columns), -1)
            code = np.full(family.n, number)
            for step, j in zip(_steps(shape), columns, strict=True):
                table = np.zeros(len(family.regions) + 1, dtype=np.int64)
                table[levels[j] + 1] = np.arange(len(levels[j])) * step
                code += table[places[:, j] + 1]
            if np.max(grid[:, 0]) < 0:  # levels are in order: the first cell has rows of no region
                code[code == number] = -1
            of_row.append(code)
            regions.append((number, grid))
            number += grid.shape[1]
        members = [
            np.concatenate([first + np.flatnonzero((grid == r).any(axis=0)) for first, grid in regions])
            for r in range(len(family.regions))
        ]
        starts = np.cumsum([0, *map(len, members)])
        return cls(np.stack(of_row, axis=1), np.concatenate(members), starts, number)


def _steps(shape: Sequence[int]) -> Ints:
    """By how much the number of a cell grows with that of its place in each column."""
    return np.cumprod([1, *shape[:0:-1]])[::-1]


def _together(levels: Sequence[int]) -> list[list[int]]:
    """Columns one after the other in sets of at most ``_MOST`` cells."""
    sets: list[list[int]] = []
    cells = _MOST + 1
    for column, own in enumerate(levels):
        cells *= own
        if cells > _MOST:
            sets.append([])
            cells = own
        sets[-1].append(column)
    return sets


def _places(family: Family) -> Ints:
    """``(n, columns)`` numbers of the regions that each row is in, -1 for none; regions of one column never
    overlap.
    """
    used, columns = sorted({r for _, r in family.pairs}), columns_of(family)
    places = np.full((family.n, len(columns)), -1, dtype=np.int64)
    for r in used:
        places[family.regions[r].rows, columns.index(family.regions[r].column)] = r
    return places


def columns_of(family: Family) -> list[str | None]:
    """None, which stands for the whole log, and the columns that are tested by region."""
    used = sorted({r for _, r in family.pairs})
    return list(dict.fromkeys([None, *(family.regions[r].column for r in used)]))
