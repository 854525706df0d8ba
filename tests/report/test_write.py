"""The file appears whole or not at all, and a place that cannot be written to is one clear sentence."""

from __future__ import annotations

import os

import pytest

from kwis.errors import InputError
from kwis.report import write_html
from kwis.runtime import writing
from tests.report.example import evaluation_of

OLDER = '<meta name="generator" content="kwis">older'


def test_the_report_is_written_and_its_path_returned(tmp_path):
    path = write_html(evaluation_of(), tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert os.listdir(tmp_path) == ["report.html"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_mask()


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_method_of_an_evaluation_does_the_same(tmp_path):
    evaluation_of(("p",)).to_html(str(tmp_path / "a.html"))
    write_html(evaluation_of(("p",)), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(
        InputError,
        match=(
            r"^`path` must be in a folder that exists, got '.*nowhere/report.html' and there is no "
            r"'.*nowhere'$"
        ),
    ):
        write_html(evaluation_of(("p",)), tmp_path / "nowhere" / "report.html")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="must name a file, got the folder"):
        write_html(evaluation_of(("p",)), tmp_path)


def test_a_read_only_folder_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(
        writing.os, "access", lambda path, mode: False
    )  # the superuser may write anywhere, so the answer is staged
    with pytest.raises(
        InputError,
        match=r"^`path` must be in a place that can be written to, got '.*report.html', which is read-only$",
    ):
        write_html(evaluation_of(("p",)), tmp_path / "report.html")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder in which nobody can create files")
def test_a_folder_that_takes_no_files_is_one_sentence_even_for_the_superuser():
    with pytest.raises(InputError, match=r"^`path` must be in a place .*, got '/proc/self/report\.html'"):
        write_html(evaluation_of(("p",)), "/proc/self/report.html")


def test_a_write_that_fails_leaves_the_older_report_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text(OLDER)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_html(evaluation_of(("p",)), path)
    assert path.read_text() == OLDER
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_newer_report_takes_the_place_of_an_older_one_with_its_permissions(tmp_path):
    path = tmp_path / "report.html"
    path.write_text(OLDER)
    path.chmod(0o640)
    write_html(evaluation_of(("p",)), path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert path.stat().st_mode & 0o777 == 0o640
