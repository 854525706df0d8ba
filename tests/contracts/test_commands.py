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


FEATURES = {"banner": "site", "email": "phone", "push": "phone"}


def test_features_of_the_actions_are_one_question_to_every_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "kinds.csv").write_text("message,kind\nbanner,site\nemail,phone\npush,phone\n")
    files, named = folder / "in 3 files", f"{folder / 'kinds.csv'}:kind"
    roles: dict[str, Any] = {"reward": "click", "context": ["age", "country"], "propensity": "logged"}
    target, asked = {"new": kwis.distribution("p_new")}, ("-t", "new=distribution:p_new", "--json")
    told = ("--reward", "click", "--context", "age,country", "--propensity", "logged")
    more: dict[str, Any] = {"action_features": FEATURES}
    answer = kwis.evaluate(kwis.scan_log(files, **roles), target, estimators=["wis"], **more)
    expected = json.loads(answer.to_json())
    for source in (files, folder / "log.csv"):
        for command in ("evaluate", "compare"):
            found = run(capsys, command, source, *told, *asked, "-e", "wis", "--action-features", named)
            assert worst_gap(expected, found) <= 1e-10
        planned = run(capsys, "plan", source, *told, *asked, "--action-features", named)
        assert planned["plan"]["rows"] == pytest.approx(
            kwis.plan(files, target, **roles, **more).rows, rel=1e-9
        )


def test_a_watch_has_weights_over_features_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "kinds.json").write_text(
        "".join(json.dumps({"message": key, "kind": kind}) + "\n" for key, kind in FEATURES.items())
    )
    files, state = folder / "in 3 files", folder / "state.json"
    found = run(
        capsys, "watch", files, "--once", "--settle", 0, "--state", state, "--json", "--reward", "click",
        "--context", "age,country", "--propensity", "logged", "-t", "new=distribution:p_new",
        "--action-features", folder / "kinds.json",
    )  # fmt: skip
    log = kwis.read_log(files, reward="click", context=["age", "country"], propensity="logged")
    weight = kwis.evaluate(
        log, {"new": kwis.distribution("p_new")}, estimators=["vis"], action_features=FEATURES
    ).weights["new"]
    expected = kwis.BettingSequence().start().add(weight, log.reward[:, 0]).interval()
    value = found["look"]["values"]["new"]
    assert value["value"] == pytest.approx(expected.value, abs=1e-12)
    assert value["low"] == pytest.approx(expected.low, abs=1e-9)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("sensitivity", "-t", "p_new"), "`action_features` has no place in a sensitivity analysis"),
        (("check",), "`action-features` has no place in a check"),
        (("plan", "-t", "p_new", "--logging", "uniform"), "`logging` must go without `action_features`"),
    ],
)
def test_commands_that_cannot_use_features_say_why(
    command: tuple[str, ...], sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(
        [command[0], str(folder / "log.csv"), *command[1:], "--reward", "click", "--action-features", "x"]
    )
    assert code == 2
    assert sentence in capsys.readouterr().err


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
