"""How a command ends: 1 is a gate and nothing else, 2 is bad input that is named, 3 asks to be reported."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.example import Ended, Run

QUICK = ("--context", "age,country", "--target", "p_new", "--estimator", "wis", "--no-table")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "kwis", *map(str, arguments)]


def bad(run: Run, path: object, *more: object) -> str:
    ended = run("evaluate", path, *QUICK, *more)
    assert (ended.code, ended.out) == (2, ""), ended
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("error: ")
    return ended.err.removeprefix("error: ").rstrip()


def test_corrupt_gzip(run: Run, log: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(log.read_bytes())[:-200])
    assert bad(run, path).startswith(f"cannot read {str(path)!r}: ")


@pytest.mark.parametrize("name", ["deep.json", "deep.jsonl", "deep.dsjson"])
def test_deep_json(name: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text('{"a":' * 20_000 + "1" + "}" * 20_000 + "\n")
    assert repr(str(path)) in bad(run, path)


@pytest.mark.parametrize("header", [",".join(f"c{i}" for i in range(50_000)), "x" * 1_000_000])
def test_long_headers(header: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"{header}\n{','.join('1' for _ in header.split(','))}\n")
    assert repr(str(path)) in bad(run, path)


def test_a_name_that_is_not_utf8(run: Run, log: Path, tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")
    Path(path).write_bytes(log.read_bytes())
    assert bad(run, path) == f"LOG must have a name in UTF-8, got {path!r}; rename it"
    Path(log).unlink()
    assert bad(run, tmp_path) == f"LOG must have a name in UTF-8, got {path!r}; rename it"


def test_a_folder_that_cannot_be_walked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def shut(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/proc/1/cwd")

    monkeypatch.setattr("kwis.data.read.files.files_of", shut)
    assert bad(run, "/") == "cannot read '/': [Errno 13] Permission denied: '/proc/1/cwd'"


def test_a_name_that_is_too_long(run: Run) -> None:
    assert "File name too long" in bad(run, "x" * 5000)


@pytest.mark.parametrize("name", ["", " "])
@pytest.mark.parametrize("name_of_command", ["evaluate", "compare", "check"])
def test_an_empty_log_is_not_the_working_directory(
    name: str, name_of_command: str, run: Run, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    ended = run(name_of_command, name, "--target", "p_new")
    assert ended == Ended(
        2, "", "error: LOG must be the name of a file, a folder or a pattern, got an empty one\n"
    )


@pytest.mark.parametrize("level", ["1e-300", "0.9999999999999999"])
def test_levels_that_mean_nothing(level: str, run: Run, log: Path) -> None:
    assert bad(run, log, "--level", level).startswith("`level` must be from 0.001 to ")
    assert run("evaluate", log, *QUICK, "--level", "0.999999999").code == 0
    assert run("evaluate", log, *QUICK, "--level", "0.001").code == 0


@pytest.mark.parametrize(("more", "code"), [((), 0), (("--json",), 0), (("--fail-below", "2"), 1)])
def test_a_closed_pipe_changes_nothing_about_the_code(more: tuple[str, ...], code: int, log: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            command("evaluate", log, *QUICK, *more),
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr


def test_help_into_a_closed_pipe() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert subprocess.run(command("evaluate", "--help"), stdout=writer, check=False).returncode == 0
    finally:
        os.close(writer)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_device_as_stdout(log: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command("evaluate", log, *QUICK), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert (
        done.stderr.splitlines()[-1]
        == "error: the answer cannot be written to stdout (No space left on device)"
    )


def test_closed_streams(log: Path) -> None:
    line = " ".join(command("evaluate", log, *QUICK))
    assert subprocess.run(["sh", "-c", f"{line} >&-"], check=False).returncode == 0
    assert (
        subprocess.run(["sh", "-c", f"{line} --level 7 2>&-"], check=False, capture_output=True).stdout == b""
    )


def test_an_error_outside_of_any_command_is_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setattr("typer.main.get_command", lambda _: type("Broken", (), {"main": broken}))
    ended = run("evaluate")
    assert ended.code == 3
    assert ended.err.startswith(
        "error: unforeseen RuntimeError: no such thing; this is a fault of kwis: please report it"
    )


WAIT = """
import os, signal, sys, time
# tests in the background are started with it ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
from kwis.cli import check, main
def slow(*_):
    print("begun", flush=True)
    time.sleep(60)
check._work = slow
sys.exit(main.main(["check", "log.csv"]))
"""


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_signals_end_a_command_in_one_word(
    number: signal.Signals, code: int, word: str, tmp_path: Path
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", WAIT],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "begun"
    process.send_signal(number)
    _, said = process.communicate(timeout=600)
    assert process.returncode == code
    assert said.strip().splitlines()[-1] == word
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_takes_too_long(log: Path, tmp_path: Path) -> None:
    slow = (
        "import time; from kwis.cli import check, main; check._work = lambda *_: time.sleep(60); raise "
        "SystemExit(main.main({!r}))"
    )
    arguments = ["check", str(log), "--time-limit", "0.5"]
    done = subprocess.run(
        [sys.executable, "-c", slow.format(arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 2
    said = (
        "error: `time-limit` must be longer for this log: 0.5 seconds were over; fewer rows or estimators "
        "take less"
    )
    assert done.stderr.splitlines()[-1] == said


def test_time_limits_are_positive_and_leave_quick_work_alone(run: Run, log: Path) -> None:
    assert bad(run, log, "--time-limit", "0") == "`time-limit` must be a positive number of seconds, got 0"
    assert run("evaluate", log, *QUICK, "--time-limit", "300") == run("evaluate", log, *QUICK)


def test_work_that_does_not_listen_is_ended_with_the_process(log: Path) -> None:
    deaf = (
        "import ctypes; from kwis.cli import check, limit, main; limit.GRACE = 0.5\n"
        "import signal\n"
        "check._work = lambda *_: [signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]), "
        "ctypes.CDLL(None).sleep(60)]\n"
        f"raise SystemExit(main.main(['check', {str(log)!r}, '--time-limit', '0.5']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", deaf], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 2
    assert "`time-limit` must be longer" in done.stderr
