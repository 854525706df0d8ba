"""The usual container: a package that cannot be written to, no home, a user without rights and no network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import kwis

NOBODY = 65534
GUARD = """
import socket


def refused(*_):
    raise SystemExit("a connection was opened")


socket.socket.connect = socket.getaddrinfo = refused
"""
"""Loaded by Python at its start, where the network itself cannot be taken away."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A temporary folder that others can look into, as they cannot into those of pytest."""
    with tempfile.TemporaryDirectory(prefix="kwis-container-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def packages(place: Path) -> Iterator[Path]:
    """A copy of the package in which nothing can be written, by an administrator neither."""
    folder = place / "packages"
    package = folder / "kwis"
    shutil.copytree(Path(kwis.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    folders = [package, *(path for path in package.rglob("*") if path.is_dir())]
    for each in folders:
        (each / "__pycache__").touch()
        each.chmod(0o555)
    (folder / "sitecustomize.py").write_text(GUARD)
    yield folder
    for each in folders:
        each.chmod(0o755)


def _without_network() -> list[str]:
    """A command that runs another without any network, if there is one that works here."""
    command = ["unshare", "--net"] if os.getuid() == 0 else ["unshare", "--user", "--net"]
    if shutil.which("unshare") is None:
        return []
    works = subprocess.run([*command, "true"], check=False, capture_output=True, timeout=600).returncode == 0
    return command if works else []


def _without_rights(folder: Path) -> list[str]:
    """A command that runs another as nobody, if this is an administrator whose Python others can run."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        return []
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    tried = [*command, sys.executable, "-c", f"open({str(folder / 'log.csv')!r}).close()"]
    works = subprocess.run(tried, check=False, capture_output=True, timeout=600).returncode == 0
    return command if works else []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users of this kind here")
def test_the_sample_log_is_evaluated_in_a_container(packages: Path, place: Path) -> None:
    log, scratch = place / "log.csv", place / "scratch"
    command = [sys.executable, "-m", "kwis"]
    subprocess.run(
        [*command, "demo", "--rows", "600", "--save-log", str(log)], check=True, capture_output=True
    )
    scratch.mkdir()
    scratch.chmod(0o777)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = {**kept, "PYTHONPATH": str(packages), "TMPDIR": str(scratch)}
    options = ["--reward", "click", "--context", "age,country", "--target", "p_new"]
    done = subprocess.run(
        [*_without_network(), *_without_rights(place), *command, "evaluate", str(log), *options],
        env=environment,
        cwd="/",
        check=False,
        capture_output=True,
        text=True,
        timeout=3600,  # a guard against hanging, not a measure of speed
    )
    assert (done.returncode, done.stderr.count("compiled code is kept in")) == (0, 1), done.stderr
    assert "p_new" in done.stdout
