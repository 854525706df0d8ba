"""The snippets of a report make the same evaluation again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import Table, parquet

import kwis
from kwis.cli.main import main
from tests.contracts.same import gaps

QUICK = {"estimators": ["wis", "normalised-state-wis"]}
ROLES = {"propensity": "propensity", "context": ["age", "country"]}


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 400
    age, action = rng.normal(40, 10, n), rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "action": np.array(["A", "B"])[action],
            "reward": rng.normal(1 + 0.3 * action, 1, n),
            "it's, spent": rng.gamma(2.0, 1.0, n),
            "propensity": np.full(n, 0.5),
            "age": age,
            "country": rng.choice(["DE", "BR"], n),
            "user": rng.integers(0, 200, n),
            "day": np.arange(n) // 20,
            "p_new": np.clip(0.3 + 0.4 * rng.random(n), 0, 1),
            "pick": rng.choice(["A", "B"], n),
            "taken": action,
            "slot": rng.integers(1, 3, n),
            "id": np.arange(n),
            "offered": ["A|B"] * n,
            "late": np.where(rng.random(n) < 0.1, np.nan, action),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("logs")
    frame().to_csv(where / "log.csv", index=False)
    frame()[["id", "pick"]].to_csv(where / "other.csv", index=False)
    (where / "kinds.csv").write_text("name,kind,size\nA,letter,1\nB,letter,1\n")
    (where / "parts").mkdir()
    whole = Table.from_pandas(frame(), preserve_index=False)
    parquet.write_table(whole.slice(0, 150), where / "parts" / "a.parquet")
    parquet.write_table(whole.slice(150), where / "parts" / "b.parquet")
    return where


def treat_all(log: kwis.LoggedBandit) -> Any:
    return np.full(log.n, "B")


def by_age(log: kwis.LoggedBandit) -> Any:
    return np.where(log["age"] > 40, "A", "B")


ROWS = np.arange(100, 380)
Made = Callable[[Path], kwis.Evaluation]
CASES: dict[str, Made] = {
    "a file": lambda p: kwis.evaluate(kwis.read_log(p / "log.csv", **ROLES), "p_new", **QUICK),
    "a path": lambda p: kwis.evaluate(str(p / "log.csv"), ["p_new"], **QUICK, rng=3),
    "a scan": lambda p: kwis.evaluate(kwis.scan_log(p / "parts", **ROLES), "p_new", **QUICK),
    "a list of files": lambda p: kwis.evaluate(
        kwis.scan_log([p / "parts" / "b.parquet", p / "parts" / "a.parquet"], **ROLES), "p_new", **QUICK
    ),
    "a query": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", query="SELECT * FROM log WHERE age < 50", **ROLES), "p_new", **QUICK
    ),
    "groups, time and segments": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", group="user", time="day", categorical=["country"], **ROLES),
        "p_new",
        by=["country"],
        level=0.9,
        **QUICK,
    ),
    "words": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", reward=["reward", "it's, spent"], **ROLES),
        "p_new",
        unit={"it's, spent": "€"},
        per=1000,
        lower_is_better=["it's, spent"],
        reward_label={"reward": "score"},
        **QUICK,
    ),
    "several rewards": lambda p: kwis.evaluate(
        kwis.read_log(
            p / "log.csv", reward=["reward", "it's, spent"], propensity_source="randomiser", **ROLES
        ),
        "p_new",
        repair="never",
        **QUICK,
    ),
    "named targets": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", **ROLES),
        {"new": "p_new", "the pick": kwis.chosen("pick"), "sure": kwis.probability("p_new")},
        **QUICK,
    ),
    "estimated propensities": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", propensity=False, context=["age"]), "p_new", **QUICK
    ),
    "settings of estimators and intervals": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", **ROLES),
        "p_new",
        estimators=[kwis.WIS(), kwis.KernelWIS(0.5, kernel=kwis.Laplace), kwis.KernelWIS(float("inf"))],
        interval=kwis.Bootstrap(50),
        by=[("country", "pick")],
    ),
    "further roles": lambda p: kwis.evaluate(
        kwis.read_log(
            p / "log.csv", reward="late", drop_missing=True, position="slot", candidates="offered", **ROLES
        ),
        [kwis.uniform(), kwis.always("B")],
        interval="bootstrap",
        **QUICK,
    ),
    "a policy in another file": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", key="id", **ROLES),
        {
            "theirs": kwis.joined(str(p / "other.csv"), "pick"),
            "said": kwis.joined(str(p / "other.csv"), kwis.chosen("pick")),
        },
        **QUICK,
    ),
    "features of the actions": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", **{**ROLES, "propensity": 0.5}),
        [kwis.always("B"), kwis.chosen("pick")],
        action_features=f"{p / 'kinds.csv'}:kind,size",
        **QUICK,
    ),
    "features of the actions in Python": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", **{**ROLES, "propensity": 0.5}),
        kwis.always("B"),
        action_features={"A": "letter", "B": "letter"},
        **QUICK,
    ),
    "an action that is a number": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", action="taken", **ROLES),
        kwis.always(1),
        statistic="quantile:0.5",
        interval="block-bootstrap:20",
    ),
    "a frame and functions": lambda p: kwis.evaluate(
        kwis.read_log(frame(), **ROLES), {"everybody": treat_all, "older": by_age}, **QUICK
    ),
    "a generator": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", **ROLES),
        "p_new",
        interval=kwis.Bootstrap(40),
        rng=np.random.default_rng(9),
        **QUICK,
    ),
    "the sample log": lambda p: kwis.evaluate(
        kwis.sample_log(300, rng=2).read(reward="click"), ["p_new"], **QUICK
    ),
    "changed after reading": lambda p: kwis.evaluate(
        kwis.read_log(p / "log.csv", **ROLES).take(ROWS), "p_new", **QUICK
    ),
}
BOUND = {
    "a frame and functions": lambda p: {"frame": frame(), "treat_all": treat_all, "by_age": by_age},
    "changed after reading": lambda p: {"log": kwis.read_log(p / "log.csv", **ROLES).take(ROWS)},
}
NO_COMMAND = {
    "a list of files",
    "a generator",
    "the sample log",
    "features of the actions in Python",
    "settings of estimators and intervals",
    *BOUND,
}


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, kwis.Evaluation]:
    return {name: make(folder) for name, make in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_python_of_a_report_gives_every_number_again(
    name: str, answers: dict[str, kwis.Evaluation], folder: Path
) -> None:
    space: dict[str, Any] = BOUND.get(name, lambda p: {})(folder)
    exec(answers[name].settings.call.python, space)
    found = list(gaps(answers[name], space["evaluation"], ""))
    assert len(found) > 400
    assert max(gap for _, gap in found) <= 1e-12


@pytest.mark.parametrize("name", CASES)
def test_the_command_of_a_report_gives_every_number_again(
    name: str, answers: dict[str, kwis.Evaluation], capsys: pytest.CaptureFixture[str]
) -> None:
    call = answers[name].settings.call
    assert (call.command is None) == (name in NO_COMMAND), call.no_command
    if call.command is None:
        assert call.no_command
        return
    program, *words = shlex.split(call.command)
    assert program == "kwis"
    assert main([*words, "--json"]) == 0
    expected, found = json.loads(answers[name].to_json()), json.loads(capsys.readouterr().out)
    assert max(gap for _, gap in gaps(expected, found, "")) <= 1e-12


def test_every_argument_is_stored_and_a_scan_stays_a_scan(answers: dict[str, kwis.Evaluation]) -> None:
    stored = answers["groups, time and segments"].settings.call.arguments
    assert stored["read_log"]["group"] == "'user'"
    assert stored["evaluate"] == {
        "log": "log", "target": "'p_new'", "estimators": "['wis', 'normalised-state-wis']", "level": "0.9",
        "by": "['country']",
    }  # fmt: skip
    scan = answers["a scan"].settings.call
    assert "kwis.scan_log(" in scan.python
    assert "stream" not in str(scan.command)  # the command reads every log the same way
