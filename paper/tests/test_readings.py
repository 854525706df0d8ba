from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kwis_paper.grid import SETTINGS
from kwis_paper.records import CellFacts
from kwis_paper.results import Results
from kwis_paper.simulate import Design
from kwis_paper.tables import all_tables
from kwis_paper.tables.readings import evidence, reading_table
from paper.tests.made_up import results_of

DATASETS = ["optdigits", "optdigitsDist"]


def _near(facts: CellFacts, estimator: str) -> float:
    return 0.058


def _far(facts: CellFacts, estimator: str) -> float:
    return 0.2


@pytest.fixture(scope="module")
def both() -> Results:
    """As printed every error is far from the published ones; by the other reading near."""
    printed = results_of(DATASETS, SETTINGS, _far)
    other = results_of(["optdigitsDist"], ["continuous"], _near)
    heatmap = np.zeros(100)
    heatmap[39], heatmap[36] = 0.7, 0.2
    other = replace(
        other,
        design=Design(rule="closeness", noise="lost"),
        curves={("optdigitsDist", "rewards"): heatmap},
    )
    return replace(printed, curves={("optdigitsDist", "rewards"): 1 - heatmap}, others={"closeness": other})


def test_the_nearer_reading_is_bold_and_named(both: Results) -> None:
    table = reading_table(both)
    assert table is not None
    assert table.columns == ("", "distance, flip", "closeness, lost")
    by_name = {line.entries[0].words: line.entries[1:] for line in table.lines}
    printed, other = by_name["Gibbs rows, mean gap to the published errors"]
    assert (printed.bold, other.bold) == (False, True)
    printed, other = by_name[
        "reward of predicting 9 where 3 is right, less that of 6 (high and low in the heatmap)"
    ]
    assert (printed.words, other.words, other.bold) == ("-0.50", "0.50", True)
    (said,) = [note for note in table.notes if note.startswith("For closeness, lost: ")]
    assert "Gibbs rows, mean gap" in said
    assert "9 where 3 is right" in said


def test_what_both_readings_give_alike_speaks_for_neither(both: Results) -> None:
    table = reading_table(both)
    assert table is not None
    for line in table.lines:
        mine, theirs = line.entries[1:]
        assert not (mine.bold and theirs.bold)
        assert (mine.bold or theirs.bold) == (mine.value != theirs.value)


def test_gaps_are_those_worked_out_by_hand(both: Results) -> None:
    found = {one.name: one.value for one in evidence(both.others["closeness"])}
    # WIS and Kernel-WIS of the two published rows that have experiments here: 0.054, 0.056; 0.059, 0.064.
    gaps = [0.004, 0.002, 0.001, 0.006]
    assert found["Gibbs rows, mean gap to the published errors"] == pytest.approx(np.mean(gaps))
    assert found["Gibbs experiments in their published bucket, of 132"] <= 132


def test_there_is_no_table_of_readings_unless_both_were_run(both: Results) -> None:
    assert reading_table(replace(both, others={})) is None
    assert "continuous-readings" not in {table.key for table in all_tables(replace(both, others={}))}


def test_the_other_reading_says_nothing_of_rows_that_stand_in_the_first(both: Results) -> None:
    shown = [table for table in all_tables(both) if table.key.endswith("-closeness")]
    assert len(shown) == 2
    for table in shown:
        assert {line.dataset for line in table.lines} == {"optdigitsDist"}
        assert not any("Not run yet" in note for note in table.notes)
