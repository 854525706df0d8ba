"""Every kind of bad input through the command line: one sentence on stderr, exit code 2, and nothing written
over.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.example import Ended, Run, columns, write_csv, write_parquet

BASIC = ("--context", "age,country", "--target", "p_new", "--estimator", "wis")
N = 240
DROP = "; --drop-missing leaves out rows without a reward"
OLDER = '<meta name="generator" content="kwis">an older report'


@pytest.fixture
def refused(run: Run, tmp_path: Path) -> Callable[..., None]:
    """Run ``kwis evaluate`` over an older report, and expect exactly this sentence."""

    def check(sentence: str, *arguments: object) -> None:
        report = tmp_path / "older.html"
        report.write_text(OLDER)
        files = sorted(tmp_path.iterdir())
        ended = run("evaluate", *arguments, "--report", report)
        assert ended == Ended(2, "", f"error: {sentence}\n")
        assert report.read_text() == OLDER
        assert sorted(tmp_path.iterdir()) == files

    return check


def changed(table: dict[str, list[Any]], name: str, row: int, value: Any) -> dict[str, list[Any]]:
    return {**table, name: [value if i == row else entry for i, entry in enumerate(table[name])]}


def test_a_missing_column_with_the_nearest_name(refused: Callable[..., None], log: Path) -> None:
    refused(
        "`context` must name a column of the log, got 'contry'; did you mean 'country'?",
        log,
        "--target",
        "p_new",
        "--context",
        "contry",
    )
    refused(
        "`action` must name a column of the log, got 'acton'; did you mean 'action'?",
        log,
        *BASIC,
        "--action",
        "acton",
    )
    refused(
        "`reward` must name a column of the log, got 'rewards'; did you mean 'reward'?",
        log,
        *BASIC,
        "--reward",
        "rewards",
    )
    refused(
        "`target` must name a column of the log, got 'p_now'; did you mean 'p_new'?",
        log,
        "--context",
        "age",
        "--target",
        "p_now",
    )
    refused(
        "`group` must name a column of the log, got 'usr'; did you mean 'user'?",
        log,
        *BASIC,
        "--group",
        "usr",
    )
    refused(
        "`by` must name a column of the log, got 'countri'; did you mean 'country'?",
        log,
        *BASIC,
        "--by",
        "countri",
    )


def test_a_file_that_is_not_there(refused: Callable[..., None], tmp_path: Path) -> None:
    path = tmp_path / "nowhere.csv"
    refused(
        f"LOG must be a file, a folder or a pattern that matches files, and {str(path)!r} does not exist",
        path,
        *BASIC,
    )


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.jsonl"])
def test_an_empty_file(name: str, refused: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / name).touch()
    refused(f"LOG must have rows, and {str(tmp_path / name)!r} is empty", tmp_path / name, *BASIC)


def test_a_header_without_rows(
    refused: Callable[..., None], table: dict[str, list[Any]], tmp_path: Path
) -> None:
    refused(
        "LOG must have rows, got none", write_csv(tmp_path / "log.csv", {name: [] for name in table}), *BASIC
    )


def test_a_truncated_parquet_file(run: Run, table: dict[str, list[Any]], tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", table)
    path.write_bytes(path.read_bytes()[:-100])
    ended = run("evaluate", path, *BASIC)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: cannot read {str(path)!r}: No magic bytes found at end of file")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(("extra", "problem"), [(",9", "too many cells"), (None, "too few cells")])
def test_a_ragged_row(
    extra: str | None, problem: str, refused: Callable[..., None], log: Path, table: dict[str, list[Any]]
) -> None:
    lines = log.read_text().splitlines()
    lines[18] = lines[18].rpartition(",")[0] if extra is None else lines[18] + extra
    log.write_text("\n".join(lines) + "\n")
    refused(
        f"{str(log)!r} must have {len(table)} cells in every row, got {problem} at row 17 (line 19)",
        log,
        *BASIC,
    )


def test_text_that_is_not_utf8(refused: Callable[..., None], log: Path) -> None:
    lines = log.read_bytes().splitlines()
    lines[18] = lines[18].replace(lines[18].split(b",")[4], b"Espa\xf1a")
    log.write_bytes(b"\n".join(lines) + b"\n")
    remedy = "save it as UTF-8 (in Excel: CSV UTF-8; from Latin-1: iconv -f latin1 -t utf-8 OLD > NEW)"
    refused(f"{str(log)!r} must be text in UTF-8, got other bytes at row 17 (line 19); {remedy}", log, *BASIC)


def test_lines_that_end_with_a_carriage_return_alone(refused: Callable[..., None], log: Path) -> None:
    log.write_bytes(log.read_bytes().replace(b"\r\n", b"\r"))
    refused(
        f"LOG must end its lines with a line feed, and {str(log)!r} has a carriage return within the first",
        log,
        *BASIC,
    )


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("reward", "high", "`reward` must hold numbers, got 'high' at row 17"),
        ("reward", "", f"`reward` must be finite, got nan at row 17{DROP}"),
        ("reward", "nan", f"`reward` must be finite, got nan at row 17{DROP}"),
        ("reward", "inf", "`reward` must be finite, got inf at row 17"),
        ("reward", "-inf", "`reward` must be finite, got -inf at row 17"),
        ("reward", "-1e200", "`reward` must be at most 1e+100 in size, got -1e+200 at row 17"),
        ("propensity", "often", "`propensity` must hold numbers, got 'often' at row 17"),
        ("propensity", 0, "`propensity` must be in (0, 1], got 0.0 at row 17"),
        ("propensity", -0.25, "`propensity` must be in (0, 1], got -0.25 at row 17"),
        ("propensity", 1.5, "`propensity` must be in (0, 1], got 1.5 at row 17"),
        (
            "propensity",
            5e-324,
            "`propensity` must not be so small that a weight overflows, got 5e-324 at row 17",
        ),
        ("p_new", 1.5, "`p_new` (target) must be in [0, 1], got 1.5 at row 17"),
        ("p_new", "", "`p_new` (target) must be finite, got nan at row 17"),
        (
            "action",
            "",
            (
                "`action` must have a label in every row, got none at row 17; to leave out such rows pass "
                '--query "SELECT * FROM log WHERE action IS NOT NULL"'
            ),
        ),
        ("age", "inf", "`age` (context) must be finite, got inf at row 17"),
    ],
)
def test_a_bad_cell(
    name: str,
    value: Any,
    sentence: str,
    refused: Callable[..., None],
    table: dict[str, list[Any]],
    tmp_path: Path,
) -> None:
    refused(sentence, write_csv(tmp_path / "log.csv", changed(table, name, 17, value)), *BASIC)


def test_a_distribution_that_does_not_sum_to_one(
    refused: Callable[..., None], table: dict[str, list[Any]], tmp_path: Path
) -> None:
    target = write_csv(tmp_path / "target.csv", changed(table, "q_email", 17, 0.2))
    sentence = "`{}` must be a distribution that sums to 1 over the actions, got {} at row 17"
    refused(sentence.format("target", "1.1"), target, "--context", "age", "--target", "q")
    share = table["b_email"][17]
    behaviour = write_csv(
        tmp_path / "behaviour.csv", changed(table, "b_email", 17, share + 0.5 if share < 0.5 else share - 0.5)
    )
    total = "1.5" if share < 0.5 else "0.5"
    refused(sentence.format("propensity", total), behaviour, *BASIC, "--propensity", "b")


def test_an_action_that_the_target_or_the_behaviour_does_not_know(
    refused: Callable[..., None], table: dict[str, list[Any]], tmp_path: Path
) -> None:
    path = write_csv(tmp_path / "log.csv", changed(table, "pick", 17, "fax"))
    remedy = "an action that exists but was never taken must be listed in --actions a,b,c"
    refused(
        f"`pick` (target) must hold actions of the log, got 'fax' at row 17; {remedy}",
        path,
        "--context",
        "age",
        "--target",
        "pick",
    )
    without = {name: values for name, values in table.items() if name != "q_push"}
    path = write_csv(tmp_path / "target.csv", without)
    refused(
        "`target` must have one column per action ('banner', 'email', 'push'), got 2 for 3 actions",
        path,
        "--context",
        "age",
        "--target",
        "distribution:q_banner,q_email",
    )
    row = table["action"].index("push")
    others = {**table, "b_push": [0.0] * N, "b_email": [1 - share for share in table["b_banner"]]}
    path = write_csv(tmp_path / "behaviour.csv", others)
    sentence = (
        f"`b_push` (propensity) must be positive where its action was taken, got 0.0 for 'push' at row {row}"
    )
    refused(sentence, path, *BASIC, "--propensity", "b")
    row = table["action"].index("push")
    refused(
        f"`action` must hold only the actions listed, got 'push' at row {row}",
        path,
        *BASIC,
        "--actions",
        "banner,email",
    )


def test_one_action_only(refused: Callable[..., None], table: dict[str, list[Any]], tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", {**table, "action": ["email"] * N})
    refused("`action` must have at least two different actions, got only 'email'", path, *BASIC)


def test_a_column_without_any_value(
    refused: Callable[..., None], run: Run, table: dict[str, list[Any]], tmp_path: Path
) -> None:
    path = write_csv(
        tmp_path / "log.csv", {**table, "reward": [""] * N, "age": [""] * N, "other": table["reward"]}
    )
    refused("`reward` must hold numbers, got no value in any row", path, *BASIC)
    ended = run("evaluate", path, *BASIC, "--reward", "other")
    assert ended.code == 0
    assert "`age` was left out of the context: no values at all" in ended.out


def test_duplicate_column_names(refused: Callable[..., None], log: Path) -> None:
    header, _, rest = log.read_text().partition("\n")
    log.write_text(header.replace("country", "age") + "\n" + rest)
    refused(f"column names must be unique, got 'age' twice in {str(log)!r}", log, *BASIC)


def test_a_deterministic_logger(run: Run, table: dict[str, list[Any]], tmp_path: Path) -> None:
    ended = run("evaluate", write_csv(tmp_path / "log.csv", {**table, "propensity": [1] * N}), *BASIC)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(
        "error: every logged propensity is 1: the logging policy left nothing to chance, so nothing is known"
    )


def test_a_query_that_fails(
    run: Run, refused: Callable[..., None], log: Path, table: dict[str, list[Any]], tmp_path: Path
) -> None:
    import duckdb

    database = tmp_path / "shop.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE decisions AS SELECT * FROM read_csv('{log}')")
    for source, query in [
        (log, "SELECT * FROM nowhere"),
        (database, "SELECT * FROM nowhere"),
        (database, "SELEC 1"),
    ]:
        ended = run("evaluate", source, *BASIC, "--query", query)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert ended.err.startswith("error: `query` failed: ")
    assert run("evaluate", database, *BASIC, "--query", "SELECT * FROM decisions").code == 0
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE users (id INTEGER)")
    sentence = (
        "`query` must be given to read from a database, such as 'SELECT * FROM decisions'; its tables are "
        "decisions, users"
    )
    refused(sentence, database, *BASIC)


def test_a_report_in_a_folder_that_does_not_exist(run: Run, log: Path, tmp_path: Path) -> None:
    path = tmp_path / "no" / "report.html"
    for option in ("report", "json-file"):
        ended = run("evaluate", log, *BASIC, f"--{option}", path)
        sentence = (
            f"`{option}` must be in a folder that exists, got {str(path)!r} and there is no "
            f"{str(path.parent)!r}"
        )
        assert ended == Ended(2, "", f"error: {sentence}\n")
    ended = run("evaluate", log, *BASIC, "--report", tmp_path)
    assert ended == Ended(2, "", f"error: `report` must name a file, got the folder {str(tmp_path)!r}\n")


def test_a_report_in_a_read_only_folder_is_refused_before_the_work(
    run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shut"
    folder.mkdir()
    if os.geteuid() == 0:  # whom no permission stops; a folder of the kernel's own does
        folder = Path("/proc")
        if not folder.is_dir():
            pytest.skip("an administrator can write to every folder here")
    else:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    monkeypatch.setattr(
        "kwis.data.read.read_log.read_source", lambda *_: pytest.fail("the log was read first")
    )
    ended = run("evaluate", log, *BASIC, "--report", folder / "report.html")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(
        f"error: `report` must be in a place that can be written to, got {str(folder / 'report.html')!r}"
    )


def test_a_report_that_is_read_only(
    run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.html"
    report.write_text(OLDER)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != report and access(path, mode))
    ended = run("evaluate", log, *BASIC, "--report", report)
    assert ended.err == (
        f"error: `report` must be in a place that can be written to, got {str(report)!r}, which is "
        f"read-only\n"
    )
    assert ended.code == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--level", "1.5"), "`level` must be between 0 and 1, got 1.5"),
        (("--level", "nan"), "`level` must be between 0 and 1, got nan"),
        (("--fail-below", "nan"), "`fail-below` must be a number, got nan"),
        (("--estimator", "wsi"), "did you mean 'wis'?"),
        (
            ("--format", "excel"),
            "`format` must be one of csv, parquet, json, dsjson, duckdb, sqlite, obp, got 'excel'",
        ),
        (("--target", "=p_new"), "`target` must be COLUMN or NAME=COLUMN, got '=p_new'"),
        (("--target", "x=p_new", "--target", "x=pick"), "`target` must have different names, got 'x' twice"),
        (
            ("--target", "x=p_new", "--target", "logging policy=pick"),
            "`target` must not be called 'logging policy'",
        ),
        (
            ("--propensity", "propensity", "--estimate-propensity"),
            "`estimate-propensity` must go without `propensity`, got 'propensity'",
        ),
        (("--context", "reward"), "`context` must leave out actions, rewards and propensities, got `reward`"),
        (("--seed", "-1"), "'--seed'"),
        (("--seed", "x"), "'--seed'"),
        (("--using", "middle"), "'--using'"),
        (("--colour", "red"), "--colour"),
    ],
)
def test_a_bad_option(arguments: tuple[str, ...], sentence: str, run: Run, log: Path) -> None:
    ended = run("evaluate", log, "--target", "p_new", *arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("error: ")
    assert sentence in ended.err


def test_options_left_out(run: Run, log: Path) -> None:
    for arguments in (("evaluate", log), ("evaluate",), ("compare", log), ("nonsense",)):
        ended = run(*arguments)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert "--help" in ended.err


def test_a_target_that_could_mean_two_things_is_explained_for_the_shell(
    run: Run, table: dict[str, list[Any]], tmp_path: Path
) -> None:
    numbers = {
        **table,
        "action": [int(label == "push") for label in table["action"]],
        "pick": [i % 2 for i in range(N)],
    }
    path = write_csv(tmp_path / "log.csv", numbers)
    ended = run("evaluate", path, "--context", "age", "--target", "pick", "--estimator", "wis")
    assert ended.code == 2
    assert ended.err.endswith(
        "actions and probabilities alike: --target chosen:pick or --target probability:pick\n"
    )
    assert (
        run("evaluate", path, "--context", "age", "--target", "chosen:pick", "--estimator", "wis").code == 0
    )


def test_propensities_that_are_not_there_cannot_be_checked(
    run: Run, table: dict[str, list[Any]], tmp_path: Path
) -> None:
    without = {name: values for name, values in table.items() if name != "propensity"}
    ended = run("check", write_csv(tmp_path / "log.csv", without))
    sentence = (
        "`propensity` must name a column to be checked, as the log has none called propensity or pscore"
    )
    assert ended == Ended(2, "", f"error: {sentence}\n")


REPORT_IT = "this is a fault of kwis: please report it to its maintainers, with what KWIS_TRACEBACK=1 shows"


def test_an_unforeseen_error_is_no_traceback_and_no_gate(
    run: Run, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("kwis.data.read.read_log.read_source", broken)
    ended = run("evaluate", log, *BASIC)
    assert ended == Ended(3, "", f"error: unforeseen RuntimeError: two lines; {REPORT_IT}\n")
    monkeypatch.setenv("KWIS_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        run("evaluate", log, *BASIC)


def test_fewer_than_thirty_rows_are_evaluated_with_a_warning(run: Run, tmp_path: Path) -> None:
    ended = run("evaluate", write_csv(tmp_path / "log.csv", columns(29)), *BASIC)
    assert ended.code == 0
    assert ended.err == "warning: the log has only 29 rows; below 30 intervals mean little\n"


def test_equal_rewards_are_fine(run: Run, table: dict[str, list[Any]], tmp_path: Path) -> None:
    ended = run("evaluate", write_csv(tmp_path / "log.csv", {**table, "reward": [1] * N}), *BASIC)
    assert (ended.code, ended.err) == (0, "")
    assert "1.0000 to 1.0000" in ended.out


def test_two_hundred_columns_are_fine(run: Run, table: dict[str, list[Any]], tmp_path: Path) -> None:
    wide = {**table, **{f"x{j}": [(7 * i + j) % 11 for i in range(N)] for j in range(200)}}
    path = write_csv(tmp_path / "log.csv", wide)
    ended = run(
        "evaluate",
        path,
        "--context",
        ",".join(f"x{j}" for j in range(200)),
        "--target",
        "p_new",
        "-e",
        "wis,normalised-kernel-wis",
    )
    assert (ended.code, ended.err) == (0, "")
    assert "normalised-kernel-wis" in ended.out


def test_ten_thousand_categories_are_handled_with_a_warning(run: Run, tmp_path: Path) -> None:
    n = 10_000
    big = {**columns(n), "page": [f"/page/{i}" for i in range(n)]}
    ended = run(
        "evaluate",
        write_csv(tmp_path / "log.csv", big),
        "--context",
        "age,page",
        "--target",
        "p_new",
        "-e",
        "wis",
    )
    assert ended.code == 0
    assert "`page`" in ended.err + ended.out
    big["page"] = [f"/page/{i * i % 9_999}" for i in range(n)]
    levels = len(set(big["page"]))
    ended = run(
        "evaluate",
        write_csv(tmp_path / "log.csv", big),
        "--context",
        "age,page",
        "--target",
        "p_new",
        "-e",
        "wis",
    )
    assert ended.code == 0
    assert ended.err == (
        f"warning: `page` has {levels} different values; the 100 most frequent are kept and the others "
        f"count as one\n"
    )
