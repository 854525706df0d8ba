"""A terminal shows names and values of a log and never obeys them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import kwis
from kwis._text import escaped_in_json, visible
from tests.cli.example import Run, columns, write_csv

RED, TITLE, LINK, HIDDEN = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;owned\x07title",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[8mhidden",
)
NASTY = (
    RED,
    TITLE,
    LINK,
    HIDDEN,
    "\x9b31mone sign",
    "bell\x07",
    "back\x08space",
    "turned\u202edlrow",
    "\x1b(0box",
    "\x1bcreset",
)
FORBIDDEN = ("\x1b", "\x07", "\x08", "\x9b", "\x9d", "\u202e")


def is_safe(text: str) -> bool:
    return not any(sign in text for sign in FORBIDDEN)


@pytest.mark.parametrize("text", NASTY)
def test_what_a_terminal_would_obey_is_left_out(text: str) -> None:
    assert is_safe(visible(f"a {text} b"))
    assert visible(f"a {text} b").startswith("a ")
    assert visible(f"a {text} b").endswith(" b")


def test_what_is_left_is_what_was_written() -> None:
    assert visible(RED) == "red"
    assert visible(TITLE) == "title"
    assert visible(LINK) == "link"
    for text in ("", "plain", "España 東京 🙂", "two\nlines\tand a tab"):
        assert visible(text) == text
    assert visible("\x1b]0;no end") == ""


def test_halves_of_signs_which_no_file_can_hold_are_written_as_what_they_are_not(tmp_path: Path) -> None:
    halves = {**columns(), "country": [f"{country}\ud800" for country in columns()["country"]]}
    log = kwis.read_log(halves, propensity="propensity", context=["age", "country"])
    found = kwis.evaluate(log, {"\udcff": "p_new"}, estimators=["wis"], by="country", repair="never")
    assert "BR\ufffd" in str(found)
    (tmp_path / "answer.json").write_text(found.to_json(), encoding="utf-8")
    assert "BR\\ud800" in (tmp_path / "answer.json").read_text(encoding="utf-8")
    assert str(kwis.KwisError("got \ud800")).encode() == "got \ufffd".encode()


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    table = columns()
    country = [
        RED if value == "BR" else HIDDEN if value == "DE" else "\x9b8mus\u202e" for value in table["country"]
    ]
    return write_csv(tmp_path / "log.csv", {**table, "country": country, TITLE: table["p_new"]})


def test_answers_warnings_and_errors_are_safe(run: Run, nasty: Path) -> None:
    common = ("evaluate", nasty, "--context", "age,country", "--estimator", "wis", "--by", "country")
    ended = run(*common, "--target", f"{LINK}={TITLE}", "--target", f"{RED}=p_new")
    assert ended.code == 0
    assert is_safe(ended.out + ended.err)
    assert "country = red" in ended.out
    for arguments in (
        ("--target", f"{RED}x"),
        ("--target", "p_new", "--action", HIDDEN),
        ("--target", "p_new", "--format", RED),
    ):
        ended = run(*common, *arguments)
        assert ended.code == 2
        assert is_safe(ended.err)
    ended = run("evaluate", f"{nasty}{RED}", "--target", "p_new")
    assert ended.code == 2
    assert is_safe(ended.err)


def test_json_means_the_same_and_is_safe_to_print(run: Run, nasty: Path) -> None:
    ended = run(
        "evaluate",
        nasty,
        "--context",
        "age,country",
        "--estimator",
        "wis",
        "--by",
        "country",
        "--target",
        "p_new",
        "--json",
    )
    assert is_safe(ended.out)
    values = {segment["values"][0] for segment in json.loads(ended.out)["segments"][0]["segments"]}
    assert values == {RED, HIDDEN, "\x9b8mus\u202e"}
    assert json.loads(escaped_in_json(json.dumps("\x9b\u202e\x7f", ensure_ascii=False))) == "\x9b\u202e\x7f"


def test_what_python_prints_and_raises_is_safe(nasty: Path) -> None:
    log = kwis.read_log(str(nasty), propensity="propensity", context=["age", "country"])
    found = kwis.evaluate(log, {RED: "p_new"}, estimators=["wis"], by="country")
    printed = [log, found, found.recommended, found.table(), found.segments[0], found.propensity]
    assert all(is_safe(repr(one)) and is_safe(str(one)) for one in printed)
    for kind in (kwis.KwisError, kwis.InputError):
        assert str(kind(f"got {RED}")) == "got red"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"got {TITLE}", kwis.KwisWarning, stacklevel=1)
    assert str(caught[0].message) == "got title"


@pytest.mark.skipif(not hasattr(pty, "openpty"), reason="needs a terminal")
def test_a_real_terminal_gets_the_colours_of_kwis_and_none_of_the_data(nasty: Path) -> None:
    ours, theirs = pty.openpty()
    arguments = [
        "evaluate",
        str(nasty),
        "--context",
        "age,country",
        "-e",
        "wis",
        "--by",
        "country",
        "--target",
        f"{TITLE}=p_new",
    ]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    process = subprocess.Popen(
        [sys.executable, "-m", "kwis", *arguments], stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:
            break
        if not more:
            break
        shown += more
    os.close(ours)
    assert process.wait() == 0
    assert b"\x1b[" in shown
    for sign in (b"\x1b]", b"\x1b[8m", b"\x07", "\x9b".encode(), "\u202e".encode()):
        assert sign not in shown
