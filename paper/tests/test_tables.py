from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kwis import InputError
from kwis_paper import archive, published
from kwis_paper.agreement import best_and_weakest, checks, incomplete
from kwis_paper.catalogue import PAPER_DATASETS
from kwis_paper.counting import Check
from kwis_paper.grid import SETTINGS, cells
from kwis_paper.reading import summarise
from kwis_paper.records import CellFacts, StoredEstimate
from kwis_paper.results import TRUTHS, Results
from kwis_paper.simulate import Design
from kwis_paper.summaries import Pair, Spread, buckets, compare, paired, published_pairs, welch
from kwis_paper.tables import Entry, Line, Table, all_tables, as_csv, as_latex, as_markdown, write_all
from kwis_paper.tables.buckets import bucket_table
from kwis_paper.tables.coverage import coverage_tables, higher
from kwis_paper.tables.overall import overall_table, percentile_table
from kwis_paper.tables.record import difference, number, spread
from paper.tests.made_up import NAMES, facts_of, half_as_bad, outcome_of, results_of


@pytest.fixture(scope="module")
def results() -> Results:
    return results_of(
        ["soybean", "arrhythmia", "optdigits", "optdigitsDist"],
        SETTINGS,
        half_as_bad,
        every=3,
        bootstrap=True,
    )


def _column(table: Table, name: str) -> list[Entry]:
    groups = table.groups or ("",) * len(table.columns)
    place = [f"{group} {column}".strip() for group, column in zip(groups, table.columns, strict=True)].index(
        name
    )
    return [line.entries[place] for line in table.lines]


def test_every_table_has_as_many_entries_as_columns(results: Results) -> None:
    tables = all_tables(results)
    assert len({table.key for table in tables}) == len(tables)
    for table in tables:
        assert len(table.groups) in (0, len(table.columns))
        assert {len(line.entries) for line in table.lines} <= {len(table.columns)}, table.key
        assert table.lines or table.notes, table.key


def test_tables_of_an_empty_store_say_what_is_missing() -> None:
    empty = results_of([], SETTINGS, half_as_bad)
    by_key = {table.key: table for table in all_tables(empty)}
    for key in ("oracle-published", "non-oracle-expected", "continuous-published", "learnt-oracle-expected"):
        assert any(note.startswith("Not run yet: ") for note in by_key[key].notes), key
        assert {entry.words for entry in _column(by_key[key], "WIS ours")} == {"–"}
    assert any("not run yet" in note for note in by_key["bandwidths-published"].notes)
    assert "oracle-coverage-published-bootstrap" not in by_key
    assert by_key["setups"].notes == ("Nothing was tried: `kwis paper setups` does.",)
    assert by_key["coverage-fit"].notes == ("No experiment has the paper's intervals.",)


def test_published_rows_stand_beside_ours_in_the_published_order(results: Results) -> None:
    table = bucket_table(results, "oracle", "published")
    said = published.table("oracle")
    ours = [tuple(entry.words for entry in line.entries[:3]) for line in table.lines]
    wanted = list(
        zip(said.column("dataset"), said.column("policy_type"), said.column("abs_diff_bucket"), strict=True)
    )
    assert [label for label in ours if label in wanted] == wanted
    for line in table.lines:
        wis, paper, gap = line.entries[5:8]
        if wis.value is not None and paper.value is not None:
            assert gap.value == pytest.approx(round(wis.value, 3) - paper.value)


