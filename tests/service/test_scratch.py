"""What killed processes leave in the temporary folder is removed by the next one, and nothing else is."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kwis.data.read.duck import connect, run_query
from kwis.runtime.scratch import PREFIX, remove_left, scratch
from tests.cli.example import columns, write_csv, write_parquet

fcntl = pytest.importorskip("fcntl")
HOLD = "from kwis.runtime.scratch import scratch\nwith scratch() as f: print(f, flush=True); input()"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of this process and those that it starts."""
    found = tmp_path / "temporary"
    found.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(found))
    monkeypatch.setenv("TMPDIR", str(found))
    return found


def holding() -> tuple[subprocess.Popen[str], Path]:
    """A process that has a folder, and the folder."""
    started = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    return started, Path(started.stdout.readline().strip())


def test_folders_of_dead_processes_are_removed_at_once(place: Path) -> None:
    (killed, dead), (other, alive) = holding(), holding()
    killed.kill()
    killed.communicate()
    (place / "somebody else's").mkdir()
    (place / f"{PREFIX}link").symlink_to(place / "somebody else's")
    assert dead.is_dir()
    with scratch() as own:
        left = {path.name for path in place.iterdir()}
    assert left == {alive.name, Path(own).name, "somebody else's", f"{PREFIX}link"}
    other.communicate("\n")
    assert not alive.exists()


@pytest.mark.parametrize("kind", ["a file", "a scanned folder"])
def test_whatever_is_read_next_removes_them(kind: str, place: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    if kind == "a file":
        write_csv(log, columns(60))
    else:
        log = write_parquet(tmp_path / "log.parquet", columns(60))
    (place / f"{PREFIX}of-the-dead").mkdir()
    reading = f"import kwis; kwis.scan_log({str(log)!r}, context=['age']).read()"
    subprocess.run([sys.executable, "-c", reading], check=True)
    assert list(place.iterdir()) == []


def test_a_folder_that_is_taken_before_it_is_locked_is_not_used(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locking, seen = fcntl.flock, []

    def removed_first(opened: int, how: int) -> None:
        if not seen:
            seen.extend(place.iterdir())
            seen[0].rmdir()
        locking(opened, how)

    monkeypatch.setattr(fcntl, "flock", removed_first)
    with scratch() as folder:
        assert Path(folder).is_dir()
        assert [Path(folder)] != seen
    assert list(place.iterdir()) == []


def test_folders_of_threads_that_come_and_go_stay_while_they_are_in_use(place: Path) -> None:
    lost = []

    def work() -> None:
        for _ in range(100):
            with scratch() as folder:
                remove_left()
                if not Path(folder).is_dir():
                    lost.append(folder)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lost == []
    assert list(place.iterdir()) == []


def test_where_nothing_can_be_locked_folders_are_used_all_the_same(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwis.runtime.scratch._locked", lambda _: None)
    with scratch() as folder:
        assert [path.name for path in place.iterdir()] == [Path(folder).name]
    assert list(place.iterdir()) == []


def test_tables_that_do_not_fit_into_memory_go_to_the_temporary_folder(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with connect() as connection:
        connection.execute("SET memory_limit = '60MB'; SET threads = 1")
        table = "SELECT i, hash(i) AS j, hash(j) AS k FROM range(4000000) t(i)"
        connection.execute(f"CREATE TEMP TABLE t AS {table}")
        assert list(place.glob(f"{PREFIX}*/*"))
        assert list(tmp_path.iterdir()) == [place]
        assert run_query(connection, "SELECT max(i) AS last FROM t").column("last").values == [3_999_999]
    assert list(place.iterdir()) == []


def test_without_a_place_to_write_memory_has_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with connect() as connection:
        assert connection.execute("SELECT current_setting('temp_directory')").fetchone() == ("",)
