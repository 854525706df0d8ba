"""The cost by which the time left is told, against the timings of the committed run."""

import json
from pathlib import Path

import pytest

from kwis_paper import cost
from kwis_paper.catalogue import PAPER_DATASETS, spec_of
from kwis_paper.simulate import Design

ROOT = Path(__file__).parents[2]


def test_the_cost_of_a_setting_is_that_of_its_batches_and_cells() -> None:
    design = Design()
    one = cost.choosing(1000, 10, design) + 10 * cost.estimating(1000, design)
    assert cost.of_cells(1000, 10, design) == one
    two = cost.choosing(1000, cost.BATCH, design) + one + cost.BATCH * cost.estimating(1000, design)
    assert cost.of_cells(1000, cost.BATCH + 10, design) == two
    assert cost.of_cells(1000, 0, design) == 0


def test_a_search_per_feature_costs_by_pairs_and_columns_and_no_more_than_the_longest() -> None:
    design = Design()
    one = cost.searching(1000, 10, design)
    assert cost.searching(2000, 10, design) == pytest.approx(4 * one)
    assert cost.searching(1000, 30, design) == pytest.approx(3 * one)
    assert cost.searching(28_000, 40, design) == cost.searching(20_000, 16, design)


def test_time_left_was_told_within_three_times_what_it_was_once_a_hundredth_was_done() -> None:
    timings = json.loads((ROOT / "results" / "manifest.json").read_text(encoding="utf-8"))["timings"]
    steps = [
        (one["seconds"], _cost(one["dataset"], one["stage"], one["cells"]))
        for one in timings
        if one["stage"] in ("training", "bandwidths", "estimates")
    ]
    seconds, work = (sum(column) for column in zip(*steps, strict=True))
    passed = done = 0.0
    ratios = []
    for second, unit in steps[:-1]:
        passed, done = passed + second, done + unit
        if 0.01 <= done / work <= 0.95:
            told = passed * (work - done) / done
            ratios.append(told / (seconds - passed))
    assert len(ratios) > 50
    assert max(ratios) < 3
    assert min(ratios) > 1 / 3


def _cost(dataset: str, stage: str, cells: int) -> float:
    n, design = spec_of(dataset).rows, Design()
    assert dataset in PAPER_DATASETS
    if stage == "bandwidths":
        return cost.choosing(n, cells, design)
    return cells * cost.estimating(n, design) if stage == "estimates" else 0.0