def test_a_row_holds_the_mean_over_its_experiments(results: Results) -> None:
    row = next(
        row
        for row in buckets(results, "oracle", "published")
        if row.label == ("soybean", "Gibbs", "(0.0, 0.2]")
    )
    chosen = [
        facts
        for facts in results.chosen("oracle", "soybean")
        if facts.policy_type == "Gibbs" and facts.bucket == "(0.0, 0.2]"
    ]
    errors = np.array([half_as_bad(facts, "wis") for facts in chosen])
    assert row.ours is not None
    assert row.ours.n == len(chosen) > 3
    assert row.ours.wis.mean == pytest.approx(errors.mean())
    assert row.ours.wis.std == pytest.approx(errors.std(ddof=1))
    halved = next(one for one in buckets(results, "oracle", "expected") if one.label == row.label)
    assert halved.ours is not None
    assert halved.ours.wis.mean == pytest.approx(errors.mean() / 2)


def test_p_values_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.1, 0.02, 30), rng.normal(0.11, 0.05, 30)
    assert welch(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-9)
    assert paired(a - b) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)
    assert welch(a, a) == paired(a - a) == 1.0
    assert math.isnan(welch(a[:1], b[:1]))
    assert math.isnan(paired(a[:1]))


def test_a_shift_of_all_experiments_is_seen_by_the_paired_test_alone() -> None:
    rng = np.random.default_rng(0)
    wis = rng.uniform(0, 1, 40)
    pair = compare(wis, wis - 0.01 + rng.normal(0, 0.001, 40))
    assert pair.paired < 1e-6
    assert pair.welch > 0.5


@pytest.mark.parametrize(
    ("wis", "kernel", "winner"),
    [
        (0.0500, 0.0480, "kernel-wis"),
        (0.0500, 0.0490, ""),
        (0.0500, 0.0504, ""),
        (0.0480, 0.0500, "wis"),
        (0.0504, 0.0486, ""),
    ],
)
def test_the_better_one_is_bold_unless_within_a_thousandth(wis: float, kernel: float, winner: str) -> None:
    assert Pair(wis=Spread(wis, 0.0), kernel=Spread(kernel, 0.0), n=3, welch=0.5).winner == winner


def test_bold_in_the_overall_table_is_the_best_and_those_within_a_thousandth() -> None:
    errors = {"vis": 0.0510, "wis": 0.0501, "state-wis": 0.2, "truncated-vis": 0.0530, "kernel-wis": 0.0500}
    found = results_of(["soybean"], ["oracle"], lambda facts, name: errors.get(name, 0.001), every=20)
    line = next(
        line
        for line in overall_table(found, "published").lines
        if line.dataset == "soybean" and line.setting == "oracle"
    )
    assert [line.entries[place].bold for place in (4, 7, 10, 13, 16)] == [True, True, False, False, True]
    # In the paper's own row 0.056 of CLPD VIS is alone.
    assert [line.entries[place].bold for place in (5, 8, 11, 14, 17)] == [False, False, False, True, False]


def test_percentiles_are_those_of_the_mean_estimates() -> None:
    found = results_of(["yeast"], ["oracle"], half_as_bad, every=5)
    line = next(
        line for line in percentile_table(found).lines if line.dataset == "yeast" and line.setting == "oracle"
    )
    values = [0.5 + half_as_bad(facts, "vis") for facts in found.chosen("oracle", "yeast")]
    assert line.entries[3].value == pytest.approx(np.percentile(values, 75))
    assert line.entries[6].value == pytest.approx(max(values))


def test_coverage_is_the_share_of_test_sets(results: Results) -> None:
    influence, bootstrap, fixed = coverage_tables(results, "oracle", "published")
    assert {entry.value for entry in _column(fixed, "WIS 95%")} == {None}
    shares = {round(entry.value, 6) for entry in _column(influence, "WIS 95%") if entry.value is not None}
    assert shares == {round(8 / 9, 6)}
    assert {round(entry.value, 6) for entry in _column(bootstrap, "WIS 68%") if entry.value is not None} == {
        round(4 / 9, 6)
    }
    expected = coverage_tables(results, "oracle", "expected")[0]
    assert {entry.value for entry in _column(expected, "Kernel-WIS 95%") if entry.value is not None} == {1.0}


