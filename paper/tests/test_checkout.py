from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kwis import InputError
from kwis_paper import archive, checkout, reproduction
from kwis_paper.contents import TABLES
from kwis_paper.earlier import with_earlier
from kwis_paper.results import Results
from kwis_paper.tables import all_tables
from paper.tests.made_up import half_as_bad, results_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results() -> Results:
    return results_of(["yeast"], ["oracle", "non-oracle"], half_as_bad, every=6)


def test_the_table_of_the_summary_is_made_between_its_marks_and_nowhere_else(results: Results) -> None:
    text = f"# Title\n\nbefore\n{checkout.BEGIN}\nold\n{checkout.END}\n\nafter\n"
    found = checkout.with_table(text, results)
    assert found.startswith(f"# Title\n\nbefore\n{checkout.BEGIN}\n| Published table")
    assert found.endswith(f"{checkout.END}\n\nafter\n")
    assert "old" not in found
    assert "| yeast | 0." in found
    assert checkout.with_table(found, results) == found
    with pytest.raises(InputError, match="must hold the lines"):
        checkout.with_table("# Title", results)


def test_every_published_table_stands_on_the_page_of_all_of_them(results: Results) -> None:
    page = reproduction.as_page(results)
    shown = {table.label for table in all_tables(results) if f"### {table.title}\n" in page}
    assert set(TABLES) <= shown


def test_pages_are_written_once_and_a_check_says_what_would_change(results: Results, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "paper.md").write_text(f"{checkout.BEGIN}\n{checkout.END}\n")
    assert len(checkout.write(results, tmp_path, check=True)) == 4
    assert [path.name for path in (tmp_path / "docs").iterdir()] == ["paper.md"]
    assert len(checkout.write(results, tmp_path)) == 4
    assert checkout.write(results, tmp_path) == []
    (tmp_path / "docs" / "reproduction.md").write_text("edited by hand")
    assert checkout.write(results, tmp_path, check=True) == [tmp_path / "docs" / "reproduction.md"]


@pytest.mark.slow
def test_the_committed_pages_come_from_the_committed_results() -> None:
    assert checkout.write(archive.read(ROOT / "results"), ROOT, check=True) == []


def test_only_the_very_same_experiments_keep_their_earlier_bandwidths() -> None:
    earlier = results_of(["yeast"], ["oracle"], half_as_bad, every=6, per_feature=True)
    bare = results_of(["yeast"], ["oracle"], half_as_bad, every=6)
    changed = next(iter(bare.cells))
    moved = {**bare.outcomes["wis"], changed: replace(bare.outcomes["wis"][changed], value=0.9)}
    # Another processor rounds the last bit otherwise.
    cells = {
        key: replace(facts, truth_expected=float(np.nextafter(facts.truth_expected, 1.0)))
        for key, facts in bare.cells.items()
    }
    now = replace(bare, cells=cells, outcomes={**bare.outcomes, "wis": moved})
    found = with_earlier(now, earlier)
    assert set(found.outcomes["kernel-wis-per-feature"]) == set(bare.cells) - {changed}
    assert set(found.bandwidths["per-feature"]) == set(bare.cells) - {changed}
    assert found.outcomes["wis"] == moved


def test_what_is_new_of_an_estimator_joins_what_earlier_results_have_of_it(results: Results) -> None:
    name, kind = "kernel-wis-per-feature-plain", "per-feature-plain"
    first, second, third = list(results.cells)[:3]
    wis, shared = results.outcomes["wis"], results.bandwidths["shared"]

    def with_plain(keys: tuple[str, ...], value: float) -> Results:
        plain = {key: replace(wis[key], value=value) for key in keys}
        widths = {key: shared[key] for key in keys}
        spent = replace(results.timings[0], dataset="yeast", setting="oracle", stage=kind, seconds=value)
        return replace(
            results,
            timings=(spent,),
            outcomes={**results.outcomes, name: plain},
            bandwidths={**results.bandwidths, kind: widths},
        )

    found = with_earlier(with_plain((second, third), 0.2), with_plain((first, second), 0.1))
    assert {key: one.value for key, one in found.outcomes[name].items()} == {
        first: 0.1,
        second: 0.2,
        third: 0.2,
    }
    assert set(found.bandwidths[kind]) == {first, second, third}
    assert [one.seconds for one in found.timings] == [0.2, 0.1]
    again = with_earlier(with_plain((first, second), 0.2), with_plain((first, second), 0.1))
    assert [one.seconds for one in again.timings] == [0.2]
