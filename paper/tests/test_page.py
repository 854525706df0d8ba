from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kwis import InputError
from kwis_paper.contents import FIGURES, TABLES, contents
from kwis_paper.figures import all_figures
from kwis_paper.grid import SETTINGS
from kwis_paper.page import render, write_page
from kwis_paper.results import Results
from kwis_paper.tables import all_tables
from paper.tests.made_up import half_as_bad, results_of
from tests.report.checked import Checked
from tests.report.test_browser import BROWSER, opened

# Labels of the tables and figures in the paper's source, in its order.
PAPER_TABLES = [
    "dataset_summary_stats",
    "overall_results",
    "overall_results_mm",
    "k_wis_wis_oracle_results",
    "k_wis_wis_oracle_width",
    "k_wis_wis_non_oracle_results",
    "k_wis_wis_non_oracle_width",
    "k_wis_wis_cont_results",
    "overall_results_wis_optim",
    "assump_justi",
    "k_wis_wis_oracle_results_learnt_policies",
    "k_wis_wis_non_oracle_results_learnt_policies",
]
PAPER_FIGURES = [
    "kwis_performance_no_buffer_by_n_samples_oracle",
    "norm_performance_by_n_samples_oracle",
    "kwis_performance_no_buffer_by_action_dim_oracle",
    "norm_performance_by_action_dim_oracle",
    "summary_performance_oracle",
    "both_cov_prop_oracle",
    "cov_diff_oracle",
    "kwis_performance_no_buffer_by_n_samples_non_oracle",
    "norm_performance_by_n_samples_non_oracle",
    "kwis_performance_no_buffer_by_action_dim_non_oracle",
    "norm_performance_by_action_dim_non_oracle",
    "summary_performance_non_oracle",
    "both_cov_prop_non_oracle",
    "cov_diff_non_oracle",
    "mean_dists_cont_reward",
    "optdigit_data_examps",
    "kwis_optim_unique_bw_mean_ovr_std_oracle",
    "mean_mean_dist_by_ds_oracle",
    "kwis_performance_no_buffer_by_action_dim_oracle_learnt_policies",
    "norm_performance_by_action_dim_oracle_learnt_policies",
    "kwis_performance_no_buffer_by_action_dim_non_oracle_learnt_policies",
    "norm_performance_by_action_dim_non_oracle_learnt_policies",
    "summary_performance_cont_policy",
    "vae_training_metrics",
]


@pytest.fixture(scope="module")
def results() -> Results:
    return results_of(
        ("soybean", "arrhythmia", "optdigitsDist"),
        SETTINGS,
        half_as_bad,
        every=5,
        bootstrap=True,
        per_feature=True,
    )


@pytest.fixture(scope="module")
def page(results: Results) -> str:
    return render(results)


def test_every_table_and_figure_of_the_paper_is_reproduced(results: Results) -> None:
    assert [label.removeprefix("tbl:") for label in TABLES] == PAPER_TABLES
    made = all_figures(results)
    reproduced = {label.removeprefix("fig:") for figure in made for label in (figure.label, *figure.parts)}
    assert reproduced == set(PAPER_FIGURES)
    assert {figure.label for figure in made} == set(FIGURES)
    for item in contents(all_tables(results), made):
        assert item.keys, item.name


def test_the_list_on_the_page_leads_to_every_table_and_figure(page: str) -> None:
    checked = Checked(page)
    addresses = {found["id"] for found in checked.attributes if "id" in found}
    links = [
        found["href"] for name, found in zip(checked.names, checked.attributes, strict=True) if name == "a"
    ]
    assert {link.removeprefix("#") for link in links if link} <= addresses
    for number in range(1, 13):
        assert f"Table {number}: " in page
    for number in range(1, 11):
        assert f"Figure {number}: " in page


def test_links_to_sections_stand_apart(page: str) -> None:
    """In a row of their own, whose gaps the style sheet makes; as plain text they would run together."""
    links = re.search(r"<nav[^>]*><div>((?:<a [^>]*>[^<]*</a>)+)</div></nav>", page)
    assert links is not None
    assert links.group(1).count("<a ") > 10
    assert re.search(r"\nnav > div \{ display: flex; gap: 0 20px;", page)


def test_identifiers_are_unique(page: str) -> None:
    found = [attributes["id"] for attributes in Checked(page).attributes if "id" in attributes]
    assert len(found) == len(set(found))


