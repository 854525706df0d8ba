"""What the commands print, write and return when the input is good."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer

import kwis
from kwis.cli.gate import Gate, Of, Using
from kwis.cli.terminal import as_options
from tests.cli.example import Run, columns, write_csv, write_parquet

QUICK = ("--context", "age,country", "--estimator", "wis,normalised-kernel-wis")


@pytest.fixture(scope="module")
def answer() -> kwis.Evaluation:
    table = {
        name: values
        for name, values in columns().items()
        if name in ("action", "reward", "propensity", "age", "country", "p_new")
    }
    log = kwis.read_log(table, propensity="propensity", context=["age", "country"])
    return kwis.evaluate(log, "p_new", estimators=["wis", "normalised-kernel-wis"])


def test_evaluate_prints_the_answer_of_the_library(run: Run, log: Path, answer: kwis.Evaluation) -> None:
    ended = run("evaluate", log, *QUICK, "--target", "p_new")
    assert (ended.code, ended.err) == (0, "")
    for line in map(as_options, repr(answer).splitlines()):
        assert line in ended.out
    recommended = answer.recommended["p_new"].row
    assert re.search(rf"\* {recommended.estimator} +{recommended.estimate.value:.2f}", ended.out)
    assert "240 decisions among 3 actions (banner, email, push)" in ended.out


def test_piped_output_has_no_colours_no_bars_and_no_blanks_at_the_end(run: Run, log: Path) -> None:
    ended = run("evaluate", log, *QUICK, "--target", "p_new", "--by", "country")
    assert "\x1b" not in ended.out + ended.err
    assert not [line for line in ended.out.splitlines() if line != line.rstrip()]
    assert ended.err == ""
    assert max(map(len, ended.out.splitlines())) <= 160


def test_json_is_all_there_is_on_stdout(run: Run, log: Path, answer: kwis.Evaluation) -> None:
    ended = run("evaluate", log, *QUICK, "--target", "p_new", "--json")
    found, expected = json.loads(ended.out), json.loads(answer.to_json())
    assert found["schema"] == expected["schema"]
    assert found["rows"] == expected["rows"]
    assert found["changes"] == expected["changes"]


def test_files_are_written_and_replaced_whole(run: Run, log: Path, tmp_path: Path) -> None:
    report, plain = tmp_path / "report.html", tmp_path / "answer.json"
    report.write_text('<meta name="generator" content="kwis">an older report')
    plain.write_text('{"schema": "kwis-evaluation/1"}')
    ended = run("evaluate", log, *QUICK, "--target", "p_new", "--report", report, "--json-file", plain)
    assert ended.code == 0
    assert report.read_text().startswith("<!DOCTYPE html>") or report.read_text().startswith(
        "<!doctype html>"
    )
    assert json.loads(plain.read_text())["rows"]
    assert f"Report: {report}" in ended.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.json", "log.csv", "report.html"]


def test_every_source_and_every_form_of_a_target_gives_the_same_answer(
    run: Run, table: dict[str, list[Any]], tmp_path: Path
) -> None:
    import duckdb

    parquet = write_parquet(tmp_path / "log.parquet", table)
    database = tmp_path / "shop.db"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE decisions AS SELECT * FROM read_parquet('{parquet}')")
    common = ("--context", "age,country", "-e", "wis", "--json")
    answers = [
        run("evaluate", parquet, *common, "-t", "p_new"),
        run("evaluate", tmp_path / "*.parquet", *common, "-t", "p_new=p_new"),
        run("evaluate", parquet, *common, "-t", "p_new=q"),
        run("evaluate", parquet, *common, "-t", "p_new=probability:p_new"),
        run("evaluate", parquet, *common, "-t", "p_new=distribution:q_banner,q_email,q_push"),
        run("evaluate", parquet, *common, "-t", "p_new", "--propensity", "b"),
        run("evaluate", database, *common, "-t", "p_new", "--query", "SELECT * FROM decisions"),
        run("evaluate", parquet, *common, "-t", "p_new", "--query", "SELECT * FROM log"),
    ]
    assert [ended.code for ended in answers] == [0] * len(answers)
    values = [
        [(row["target"], row["estimate"]["value"]) for row in json.loads(ended.out)["rows"]]
        for ended in answers
    ]
    for value in values[1:]:
        assert [name for name, _ in value] == ["logging policy", "p_new"]
        assert [number for _, number in value] == pytest.approx(
            [number for _, number in values[0]], abs=1e-12
        )


def test_every_role_reaches_the_log(run: Run, log: Path) -> None:
    roles = (
        "--group",
        "user",
        "--time",
        "day",
        "--row-weight",
        "weight",
        "--categorical",
        "age",
        "--actions",
        "banner,email,push,fax",
    )
    ended = run(
        "evaluate", log, "--context", "age", "--context", "country", *roles, "-t", "p_new", "-e", "wis"
    )
    assert ended.code == 0
    assert "4 actions (banner, email, push, fax)" in ended.out
    assert re.search(r"also +row_weight, group, time", ended.out)


def test_propensities_are_estimated_on_request_or_if_there_are_none(
    run: Run, log: Path, table: dict[str, list[Any]], tmp_path: Path
) -> None:
    without = write_csv(
        tmp_path / "without.csv", {name: values for name, values in table.items() if name != "propensity"}
    )
    for path, options in ((log, ("--estimate-propensity",)), (without, ())):
        ended = run("evaluate", path, "--context", "age,country", "-t", "p_new", "-e", "wis", *options)
        assert ended.code == 0
        assert "propensities were estimated" in ended.out.replace("\n    ", " ")


@pytest.mark.parametrize("using", Using)
@pytest.mark.parametrize("of", Of)
def test_a_gate_compares_the_number_it_names(of: Of, using: Using, answer: kwis.Evaluation) -> None:
    found = answer.recommended["p_new"]
    number = getattr(found.change.interval if of is Of.CHANGE else found.row.interval, using.value)
    Gate(below=number, using=using, of=of).enforce(answer)
    with pytest.raises(typer.Exit) as ended:
        Gate(below=number + 1e-9, using=using, of=of).enforce(answer)
    assert ended.value.exit_code == 1


def test_a_gate_decides_the_exit_code(run: Run, log: Path) -> None:
    common = ("evaluate", log, "--context", "age", "-e", "wis", "-t", "p_new", "--json")
    passed = run(*common, "--fail-below", "0.01", "--using", "low")
    assert (passed.code, passed.err) == (0, "")
    failed = run(*common, "--fail-below", "0.99", "--using", "high")
    assert failed.code == 1
    assert re.fullmatch(r"gate failed: high end of the value of p_new is 0\.\d+, below 0\.99\n", failed.err)
    assert json.loads(failed.out) == json.loads(passed.out)


def test_a_gate_can_ask_for_a_verdict(run: Run, tmp_path: Path) -> None:
    wrong = columns(600)
    wrong["propensity"] = [
        min(1.0, p * (1.8 if c == "BR" else 1.0))
        for p, c in zip(wrong["propensity"], wrong["country"], strict=True)
    ]
    path = write_csv(tmp_path / "log.csv", wrong)
    common = ("evaluate", path, "--context", "age,country", "-t", "p_new", "-e", "wis")
    ended = run(*common, "--require", "trust")
    assert ended.code == 1
    assert re.fullmatch(r"gate failed: verdict on p_new is '(with care|do not trust)'\n", ended.err)
    ended = run("check", path, "--context", "age,country", "--require", "trust")
    assert ended.code == 1
    assert "country = BR" in ended.out
    assert re.fullmatch(
        r"gate failed: verdict on the propensities is '(with care|do not trust)'\n", ended.err
    )


def test_no_gate_opens_for_an_estimate_that_is_not_to_be_trusted(run: Run, tmp_path: Path) -> None:
    lucky = columns(300)
    lucky["luck"] = [0.9 if number < 3 else 0.001 for number in range(300)]
    path = write_csv(tmp_path / "log.csv", lucky)
    common = (path, "--context", "age,country", "-e", "wis", "-t", "luck")
    said = "gate failed: verdict on luck is 'do not trust'\n"
    ended = run("evaluate", *common, "--fail-below", "-10")
    assert (ended.code, ended.err) == (1, said)
    assert run("evaluate", *common, "--fail-below", "-10", "--require", "any").code == 0
    ended = run("compare", *common, "-t", "p_new", "--require-best", "luck")
    assert ended.code == 1
    assert ended.err.endswith(said)
    assert run("compare", *common, "-t", "p_new").code == 0
    assert run("compare", *common, "-t", "p_new", "--require", "care").code == 1


def test_check_passes_right_propensities(run: Run, log: Path) -> None:
    ended = run(
        "check", log, "--context", "age,country", "--propensity", "b", "-t", "p_new", "--require", "trust"
    )
    assert (ended.code, ended.err) == (0, "")
    assert "Propensities: trust" in ended.out
    assert "expected calibration error" in ended.out
    found = json.loads(run("check", log, "--context", "age,country", "--json").out)
    assert found["schema"] == "kwis-check/1"
    assert found["propensity"]["verdict"]["level"] == "trust"


def test_compare_ranks_and_shows_every_pair(run: Run, log: Path) -> None:
    common = ("compare", log, "--context", "age,country", "-e", "wis", "-t", "p_new", "-t", "B=pick")
    ended = run(*common)
    assert ended.code == 0
    for pair in ("p_new − B", "p_new − logging policy", "B − logging policy"):
        assert pair in ended.out or " − ".join(reversed(pair.split(" − "))) in ended.out
    ranking = json.loads(run(*common, "--json").out)["rankings"][0]
    for place in ranking["places"]:
        gated = (
            run(*common, "--require-best", place["target"]) if place["target"] != "logging policy" else None
        )
        if gated is not None:
            assert gated.code == (0 if place["worst"] == 1 else 1)
    ended = run(*common, "--require-best", "C")
    assert (ended.code, ended.err) == (2, "error: `require-best` must be one of p_new, B, got 'C'\n")


def test_the_demo_answers_and_writes_a_report(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "demo.html"
    ended = run("demo", "--rows", "500", "--report", report)
    assert (ended.code, ended.err) == (0, "")
    assert "Evaluation of 2 policies on 500 logged decisions" in ended.out
    truth = kwis.sample_log(100).truth["p_new"]["click"]
    assert re.search(rf"p_new +{truth:.4f}, (inside|outside) the interval", ended.out)
    assert report.stat().st_size > 10_000


def test_the_demo_saves_its_log_to_play_with(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sample.parquet"
    ended = run("demo", "--rows", "400", "--save-log", path)
    assert ended.code == 0
    suggested = next(line.split()[1:] for line in ended.out.splitlines() if line.startswith("  kwis check"))
    assert run(*suggested).code == 0
    ended = run("demo", "--save-log", tmp_path / "no" / "sample.parquet")
    assert ended.code == 2
    assert run("demo", "--save-log", tmp_path / "sample.xlsx").code == 2


def test_every_command_explains_itself_with_examples(run: Run) -> None:
    assert run("--version").out == f"kwis {metadata.version('kwis')}\n"
    assert "evaluate" in run().out
    for command in ("evaluate", "compare", "check", "demo"):
        ended = run(command, "--help")
        assert ended.code == 0
        assert f"kwis {command}" in ended.out
        assert "Examples:" in ended.out
        assert "Exit codes: 0 done, 1 a gate failed, 2 bad input" in ended.out


def python(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False, **settings
    )


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from kwis.cli.main import main; main(['evaluate', '--help']); "
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    loaded = python("-c", code).stderr.split()
    assert "typer" in loaded
    assert not {"numpy", "scipy", "numba", "sklearn", "duckdb", "pandas", "polars", "pyarrow"} & set(loaded)


def test_the_module_runs_and_passes_its_exit_code_on(tmp_path: Path) -> None:
    ended = python("-m", "kwis", "evaluate", str(tmp_path / "nowhere.csv"), "--target", "p_new")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines()[-1].startswith(
        "error: LOG must be a file"
    )  # a slow machine also shows how far it is


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_terminal_gets_progress_and_colours(log: Path) -> None:
    main_end, other_end = os.openpty()
    try:
        arguments = [
            sys.executable,
            "-m",
            "kwis",
            "evaluate",
            str(log),
            "--context",
            "age",
            "-t",
            "p_new",
            "-e",
            "wis",
        ]
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
        environment.pop("NO_COLOR", None)
        started = subprocess.Popen(arguments, stdout=other_end, stderr=other_end, env=environment)
        os.close(other_end)
        seen = b""
        while True:
            try:
                part = os.read(main_end, 65536)
            except OSError:  # how Linux reports that the other end is closed
                break
            if not part:
                break
            seen += part
        assert started.wait(timeout=300) == 0
    finally:
        os.close(main_end)
    assert b"\x1b[" in seen
    assert b"reading" in seen
    assert b"p_new" in seen


def test_where_propensities_come_from_is_said_and_counts(run: Run, log: Path) -> None:
    found = json.loads(
        run("evaluate", log, *QUICK, "--target", "p_new", "--propensity-source", "model", "--json").out
    )
    assert found["settings"]["propensity_source"] == "model"
    reasons = found["recommendations"][0]["row"]["verdict"]["reasons"]
    assert any(reason.startswith("propensities come from a model") for reason in reasons)
    ended = run(
        "check", log, "--context", "age,country", "--propensity-source", "model", "--require", "trust"
    )
    assert ended.code == 1
    assert "propensities come from a model" in ended.out
    assert run("evaluate", log, *QUICK, "--target", "p_new", "--propensity-source", "guess").code == 2


def test_several_targets_are_judged_together(run: Run, log: Path) -> None:
    ended = run("evaluate", log, *QUICK, "--target", "p_new", "--target", "uniform=p_new", "--no-table")
    assert "for both policies together" in " ".join(ended.out.split())
