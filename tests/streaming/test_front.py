"""The front doors: ``kwis.evaluate`` and the command line on logs that stay on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kwis
from kwis.cli.main import main
from kwis.errors import InputError, UnsupportedError
from kwis.streaming import collect
from tests.streaming.logs import table, write

N = 2000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("front") / "log", table(N), [800, 800])


@pytest.fixture(scope="module")
def answer(folder: Path) -> kwis.Evaluation:
    return kwis.evaluate(
        kwis.scan_log(folder, context=["age", "country"]),
        {"new": kwis.probability("p_new"), "pick": "pick"},
        rng=3,
    )


def test_a_scanned_log_is_evaluated_like_one_in_memory(folder: Path, answer: kwis.Evaluation) -> None:
    log = kwis.read_log(str(folder), propensity="propensity", context=["age", "country"])
    inside = kwis.evaluate(
        log,
        {"new": kwis.probability("p_new"), "pick": "pick"},
        estimators=["vis", "truncated-vis", "wis", "state-wis", "normalised-state-wis"],
        interval=kwis.InfluenceInterval(),
        repair="never",
        rng=3,
    )
    values = {(row.target, row.estimator): row for row in answer.rows}
    for row in inside.rows:
        found = values[row.target, row.estimator]
        assert found.estimate.value == pytest.approx(row.estimate.value, rel=1e-12)
        assert found.estimate.std_error == pytest.approx(row.estimate.std_error, rel=1e-10)
        assert found.interval.width == pytest.approx(row.interval.width, rel=0.35)  # ends of 200 resamples
        assert found.estimate.influence is None
    assert answer.propensity.verdict == inside.propensity.verdict  # the subset is the whole of a short log
    assert [one.target for one in answer.rankings[0].places] == [
        one.target for one in inside.rankings[0].places
    ]
    assert answer.targets == ("new", "pick")


def test_kernel_wis_is_that_of_the_log_in_memory(folder: Path, answer: kwis.Evaluation) -> None:
    log = kwis.read_log(str(folder), propensity="propensity", context=["age", "country"])
    row = next(row for row in answer.rows if (row.target, row.estimator) == ("new", "normalised-kernel-wis"))
    inside = kwis.evaluate(
        log,
        kwis.probability("p_new"),
        estimators=[kwis.KernelWIS(row.estimate.bandwidth, normalised=True), "wis"],
        interval=kwis.InfluenceInterval(),
        repair="never",
    )
    kernel = next(one for one in inside.rows if one.estimator == "normalised-kernel-wis")
    assert row.estimate.value == pytest.approx(kernel.estimate.value, rel=1e-9)
    assert row.estimate.std_error == pytest.approx(kernel.estimate.std_error, rel=1e-6)
    scanned, expected = (
        next(
            one
            for one in found.changes
            if one.estimator == "normalised-kernel-wis" and one.baseline == "logging policy"
        )
        for found in (answer, inside)
    )
    assert scanned.std_error == pytest.approx(expected.std_error, rel=0.02)


def test_the_answer_prints_and_is_written_like_any_other(answer: kwis.Evaluation, tmp_path: Path) -> None:
    text = repr(answer)
    assert "scanned once, 2,000 rows" in text.replace("\n    ", " ")
    assert "propensities were used as given: repair needs all rows in memory" in answer.notes
    assert "direct-method" in next(note for note in answer.notes if note.startswith("left out"))
    stored = json.loads(answer.to_json())
    assert stored["settings"]["intervals"]["wis"] == "Poisson bootstrap (percentile, 200 resamples)"
    assert stored["settings"]["n"] == N
    frame = answer.to_frame("pandas")
    assert len(frame) == len(answer.rows)
    page = Path(answer.to_html(tmp_path / "report.html")).read_text()
    assert "normalised-state-wis" in page
    assert "new" in str(answer.table())


def test_a_path_alone_has_columns_with_their_usual_names(folder: Path) -> None:
    answer = kwis.evaluate(
        folder, "p_new", estimators=["wis"], interval=kwis.Bootstrap(10, method="percentile")
    )
    assert answer.rows[-1].interval.distribution is not None
    assert answer.rows[-1].interval.distribution.size == 10
    assert any("no context was named" in note for note in answer.notes)
    bare = kwis.evaluate(str(folder), "p_new", estimators=["wis"], interval=kwis.InfluenceInterval())
    assert bare.rows[-1].interval.method == "influence"
    error = bare.rows[-1].estimate.std_error
    assert bare.rows[-1].interval.width == pytest.approx(2 * 1.959964 * error, rel=1e-6)


def test_what_a_scan_cannot_do_is_refused_in_a_sentence(folder: Path) -> None:
    scanned = kwis.scan_log(folder, context=["age"])
    refusals: list[tuple[dict[str, Any], str]] = [
        (
            {"by": ["country"]},
            "^`by` must go with a log in memory, from kwis.read_log, got one that is scanned$",
        ),
        ({"interval": kwis.Bootstrap()}, "^`interval` must be a percentile Bootstrap or InfluenceInterval"),
        (
            {"interval": kwis.StudentInterval()},
            "^`interval` must be a percentile Bootstrap or InfluenceInterval",
        ),
        (
            {"estimators": [kwis.TruncatedVIS(5)]},
            "^`estimators` must be of those that a scanned log has, got truncated-vis",
        ),
        ({"repair": "always"}, "^`repair` must not be 'always' for a log that is scanned"),
        ({"level": 2}, "^`level` must be between 0 and 1, got 2$"),
    ]
    for options, sentence in refusals:
        with pytest.raises((InputError, UnsupportedError), match=sentence):
            kwis.evaluate(scanned, "p_new", **options)
    with pytest.raises(
        InputError,
        match=(
            r"^`log` must be a file, a folder or a pattern that matches files, and 'nowhere' does not "
            r"exist$"
        ),
    ):
        kwis.evaluate("nowhere", "p_new")
    with pytest.raises(
        InputError,
        match=r"^`log` must be a path, a data frame, .* or a dictionary of arrays, got builtins.int$",
    ):
        kwis.evaluate(3, "p_new")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["evaluate", *arguments])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_the_command_line_scans_when_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--target", "p_new", "--context", "age,country", "-e", "wis,state-wis")
    code, out, err = run(capsys, str(folder), *options, "--stream", "--json")
    assert code == 0, err
    stored = json.loads(out)
    assert any(note.startswith("the log was scanned once") for note in stored["notes"])
    assert err.startswith("reading 2,000 rows in batches; --no-stream reads them into memory")
    inside = run(capsys, str(folder), *options, "--repair", "never", "--json", "--no-stream")[1]
    assert json.loads(inside)["rows"][1]["estimate"]["value"] == pytest.approx(
        stored["rows"][1]["estimate"]["value"], rel=1e-12
    )


def test_the_command_line_scans_by_itself_above_a_size_and_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "COLLECTED_ROWS", N - 1)
    options = (str(folder), "--target", "p_new", "--context", "age", "-e", "wis")
    code, out, err = run(capsys, *options, "--fail-below", "100")
    assert code == 1
    assert "reading 2,000 rows in batches" in err
    assert "gate failed" in err
    assert "2,000 decisions in 3 files" in out
    assert "scanned once" in out
    assert "in batches" not in run(capsys, *options, "--no-stream")[2]
    monkeypatch.setattr(collect, "COLLECTED_ROWS", N)
    assert "in batches" not in run(capsys, *options)[2]


def test_the_command_line_refuses_what_files_in_batches_do_not_have(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (str(folder), "--target", "p_new", "--context", "age")
    for more, sentence in (
        (("--estimate-propensity",), "`propensity` must be named for a log that is read in batches"),
        (("--repair", "always"), "`repair` must not be 'always' for a log that is read in batches"),
        (("--stream", "--by", "country"), "`by` must go with a log in memory"),
    ):
        code, _, err = run(capsys, *options, *more)
        assert code == 2
        assert sentence in err


def test_random_numbers_of_the_subset_do_not_move_the_estimates(folder: Path) -> None:
    first, second = (
        kwis.evaluate(kwis.scan_log(folder, context=["age"]), "p_new", estimators=["wis"], rng=seed).rows[-1]
        for seed in (1, 2)
    )
    assert first.estimate.value == second.estimate.value
    assert first.interval.low != second.interval.low
    assert np.isfinite([first.interval.low, second.interval.high]).all()
