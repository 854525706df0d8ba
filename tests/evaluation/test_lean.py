"""Scans of many rows by estimators of weights and rewards: the answer of the whole log, from one pass."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import kwis
from kwis.cli.main import app
from kwis.cli.terminal import as_options
from kwis.data.distributions import TOLERANCE
from kwis.data.read import lean as reading
from kwis.evaluation.lean import door, loops, question
from kwis.evaluation.lean.pass_sums import OddsByValue
from kwis.runtime.threads import engine
from kwis.stats import long
from tests.contracts.same import worst_gap

ACTIONS = ("a", "b", "c")
ROLES: dict[str, Any] = {"propensity": "q", "context": ["x", "y"]}
N = 6_000


def columns_of(n: int = N, seed: int = 0, **more: Any) -> dict[str, Any]:
    """A log with a right propensity for every action, a target and a reward of 0 and 1."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n))
    scores = np.stack([0.6 * x, -0.4 * y, 0.2 * x * 0 + 0.1], axis=1)
    logger, target = softmax(scores), softmax(scores[:, ::-1])
    action = (logger.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(max=2)
    reward = (rng.uniform(size=n) < 0.2 + 0.1 * action).astype(float)
    return {
        "x": x,
        "y": y,
        "action": np.array(ACTIONS, dtype=object)[action],
        "reward": reward,
        **{f"q_{name}": logger[:, k] for k, name in enumerate(ACTIONS)},
        **{f"p_new_{name}": target[:, k] for k, name in enumerate(ACTIONS)},
        "p_one": target[np.arange(n), action],
        "q_one": logger[np.arange(n), action],
        **more,
    }


def softmax(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def written(folder: Path, columns: dict[str, Any], files: int = 3) -> Path:
    table = pa.table(columns)
    where = folder / "log"
    where.mkdir()
    edges = np.linspace(0, table.num_rows, files + 1).astype(int)
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        parquet.write_table(
            table.slice(start, stop - start), where / f"part-{number}.parquet", row_group_size=400
        )
    return where


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small logs are evaluated as large ones are."""
    monkeypatch.setattr(door, "LEAN_ROWS", 1_000)
    monkeypatch.setattr(door, "ROWS_LOOKED_AT", 3_000)
    monkeypatch.setattr(reading, "STRETCH_ROWS", 700)
    monkeypatch.setattr(reading, "FEWEST_ALIKE", 300)
    monkeypatch.setattr(long, "LONG", 256)
    monkeypatch.setattr(long, "_BLOCK", 512)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each evaluation was lean."""
    found: list[bool] = []
    whole = question._ready

    def noted(*arguments: Any) -> Any:
        made = None
        try:
            made = whole(*arguments)
        finally:
            found.append(made is not None)
        return made

    monkeypatch.setattr(question, "_ready", noted)
    return found


def both(
    folder: Path, columns: dict[str, Any], target: Any = "p_new", roles: Any = ROLES, **options: Any
) -> tuple[kwis.Evaluation, kwis.Evaluation]:
    """The answers of a scan and of the same log in memory."""
    where = written(folder, columns)
    asked = {"estimators": ["wis", "vis", "truncated-vis"], **options}
    return (
        kwis.evaluate(kwis.scan_log(where, **roles), target, **asked),
        kwis.evaluate(kwis.read_log(where, **roles), target, **asked),
    )


def compare(lean: kwis.Evaluation, whole: kwis.Evaluation) -> None:
    """Estimates, intervals, differences, rankings and what is said of weights are the same."""
    for one, other in zip(lean.rows, whole.rows, strict=True):
        assert (one.target, one.reward, one.recommended) == (other.target, other.reward, other.recommended)
        assert worst_gap((one.estimate, one.interval), (other.estimate, other.interval)) <= 1e-10
    assert worst_gap(lean.changes, whole.changes) <= 1e-10
    for ours, theirs in zip(lean.rankings, whole.rankings, strict=True):
        assert worst_gap((ours.words, ours.differences), (theirs.words, theirs.differences)) <= 1e-10
    assert worst_gap(lean.sensitivity, whole.sensitivity) <= 1e-10
    assert worst_gap(lean.weights, whole.weights) <= 1e-10
    for name, found in whole.diagnostics.items():
        own = lean.diagnostics[name]
        assert worst_gap(own.weights, found.weights) <= 1e-10
        assert worst_gap(own.support, found.support) <= 1e-10
    one, other = (
        dataclasses.replace(answer.settings, call=whole.settings.call, sketch=()) for answer in (lean, whole)
    )
    assert worst_gap(one, other) == 0
    assert lean.propensity.check.fit_p_value == pytest.approx(whole.propensity.check.fit_p_value, rel=1e-9)


TARGETS = {
    "a column per action": "p_new",
    "two of them": {"new": kwis.distribution("p_new_"), "old": kwis.distribution("q_")},
    "one column": "p_one",
}


@pytest.mark.parametrize("target", TARGETS)
def test_a_lean_answer_is_that_of_the_whole_log(target: str, tmp_path: Path, taken: list[bool]) -> None:
    lean, whole = both(tmp_path, columns_of(), TARGETS[target])
    assert taken == [True]
    compare(lean, whole)
    assert [row.verdict for row in lean.rows] == [row.verdict for row in whole.rows]


@pytest.mark.parametrize("reward", ["three values", "amounts", "whole numbers", "yes or no"])
def test_rewards_of_any_kind(reward: str, tmp_path: Path, taken: list[bool]) -> None:
    rng = np.random.default_rng(3)
    kinds = {
        "three values": rng.choice([0.0, 1.0, 5.0], N),
        "amounts": rng.exponential(size=N),
        "whole numbers": rng.integers(0, 40, N),
        "yes or no": rng.uniform(size=N) < 0.3,
    }
    lean, whole = both(tmp_path, columns_of(reward=kinds[reward]))
    assert taken == [True]
    compare(lean, whole)


def test_propensities_of_the_actions_taken_alone(tmp_path: Path, taken: list[bool]) -> None:
    roles = {"propensity": "q_one", "context": ["x", "y"]}
    lean, whole = both(tmp_path, columns_of(), "p_one", roles)
    assert taken == [True]
    assert worst_gap(lean.rows, whole.rows) <= 1e-10
    assert worst_gap(lean.diagnostics["p_one"].weights, whole.diagnostics["p_one"].weights) <= 1e-10


def test_two_actions_with_one_column_each(tmp_path: Path, taken: list[bool]) -> None:
    columns = columns_of()
    other = columns["action"] == "c"
    columns["action"] = np.where(other, "b", columns["action"])
    columns["q_one"] = np.where(columns["action"] == "a", columns["q_a"], 1 - columns["q_a"])
    columns["p_one"] = np.where(columns["action"] == "a", columns["p_new_a"], 1 - columns["p_new_a"])
    roles = {"propensity": "q_one", "context": ["x", "y"]}
    lean, whole = both(tmp_path, columns, "p_one", roles)
    assert taken == [True]
    compare(lean, whole)


def _ages(columns: dict[str, Any]) -> None:
    columns["y"] = np.random.default_rng(2).integers(18, 70, N)


def _few_contexts(columns: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 60, N) / 30 - 1, rng.integers(0, 60, N) / 30 - 1
    made = columns_of(x=x, y=y)
    scores = np.stack([0.6 * x, -0.4 * y, 0 * x], axis=1)
    for prefix, chances in (("q_", softmax(scores)), ("p_new_", softmax(scores[:, ::-1]))):
        made |= {f"{prefix}{name}": chances[:, k] for k, name in enumerate(ACTIONS)}
    logger = softmax(scores)
    action = (logger.cumsum(axis=1) < rng.uniform(size=(N, 1))).sum(axis=1).clip(max=2)
    columns |= {**made, "action": np.array(ACTIONS, dtype=object)[action]}


def _uniform(columns: dict[str, Any]) -> None:
    action = np.random.default_rng(6).integers(0, 3, N)
    columns["action"] = np.array(ACTIONS, dtype=object)[action]
    columns |= {f"q_{name}": np.full(N, 1 / 3) for name in ACTIONS}


def _users_of_independent_rows(columns: dict[str, Any]) -> None:
    columns["user"] = np.random.default_rng(7).integers(0, N // 4, N)


USUAL = {
    "whole numbers": _ages,
    "few contexts": _few_contexts,
    "a uniform logger": _uniform,
    "users": _users_of_independent_rows,
}


@pytest.mark.parametrize("kind", USUAL)
@pytest.mark.parametrize("seed", [0, 1])
def test_usual_logs_are_evaluated_leanly(kind: str, seed: int, tmp_path: Path, taken: list[bool]) -> None:
    columns = columns_of(seed=seed)
    USUAL[kind](columns)
    lean, whole = both(tmp_path, columns, repair="never")  # tests of some rows may pass where all fail
    assert taken == [True]
    compare(lean, whole)
    assert set(whole.notes) <= set(lean.notes)


def test_several_rewards(tmp_path: Path, taken: list[bool]) -> None:
    columns = columns_of(spend=np.random.default_rng(5).exponential(size=N))
    lean, whole = both(tmp_path, columns, roles={**ROLES, "reward": ["reward", "spend"]})
    assert taken == [True]
    compare(lean, whole)


def test_the_answer_says_what_was_looked_at_in_some_rows(tmp_path: Path, taken: list[bool]) -> None:
    lean, _ = both(tmp_path, columns_of())
    assert any("looked at in 3,000 rows drawn at random" in note for note in lean.notes)
    assert "looked at in 3,000 rows" in repr(lean.propensity)


def _wrong(columns: dict[str, Any]) -> None:
    powers = np.stack([columns[f"q_{name}"] for name in ACTIONS]) ** 3
    for name, values in zip(ACTIONS, powers / powers.sum(axis=0), strict=True):
        columns[f"q_{name}"] = np.where(columns["x"] > 0, values, columns[f"q_{name}"])


def _wrong_in_one_place(columns: dict[str, Any]) -> None:
    rows = slice(2_000, 2_700)
    columns["q_a"][rows], columns["q_b"][rows] = columns["q_b"][rows].copy(), columns["q_a"][rows].copy()


def _copied(columns: dict[str, Any]) -> None:
    for values in columns.values():
        values[N // 2 :] = values[: N - N // 2]


def _by_user(columns: dict[str, Any]) -> None:
    """Rows of a user share a draw: the first of five is there five times over, but for the reward."""
    for name, values in columns.items():
        if name not in ("reward", "x"):
            columns[name] = np.repeat(values[::5], 5)
    columns["user"] = np.repeat(np.random.default_rng(1).permutation(N // 5), 5).astype(np.int64)


def _hardly_possible(columns: dict[str, Any]) -> None:
    code = ACTIONS.index(columns["action"][17])
    for k, name in enumerate(ACTIONS):
        columns[f"q_{name}"][17] = 1e-12 if k == code else (1 - 1e-12) / 2


DOUBTS = {
    "wrong propensities": _wrong,
    "wrong ones in one place": _wrong_in_one_place,
    "copies": _copied,
    "users": _by_user,
    "an action that was hardly possible": _hardly_possible,
}


@pytest.mark.parametrize("doubt", DOUBTS)
@pytest.mark.filterwarnings("ignore::kwis.KwisWarning")
def test_a_doubtful_log_is_read_whole_and_loses_no_warning(
    doubt: str, tmp_path: Path, taken: list[bool]
) -> None:
    columns = columns_of()
    DOUBTS[doubt](columns)
    lean, whole = both(tmp_path, columns)
    assert taken == [False]
    assert worst_gap(lean.rows, whole.rows) <= 1e-10
    assert lean.notes == whole.notes


@pytest.mark.parametrize("doubtful", [False, True])
@pytest.mark.filterwarnings("ignore::kwis.KwisWarning")
def test_the_command_answers_as_the_library_does(
    doubtful: bool, tmp_path: Path, taken: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwis.cli.reading._SMALL", 0)
    columns = columns_of()
    if doubtful:
        _wrong(columns)
    where = written(tmp_path, columns)
    asked = ["evaluate", str(where), "--propensity", "q", "--context", "x,y", "--target", "p_new"]
    asked += ["--estimator", "wis"]
    printed = CliRunner().invoke(app, asked)
    found = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    answer = kwis.evaluate(kwis.scan_log(where, **ROLES), "p_new", estimators=["wis"])
    assert taken == [not doubtful] * 3
    expected = json.loads(answer.to_json())
    for one in (found, expected):
        one["settings"].pop("call")
    assert found == expected
    log = kwis.read_log(where, **ROLES).without_context(["p_new_a", "p_new_b", "p_new_c"])
    assert printed.stdout.startswith(f"{where}: {log.overview()}\n")
    for line in map(as_options, repr(answer).splitlines()):
        assert line in printed.stdout


@pytest.mark.parametrize(
    "asked",
    [
        {"estimators": ["wis", "direct-method"]},
        {"estimators": None},
        {"interval": "bootstrap"},
        {"by": "group"},
        {"statistic": "quantile:0.5"},
        {"repair": "always"},
    ],
    ids=str,
)
def test_questions_that_need_more_are_answered_as_before(
    asked: dict[str, Any], tmp_path: Path, taken: list[bool]
) -> None:
    columns = columns_of(1_500, group=np.array(["u", "v", "w"], dtype=object)[np.arange(1_500) % 3])
    where = written(tmp_path, columns)
    if asked.get("statistic"):
        asked = {**asked, "estimators": None}
    kwis.evaluate(kwis.scan_log(where, **ROLES), "p_new", **{"estimators": ["wis"], **asked})
    assert not taken


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("reward", math.inf, "`reward` must be finite, got inf at row 4321"),
        ("q_a", 2.0, "`q_a` (propensity) must be in [0, 1], got 2.0 at row 4321"),
        ("p_new_b", 0.9999, "`target` must be a distribution that sums to 1"),
    ],
)
def test_what_is_refused_is_refused_with_its_row(
    place: str, value: float, said: str, tmp_path: Path, taken: list[bool]
) -> None:
    columns = columns_of()
    columns[place][4_321] = value
    where = written(tmp_path, columns)
    with pytest.raises(kwis.InputError) as caught:
        kwis.evaluate(kwis.scan_log(where, **ROLES), "p_new", estimators=["wis"])
    assert str(caught.value).startswith(said.partition(" at row")[0])
    assert taken == [False]


def test_sums_by_value_of_the_reward() -> None:
    rng = np.random.default_rng(0)
    reward, logged, weight = rng.choice([3.0, -1.0, 0.0], N), rng.uniform(size=N), rng.uniform(size=N)
    found = OddsByValue()
    assert found.add(logged[:4_000], weight[:4_000], reward[:4_000])
    assert found.add(logged[4_000:], weight[4_000:], reward[4_000:])
    box = OddsByValue.box([found])
    np.testing.assert_array_equal(box.reward, [3.0, 0.0, -1.0])
    for place, level in enumerate(box.reward):
        rows = reward == level
        assert box.constant[place] == pytest.approx(logged[rows].sum(), rel=1e-12)
        assert box.odds[place] == pytest.approx((weight - logged)[rows].sum(), rel=1e-12)
    assert not OddsByValue().add(logged, weight, rng.uniform(size=N))


@pytest.mark.parametrize("last", [[0.0, 1.0], [0.0, 1.0, 7.0]], ids=["two values", "a third comes late"])
def test_sums_by_two_values_of_the_reward(last: list[float]) -> None:
    rng = np.random.default_rng(1)
    reward, logged, weight = rng.choice([1.0, 0.0], N), rng.uniform(size=N), rng.uniform(size=N)
    reward[4_000:] = rng.choice(last, N - 4_000)
    found = OddsByValue()
    for rows in (slice(2_000), slice(2_000, 4_000), slice(4_000, N)):
        assert found.add(logged[rows], weight[rows], reward[rows])
    assert sorted(found.found) == last
    for level, (constant, odds) in found.found.items():
        rows = reward == level
        assert constant == pytest.approx(logged[rows].sum(), rel=1e-12)
        assert odds == pytest.approx((weight - logged)[rows].sum(), rel=1e-10)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -0.1, 1.1, 0.3001])
def test_chances_that_are_no_distribution_in_one_row(wrong: float) -> None:
    chances = np.full((3, 1_300), 1 / 3)
    chances[:2, 700] = 0.25, 1 / 3 + 1 / 12
    assert loops.least_if_proper(chances, TOLERANCE) == 0.25
    chances[1, 1_299] = wrong
    assert loops.least_if_proper(chances, TOLERANCE) == -1.0


def test_the_answer_has_the_same_bits_for_any_number_of_threads(tmp_path: Path, taken: list[bool]) -> None:
    where = written(tmp_path, columns_of())
    found = []
    for count in (1, 3):
        with engine(threads=count):
            found.append(kwis.evaluate(kwis.scan_log(where, **ROLES), "p_new", estimators=["wis"]).to_json())
    assert taken == [True, True]
    assert found[0] == found[1]
