"""What killed processes leave in the temporary folder is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwis.runtime.scratch import PREFIX, scratch

pytest.importorskip("fcntl")
HOLD = "from kwis.runtime.scratch import scratch\nwith scratch() as f: print(f, flush=True); input()"


def test_folders_of_dead_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    dead, alive = (Path(each.stdout.readline().strip()) for each in started if each.stdout)
    started[0].kill()
    started[0].communicate()
    (tmp_path / "somebody else's").mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "somebody else's")
    assert dead.is_dir()
    with scratch():
        assert dead.is_dir()  # too young to tell
    for folder in (dead, alive, tmp_path / "somebody else's"):
        os.utime(folder, (0, 0))
    with scratch() as own:
        left = {path.name for path in tmp_path.iterdir()}
    assert left == {alive.name, Path(own).name, "somebody else's", f"{PREFIX}link"}
    started[1].communicate("\n")
    assert not alive.exists()
