"""Evaluations kept, shown and compared."""

from __future__ import annotations

import json
import sys
import zipfile

import numpy as np
import pytest

import kwis
from kwis.cli.main import main
from kwis.report.plots import KINDS, Drawing, axes_of, chart_of, svg_of
from kwis.result.diff import difference_of, shared_rows
from tests.contracts.same import gaps


def test_a_saved_evaluation_is_the_same_and_makes_the_same_report(evaluation, tmp_path):
    path = evaluation.save(tmp_path / "evaluation.kwis")
    found = kwis.load(path)
    assert max(gap for _, gap in gaps(evaluation, found, "")) == 0.0
    assert repr(found) == repr(evaluation)
    assert found.to_json() == evaluation.to_json()
    evaluation.to_html(tmp_path / "a.html")
    found.to_html(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert not found.rows[1].estimate.influence.flags.writeable
    evaluation.save(path)  # a file of its own may be replaced


def test_no_other_file_is_loaded_or_replaced(evaluation, tmp_path):
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("kwis-evaluation.json", json.dumps({"record": "os:system", "fields": {}}))
    with pytest.raises(kwis.InputError, match="records of kwis only"):
        kwis.load(other)
    text = tmp_path / "notes.txt"
    text.write_text("mine")
    for wrong in (text, tmp_path / "nowhere"):
        with pytest.raises(kwis.InputError, match=r"evaluation\.save wrote"):
            kwis.load(wrong)
    with pytest.raises(kwis.InputError, match="must not replace"):
        evaluation.save(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"record": "kwis.__main__:run", "fields": {}}',  # importing it would run the command
        '{"record": "kwis.runtime.cluster:Cluster", "fields": {}}',
        '{"record": "kwis.results:Estimate", "fields": {"name": 1}}',
        '{"array": 7}',
        '{"tuple": 1}',
        '{"unknown": []}',
        '{"mapping": [[{"mapping": []}, 1]]}',
        "[" * 100_000,
        "{",
        "\udcff",
    ],
)
def test_a_damaged_or_hostile_evaluation_is_refused_and_runs_nothing(text, tmp_path, monkeypatch):
    monkeypatch.setattr("kwis.cli.main.run", lambda: pytest.fail("the command was run"))
    monkeypatch.delitem(sys.modules, "kwis.__main__", raising=False)
    path = tmp_path / "evaluation.kwis"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("kwis-evaluation.json", text.encode("utf-8", "surrogatepass"))
    with pytest.raises(kwis.InputError, match=r"evaluation\.save wrote|records of kwis only"):
        kwis.load(path)


