"""What a run is expected to cost, so that the time left can be told early.

Fitted to the timings of a whole run. A batch of bandwidths costs passes over the training rows, hardly more
for hundreds of cells than for a few. They cost less than the square of the rows: the datasets with the most
rows have the fewest columns, or repeat their contexts. The estimates of a cell cost some work on every pair
of test rows.
"""

from __future__ import annotations

from kwis_paper.simulate import Design

BATCH = 512
"""Weight vectors that share passes over the training contexts, as many as the library takes."""

_SHARED = 100  # cells that cost as much again as the passes of a batch
_BATCH = 1e3  # what any batch costs, in training rows
_TEST_PAIR = 1e-5  # what a pair of test rows costs a cell
_CELL = 20.0  # what the estimates of any cell cost
_SEARCH = 1.5e-4  # what a column of a pair of training rows costs a search for per-feature bandwidths
_MOST = 2e9  # columns of pairs beyond which searches cost no more: they are short, or over few distinct rows


def choosing(n: int, cells: int, design: Design) -> float:
    """Cost of the bandwidths of a batch, on a dataset of ``n`` rows."""
    return ((1 - design.test_share) * n + _BATCH) * (1 + cells / _SHARED) if cells else 0.0


def estimating(n: int, design: Design) -> float:
    """Cost of the estimates of one cell."""
    return _TEST_PAIR * (design.test_share * n) ** 2 + _CELL


def searching(n: int, columns: int, design: Design) -> float:
    """Cost of the bandwidths of one cell, one for each of so many columns."""
    return _SEARCH * min(((1 - design.test_share) * n) ** 2 * columns, _MOST)


def of_cells(n: int, cells: int, design: Design) -> float:
    """Cost of all cells of a dataset in one setting, with shared bandwidths."""
    batches = [min(BATCH, cells - start) for start in range(0, cells, BATCH)]
    return sum(choosing(n, batch, design) for batch in batches) + cells * estimating(n, design)