def test_the_page_fetches_nothing(page: str) -> None:
    assert "default-src 'none'" in page
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", page)
    assert " style=" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_the_summary_comes_first_and_says_how_many_rows_agree(page: str) -> None:
    heading = re.search(r"<h1>(.*?)</h1>", page)
    assert heading is not None
    assert re.match(r"From \d+ of \d+ \(.*\) to \d+ of \d+ \(.*\): how far every table", heading.group(1))
    assert "Kernel weighted importance sampling for off-policy evaluation in contextual bandits" in page
    assert "Joshua Spear" in page
    assert page.index('id="summary"') < page.index('id="contents"') < page.index('id="oracle-published"')
    assert "Fewer experiments than the paper&#x27;s grid: " in page
    assert "1.0 minutes with shared bandwidths; none failed" in page


def test_arrhythmia_is_explained_beside_every_block_that_shows_it(page: str) -> None:
    blocks = re.split(r'(?=<div class="block")', page)
    showing = [
        block for block in blocks if 'data-dataset="arrhythmia"' in block or ">arrhythmia</text>" in block
    ]
    assert len(showing) > 15
    for block in showing:
        assert "452 rows on OpenML and 1,754 in the paper" in block, block[:200]


def test_rows_carry_what_they_are_filtered_by(page: str) -> None:
    checked = Checked(page)
    rows = [
        found
        for name, found in zip(checked.names, checked.attributes, strict=True)
        if name == "tr" and "data-of" in found
    ]
    assert {row["data-of"] for row in rows} == set(SETTINGS)
    options = {
        found["value"]
        for name, found in zip(checked.names, checked.attributes, strict=True)
        if name == "option"
    }
    assert {row.get("data-dataset") for row in rows} - {None} <= options


def test_text_from_outside_is_escaped(results: Results) -> None:
    nasty = "<script>alert(1)</script>"
    own = {**results.outcomes, nasty: results.outcomes["wis"]}
    shown = render(replace(results, outcomes=own))
    assert nasty not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; ours" in shown
    Checked(shown)


def test_a_page_without_results_says_so() -> None:
    shown = render(replace(results_of([], SETTINGS, half_as_bad), curves={}, timings=()))
    assert "No published row has results yet" in shown
    assert "no results yet" in shown
    Checked(shown)


def test_the_page_is_written_whole_or_not_at_all(results: Results, tmp_path: Path) -> None:
    path = write_page(results, tmp_path / "paper.html")
    assert [one.name for one in tmp_path.iterdir()] == ["paper.html"]
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    with pytest.raises(InputError, match="`path` must be in a folder that exists"):
        write_page(results, tmp_path / "nowhere" / "paper.html")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH")
def test_a_browser_runs_the_page_and_its_filters(results: Results, tmp_path: Path) -> None:
    path = write_page(results, tmp_path / "paper.html")
    elements, console = opened(path, tmp_path / "profile")
    assert console == []
    checked = Checked(elements)
    assert checked.attributes[checked.places("html")[0]]["data-ready"] == "yes"
    form = next(found for found in checked.attributes if found.get("id") == "filters")
    assert "hidden" not in form


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH")
def test_choosing_a_dataset_hides_the_rows_of_others(results: Results, tmp_path: Path) -> None:
    text = write_page(results, tmp_path / "paper.html").read_text(encoding="utf-8")
    # The policy of content forbids further scripts, so the test's own page goes without one.
    choose = """<script>addEventListener("load", () => {
      const form = document.getElementById("filters");
      form.elements.dataset.value = "soybean"; form.elements.setting.value = "oracle";
      form.elements.truth.value = "expected";
      form.dispatchEvent(new Event("change"));
    });</script></body>"""
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace(
        "</body>", choose
    )
    filtered = tmp_path / "filtered.html"
    filtered.write_text(open_page, encoding="utf-8")
    elements, console = opened(filtered, tmp_path / "profile")
    assert console == []
    checked = Checked(elements)
    rows = [
        found
        for name, found in zip(checked.names, checked.attributes, strict=True)
        if name == "tr" and "data-dataset" in found
    ]
    assert {row["data-dataset"] for row in rows if "hidden" not in row} == {"soybean"}
    assert {row["data-of"] for row in rows if "hidden" not in row and "data-of" in row} == {"oracle"}
    blocks = {
        found["id"]: "hidden" in found
        for found in checked.attributes
        if found.get("class") == "block" and "id" in found
    }
    assert blocks["oracle-published"]
    assert blocks["non-oracle-expected"]
    assert not blocks["oracle-expected"]
