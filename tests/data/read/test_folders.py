"""Folders of files: what their names say, what cannot be read, what differs from file to file; the same
through every door.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kwis
from kwis.data.read.files import files_of
from kwis.data.read.folders import refuse_unreadable
from kwis.errors import InputError
from tests.cli.example import columns, run_with, write_csv, write_parquet

Read = Callable[..., kwis.LoggedBandit]
WRITERS = {"csv": write_csv, "parquet": write_parquet}


def in_memory(path: Path, **roles: Any) -> kwis.LoggedBandit:
    return kwis.read_log(path, **roles)


def scanned(path: Path, **roles: Any) -> kwis.LoggedBandit:
    return kwis.scan_log(path, **roles).read()


DOORS = pytest.mark.parametrize(
    ("suffix", "read"), [("csv", in_memory), ("parquet", in_memory), ("parquet", scanned)]
)


def write(path: Path, **changed: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = (
        path.parents[1] / f"plain{path.suffix}"
    )  # the reader that the writer goes by heeds names of folders
    return WRITERS[path.suffix[1:]](plain, {**columns(60), **changed}).rename(path)


@DOORS
def test_a_folder_never_overrides_a_column(suffix: str, read: Read, tmp_path: Path) -> None:
    write(tmp_path / "reward=1" / f"log.{suffix}")
    log = read(tmp_path, propensity="propensity", context=["age", "country"])
    np.testing.assert_array_equal(log.reward[:, 0], columns(60)["reward"])
    assert any("`reward` themselves" in note for note in log.notes)
    log = read(tmp_path / "reward=1" / f"log.{suffix}", propensity="propensity", context=["age", "country"])
    np.testing.assert_array_equal(log.reward[:, 0], columns(60)["reward"])


@pytest.mark.parametrize("read", [in_memory, scanned])
@pytest.mark.parametrize("having", ["DE", "US"])
def test_a_folder_never_overrides_a_column_that_only_some_files_have(
    having: str, read: Read, tmp_path: Path
) -> None:
    for place in ("DE", "US"):
        other = {"country" if place == having else "place": columns(60)["country"]}
        lean = {name: cells for name, cells in columns(60).items() if name != "country"}
        path = tmp_path / f"country={place}" / "log.parquet"
        path.parent.mkdir()
        write_parquet(tmp_path / "plain.parquet", {**lean, **other}).rename(path)
    with pytest.raises(InputError, match="country"):
        read(tmp_path, propensity="propensity", context=["age", "country"])


@DOORS
def test_a_folder_adds_the_column_that_files_lack(suffix: str, read: Read, tmp_path: Path) -> None:
    for place, month in (("DE", 1), ("a b%2Fc", 12), ("[x]", 3)):
        write(tmp_path / "log" / f"place={place}" / f"month={month}" / f"log.{suffix}")
    for source in (tmp_path / "log", Path(str(tmp_path / "log" / "place=*" / "*" / f"*.{suffix}"))):
        log = read(source, propensity="propensity", context=["age", "place", "month"])
        assert log.n == 180
        assert log.table.column("place").natural().tolist() == ["DE"] * 60 + ["[x]"] * 60 + ["a b/c"] * 60
        assert log.table.column("month").values.tolist() == [1] * 60 + [3] * 60 + [12] * 60


def test_queries_see_the_columns_of_folders(tmp_path: Path) -> None:
    for place in ("DE", "FR"):
        write(tmp_path / f"place={place}" / "log.parquet")
    log = kwis.read_log(
        tmp_path, query="SELECT * FROM log WHERE place = 'FR'", propensity="propensity", context="age"
    )
    assert log.n == 60


@DOORS
def test_files_whose_types_differ_are_refused(suffix: str, read: Read, tmp_path: Path) -> None:
    first, second = (
        write(tmp_path / f"a.{suffix}"),
        write(tmp_path / f"b.{suffix}", age=["young", "old"] * 30),
    )
    with pytest.raises(InputError) as refused:
        read(tmp_path, propensity="propensity", context=["age", "country"])
    assert (
        str(refused.value)
        == f"`age` must be of one type in all files, got text in {str(second)!r} and number in {str(first)!r}"
    )
    log = read(tmp_path, propensity="propensity", context=["country"])
    assert "not in every file, or not of one type, and left out: `age`" in log.notes


def test_json_files_whose_types_differ_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"action": 1, "reward": 1, "age": 4}\n{"action": 2, "reward": 0, "age": 5}\n' * 20
    )
    (tmp_path / "b.jsonl").write_text(
        '{"action": 1, "reward": 1, "age": "old"}\n{"action": 2, "reward": 0, "age": "young"}\n' * 20
    )
    with pytest.raises(InputError, match="`age` must be of one type in all files, got text in"):
        kwis.read_log(tmp_path, propensity=False, context="age")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("pattern", ["", "**/*.{}", "*/*.{}"])
def test_a_folder_that_cannot_be_read_is_refused_by_name(
    pattern: str,
    suffix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path / "a" / f"log.{suffix}")
    closed = write(tmp_path / "b" / f"log.{suffix}").parent
    scan, access = os.scandir, os.access  # the tests may run as root, who can read everything

    def refusing(path: Any = ".") -> Any:
        if os.fspath(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    monkeypatch.setattr(
        os, "access", lambda path, mode: os.fspath(path) != str(closed) and access(path, mode)
    )
    ended = run_with(capsys)("evaluate", tmp_path / pattern.format(suffix), "--target", "p_new")
    assert (ended.code, ended.out) == (2, "")
    assert f"cannot read {str(closed)!r}: Permission denied" in ended.err


def test_a_file_that_cannot_be_read_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = write(tmp_path / "log.csv")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match=rf"^cannot read '{closed}': Permission denied$"):
        kwis.read_log(tmp_path)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("read", [kwis.read_log, kwis.scan_log])
def test_a_single_file_that_cannot_be_read_is_bad_input_of_python_too(
    read: Any, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = write(tmp_path / f"log.{suffix}")

    def refusing(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refusing)
    with pytest.raises(InputError, match=rf"^cannot read '{closed}': Permission denied$"):
        read(closed)
    with pytest.raises(InputError, match=r"File name too long$"):
        read("x" * 5000)


def test_files_in_a_folder_that_can_be_listed_but_not_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, stat = write(tmp_path / "log.csv"), os.stat

    def refusing(path: Any, *more: Any, **options: Any) -> Any:
        if path == str(closed):
            raise PermissionError(13, "Permission denied", path)
        return stat(path, *more, **options)

    monkeypatch.setattr(os, "stat", refusing)
    with pytest.raises(InputError, match=rf"^cannot read '{closed}': Permission denied$"):
        refuse_unreadable(str(closed))


def test_links_are_followed_once_and_those_to_nowhere_refused(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "log.csv")
    folder = tmp_path / "log"
    write(folder / "log.csv")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / "linked" / "back").symlink_to(folder)
    (folder / ".hidden").mkdir()
    write(folder / ".hidden" / "log.csv")
    assert files_of(str(folder)) == [str(folder / "linked" / "log.csv"), str(folder / "log.csv")]
    (folder / "lost.csv").symlink_to(tmp_path / "nowhere.csv")
    with pytest.raises(
        InputError, match=r"^cannot read '.*lost\.csv': it is a link to a file that does not exist$"
    ):
        files_of(str(folder))


def test_pipes_and_sockets_are_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "log.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        for path, what in ((tmp_path / "log.csv", "a pipe"), (tmp_path / "s", "a socket")):
            for read in (in_memory, scanned):
                with pytest.raises(
                    InputError, match=rf"is {what}, which can be read only once: save it to a file first$"
                ):
                    read(path)
    with pytest.raises(InputError, match="is a pipe"):
        kwis.read_log(tmp_path)
    ended = run_with(capsys)("evaluate", "-", "--target", "p_new")
    assert (ended.code, ended.err) == (
        2,
        (
            "error: LOG must be a file, and '-' (standard input) can be read only once: save it to a file "
            "first\n"
        ),
    )


@pytest.mark.skipif(not os.path.exists("/proc/self/fd/0"), reason="no names of open files here")
def test_standard_input_from_a_file_is_that_file(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", columns(60))
    code = (
        "import kwis, sys\n"
        "try: print(kwis.read_log(sys.argv[1], propensity='propensity', context=['age']).n)\n"
        "except kwis.InputError as refused: print(refused)"
    )
    said = []
    for source in ("/dev/stdin", "-"):
        with path.open() as file:
            ended = subprocess.run(
                [sys.executable, "-c", code, source], stdin=file, capture_output=True, text=True, check=True
            )
        said.append(ended.stdout.strip())
    assert said == [
        "60",
        f"`source` must be a file, and '-' (standard input) comes from one: give its name, {str(path)!r}",
    ]


def test_a_link_without_a_suffix_is_what_it_points_to(tmp_path: Path) -> None:
    write_csv(tmp_path / "log.csv", columns(60))
    (tmp_path / "newest").symlink_to("log.csv")
    assert kwis.read_log(tmp_path / "newest", propensity="propensity", context=["age"]).n == 60