def test_the_higher_coverage_wins_unless_within_a_thousandth() -> None:
    assert [higher(0.5, 0.6), higher(0.6, 0.5), higher(0.5, 0.501), higher(math.nan, 0.5)] == [1, -1, 0, 0]


def test_estimates_are_reduced_against_both_truths() -> None:
    facts = next(iter(results_of(["yeast"], ["oracle"], half_as_bad, every=50).cells.values()))
    value, error = np.array([0.4, 0.6, 0.5]), np.array([0.05, 0.2, 0.01])
    stored = StoredEstimate(
        key=facts.key, estimator="wis", value=value, std_error=error, kernel_average=None, error=None
    )
    ends = np.zeros((4, 2, 3))
    ends[:, 1] = [0.4, 0.5, 0.6]
    (one,) = summarise([stored], {facts.key: facts}, {facts.key: ends})
    assert one.value == pytest.approx(0.5)
    assert one.error_published == pytest.approx(0.2 / 3)
    assert one.influence.published == (
        2,
        2,
        2,
        2,
    )  # 0.1 is 2 standard errors off in the first, beyond even 1.96
    assert one.bootstrap is not None
    assert one.bootstrap.published == (2, 2, 2, 2)
    wide = StoredEstimate(
        key=facts.key, estimator="wis", value=value, std_error=error * 1.1, kernel_average=None, error=None
    )
    assert summarise([wide], {facts.key: facts}, {})[0].influence.published == (2, 2, 2, 3)
    assert summarise([wide], {facts.key: facts}, {})[0].bootstrap is None


def test_arrhythmia_is_explained_wherever_it_is_shown(results: Results) -> None:
    for table in all_tables(results):
        if any(line.dataset == "arrhythmia" for line in table.lines) and table.key != "timings":
            assert any("452 rows on OpenML and 1,754 in the paper" in note for note in table.notes), table.key


def test_csv_holds_full_numbers_and_markdown_and_latex_the_shown_ones() -> None:
    table = Table(
        key="k",
        title="T",
        caption="C & D",
        columns=("a_b", "ours"),
        groups=("", "WIS"),
        lines=(
            Line(entries=(Entry("x|y"), spread(0.12345, 0.01, bold=True))),
            Line(entries=(Entry("50%"), number(math.nan))),
        ),
        notes=("said",),
    )
    assert list(csv.reader(io.StringIO(as_csv(table)))) == [
        ["a_b", "WIS ours"],
        ["x|y", "0.12345"],
        ["50%", "–"],
    ]
    assert "| x\\|y | **0.123 ± 0.010** |" in as_markdown(table)
    assert as_markdown(table).endswith("said\n")
    latex = as_latex(table)
    assert r"x\textbar{}y & \textbf{0.123 $\pm$ 0.010} \\" in latex
    assert r"50\% & -- \\" in latex
    assert r"\caption{C \& D}" in latex
    assert r"a\_b & ours \\" in latex
    assert latex.count("{") == latex.count("}")


def test_differences_are_at_the_printed_precision() -> None:
    assert difference(0.0514, 0.052).words == "-0.001"
    assert difference(0.0524, 0.052).words == "0.000"
    assert difference(math.nan, 0.052).words == "–"


def test_every_table_is_written_in_every_format(results: Results, tmp_path: Path) -> None:
    tables = all_tables(results)
    written = write_all(tables, tmp_path)
    assert len(written) == 3 * len(tables)
    rows = list(csv.reader((tmp_path / "oracle-published.csv").read_text(encoding="utf-8").splitlines()))
    assert {len(row) for row in rows} == {15}


