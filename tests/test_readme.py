from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, run

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(scope="module")
def printed(folder: Path) -> list[tuple[Block, str]]:
    """The blocks of README, run in order in one folder, and what they printed."""
    return run(README, folder)


def test_the_readme_shows_what_its_code_prints(printed: list[tuple[Block, str]]) -> None:
    shown = [(block.shown, text) for block, text in printed if block.shown is not None]
    assert shown
    for expected, text in shown:
        assert text == expected


def test_the_code_writes_what_it_says(printed: list[tuple[Block, str]], folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "sample.parquet"]


def test_the_readme_stays_short() -> None:
    assert len(README.splitlines()) <= 135


def test_the_values_called_true_are_true() -> None:
    from kwis import sample_log

    truth = sample_log(1).truth
    values = [f"{truth[name]['click']:.4f}" for name in ("logger", "p_new", "p_bold")]
    said = f"{values[0]} for the logging policy, {values[1]} for `p_new`, {values[2]} for `p_bold`"
    assert said in README.replace("\n", " ")
