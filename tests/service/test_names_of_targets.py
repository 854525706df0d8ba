"""Targets whose names look like shares of each other, and messages in the words of whoever reads them."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest

import kwis
from kwis.cli.terminal import as_options
from tests.cli.example import Run, columns, write_parquet


def test_numbered_targets_are_not_taken_for_shares_of_each_other() -> None:
    rng = np.random.default_rng(0)
    n = 300
    action = rng.integers(0, 3, n)
    table = {
        "action": action,
        "reward": rng.random(n),
        "propensity": np.full(n, 1 / 3),
        "x": rng.normal(size=n),
    }
    table |= {f"p_t{i}": rng.uniform(0.05, 0.9, n) for i in range(14)}
    log = kwis.read_log(table, propensity="propensity", context=["x"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kwis.evaluate(log, [f"p_t{i}" for i in range(14)], estimators=["wis"], repair="never")
        kwis.evaluate(log, "p_t1", estimators=["wis"], repair="never")
    assert [str(one.message) for one in caught] == []


def test_targets_that_are_named_like_shares_of_another_target_are_left_alone() -> None:
    table = columns()
    shares = {
        f"p_new_{action}": [0.1 + 0.1 * (i % 7) for i in range(240)] for action in ("banner", "email", "push")
    }
    log = kwis.read_log({**table, **shares}, propensity="propensity", context=["age"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kwis.evaluate(
            log,
            {"new": "p_new", "a": kwis.probability("p_new_banner"), "b": kwis.probability("p_new_push")}
            | {"c": "p_new_email"},
            estimators=["wis"],
            repair="never",
        )
    with pytest.warns(kwis.KwisWarning, match="`p_new_banner` to `p_new_push` were not used"):
        kwis.evaluate(log, "p_new", estimators=["wis"], repair="never")


def test_messages_about_scans_name_the_options_of_the_command(run: Run, tmp_path: Path) -> None:
    table = columns()
    path = write_parquet(tmp_path / "log.parquet", {**table, "pick": ["fax", *table["pick"][1:]]})
    asked = ("evaluate", path, "--context", "age,country", "--estimator", "wis", "--target", "pick")
    assert run(*asked, "--actions", "banner,email,push,fax").code == 0
    ended = run(*asked)
    assert ended.code == 2
    assert ended.err.rstrip().endswith("must be listed in --actions a,b,c")


def test_no_sentence_in_a_shell_speaks_python() -> None:
    said = as_options(
        "`client` must be connected, `row_weight` too; an action must be listed in scan_log(actions=[...]) "
        "of `source`"
    )
    assert said == (
        "`scheduler` must be connected, `row-weight` too; an action must be listed in --actions a,b,c of LOG"
    )


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("name it with group='user id'", "name it with --group 'user id'"),
        ("that tells them apart with group=", "that tells them apart with --group"),
        ("name it with context=[...]", "name it with --context"),
        ("decisions like these (kwis.plan)", "decisions like these (kwis plan)"),
        ("say propensity_source='randomiser' if", "say --propensity-source randomiser if"),
    ],
)
def test_what_the_answer_asks_for_is_an_option_in_a_shell(python: str, shell: str) -> None:
    assert as_options(python) == shell


def test_a_query_that_a_shell_would_obey_is_quoted() -> None:
    assert as_options("pass query=\"SELECT 'a' FROM log\"") == "pass --query \"SELECT 'a' FROM log\""
    hostile = "SELECT '$(rm x)' FROM log"
    assert shlex.split(as_options(f"pass query={hostile!r}"))[2] == hostile
    assert "--query '" in as_options(f"pass query={hostile!r}")