@cache
def _published_run(shift: float = 0.0, *, swapped: bool = False) -> Results:
    """Experiments that fill every published oracle and non-oracle row with exactly the published counts and
    errors.
    """
    facts: dict[str, CellFacts] = {}
    outcomes: dict[str, dict[str, object]] = {name: {} for name in NAMES}
    for setting in ("oracle", "non-oracle"):
        rows = published_pairs(setting)
        waiting = {label: pair.n for label, pair in rows.items()}
        for cell in cells(PAPER_DATASETS, [setting]):
            label = next(
                (
                    one
                    for one, left in waiting.items()
                    if left and one[:2] == (cell.dataset, cell.policy_type)
                ),
                None,
            )
            if label is None:
                continue
            waiting[label] -= 1
            high = float(label[2].strip("(]").split(",")[1])
            facts[cell.key] = facts_of(cell, max(high - 0.1, 0.0))
            pair = rows[label]
            names = ("kernel-wis", "wis") if swapped else ("wis", "kernel-wis")
            errors = dict(zip(names, (pair.wis.mean, pair.kernel.mean), strict=True))
            for name in NAMES:
                outcomes[name][cell.key] = outcome_of(errors.get(name, 0.3) + shift)
    return Results(design=Design(), cells=facts, outcomes=outcomes, bandwidths={}, curves={})  # type: ignore[arg-type]


def _made(results: Results) -> dict[str, Check]:
    found = checks(results)
    assert len({check.short for check in found}) == len(found)
    return {check.short: check for check in found}


def test_a_run_with_the_published_numbers_agrees_in_everything() -> None:
    made = _made(_published_run())
    for name in (
        "Counts",
        "Totals",
        "Oracle, Gibbs",
        "Non-oracle, Gibbs",
        "Same winner, Gibbs",
        "… held out",
    ):
        assert made[name].share == 1.0, name
        assert made[name].met is True
    counts = {name: made[name].of for name in ("Counts", "Oracle, Gibbs", "Non-oracle, Gibbs")}
    assert counts == {"Counts": 35, "Oracle, Gibbs": 28, "Non-oracle, Gibbs": 22}
    assert made["Same winner, Gibbs"].of == 9
    assert made["Continuous, distance, flip"].missing == 3
    assert made["Continuous, distance, flip"].met is None


def test_no_published_row_is_counted_twice() -> None:
    made = _made(_published_run())
    trained = [row for row in published_pairs("oracle") if row[1] != "Gibbs" and row[0] != "arrhythmia"]
    assert made["Oracle, trained"].of == len(trained)
    assert made["… chosen on"].of + made["… held out"].of == len(trained)
    gibbs = [row for row in published_pairs("oracle") if row[1] == "Gibbs" and row[0] != "arrhythmia"]
    assert made["Oracle, Gibbs"].of == len(gibbs)
    # Rows of optdigits stand in the continuous table as well, and were counted with the oracle one.
    own = [row for row in published_pairs("continuous") if row[0] == "optdigitsDist"]
    continuous = (made["Continuous, distance, flip"], made["Continuous, trained, distance, flip"])
    assert sum(check.of + check.missing for check in continuous) == len(own)


def test_a_published_row_without_experiments_of_ours_does_not_agree() -> None:
    whole = _published_run()
    label = ("soybean", "SNIW", "(0.4, 0.6]")
    kept = {
        key: facts
        for key, facts in whole.cells.items()
        if facts.setting != "oracle" or (facts.dataset, facts.policy_type, facts.bucket) != label
    }
    made, before = _made(replace(whole, cells=kept)), _made(whole)
    assert made["Oracle, trained"].of == before["Oracle, trained"].of
    assert made["Oracle, trained"].agreeing == before["Oracle, trained"].agreeing - 1


def test_the_headline_has_the_weakest_table_beside_the_best() -> None:
    ends = best_and_weakest(checks(_published_run(shift=0.015)))
    assert ends is not None
    best, weakest = ends
    assert best.share == 1.0
    assert weakest.short == "Oracle, Gibbs"
    assert weakest.agreeing == 0


