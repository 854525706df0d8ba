"""Questions asked the way people ask them: constants, simple policies, other files, gaps, wrong names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kwis
from tests.cli.example import Run, columns, write_csv, write_parquet

QUICK = ("--context", "age,country", "-e", "wis", "--repair", "never", "--json")


def values(ended: Any) -> dict[str, float]:
    """The estimate of every target, from JSON."""
    assert ended.code == 0, ended.err
    return {row["target"]: row["estimate"]["value"] for row in json.loads(ended.out)["rows"]}


def test_simple_policies_and_constant_propensities_give_what_python_gives(run: Run, log: Path) -> None:
    asked = (
        "-t",
        "always:push",
        "-t",
        "uniform",
        "-t",
        "mine=distribution:banner=q_banner,email=q_email,push=q_push",
    )
    found = values(run("evaluate", log, *QUICK, *asked, "--propensity", "banner=0.3,email=0.4,push=0.3"))
    evaluation = kwis.evaluate(
        log,
        {
            "always push": kwis.always("push"),
            "uniform": kwis.uniform(),
            "mine": {label: f"q_{label}" for label in ("banner", "email", "push")},
        },
        propensity={"banner": 0.3, "email": 0.4, "push": 0.3},
        context=["age", "country"],
        estimators="wis",
        repair="never",
        seed=0,
    )
    assert found == {row.target: row.estimate.value for row in evaluation.rows}


def test_lists_beside_candidates_may_be_called_a_distribution(run: Run, tmp_path: Path) -> None:
    table = columns()
    offered = [f"{action}|email" if action != "email" else "email|push" for action in table["action"]]
    lists = {"offered": offered, "shares": ["0.3|0.7"] * len(offered), "half": [0.5] * len(offered)}
    path = write_csv(tmp_path / "log.csv", {**table, **lists})
    asked = (
        "--candidates",
        "offered",
        "--propensity",
        "half",
        "-t",
        "shares",
        "-t",
        "said=distribution:shares",
    )
    found = values(run("evaluate", path, *QUICK, *asked))
    assert found["said"] == found["shares"]


@pytest.mark.parametrize("place", ["context", "action"])
def test_a_position_counts_as_context_or_as_part_of_the_action(run: Run, tmp_path: Path, place: str) -> None:
    table = columns()
    slots = [1 + i % 3 for i in range(len(table["action"]))]
    path = write_csv(tmp_path / "log.csv", {**table, "slot": slots})
    asked = ("--position", "slot", "--position-in", place, "-t", "p_new")
    found = values(run("evaluate", path, *QUICK, *asked))
    evaluation = kwis.evaluate(
        path,
        "p_new",
        position="slot",
        position_in=place,
        context=["age", "country"],
        estimators="wis",
        repair="never",
        seed=0,
    )
    assert found == {row.target: row.estimate.value for row in evaluation.rows}
    words = run("evaluate", path, *QUICK[:-1], *asked).out
    assert ("age, country, slot" in words) == (place == "context")
    assert ("banner at 1, banner at 2" in words) == (place == "action")


def test_change_over_time_is_said_and_lowers_the_verdict(run: Run, tmp_path: Path) -> None:
    table = columns()
    late = {
        **table,
        "reward": [
            reward + 2 * (day >= 6) for reward, day in zip(table["reward"], table["day"], strict=True)
        ],
    }
    path = write_csv(tmp_path / "log.csv", late)
    words = " ".join(run("evaluate", path, *QUICK[:-1], "--time", "day", "-t", "p_new").out.split())
    assert "p_new: with care" in words
    assert "mean reward changed over time (p < 0.001), and this is an average over the log's history" in words
    assert "mean reward was" in words


def test_segments_call_a_reward_by_its_label(run: Run, tmp_path: Path) -> None:
    table = columns()
    path = write_csv(tmp_path / "log.csv", {**table, "cost": table["reward"]})
    asked = ("--reward", "reward,cost", "--reward-label", "reward=revenue", "--by", "country", "-t", "p_new")
    words = run("evaluate", path, *QUICK[:-1], *asked).out
    assert "p_new, revenue" in words
    assert "p_new, reward" not in words


def test_a_constant_that_cannot_be_is_refused_with_the_option_that_can(run: Run, tmp_path: Path) -> None:
    table = columns()
    table["action"] = ["push" if action == "push" else "email" for action in table["action"]]
    path = write_csv(tmp_path / "log.csv", table)
    ended = run("evaluate", path, *QUICK, "-t", "uniform", "--propensity", "0.7")
    assert ended.code == 2
    assert ended.err.endswith("such as --propensity email=0.7,push=0.3\n")
    assert run("evaluate", path, *QUICK, "-t", "uniform", "--propensity", "0.5").code == 0


def test_a_policy_in_another_file_is_joined_by_the_key(run: Run, tmp_path: Path) -> None:
    table = columns()
    keys = [f"d{i}" for i in range(len(table["action"]))]
    path = write_csv(tmp_path / "log.csv", {**table, "id": keys})
    other = write_csv(tmp_path / "predictions.csv", {"id": keys[::-1], "policy": table["pick"][::-1]})
    asked = ("-t", f"new={other}:policy", "-t", "same=pick", "-t", f"chosen={other}:chosen:policy")
    found = values(run("evaluate", path, *QUICK, *asked, "--key", "id"))
    assert found["new"] == found["same"] == found["chosen"]
    ended = run("evaluate", path, *QUICK, "-t", f"new={other}:policy")
    assert (ended.code, ended.err) == (
        2,
        "error: `key` must name the column by which a policy in another file is joined\n",
    )
    ended = run("evaluate", path, *QUICK, "-t", f"new={tmp_path / 'no.csv'}:policy", "--key", "id")
    assert ended.code == 2
    assert "must be in a file that exists" in ended.err
    assert "must be in a file that exists, got 'no.csv'" in run("evaluate", path, "-t", "no.csv:policy").err
    ended = run("evaluate", path, *QUICK, "-t", f"new={other}:polici", "--key", "id")
    assert f"must name a column of {other}, got 'polici'; did you mean 'policy'?" in ended.err


def test_advice_on_a_policy_in_another_file_can_be_pasted(run: Run, tmp_path: Path) -> None:
    table = columns()
    number = {name: i for i, name in enumerate(sorted(set(table["action"])))}
    keys = [f"d{i}" for i in range(len(table["action"]))]
    taken = [number[name] for name in table["action"]]
    path = write_csv(tmp_path / "log.csv", {**table, "action": taken, "id": keys})
    other = write_csv(tmp_path / "predictions.csv", {"id": keys, "policy": [i % 2 for i in range(len(keys))]})
    ended = run("evaluate", path, *QUICK, "-t", f"{other}:policy", "--key", "id")
    assert ended.code == 2
    assert f"--target {other}:chosen:policy" in ended.err
    assert run("evaluate", path, *QUICK, "-t", f"{other}:chosen:policy", "--key", "id").code == 0


def test_intervals_have_names(run: Run, log: Path) -> None:
    ended = run("evaluate", log, "-e", "vis", *QUICK[:2], "--json", "-t", "p_new", "--interval", "betting")
    assert "betting" in json.loads(ended.out)["settings"]["intervals"]["vis"]
    ended = run("evaluate", log, *QUICK, "-t", "p_new", "--interval", "bootstrap")
    assert "bootstrap" in json.loads(ended.out)["settings"]["intervals"]["wis"].lower()
    ended = run("evaluate", log, *QUICK, "-t", "p_new", "--interval", "bootstraps")
    assert ended.err.startswith("error: `interval` must be one of student, bootstrap, influence, ")


def test_rows_without_a_reward_and_lines_without_json_are_left_out_on_request(
    run: Run, tmp_path: Path
) -> None:
    table = columns()
    table["reward"][3] = ""
    path = write_csv(tmp_path / "log.csv", table)
    assert run("evaluate", path, *QUICK, "-t", "p_new").code == 2
    ended = run("evaluate", path, *QUICK, "-t", "p_new", "--drop-missing")
    assert any(note.startswith("1 of 240 rows have no reward") for note in json.loads(ended.out)["notes"])
    lines = [json.dumps(dict(zip(table, row, strict=True))) for row in zip(*columns().values(), strict=True)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines, '{"action": "pu']) + "\n")
    ended = run("evaluate", path, *QUICK, "-t", "p_new")
    assert ended.code == 2
    assert ended.err.endswith("--skip-bad-lines leaves such lines out\n")
    ended = run("evaluate", path, *QUICK, "-t", "p_new", "--skip-bad-lines")
    assert "left out, as not JSON: 1 of 241 lines" in json.loads(ended.out)["notes"]


def test_check_needs_no_reward(run: Run, tmp_path: Path) -> None:
    table = columns()
    del table["reward"]
    path = write_csv(tmp_path / "log.csv", table)
    ended = run("check", path, "--context", "age,country", "-t", "p_new")
    assert (ended.code, ended.err) == (0, "")
    assert run("evaluate", path, *QUICK, "-t", "p_new").err.startswith(
        "error: which column is the reward? likely:"
    )


@pytest.mark.parametrize(
    ("renamed", "options", "sentence"),
    [
        ("offer", (), "which column is the action? likely: offer (3 values), "),
        (
            "offer",
            ("--action", "ofer"),
            "`action` must name a column of the log, got 'ofer'; did you mean 'offer'?",
        ),
        (
            "action",
            ("--target", "p_nwe"),
            "`target` must name a column of the log, got 'p_nwe'; did you mean",
        ),
        ("action", ("--by", "countri"), "`by` must name a column of the log, got 'countri'; did you mean"),
    ],
)
@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_wrong_names_are_found_before_anything_heavy_is_imported(
    renamed: str, options: tuple[str, ...], sentence: str, write: Any, tmp_path: Path
) -> None:
    table = {renamed if name == "action" else name: entries for name, entries in columns().items()}
    path = write(tmp_path / f"log.{'csv' if write is write_csv else 'parquet'}", table)
    watch = (
        "import sys; from kwis.cli.main import main; code = main(sys.argv[1:]);"
        "heavy = ('scipy', 'sklearn', 'numba', 'pyarrow', 'pydantic', 'rich', 'kwis.cli.watch');"
        "print([name for name in heavy if name in sys.modules]);"
        "sys.exit(code)"
    )
    asked = ["evaluate", str(path), "--context", "age,country", "-t", "p_new", *options]
    ended = subprocess.run(
        [sys.executable, "-c", watch, *asked],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith(f"error: {sentence}"), ended.stderr
    assert ended.stdout == "[]\n"


@pytest.mark.parametrize("command", ["check", "compare", "plan", "sensitivity"])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--action", "acton"),
            "`action` must name a column of the log, got 'acton'; did you mean 'action'?",
        ),
        (("--target", "p_nwe"), "`target` must name a column of the log, got 'p_nwe'; did you mean"),
    ],
)
def test_every_command_finds_wrong_names_before_anything_heavy_is_imported(
    command: str, options: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    path = write_csv(tmp_path / "log.csv", columns())
    watch = (
        "import sys; from kwis.cli.main import main; code = main(sys.argv[1:]);"
        "print([name for name in ('scipy', 'sklearn', 'numba') if name in sys.modules])"
    )
    target = () if "--target" in options else ("--target", "p_new")
    asked = [command, str(path), "--context", "age,country", *target, *options]
    ended = subprocess.run([sys.executable, "-c", watch, *asked], capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1].startswith(f"error: {sentence}"), ended.stderr
    assert ended.stdout == "[]\n"


def test_a_policy_to_log_by_is_looked_for_before_the_evaluation(run: Run, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", columns())
    ended = run("plan", path, "--context", "age,country", "-t", "p_new", "--logging", "p_nwe")
    assert ended.code == 2
    assert ended.err.startswith("error: `logging` must name a column of the log, got 'p_nwe'; did you mean")


def test_shares_in_percent_are_told_as_numbers(run: Run, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", columns())
    ended = run("evaluate", path, *QUICK, "-t", "p_new", "--propensity", "50%")
    assert ended.err == "error: `propensity` must name a column of the log, got '50%'; did you mean '0.5'?\n"


def test_the_action_is_no_column_of_a_policy_or_an_outcome() -> None:
    n = 40
    log = {
        "segment": ["a", "b", "c", "d"] * 10,
        "new_channel": ["x", "y"] * 20,
        "converted": [0, 1] * 20,
        "pscore": [0.5, 0.6] * 20,
        "channel": ["x", "y", "z", "x"] * 10,
        "spend": range(n),
    }
    with pytest.raises(
        kwis.InputError, match=r"^which column is the action\? likely: channel \(3 values\), "
    ):
        kwis.evaluate(log, "new_channel", reward="spend")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("'p_new', reward='clik'", "`reward` must name a column of the log, got 'clik'; "),
        ("'p_nwe'", "`target` must name a column of the log, got 'p_nwe'; did you mean"),
        ("'p_new', by='countri'", "`by` must name a column of the log, got 'countri'; did you mean"),
    ],
)
@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_python_finds_wrong_names_before_it_imports_what_computes(
    said: str, sentence: str, write: Any, tmp_path: Path
) -> None:
    path = write(tmp_path / f"log.{'csv' if write is write_csv else 'parquet'}", columns())
    watch = (
        "import sys, kwis\n"
        f"try: kwis.evaluate(sys.argv[1], {said})\n"
        "except kwis.InputError as problem: print(problem)\n"
        "print([name for name in ('scipy', 'sklearn', 'numba') if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", watch, str(path)], capture_output=True, text=True, check=True
    )
    answer, loaded = ended.stdout.splitlines()
    assert answer.startswith(sentence)
    assert loaded == "[]"


def test_a_wrong_name_is_found_before_all_rows_of_a_folder_are_read(tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "country=DE"
    folder.mkdir()
    table = columns()
    write_parquet(folder / "log.parquet", {name: table[name] for name in table if name != "country"})
    read: list[str] = []
    monkeypatch.setattr("kwis.data.read.collect._table", lambda *_: read.append("all") or 1 / 0)
    with pytest.raises(kwis.InputError, match="`context` must name a column of the log, got 'agee'; did you"):
        kwis.evaluate(tmp_path, "p_new", context=["country", "agee"])
    assert not read
    with pytest.raises(ZeroDivisionError):
        kwis.evaluate(tmp_path, "p_new", context=["country", "age"])
    assert read == ["all"]


def test_propensities_by_logger_are_named_as_in_python(run: Run, tmp_path: Path) -> None:
    systems = ["old", "new"] * 100
    actions = ["A", "B", "B", "A", "A"] * 40
    table = {
        "system": systems,
        "action": actions,
        "first": [0.8 if action == "A" else 0.2 for action in actions],
        "second": [0.4 if action == "A" else 0.6 for action in actions],
        "age": [*range(200)],
        "reward": [row % 3 for row in range(200)],
    }
    path = write_csv(tmp_path / "log.csv", table)
    quick = ("--logger", "system", "--context", "age", "-t", "always:B", *QUICK[2:])
    found = values(run("evaluate", path, *quick, "--propensity", "old=first,new=second"))
    evaluation = kwis.evaluate(
        path,
        kwis.always("B"),
        logger="system",
        propensity={"old": "first", "new": "second"},
        context="age",
        estimators="wis",
        repair="never",
    )
    assert found == {row.target: row.estimate.value for row in evaluation.rows}
    assert any("weights over the 2 loggers" in note for note in evaluation.notes)
    assert "--propensity old=first,new=second" in str(evaluation.settings.call.command)


def test_costs_are_minimised_and_called_by_their_label(run: Run, tmp_path: Path) -> None:
    table = {"age": [*range(40)], "action": [0, 1] * 20, "propensity": [0.5] * 40, "spent": [2, 1] * 20}
    path = write_csv(tmp_path / "log.csv", table)
    asked = (
        path,
        "--reward",
        "spent",
        "--context",
        "age",
        "-t",
        "always:1",
        "--repair",
        "never",
        "--minimise",
    )
    assert "always 1 is estimated better than" in run("sensitivity", *asked).out
    said = run("evaluate", *asked, "-e", "wis", "--reward-label", "money spent").out
    assert "money spent, what to use" in said
    assert "say --propensity-source randomiser" in said
    assert "\nspent" not in said