def test_an_evaluation_that_would_fill_the_memory_is_refused(evaluation, tmp_path, monkeypatch):
    path = evaluation.save(tmp_path / "evaluation.kwis")
    monkeypatch.setattr("kwis.data.read.limits.FREE_BYTES", 1_000)
    monkeypatch.setattr("kwis.data.read.limits.EXPANSION", 20)
    assert kwis.load(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.npy", bytes(50_000_000))
    with pytest.raises(kwis.InputError, match="must not expand to far more than its size"):
        kwis.load(path)


def test_a_drawing_replaces_a_drawing_of_kwis_and_no_other(evaluation, tmp_path):
    drawing = Drawing(svg_of(chart_of(evaluation, "forest")))
    path = tmp_path / "chart.svg"
    drawing.save(path)
    drawing.save(path)
    path.write_text("<svg>my logo</svg>")
    with pytest.raises(kwis.InputError, match="must not replace"):
        drawing.save(path)
    assert path.read_text() == "<svg>my logo</svg>"


def test_frames_have_a_line_for_each_thing(evaluation):
    summary, changes = evaluation.summary_frame(), evaluation.changes_frame()
    assert len(summary) == len(evaluation.recommendations)
    for found, (_, line) in zip(evaluation.recommendations, summary.iterrows(), strict=True):
        assert line["value"] == found.row.estimate.value
        assert line["relative"] == found.change.relative.value
        assert line["trustworthy_low"] <= line["trustworthy_high"]
    assert list(changes["change"]) == [one.interval.value for one in evaluation.changes]
    segments = evaluation.segments_frame("polars")
    assert segments.height == sum(len(one.rows) for every in evaluation.segments for one in every.segments)


def test_markdown_is_a_table_for_every_reward(evaluation):
    text = evaluation.to_markdown()
    assert text.count("| policy | value |") == len(evaluation.rewards)
    for found in evaluation.recommendations:
        name = found.target.replace("_", r"\_")
        assert f"| {name} | " in text
    assert "```python\n# kwis" in text


def test_a_notebook_shows_the_headline_in_a_frame_of_its_own(evaluation, log):
    html = evaluation._repr_html_()
    assert html.startswith("<iframe")
    assert "&lt;h1&gt;" in html
    assert "&lt;svg" in html
    assert "banner" in log._repr_html_()


def test_a_log_describes_its_actions(log):
    text = log.describe()
    share = np.mean(log.action == 0)
    assert f"{log.action_names[0]}, {share:.1%}, click " in text
    assert len(repr(log).splitlines()) < len(text.splitlines())


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_is_drawn_as_svg_that_stands_alone(kind, evaluation, tmp_path):
    from xml.etree import ElementTree as ET

    text = svg_of(chart_of(evaluation, kind))
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(--" not in text
    assert Drawing(text).save(tmp_path / "chart.svg").read_text() == text


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_has_axes(kind, evaluation):
    plt = pytest.importorskip("matplotlib.pyplot")
    axes = axes_of(chart_of(evaluation, kind))
    assert axes.get_xlabel()
    assert axes.lines or axes.patches
    assert axes.figure.number in plt.get_fignums()  # so that a notebook shows it
    plt.close(axes.figure)


def test_a_chart_that_there_is_not_is_refused(evaluation):
    with pytest.raises(kwis.InputError, match="`kind` must be one of forest"):
        evaluation.plot("pie")
    with pytest.raises(kwis.InputError, match="`target` must be one of p_new"):
        evaluation.plot("weights", target="p_old")


def test_shared_rows_are_counted(log):
    from kwis.evaluation.sketch import sketch_of

    first, second = log.take(np.arange(300)), log.take(np.arange(100, 400))
    assert len(set(sketch_of(first))) == 300
    assert shared_rows(sketch_of(first), sketch_of(second), 300, 300) == 200
    assert shared_rows(sketch_of(first), sketch_of(first.take(np.arange(300)[::-1])), 300, 300) == 300


def test_shared_rows_of_large_logs_are_estimated():
    from kwis.evaluation.sketch import sketch_of

    log = kwis.sample_log(6000, rng=0).read(reward="click")
    first, second = log.take(np.arange(4000)), log.take(np.arange(1000, 6000))
    found = shared_rows(sketch_of(first), sketch_of(second), 4000, 5000)
    assert abs(found - 3000) < 400  # four standard deviations of the share among 512 rows


def _stored(value, error, n, sketch, level="trust"):
    row = {
        "target": "p",
        "reward": "r",
        "recommended": True,
        "verdict": {"level": level},
        "estimate": {"value": value, "std_error": error, "name": "wis"},
    }
    return {"settings": {"n": n, "sketch": sketch, "level": 0.95}, "rows": [row]}


def test_a_change_is_judged_by_the_rows_that_are_not_shared():
    apart = difference_of(_stored(1.0, 0.1, 100, [1, 2]), _stored(1.25, 0.1, 100, [3, 4]))
    assert apart.moved[0].std_error == pytest.approx(0.1 * np.sqrt(2))
    assert "no more than chance" in repr(apart)
    rows = list(range(100))
    half = difference_of(_stored(1.0, 0.1, 100, rows), _stored(1.25, 0.1, 100, list(range(50, 150))))
    assert half.shared == 50
    assert half.moved[0].std_error == pytest.approx(0.1)  # sqrt(2 - 2 * 0.5) standard errors
    assert "more than chance (p = 0.012)" in repr(half)
    assert "100 now, 50 rows in both" in repr(half)
    large = difference_of(_stored(1.0, 0.1, 600, range(512)), _stored(1.0, 0.1, 600, range(512)))
    assert "600 now, about 600 rows in both" in repr(large)
    same = difference_of(_stored(1.0, 0.1, 100, rows), _stored(1.25, 0.1, 100, rows, "with care"))
    assert "not chance but other settings" in repr(same)
    assert "verdict trust before, with care now" in repr(same)


def test_the_command_compares_files(evaluation, tmp_path, capsys):
    evaluation.to_json(tmp_path / "last.json")
    evaluation.save(tmp_path / "this.kwis")
    assert main(["diff", str(tmp_path / "last.json"), str(tmp_path / "this.kwis")]) == 0
    out = capsys.readouterr().out
    assert "400 rows before, 400 now, 400 rows in both" in out
    assert out.count("(the same)") == 6
    assert repr(kwis.diff(evaluation, kwis.load(tmp_path / "this.kwis"))) in out
    (tmp_path / "bad.json").write_text("{}")
    assert main(["diff", str(tmp_path / "bad.json"), str(tmp_path / "this.kwis")]) == 2
    assert "must hold an evaluation" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"schema": "kwis-evaluation/1", "rows": 3}', "must hold an evaluation"),
        ('{"schema": "kwis-evaluation/1", "rows": [], "settings": {"n": "many"}}', "must hold an evaluation"),
        ("[" * 100_000, "it is no JSON"),
    ],
    ids=["parts missing", "text for a number", "deep"],
)
def test_a_file_that_cannot_be_compared_is_named(text, sentence, tmp_path, capsys):
    path = tmp_path / "damaged.json"
    path.write_text(text)
    assert main(["diff", str(path), str(path)]) == 2
    said = capsys.readouterr().err
    assert "damaged.json" in said
    assert sentence in said
