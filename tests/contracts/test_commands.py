"""The command gives one answer, whichever way it reads the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwis
from kwis.cli.main import main
from tests.contracts.doors import folder_of
from tests.contracts.logs import shop
from tests.contracts.same import answered, worst_gap

OPTIONS = (
    "--reward",
    "click",
    "--context",
    "age,country",
    "--target",
    "p_new",
    "-e",
    "wis,doubly-robust",
    "--by",
    "country",
    "--json",
)


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> Any:
    code = main([str(one) for one in arguments])
    found = capsys.readouterr()
    assert code == 0, found.err
    return json.loads(found.out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("commands")
    shop().to_csv(where / "log.csv", index=False)
    folder_of(shop(), where, 3)
    return where


def test_evaluate_gives_one_answer_however_the_log_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = folder / "in 3 files"
    log = kwis.scan_log(files, reward="click", context=["age", "country"])
    answer = kwis.evaluate(log, ["p_new"], estimators=["wis", "doubly-robust"], by=["country"])
    expected = json.loads(answer.to_json())
    for source, more in (
        (files, ()),
        (files, ("--stream",)),
        (files, ("--no-stream", "--exact")),
        (folder / "log.csv", ("--stream",)),
    ):
        assert worst_gap(expected, run(capsys, "evaluate", source, *OPTIONS, *more)) <= 1e-10
    estimated = [
        run(capsys, "evaluate", files, *OPTIONS, "--estimate-propensity", way)
        for way in ("--stream", "--no-stream")
    ]
    assert worst_gap(*estimated) <= 1e-10
    assert estimated[0]["propensity"]["estimated"] is not None


def test_compare_and_check_give_one_answer_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, roles = folder / "in 3 files", ("--reward", "click", "--context", "age,country")
    for command in (
        ("compare", "--target", "p_new", "--target", "pick", "-e", "wis"),
        ("check", "--target", "p_new"),
    ):
        answers = [
            run(capsys, command[0], source, *roles, *command[1:], "--json")
            for source in (files, folder / "log.csv")
        ]
        assert worst_gap(*answers) <= 1e-10


def test_a_frame_or_a_path_alone_has_columns_with_their_usual_names(folder: Path) -> None:
    frame = shop().rename(columns={"click": "reward"})
    frame.to_csv(folder / "usual.csv", index=False)
    options: dict[str, Any] = {"estimators": ["wis"]}
    expected = answered(lambda: kwis.evaluate(kwis.read_log(frame), "p_new", **options))
    for log in (frame, folder / "usual.csv", kwis.scan_log(frame)):
        assert worst_gap(expected, answered(lambda log=log: kwis.evaluate(log, "p_new", **options))) == 0
