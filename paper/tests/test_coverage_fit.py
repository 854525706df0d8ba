from __future__ import annotations

from dataclasses import replace

import pytest

from kwis_paper.agreement import checks
from kwis_paper.coverage_fit import HALF, fits, scoring_fit, shown
from kwis_paper.figures.performance import coverage_figures
from kwis_paper.paper_intervals import ESTIMATORS
from kwis_paper.results import Covered, Results, Spanned
from kwis_paper.simulate import Design
from kwis_paper.summaries import coverage_rows, published_coverage
from kwis_paper.tables.coverage import coverage_tables
from kwis_paper.tables.coverage_fit import coverage_fit_table
from paper.tests.made_up import half_as_bad, results_of


def _with_intervals(counts: tuple[int, ...], share: float = 0.25) -> Results:
    """Experiments whose intervals by both methods cover so many of nine test sets, level by level."""
    bare = results_of(["yeast", "soybean"], ["oracle"], half_as_bad)
    spans = dict.fromkeys(bare.cells, Spanned(Covered(counts, counts), (1.0,) * 4))
    intervals = {(name, "fixed-percentile"): spans for name in ESTIMATORS}
    return replace(bare, design=Design(test_share=share), intervals=intervals)


def test_the_level_nearest_to_the_published_coverage_fits_best() -> None:
    results = _with_intervals((1, 3, 5, 9))
    ranked = fits(results)
    assert [fit.gap for fit in ranked] == sorted(fit.gap for fit in ranked)
    assert {fit.level for fit in ranked} == {0.68, 0.8, 0.9, 0.95}
    best = ranked[0]
    rows = [
        row
        for row in coverage_rows(results, "oracle", "published", "fixed-percentile")
        if row.bucket.policy_type == "Gibbs" and row.bucket.ours is not None and row.paper_wis >= 0
    ]
    ours = {0.68: 1 / 9, 0.8: 3 / 9, 0.9: 5 / 9, 0.95: 1.0}[best.level]
    by_hand = [(abs(ours - row.paper_wis) + abs(ours - row.paper_kernel)) / 2 for row in rows]
    assert best.rows == len(rows)
    assert best.gap == pytest.approx(sum(by_hand) / len(by_hand))


def test_another_test_share_takes_part_and_coverage_is_scored_at_the_best() -> None:
    far, near = _with_intervals((0, 0, 0, 0)), _with_intervals((5, 6, 6, 7), share=0.5)
    both = replace(far, others={HALF: near})
    assert fits(both)[0].results.design.test_share == 0.5
    assert len(coverage_fit_table(both).lines) == 8
    made = {check.short: check for check in checks(both)}
    check = made["Coverage, oracle, Gibbs"]
    wanted = [
        row for row in published_coverage("oracle") if row[1] == "Gibbs" and row[0] in ("yeast", "soybean")
    ]
    assert check.of == len(wanted)
    assert "a test share of 0.5" in check.name
    assert {check.short for check in checks(far)} >= {"Coverage, oracle, trained"}


def test_a_reading_without_all_rows_is_shown_and_not_scored_at() -> None:
    far, near = _with_intervals((0, 0, 0, 0)), _with_intervals((5, 6, 6, 7), share=0.5)
    kept = {key: facts for key, facts in near.cells.items() if facts.dataset == "yeast"}
    both = replace(far, others={HALF: replace(near, cells=kept)})
    assert fits(both)[0].results.design.test_share == 0.5
    used = scoring_fit(both)
    assert used is not None
    assert used.results.design.test_share == 0.25
    bold = [line for line in coverage_fit_table(both).lines if line.entries[0].bold]
    assert [line.entries[2].words for line in bold] == ["0.25"]


def test_tables_figures_and_claims_show_the_reading_that_coverage_is_scored_at() -> None:
    results = _with_intervals((1, 3, 5, 9))
    level = f"{shown(results).level:.0%}"
    assert level != "95%"
    influence, own = coverage_tables(results, "oracle", "published")
    assert "difference is that of our 95% intervals. Bold" in influence.caption
    assert (
        f"difference is that of our {level} intervals, which fits the published coverage best" in own.caption
    )
    names = [f"{group} {column}".strip() for group, column in zip(own.groups, own.columns, strict=True)]
    paper, ours, gap = (names.index(f"WIS {word}") for word in ("paper", level, "diff."))
    compared = [line.entries for line in own.lines if line.entries[gap].value is not None]
    assert compared
    for entries in compared:
        said, mine = entries[paper].value, entries[ours].value
        assert said is not None
        assert mine is not None
        assert entries[gap].value == pytest.approx(round(mine, 3) - said)
    assert f"(percentile at {level}, a test share of 0.25)" in coverage_figures(results)[0].caption
    bare = replace(results, intervals={})
    assert shown(bare).words == "influence-function intervals at 95%"


def test_without_such_intervals_nothing_is_scored() -> None:
    bare = results_of(["yeast"], ["oracle"], half_as_bad)
    assert fits(bare) == []
    assert not [check for check in checks(bare) if check.short.startswith("Coverage")]