def test_disagreement_is_noticed() -> None:
    shifted = _made(_published_run(shift=0.015))
    assert shifted["Oracle, Gibbs"].met is False
    assert shifted["Non-oracle, Gibbs"].met is True
    assert _made(_published_run(swapped=True))["Same winner, Gibbs"].met is False
    partial = results_of(["soybean"], ["oracle"], half_as_bad, every=2)
    made = _made(partial)
    assert made["Totals"].met is False
    assert made["Counts"].met is False


def test_what_a_run_lacks_is_listed() -> None:
    partial = results_of(["soybean"], ["oracle"], half_as_bad, every=2)
    lacking = incomplete(partial)
    assert lacking[0].startswith("arrhythmia oracle (0 of 224)")
    assert "soybean oracle (108 of 216)" in lacking
    assert incomplete(results_of(PAPER_DATASETS, SETTINGS, lambda facts, name: 0.1)) == []


@pytest.mark.parametrize("bootstrap", [False, True])
def test_committed_results_give_the_same_tables(bootstrap: bool, tmp_path: Path) -> None:
    before = results_of(
        ["soybean", "optdigitsDist"], SETTINGS, half_as_bad, every=7, bootstrap=bootstrap, per_feature=True
    )
    archive.write(before, tmp_path)
    after = archive.load(tmp_path)
    assert after.cells == before.cells
    assert after.provenance == before.provenance
    assert after.replicates == before.replicates
    assert after.timings == before.timings
    assert after.bandwidths == before.bandwidths
    assert [as_markdown(table) for table in all_tables(after)] == [
        as_markdown(table) for table in all_tables(before)
    ]
    for key, values in before.curves.items():
        np.testing.assert_allclose(after.curves[key], values, rtol=1e-5)


def test_the_same_results_are_the_same_files(tmp_path: Path) -> None:
    found = results_of(["soybean"], ["oracle"], half_as_bad, every=7)
    archive.write(found, tmp_path / "a")
    archive.write(archive.load(tmp_path / "a"), tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_results_of_several_stores_are_joined_and_later_ones_count() -> None:
    first = results_of(["soybean", "optdigitsDist"], ["oracle", "continuous"], half_as_bad, every=7)
    other = replace(first.design, rule="closeness")
    second = replace(
        results_of(["optdigitsDist"], ["continuous"], lambda facts, name: 0.3, every=11, bootstrap=True),
        design=other,
    )
    joined = archive.merge([first, second])
    assert joined.design == other
    assert {facts.key for facts in joined.chosen("oracle")} == {facts.key for facts in first.chosen("oracle")}
    assert {facts.key for facts in joined.chosen("continuous")} == set(second.cells)
    assert {one.error_published for key, one in joined.outcomes["wis"].items() if key in second.cells} == {
        0.3
    }
    assert len(joined.outcomes["wis"]) == len(joined.bandwidths["shared"]) == len(joined.cells)
    assert joined.replicates == 200
    assert archive.merge([second, results_of(["soybean"], ["oracle"], half_as_bad, every=7)]).design == other
    with pytest.raises(InputError, match="`stores` must have the same design"):
        archive.merge([first, replace(second, design=replace(other, folds=3))])


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`results` must be a folder that holds manifest\.json"):
        archive.load(tmp_path)
    with pytest.raises(InputError, match=r"`store` must be a file with results, got .*nothing\.sqlite"):
        archive.load(tmp_path / "nothing.sqlite")


@pytest.mark.parametrize("truth", TRUTHS)
def test_an_estimator_of_ones_own_is_a_column_of_the_overall_table(truth: str) -> None:
    found = results_of(["soybean"], ["oracle"], half_as_bad, every=30)
    own = {**found.outcomes, "mine": found.outcomes["wis"]}
    table = overall_table(replace(found, outcomes=own), truth)  # type: ignore[arg-type]
    shown = {entry.words for entry in _column(table, "mine ours")} - {"–"}
    assert shown == {entry.words for entry in _column(table, "WIS ours")} - {"–"}
    assert shown
