from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import kwis
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
    truth = kwis.sample_log(1).truth
    values = [f"{truth[name]['click']:.4f}" for name in ("logger", "p_new")]
    said = f"{values[0]} for the logging policy, {values[1]} for `p_new`"
    assert said in README.replace("\n", " ")


def test_every_call_for_a_situation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `...` stands for is the same log everywhere: two offers, half and half."""
    rng = np.random.default_rng(0)
    offer = rng.choice(["A", "B"], 300)
    frame = {
        "offer": offer,
        "items": np.full(300, "A|B"),
        "p": np.full(300, 0.5),
        "p_new": np.where(offer == "B", 0.8, 0.2),
        "age": rng.integers(18, 70, 300),
        "click": (rng.random(300) < np.where(offer == "B", 0.6, 0.3)).astype(int),
        "quality": rng.random(300),
        "cost": rng.random(300),
    }
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.csv.write_csv(pa.table(frame), "log.csv")
    for path in ("log.parquet", "logs/1.parquet"):
        pyarrow.parquet.write_table(pa.table(frame), path)

    calls = re.findall(r"\| `(kwis\.evaluate\(.*\))` \|$", README, re.MULTILINE)
    assert len(calls) == 6
    for call in calls:
        roles = {"action": "offer", "reward": "click", "propensity": "p", "context": ["age"]}
        rest = {name: column for name, column in roles.items() if f"{name}=" not in call}
        code = call.replace("...", "**rest")
        if "scan_log" not in call:
            code = code.removesuffix(")") + ", estimators=['wis'])"
        evaluation = eval(code, {"kwis": kwis, "frame": frame, "rest": rest})
        value = evaluation.recommendation(reward="quality" if "quality" in call else None).row.interval
        assert value.low < (0.5 if "quality" in call else 0.6 if "always" in call else 0.54) < value.high, (
            call
        )
