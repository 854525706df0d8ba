"""What a command writes: only files of its own, never what it reads, and an answer survives a report that
cannot be written.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from kwis.data.sample_log import sample_log
from kwis.runtime import writing
from tests.cli.example import Ended, Run

QUICK = ("--context", "age,country", "--target", "p_new", "--estimator", "wis", "--no-table")


def refusal(option: str, path: Path, why: str) -> Ended:
    return Ended(
        2,
        "",
        f"error: `{option}` must not replace anything but a file that kwis wrote, got {str(path)!r}, {why}\n",
    )


@pytest.mark.parametrize("option", ["report", "json-file"])
def test_a_file_that_kwis_did_not_write_is_not_replaced(
    option: str, run: Run, log: Path, tmp_path: Path
) -> None:
    path = tmp_path / "thesis.html"
    path.write_text("years of work")
    assert run("evaluate", log, *QUICK, f"--{option}", path) == refusal(
        option, path, "which it did not; remove it, or name another"
    )
    assert path.read_text() == "years of work"


@pytest.mark.parametrize("option", ["report", "json-file"])
def test_a_device_is_not_replaced(option: str, run: Run, log: Path, tmp_path: Path) -> None:
    """Nodes of the test's own: if the rule were ever broken, an administrator would lose the real
    /dev/null.
    """
    pipe, device = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    with contextlib.suppress(OSError):  # only an administrator can make devices
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    for path in (pipe, device):
        if path.exists():
            assert run("evaluate", log, *QUICK, f"--{option}", path) == refusal(
                option, path, "which is no regular file"
            )
            assert not stat.S_ISREG(path.lstat().st_mode)


@pytest.mark.parametrize("option", ["report", "json-file"])
def test_the_log_is_never_written_to(option: str, run: Run, log: Path, tmp_path: Path) -> None:
    before, link, hard = log.read_bytes(), tmp_path / "link.html", tmp_path / "hard.html"
    link.symlink_to(log)
    hard.hardlink_to(log)
    for path in (log, link, hard):
        ended = run("evaluate", log, *QUICK, f"--{option}", path)
        assert ended == Ended(
            2, "", f"error: `{option}` must not be a file that is read, got {str(path)!r}\n"
        )
        assert log.read_bytes() == before


def test_a_symbolic_link_is_followed(run: Run, log: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "report.html"
    link.symlink_to(elsewhere / "real.html")
    for _ in range(2):  # absent at first, then ours
        assert run("evaluate", log, *QUICK, "--report", link).code == 0
        assert link.is_symlink()
        assert (elsewhere / "real.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    loop = tmp_path / "loop.html"
    loop.symlink_to(loop)
    assert run("evaluate", log, *QUICK, "--report", loop) == refusal(
        "report", loop, "which is no regular file"
    )


def test_report_and_json_are_two_files(run: Run, log: Path, tmp_path: Path) -> None:
    path, link = tmp_path / "both", tmp_path / "link"
    link.symlink_to(path)
    ended = run("evaluate", log, *QUICK, "--report", path, "--json-file", link)
    assert ended == Ended(
        2, "", f"error: `report` and `json-file` must be two files, got {str(path)!r} for both\n"
    )
    assert not path.exists()


def test_names_that_differ_in_case_only_are_one_file_on_many_systems(
    run: Run, log: Path, tmp_path: Path
) -> None:
    ended = run("evaluate", log, *QUICK, "--report", tmp_path / "Out", "--json-file", tmp_path / "out")
    assert ended.err.startswith("error: `report` and `json-file` must be two files")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["report", "json-file"])
@pytest.mark.parametrize(("name", "why"), [("x" * 400, "File name too long"), ("a\0b", "null")])
def test_names_that_cannot_be_are_bad_input(
    name: str, why: str, option: str, run: Run, log: Path, tmp_path: Path
) -> None:
    ended = run("evaluate", log, *QUICK, f"--{option}", f"{tmp_path}/{name}")
    assert ended.code == 2
    assert ended.err.startswith(f"error: `{option}` must be in a place that can be written to, got ")
    assert why in ended.err


def test_what_kwis_wrote_is_replaced_and_an_empty_file_is_filled(run: Run, log: Path, tmp_path: Path) -> None:
    report, answer = tmp_path / "report.html", tmp_path / "answer.json"
    report.touch()
    for _ in range(2):
        assert run("evaluate", log, *QUICK, "--report", report, "--json-file", answer).code == 0
        assert json.loads(answer.read_text())["schema"].startswith("kwis-")


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_json_goes_to_stdout_under_the_name_of_a_dash(
    command: str, run: Run, log: Path, tmp_path: Path
) -> None:
    arguments = (command, log, "--context", "age,country", "--target", "p_new", "--estimator", "wis")
    ended = run(*arguments, "--json-file", "-")
    assert (ended.code, ended.err) == (0, "")
    assert ended == run(*arguments, "--json")
    assert json.loads(ended.out)["rows"]
    assert "`report` must name a file, got '-'" in run(*arguments, "--report", "-").err
    assert not Path("-").exists()


def test_a_sample_log_replaces_a_sample_log_only(run: Run, tmp_path: Path) -> None:
    for name in ("log.csv", "log.parquet"):
        path = tmp_path / name
        assert [run("demo", "--rows", "200", "--save-log", path).code for _ in range(2)] == [0, 0]
        foreign = tmp_path / f"own-{name}"
        foreign.write_bytes(b"PAR1" + b"x" * 99_999)
        assert "`save-log` must not replace anything" in run("demo", "--save-log", foreign).err
        with pytest.raises(ValueError, match="`path` must not replace anything"):
            sample_log(200).write(foreign)


@pytest.mark.parametrize("option", ["report", "json-file"])
def test_a_full_disk_loses_the_report_and_not_the_answer(
    option: str, run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run("evaluate", log, *QUICK)
    path, replace = tmp_path / "out.html", os.replace

    def full(old: str, new: str) -> None:
        if Path(new) == path:
            raise OSError(28, "No space left on device")
        replace(old, new)

    monkeypatch.setattr(writing.os, "replace", full)
    ended = run("evaluate", log, *QUICK, f"--{option}", path)
    assert ended.code == 2
    assert ended.out.startswith(whole.out.rstrip())
    assert ended.err.count("\n") == 1
    assert "No space left on device" in ended.err
    assert not path.exists()
    gated = run("evaluate", log, *QUICK, f"--{option}", path, "--fail-below", "2")
    assert gated.code == 1
    assert "No space left on device" in gated.err


def test_files_are_made_with_the_mask_of_the_process_which_no_thread_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the mask belongs to all threads"))
    before = tmp_path / "plain"
    before.touch()
    worker = threading.Thread(target=writing.write_whole, args=(tmp_path / "file", b"content"))
    worker.start()
    worker.join()
    assert (tmp_path / "file").stat().st_mode == before.stat().st_mode
