"""Long work says what it does; short work says nothing."""

from __future__ import annotations

import threading
import time

import pytest

from kwis import cli
from kwis.cli import main, terminal
from kwis.cli import progress as module
from kwis.cli.progress import Pace, in_words, progress


@pytest.fixture(autouse=True)
def just_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the command had begun with each test, not with all of them."""
    monkeypatch.setattr(cli, "began", time.monotonic())


def test_work_of_more_than_two_seconds_says_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert module.__dict__["FIRST_SECONDS"] == 3600.0  # as set for tests; see below for what is shipped
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.05)
    monkeypatch.setattr(module, "NEXT_SECONDS", 0.05)
    with progress("reading a\x1b[31m log") as told:
        time.sleep(0.2)
        told(1, 4, "estimating p_new")
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "reading a log, 0 s so far ..."
    assert "estimating p_new, 0 s so far ..." in lines


def test_quick_work_says_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(module, "FIRST_SECONDS", 2.0)
    with progress("reading a log") as told:
        told(1, 2, "more")
    assert capsys.readouterr().err == ""


def test_the_time_that_the_command_takes_to_load_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "began", time.monotonic() - 3600.0)
    with progress("reading a log"):
        time.sleep(0.2)
    assert capsys.readouterr().err == "reading a log, 60 min so far ...\n"
    main.main(["diff"])  # a program that has been running for long calls a command
    assert time.monotonic() - cli.began < 3600.0


def test_the_first_line_comes_within_two_seconds() -> None:
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("kwis.cli.progress")
    assert spec is not None
    assert spec.origin is not None
    assert "FIRST_SECONDS = 2.0\n" in Path(spec.origin).read_text()


def test_the_time_left_is_told_if_it_is_more_than_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    pace = Pace("reading", started=100.0)
    pace.told(0, 10, "first")
    assert pace.left(now[0]) is None
    now[0] = 120.0
    pace.told(2, 10, "third")
    assert pace.left(now[0]) == 80.0
    assert pace.line() == "third, 20 s so far, about 80 s left"
    pace.told(5, 10, "sixth")
    assert pace.line() == "sixth, 20 s so far"
    pace.told(0, 7, "another count")
    assert pace.left(now[0]) is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(3.2, "3 s"), (99.0, "99 s"), (200.0, "3 min"), (7000.0, "1.9 h")]
)
def test_lengths_of_time_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_a_first_run_says_once_that_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = module.Pace("estimating", started=time.monotonic())
    assert pace.line() == "estimating, 0 s so far"
    monkeypatch.setattr(module.compilation, "functions", module.compilation.functions + 1)
    assert pace.line() == "compiling, first run only: estimating, 0 s so far"
    monkeypatch.setattr(module.compilation, "functions", module.compilation.functions + 1)
    assert pace.line() == "estimating, 0 s so far"


def test_where_there_is_no_terminal_a_first_run_says_so_without_waiting_for_the_next_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seconds in (("FIRST_SECONDS", 0.0), ("NEXT_SECONDS", 3600.0), ("_GLANCE", 0.01)):
        monkeypatch.setattr(module, name, seconds)
    said = threading.Event()
    say = terminal.say

    def heard(line: str) -> None:
        say(line)
        said.set()

    monkeypatch.setattr(terminal, "say", heard)
    with progress("estimating"):
        assert said.wait(60)
        said.clear()
        monkeypatch.setattr(module.compilation, "functions", module.compilation.functions + 1)
        assert said.wait(60)
    lines = [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["estimating", "compiling"]
