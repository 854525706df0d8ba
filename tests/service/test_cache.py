"""Compiled code is kept between processes where that is possible, and done without where it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WORK = """
import sys, warnings
from kwis.runtime.compile import compiled

@compiled(nogil=True)
def double(x):
    return 2 * x

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(double(21), double(0.5), double._cache_hits[(double.signatures[0])])
    print(len(caught), *(one.message for one in caught))
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    path = folder / "double.py"
    path.write_text(WORK)
    return path


def run(module: Path, **environment: str | None) -> list[str]:
    kept = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    done = subprocess.run(
        [sys.executable, str(module)],
        env=kept,
        cwd=module.parent,
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def unwritable(module: Path) -> None:
    """A file in place of the folder for the cache stops an administrator too."""
    (module.parent / "__pycache__").touch()


def nowhere(tmp_path: Path) -> dict[str, str | None]:
    """No home, and no folder named."""
    blocked = tmp_path / "blocked"
    blocked.touch()
    return {"HOME": str(blocked / "home"), "XDG_CACHE_HOME": str(blocked / "cache"), "NUMBA_CACHE_DIR": None}


def test_without_a_place_for_the_cache_a_temporary_one_is_used_and_said_once(
    module: Path, tmp_path: Path
) -> None:
    unwritable(module)
    places = {**nowhere(tmp_path), "TMPDIR": str(tmp_path)}
    first, second = run(module, **places), run(module, **places)
    (folder,) = tmp_path.glob("kwis-cache-*")
    assert folder.stat().st_mode & 0o077 == 0
    said = (
        f"1 compiled code is kept in {str(folder)!r}, as no lasting folder can be written to; "
        f"NUMBA_CACHE_DIR names another"
    )
    assert first == ["42 1.0 0", said]
    assert second == ["42 1.0 1", said]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner here")
def test_a_temporary_cache_that_others_can_write_to_is_not_used(module: Path, tmp_path: Path) -> None:
    unwritable(module)
    folder = tmp_path / f"kwis-cache-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    said = run(module, **nowhere(tmp_path), TMPDIR=str(tmp_path))
    assert said[0] == "42 1.0 0"
    assert said[1].startswith("1 compiled code cannot be kept, as no folder can be written to")
    assert not list(folder.iterdir())


def test_nothing_is_written_to_a_folder_called_tilde(module: Path, tmp_path: Path) -> None:
    unwritable(module)
    run(module, **nowhere(tmp_path) | {"HOME": "~", "XDG_CACHE_HOME": None}, TMPDIR=str(tmp_path))
    assert not (module.parent / "~").exists()


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"no pickle at all", None])
def test_a_damaged_cache_is_rebuilt(suffix: str, damage: bytes | None, module: Path, tmp_path: Path) -> None:
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(module, **places) == ["42 1.0 0", "0"]
    for path in (tmp_path / "cache").rglob(f"*.{suffix}"):
        path.write_bytes(path.read_bytes()[:-20] if damage is None else damage)
    assert run(module, **places) == ["42 1.0 0", "0"]
    assert run(module, **places) == ["42 1.0 1", "0"]


def test_a_full_disk_costs_the_cache_and_nothing_else(module: Path, tmp_path: Path) -> None:
    module.write_text(
        "import errno\nfrom numba.core.caching import IndexDataCacheFile\n"
        "def full(*_): raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "IndexDataCacheFile._save_data = full\n" + WORK
    )
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(module, **places) == ["42 1.0 0", "0"]
    assert run(module, **places) == ["42 1.0 0", "0"]


def test_functions_are_counted_as_compiled_unless_they_were_kept(module: Path, tmp_path: Path) -> None:
    module.write_text(WORK + "from kwis.runtime.process import compilation\nprint(compilation.functions)\n")
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(module, **places) == ["42 1.0 0", "0", "2"]
    assert run(module, **places) == ["42 1.0 1", "0", "0"]


def test_a_first_run_at_a_prompt_says_once_that_it_compiles(module: Path, tmp_path: Path) -> None:
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    module.write_text(f"import sys\nsys.stderr, sys.ps1 = sys.stdout, '> '\n{WORK}")
    first, *rest = run(module, **places)
    assert first == "kwis is compiling, first run only: a few seconds"
    assert rest == ["42 1.0 0", "0"]
    assert run(module, **places) == ["42 1.0 1", "0"]


def test_a_first_run_of_a_script_says_nothing(module: Path, tmp_path: Path) -> None:
    assert run(module, NUMBA_CACHE_DIR=str(tmp_path / "cache")) == ["42 1.0 0", "0"]
