"""Tables, frames, JSON and words."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import kwis
from kwis.result.output import SCHEMA, plain
from kwis.result.text_table import TextTable
from kwis.result.words import decimals, number


def test_the_table_has_a_line_per_policy_and_estimator(evaluation):
    text = str(evaluation.table("click"))
    lines = text.splitlines()
    assert lines[0] == "click, 400 rows"
    assert lines[1].split("  ")[0] == "policy"
    assert sum(" * " in line for line in lines) == 2
    body = lines[2 : 2 + 23]
    assert len({line.rfind("trust") > 0 or line.endswith("with care") for line in body}) == 1
    assert max(map(len, lines)) <= 140
    assert "* recommended" in text


def test_the_table_of_all_rewards_has_a_block_for_each(evaluation):
    text = str(evaluation.table())
    assert "click, 400 rows" in text
    assert "revenue, 400 rows" in text
    with pytest.raises(kwis.InputError, match="`reward` must be one of click, revenue"):
        evaluation.table("clicks")


def test_markup_in_names_stays_text():
    table = TextTable(
        header=("policy", "value"),
        numeric=frozenset(("value",)),
        blocks=(("<b>x</b>", (("<script>", "1"),)),),
        footer=("a & b",),
    )
    shown = table._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "&lt;b&gt;" in shown
    assert "a &amp; b" in shown


def test_numbers_show_two_digits_of_the_narrowest_interval():
    assert decimals([0.05, 0.5]) == 3
    assert decimals([30.0, 4000.0]) == 0
    assert decimals([0.0, math.nan]) == 4
    assert number(12345.678, 1) == "12,345.7"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_hold_the_rows(evaluation, library):
    pytest.importorskip(library)
    frame = evaluation.to_frame(library)
    columns = (
        frame.to_pydict() if library == "pyarrow" else {name: list(frame[name]) for name in frame.columns}
    )
    assert columns["value"] == [row.estimate.value for row in evaluation.rows]
    assert columns["verdict"] == [row.verdict.level for row in evaluation.rows]
    for row, value, low, simultaneous in zip(
        evaluation.rows,
        columns["change"],
        columns["change_low"],
        columns["change_simultaneous_low"],
        strict=True,
    ):
        if row.target == "logging policy":
            assert math.isnan(value)
        else:
            assert simultaneous <= low <= value
    with pytest.raises(kwis.InputError, match="`library` must be one of"):
        evaluation.to_frame("dask")


def test_json_holds_everything_but_arrays_per_row(evaluation, tmp_path):
    text = evaluation.to_json(tmp_path / "answer.json")
    assert (tmp_path / "answer.json").read_text(encoding="utf-8").strip() == text
    read = json.loads(text)
    assert read["schema"] == SCHEMA
    assert len(read["rows"]) == len(evaluation.rows)
    assert read["rows"][3]["estimate"]["value"] == evaluation.rows[3].estimate.value
    assert read["settings"]["seed"] == 0
    assert read["recommendations"][0]["why"]
    assert read["paths"][0]["bandwidths"][-1] == "inf"
    assert "influence" not in text.replace('"influence', "")
    with pytest.raises(kwis.InputError, match="`path` must be in a folder that exists"):
        evaluation.to_json(tmp_path / "nowhere" / "answer.json")


def test_what_json_cannot_say_is_null_or_text():
    assert plain({"a": np.array([1.0, math.nan, math.inf, -math.inf]), 3: (np.int64(2), None, True)}) == {
        "a": [1.0, None, "inf", "-inf"],
        "3": [2, None, True],
    }


def test_an_evaluation_prints_its_answer(evaluation):
    text = repr(evaluation)
    assert text.startswith("Evaluation of 2 policies on 400 logged decisions")
    for words in (
        "per decision under the logging policy",
        "\nrevenue: ",
        "Can it be trusted?",
        "Why these estimates?",
    ):
        assert words in text
    assert max(map(len, text.splitlines())) <= 120
    for note in evaluation.notes:
        assert note.split()[0] in text


@pytest.mark.parametrize(
    ("said", "repair", "words"),
    [
        ({}, "never", "column `propensity` (none was named)"),
        ({"propensity": "propensity"}, "never", "column `propensity`"),
        ({"propensity": "propensity"}, "always", "column `propensity`, repaired from the logged actions"),
        ({"propensity": {"banner": 0.5, "email": 0.3, "push": 0.2}}, "never", "as given"),
        ({"propensity": 0.5}, "never", "0.5, as given"),
        ({"propensity": False}, "never", "estimated from the context by "),
    ],
)
def test_the_first_lines_say_where_propensities_are_from(said, repair, words):
    frame = kwis.sample_log(300, rng=1)
    log = kwis.read_log(frame.table, reward="click", context=["country", "age"], **said)
    evaluation = kwis.evaluate(log, "p_new", estimators=["wis"], repair=repair)
    line = repr(evaluation).splitlines()[1]
    assert line.startswith(f"Propensities: {words}")
    assert "estimated" in words or line == f"Propensities: {words}"


def test_a_recommendation_prints_why(evaluation):
    text = repr(evaluation.recommended["p_new"])
    found = evaluation.recommended["p_new"]
    assert text.startswith("p_new, click: ")
    for words in (
        found.row.estimator,
        "the logging policy",
        found.row.verdict.level,
        found.why[0].split()[-1],
        found.runner_up.estimator,
    ):
        assert words in text


def test_records_are_frozen(evaluation):
    with pytest.raises(AttributeError):
        evaluation.rows = ()
    with pytest.raises(ValueError, match="read-only"):
        evaluation.weights["p_new"][0] = 1.0
    assert replace(evaluation.rows[0], recommended=False).recommended is False
