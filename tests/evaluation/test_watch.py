"""A log that grows: every file once, none half, and the same sums whether or not it was interrupted."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kwis
from kwis.cli.main import main
from kwis.data.read import arrivals
from kwis.evaluation import counted
from kwis.evaluation import watch as module
from tests.everyday.logs import write_csv

SHARES, BETTER = np.array([0.6, 0.4]), np.array([0.3, 0.5])
TRUTH = float(BETTER[1])
"""Value of always taking b."""
OPTIONS: dict[str, Any] = {"context": "x", "largest_weight": 2.5, "settle": 0.0}


def table(n: int, seed: int, factor: float = 1.0) -> dict[str, Any]:
    """Two actions, a and b; propensities are right if ``factor`` is 1."""
    rng = np.random.default_rng(seed)
    code = (rng.random(n) < SHARES[1]).astype(int)
    return {
        "x": rng.normal(size=n).round(3),
        "action": np.array(["a", "b"])[code],
        "propensity": SHARES[code] * factor,
        "reward": (rng.random(n) < BETTER[code]).astype(int),
    }


def arrive(folder: Path, name: str, n: int, seed: int, factor: float = 1.0) -> Path:
    return write_csv(folder / name, table(n, seed, factor))


def look(folder: Path, **more: Any) -> kwis.Look:
    return kwis.watch(folder, kwis.always("b"), **{**OPTIONS, **more})


def numbers(found: kwis.Look) -> list[float]:
    intervals = (found.logging, *found.values.values(), *found.changes.values())
    return [found.rows, *(end for one in intervals for end in (one.low, one.value, one.high))]


def test_the_truth_is_inside_and_a_change_is_told(tmp_path: Path) -> None:
    for day in range(4):
        arrive(tmp_path, f"{day}.csv", 600, day)
    found = look(tmp_path)
    assert (found.rows, found.files, found.waiting) == (2400, 4, ())
    value, change = found.values["always b"], found.changes["always b"]
    assert value.low < TRUTH < value.high
    assert change.low < TRUTH - float(SHARES @ BETTER) < change.high
    assert change.low > 0
    assert not found.propensities_wrong


def test_the_sums_are_those_of_all_rows_at_once(tmp_path: Path) -> None:
    for day in range(3):
        arrive(tmp_path, f"{day}.csv", 200, day)
    found = look(tmp_path)
    tables = [table(200, day) for day in range(3)]
    action, chance, reward = (
        np.concatenate([one[name] for one in tables]) for name in ("action", "propensity", "reward")
    )
    weight = np.where(action == "b", 1 / chance, 0.0)
    start = kwis.BettingSequence(largest_weight=2.5)
    alone = start.start().add(weight, reward).interval()
    apart = start.start(difference=True).add(weight, reward).interval()
    for expected, got in ((alone, found.values["always b"]), (apart, found.changes["always b"])):
        assert got.value == pytest.approx(expected.value, abs=1e-12)
        assert got.low == pytest.approx(expected.low, abs=1e-9)
        assert got.high == pytest.approx(expected.high, abs=1e-9)
    assert apart.value == pytest.approx(float((weight - 1) @ reward) / 600, abs=1e-12)


def test_looking_again_counts_nothing_twice(tmp_path: Path) -> None:
    arrive(tmp_path, "1.csv", 300, 1)
    first = look(tmp_path)
    again = look(tmp_path)
    assert numbers(first) == numbers(again)
    assert (first.fresh, again.fresh) == (("1.csv",), ())
    arrive(tmp_path, "2.csv", 300, 2)
    assert look(tmp_path).rows == 600


def test_a_watch_killed_at_any_step_goes_on_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
        for day in range(4):
            arrive(folder, f"{day}.csv", 150, day)
    expected = look(whole)
    write, steps = counted.write_whole, iter(range(1_000))

    class Killed(BaseException):
        pass

    def dies(*arguments: Any) -> Path:
        step = next(steps)
        if step % 3 == 0:
            raise Killed  # before the state is replaced
        written = write(*arguments)
        if step % 3 == 1:
            raise Killed  # right after
        return written

    monkeypatch.setattr(counted, "write_whole", dies)
    lives = 0
    while True:
        try:
            found = look(broken)
            break
        except Killed:
            lives += 1
    assert lives >= 3
    assert numbers(found) == numbers(expected)


@pytest.mark.parametrize(
    ("name", "part", "reason"),
    [
        ("half.csv", b"x,action,propensity,reward\n0.1,a,0.6,1\n0.2,b,0.4", "within a line"),
        ("half.jsonl", b'{"x": 1, "action": "a"', "within a line"),
        ("half.json", b'[{"x": 1, "action": "a"}, ', "within a line"),
        ("half.parquet", b"PAR1\x00\x01", "Parquet"),
        ("half.csv.gz", gzip.compress(b"x,action\n1,a\n" * 50, mtime=0)[:-9], "break off"),
        ("half.csv", b"", "empty"),
    ],
)
def test_a_half_written_file_waits(tmp_path: Path, name: str, part: bytes, reason: str) -> None:
    arrive(tmp_path, "1.csv", 100, 1)
    (tmp_path / name).write_bytes(part)
    found = look(tmp_path)
    assert (found.rows, found.fresh) == (100, ("1.csv",))
    assert [(one.name, reason in one.reason) for one in found.waiting] == [(name, True)]


def test_only_a_file_that_changed_a_moment_ago_is_waited_for(tmp_path: Path) -> None:
    arrive(tmp_path, "1.csv", 100, 1)
    found = arrivals.arrived(tmp_path)
    for later, slept in ((0.0, [2.0]), (1.9, [2.0]), (2.1, [])):
        waits: list[float] = []
        now = found[0].changed / 1e9 + later
        assert arrivals.settled(found, 2.0, now=lambda now=now: now, sleep=waits.append)[0] == found
        assert waits == slept


def test_a_file_that_grows_while_one_looks_waits_and_is_then_counted_whole(tmp_path: Path) -> None:
    path = arrive(tmp_path, "1.csv", 100, 1)

    def grows(_: float) -> None:
        with path.open("a") as file:
            file.write("0.5,a,0.6,1\r\n")

    found = arrivals.arrived(tmp_path)
    assert arrivals.settled(found, 2.0, now=lambda: found[0].changed / 1e9, sleep=grows)[0] == []
    assert look(tmp_path).rows == 101


def test_a_file_that_changed_while_it_was_read_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = arrive(tmp_path, "1.csv", 100, 1), module.read_source

    def reads(*arguments: Any) -> Any:
        found = read(*arguments)
        with path.open("a") as file:
            file.write("0.5,a,0.6,1\r\n")
        return found

    monkeypatch.setattr(module, "read_source", reads)
    assert look(tmp_path).rows == 0
    monkeypatch.undo()
    assert look(tmp_path).rows == 101


def test_copies_count_once_and_files_taken_away_stay_counted(tmp_path: Path) -> None:
    path = arrive(tmp_path, "1.csv", 100, 1)
    (tmp_path / "2.csv").write_bytes(path.read_bytes())
    found = look(tmp_path)
    assert (found.rows, found.repeated) == (100, {"2.csv": "1.csv"})
    path.unlink()
    assert look(tmp_path).rows == 100


def test_a_file_touched_is_the_same_and_one_that_grew_is_refused(tmp_path: Path) -> None:
    path = arrive(tmp_path, "1.csv", 100, 1)
    look(tmp_path)
    os.utime(path, ns=(1, 1))
    assert look(tmp_path).rows == 100
    with path.open("a") as file:
        file.write("0.5,a,0.6,1\r\n")
    with pytest.raises(kwis.InputError, match=r"'1\.csv' must not change after it was counted"):
        look(tmp_path)


def test_other_settings_need_another_state(tmp_path: Path) -> None:
    arrive(tmp_path, "1.csv", 100, 1)
    look(tmp_path)
    with pytest.raises(kwis.InputError, match=r"`largest_weight` must be 2\.5 as in"):
        look(tmp_path, largest_weight=3.0)
    assert look(tmp_path, level=0.9).level == 0.9
    assert look(tmp_path, largest_weight=3.0, state=tmp_path / "other.state").rows == 100


def test_a_state_of_another_version_is_refused(tmp_path: Path) -> None:
    arrive(tmp_path, "1.csv", 100, 1)
    look(tmp_path)
    state = tmp_path / module.STATE_NAME
    state.write_text(state.read_text().replace(counted.SCHEMA, "kwis-watch/1"))
    sentence = r"`state` must be 'kwis-watch/2', .* got 'kwis-watch/1' in .*; another `state` starts anew$"
    with pytest.raises(kwis.InputError, match=sentence):
        look(tmp_path)
    assert look(tmp_path, state=tmp_path / "other.state").rows == 100


def test_a_bad_file_is_named_and_the_others_stay_counted(tmp_path: Path) -> None:
    arrive(tmp_path, "1.csv", 100, 1)
    bad = tmp_path / "2.csv"
    bad.write_text("x,action,reward,propensity\n1,a,7,0.6\n2,b,0,0.4\n")
    with pytest.raises(kwis.InputError, match=r"'2\.csv'"):
        look(tmp_path)
    bad.unlink()
    assert look(tmp_path).rows == 100


@pytest.mark.parametrize(
    ("target", "more", "sentence"),
    [
        (kwis.uniform(), {}, "`actions` must list"),
        (kwis.mix(kwis.always("b"), kwis.uniform(), 0.5), {}, "`actions` must list"),
        (kwis.always("b"), {"propensity": False}, "`propensity` must be logged"),
        (kwis.always("b"), {"group": "x"}, "`group` must not"),
        (kwis.always("b"), {"bounds": (1, 0)}, "`bounds` must be"),
    ],
)
def test_what_a_sequence_cannot_say_is_refused(
    tmp_path: Path, target: Any, more: dict[str, Any], sentence: str
) -> None:
    arrive(tmp_path, "1.csv", 100, 1)
    with pytest.raises(kwis.InputError, match=sentence):
        kwis.watch(tmp_path, target, **{**OPTIONS, **more})


def test_rewards_outside_of_the_bounds_are_told_how_to_say_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spends = {**table(60, 1), "reward": [8.5] * 60}
    write_csv(tmp_path / "day.csv", spends)
    with pytest.raises(kwis.InputError, match=r"'day.csv'; say between which .* with bounds=\(low, high\)$"):
        look(tmp_path)
    options = "--context x --target always:b --largest-weight 2.5 --settle 0 --once"
    assert main(["watch", str(tmp_path), *options.split()]) == 2
    assert capsys.readouterr().err.endswith("all rewards lie with --bounds LOW,HIGH\n")
    with pytest.raises(kwis.InputError, match=r"did you mean 'x'\? \(in 'day.csv'\)$"):
        look(tmp_path, context="xx", bounds=(0, 10))


def test_several_targets_hold_together(tmp_path: Path) -> None:
    arrive(tmp_path, "1.csv", 500, 1)
    found = kwis.watch(
        tmp_path, [kwis.always("a"), kwis.always("b")], state=tmp_path / "two.state", **OPTIONS
    )
    alone = look(tmp_path)
    assert found.values["always b"].width > alone.values["always b"].width
    assert "for all 2 targets together" in repr(found)


def test_wrong_propensities_fail_every_gate(tmp_path: Path) -> None:
    for day in range(3):
        arrive(tmp_path, f"{day}.csv", 400, day, factor=0.7)
    found = look(tmp_path, largest_weight=None)
    assert found.propensities_wrong
    assert found.standing(below=0.0) == "failed"
    assert "do not trust" in repr(found)


def test_right_propensities_are_seldom_called_wrong_at_any_look() -> None:
    """The capital of bets against right propensities exceeds 20 in at most 5 % of logs: 60 logs of 8
    looks, 3 standard errors above.
    """
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        tally = module.Tally.start(kwis.BettingSequence(), ["b"])
        wrong = False
        for _ in range(8):
            code = (rng.random(50) < 0.1).astype(int)
            chance = np.where(code == 1, 0.1, 0.9)
            own = {name: np.where(code == number, 1 / chance, 0.0) for number, name in enumerate("ab")}
            tally = tally.add({"b": own["b"]}, np.zeros(50), own)
            wrong = wrong or tally.against_propensities() >= module.ALARM
        alarms += wrong
    assert alarms / 60 <= 0.05 + 3 * (0.05 * 0.95 / 60) ** 0.5


def test_the_difference_is_covered_at_all_looks_together() -> None:
    """At most 5 % of 60 logs ever exclude the true difference in 10 looks, 3 standard errors above."""
    lost = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        state = kwis.BettingSequence(largest_weight=2.5).start(difference=True)
        excluded = False
        for _ in range(10):
            code = (rng.random(50) < SHARES[1]).astype(int)
            reward = (rng.random(50) < BETTER[code]).astype(float)
            state = state.add(np.where(code == 1, 2.5, 0.0), reward)
            excluded = excluded or state.refutes(TRUTH - float(SHARES @ BETTER))
        lost += excluded
    assert lost / 60 <= 0.05 + 3 * (0.05 * 0.95 / 60) ** 0.5


class TestCommand:
    COMMAND = "--context x --target always:b --largest-weight 2.5 --settle 0 --once"

    def run(self, folder: Path, more: str = "") -> int:
        return main(["watch", str(folder), *self.COMMAND.split(), *more.split()])

    def test_it_prints_what_python_returns(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arrive(tmp_path, "1.csv", 300, 1)
        assert self.run(tmp_path, "--json") == 0
        printed = json.loads(capsys.readouterr().out)["look"]
        found = look(tmp_path, state=tmp_path / "other.state")
        assert printed["rows"] == 300
        assert printed["values"]["always b"]["low"] == found.values["always b"].low

    @pytest.mark.parametrize(
        ("gate", "code", "said"),
        [
            ("--fail-below 0.3", 0, "gate passed"),
            ("--fail-below 0.8", 1, "gate failed: the limit is out of reach"),
            ("--fail-below 0.5", 1, "gate failed: it is not decided yet"),
            ("--fail-below 0 --of change", 0, "gate passed"),
            ("--fail-above 0.8", 0, "gate passed"),
        ],
    )
    def test_gates(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], gate: str, code: int, said: str
    ) -> None:
        arrive(tmp_path, "1.csv", 2000, 1)
        assert self.run(tmp_path, gate) == code
        assert capsys.readouterr().err.strip() == said

    def test_it_waits_for_files_until_the_gate_is_decided(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arrive(tmp_path, "0.csv", 20, 0)
        days = iter(range(1, 100))

        def next_day(_: float) -> None:
            day = next(days)
            arrive(tmp_path, f"{day}.csv", 500, day)

        monkeypatch.setattr("kwis.cli.watch.time.sleep", next_day)
        command = self.COMMAND.replace(" --once", "").split()
        assert main(["watch", str(tmp_path), *command, "--fail-below", "0.42"]) == 0
        found = capsys.readouterr()
        assert "gate passed" in found.err
        assert "20 decisions in 1 file, 1 new" in found.out
        assert next(days) > 2

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ("--bounds 0", "`bounds` must be LOW,HIGH, got '0'"),
            ("--reward rewrad", "rewrad"),
            ("--state /nowhere/here", "`state` must be in a folder that exists"),
        ],
    )
    def test_errors_are_one_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str, said: str
    ) -> None:
        arrive(tmp_path, "1.csv", 100, 1)
        assert self.run(tmp_path, more) == 2
        line = capsys.readouterr().err
        assert line.count("\n") == 1
        assert said in line

    def test_a_folder_that_is_none(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run(tmp_path / "none") == 2
        assert capsys.readouterr().err.count("\n") == 1

    def test_an_empty_folder_says_so(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run(tmp_path) == 0
        assert "0 decisions in 0 files" in capsys.readouterr().out


def test_a_watch_begun_in_python_goes_on_as_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = table(300, 0)
    write_csv(tmp_path / "1.csv", {**frame, "p_b": np.where(frame["action"] == "b", 1.0, 0.0)})
    kwis.watch(tmp_path, "p_b", context="x", settle=0)
    assert main(["watch", str(tmp_path), "--target", "p_b", "--context", "x", "--once"]) == 0
    assert "300 decisions in 1 file, 0 new" in capsys.readouterr().out
