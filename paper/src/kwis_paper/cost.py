"""What a run is expected to cost, so that the time left can be told early.

Fitted by eye to the timings of a whole run. A batch of bandwidths costs passes over all pairs of training
rows, hardly more for hundreds of cells than for a few; the estimates of a cell cost some work on every pair
of test rows.
"""

from __future__ import annotations

from kwis_paper.simulate import Design

BATCH = 512
"""Weight vectors that share passes over the training contexts, as many as the library takes."""

_SHARED = 150  # cells that cost as much again as the passes of a batch
_BATCH = 4e6  # pairs of rows that cost as much as what any batch costs
_TEST_PAIR = 0.01  # what a pair of test rows costs a cell, in pairs of training rows of a batch
_CELL = 1e4  # pairs that cost as much as what the estimates of any cell cost


def choosing(n: int, cells: int, design: Design) -> float:
    """Cost of the bandwidths of a batch, on a dataset of ``n`` rows."""
    return (((1 - design.test_share) * n) ** 2 + _BATCH) * (1 + cells / _SHARED) if cells else 0.0


def estimating(n: int, design: Design) -> float:
    """Cost of the estimates of one cell."""
    return _TEST_PAIR * (design.test_share * n) ** 2 + _CELL


def of_cells(n: int, cells: int, design: Design) -> float:
    """Cost of all cells of a dataset in one setting."""
    batches = [min(BATCH, cells - start) for start in range(0, cells, BATCH)]
    return sum(choosing(n, batch, design) for batch in batches) + cells * estimating(n, design)
