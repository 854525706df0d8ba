"""All segments are kept; a terminal and a report show the largest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kwis
from kwis.estimators.joint import Joint, independent_critical_value
from tests.cli.example import Run, columns, write_csv

SHOPS, ROWS = 60, 31


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    n = SHOPS * ROWS + 5
    shops = [f"shop {i % SHOPS:02}" for i in range(n - 3)] + ["tiny"] * 3
    return write_csv(tmp_path_factory.mktemp("many") / "log.csv", {**columns(n), "shop": shops})


QUICK = ("--context", "age,country", "--target", "p_new", "--estimator", "wis", "--by", "shop", "--no-table")


def test_json_and_frames_have_every_segment_and_a_terminal_the_fifty_largest(
    run: Run, log: Path, tmp_path: Path
) -> None:
    answer, report = tmp_path / "answer.json", tmp_path / "report.html"
    ended = run("evaluate", log, *QUICK, "--json-file", answer, "--report", report)
    assert ended.code == 0
    (found,) = json.loads(answer.read_text())["segments"]
    assert len(found["segments"]) == SHOPS
    assert ended.out.count("shop = shop ") == 50
    assert f"the 50 largest of {SHOPS} segments are shown; the others have {10 * ROWS} rows" in " ".join(
        ended.out.split()
    )
    assert (
        "1 segment by `shop` with 3 rows has no estimate: too few rows (under 30) or a single group"
        in " ".join(ended.out.split())
    )
    assert (
        report.read_text().count("<td>shop = shop ")
        + report.read_text().count('<th scope="row">shop = shop ')
        == 50
    )


def test_another_number_is_shown_on_request(run: Run, log: Path) -> None:
    assert run("evaluate", log, *QUICK, "--segments", "3").out.count("shop = shop ") == 3
    every = run("evaluate", log, *QUICK, "--segments", "1000").out
    assert every.count("shop = shop ") == SHOPS
    assert "largest of" not in every


def test_a_frame_of_segments_has_them_all(log: Path) -> None:
    table = kwis.read_log(str(log), propensity="propensity", context=["age", "country"])
    (found,) = kwis.evaluate(table, "p_new", estimators=["wis"], by="shop").segments
    frame = found.to_frame("pandas")
    assert frame["shop"].nunique() == SHOPS
    assert len(frame) == 2 * SHOPS
    assert str(found).count("\nshop ") == 50


def test_many_segments_are_covered_at_once_by_the_formula_as_by_simulation() -> None:
    rng = np.random.default_rng(0)
    count, rows = 60, 40
    influences = [np.zeros(count * rows) for _ in range(count)]
    for place, influence in enumerate(influences):
        influence[place * rows : (place + 1) * rows] = rng.normal(size=rows)
    simulated = Joint.of(influences, None).critical_value(0.95, 0)
    assert independent_critical_value(count, 0.95) == pytest.approx(simulated, abs=0.03)
    assert independent_critical_value(1, 0.95) == pytest.approx(1.959964, abs=1e-6)
