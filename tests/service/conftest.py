from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.example import Run, columns, run_with, write_csv


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not add lines to what a command says."""
    monkeypatch.setattr("kwis.cli.progress.FIRST_SECONDS", 3600.0)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return run_with(capsys)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "log.csv", columns())
