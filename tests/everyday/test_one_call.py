"""From a file to the right answer in one call, through Python and through the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwis
from kwis.cli.main import main
from tests.everyday import logs

ERRORS = 4.0
"""Standard errors that an estimate may be from the truth: once in 16,000 logs."""

CASES: dict[str, tuple[Callable[[], tuple[logs.Table, float]], dict[str, Any], Any, str]] = {
    "marketing": (
        logs.marketing,
        {"action": "offer", "reward": "spend", "context": ["age", "country"], "drop_missing": True},
        "new_offer",
        "--action offer --reward spend --context age,country --drop-missing --target new_offer",
    ),
    "ab test": (
        logs.ab_test,
        {"action": "treated", "reward": "converted", "propensity": 0.5, "context": ["visits", "mobile"]},
        kwis.always(1),
        "--action treated --reward converted --propensity 0.5 --context visits,mobile --target always:1",
    ),
    "medical": (
        logs.medical,
        {"action": "drug", "reward": "days", "context": ["crp", "age"]},
        kwis.always("B"),
        "--action drug --reward days --context crp,age --target always:B",
    ),
    "web": (
        logs.web,
        {"action": "page", "reward": "click", "context": ["hour", "member"]},
        kwis.uniform(),
        "--action page --reward click --context hour,member --target uniform",
    ),
}


def written(name: str, table: logs.Table, folder: Path) -> Path:
    if name == "web":
        return logs.write_sqlite(folder / "shop.db", table, "decisions")
    return logs.write_csv(folder / "log.csv", table)


@pytest.mark.parametrize("name", CASES)
def test_a_file_gets_the_right_answer_in_one_call(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, arguments, target, options = CASES[name]
    table, truth = make()
    path = written(name, table, tmp_path)
    evaluation = kwis.evaluate(path, target, **arguments)
    answer = next(iter(evaluation.recommended.values())).row
    assert abs(answer.estimate.value - truth) < ERRORS * answer.estimate.std_error
    assert abs(answer.estimate.value - truth) < 0.05 * abs(truth)
    assert answer.verdict.level != "do not trust", answer.verdict.reasons
    assert main(["evaluate", str(path), *options.split(), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["recommendations"][0]["row"]
    assert said["estimate"]["value"] == answer.estimate.value
    assert said["interval"]["low"] == answer.interval.low


def test_the_logged_mean_needs_no_weights(tmp_path: Path) -> None:
    table, _ = logs.web(300)
    evaluation = kwis.evaluate(
        dict(table), kwis.uniform(), action="page", reward="click", context="hour", estimators="wis"
    )
    assert evaluation.rows[0].estimate.mean_weight == 1.0


def test_the_usual_name_of_propensities_and_an_unnamed_context_are_said() -> None:
    table, _ = logs.web(400)
    evaluation = kwis.evaluate(
        {**table, "revenue": table["click"]},
        kwis.uniform(),
        action="page",
        reward="click",
        estimators="wis",
        repair="never",
    )
    reasons = " ".join(evaluation.rows[-1].verdict.reasons)
    assert evaluation.rows[-1].verdict.level != "trust"
    assert (
        "you did not say what was known before the decision; it is taken to be hour, member, revenue"
        in reasons
    )
    assert "`revenue` is part of the context and named like an outcome" in reasons
    assert "`revenue` almost determines click: was it known before the decision?" in reasons
    assert "column `pscore`" in evaluation.settings.propensities


def test_a_log_that_was_read_has_its_columns_named_already() -> None:
    table, _ = logs.web(100)
    log = kwis.read_log(dict(table), action="page", reward="click", context="hour")
    for read in (log, kwis.scan_log(dict(table), action="page", reward="click", context="hour")):
        with pytest.raises(
            kwis.InputError, match=r"^`reward` must go with a path or a data frame, got a log"
        ):
            kwis.evaluate(read, kwis.uniform(), reward="click")
    with pytest.raises(kwis.InputError, match=r"^`seed` must go without `rng`"):
        kwis.evaluate(log, kwis.uniform(), seed=1, rng=1)
