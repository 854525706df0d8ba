"""Regions are put together from cells: every row of a region is in one of its cells, and no other row is."""

from __future__ import annotations

import numpy as np
import pytest

from kwis.checks.cells import Cells
from kwis.checks.family import Family
from kwis.checks.regions import Region
from tests.checks.logs import simulated
from tests.checks.test_family import family_of


def rows_of(cells, region):
    own = cells.of_region[cells.starts[region] : cells.starts[region + 1]]
    return np.isin(cells.of_row, own).sum(axis=1)


@pytest.mark.parametrize("most", [1, 6, 25, 400])
def test_each_row_of_a_region_is_in_one_of_its_cells(monkeypatch, most):
    monkeypatch.setattr("kwis.checks.cells._MOST", most)
    family, _ = family_of(simulated(2000, known="whole"))
    cells = Cells.of(family)
    for region in {r for _, r in family.pairs}:
        np.testing.assert_array_equal(rows_of(cells, region), family.regions[region].rows)
    assert cells.of_row.max() < cells.number


def test_rows_of_no_region_are_in_no_cell_or_in_one_of_other_columns():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, 500), rng.integers(0, 2, 500)
    regions = tuple(
        Region(column=name, label=f"{name}{level}", rows=values == level)
        for name, values in (("a", a), ("b", b))
        for level in (0, 1)
    )
    subjects = family_of(simulated(500, known="whole"))[0].subjects
    family = Family(subjects=subjects, regions=regions, pairs=tuple((0, r) for r in range(4)), size=4.0)
    cells = Cells.of(family)
    for region in range(4):
        np.testing.assert_array_equal(rows_of(cells, region), regions[region].rows)
