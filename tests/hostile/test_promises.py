"""The promises of SECURITY.md that no other test covers."""

from __future__ import annotations

import socket
import sqlite3
from pathlib import Path

import duckdb
import pytest

import kwis
from kwis.cli.main import main
from kwis.data.read.arguments import Reading
from kwis.data.read.read_log import read_source
from tests.cli.example import columns, write_csv, write_parquet

CONTEXT = ["age", "country"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "log.csv", columns(60))


def test_no_connection_is_opened(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        pytest.fail("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    report = tmp_path / "report.html"
    assert (
        main(["evaluate", str(log), "--context", "age,country", "--target", "p_new", "--report", str(report)])
        == 0
    )
    scanned = kwis.scan_log(write_parquet(tmp_path / "log.parquet", columns(60)), context=CONTEXT)
    kwis.evaluate(scanned, "p_new", estimators=["wis"])
    assert "http" not in report.read_text(encoding="utf-8").replace("http-equiv", "").replace(
        "http://www.w3.org/2000/svg", ""
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM log; DROP TABLE log",
        "INSTALL httpfs; SELECT * FROM log",
        "COPY log TO '{folder}/stolen.csv'",
        "ATTACH '{folder}/new.db' AS other; SELECT * FROM log",
        "SELECT * FROM read_text('{folder}/log.csv')",
        "SELECT * FROM '{folder}/log.csv'",
        "SELECT * FROM frame",
        "SET enable_external_access = true",
        "LOAD httpfs",
        "CREATE TABLE other AS SELECT * FROM log",
        "EXPORT DATABASE '{folder}/stolen'",
    ],
)
def test_a_query_reads_the_log_and_does_nothing_else(query: str, log: Path, tmp_path: Path) -> None:
    frame = columns(60)  # noqa: F841 - what a query could take for a table
    before = sorted(tmp_path.iterdir())
    with pytest.raises(kwis.InputError, match="`query`"):
        kwis.read_log(str(log), query=query.format(folder=tmp_path), propensity="propensity", context=CONTEXT)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE log",
        "WITH rows AS (SELECT 1) DELETE FROM log",
        "INSERT INTO log SELECT * FROM log",
        "ATTACH '{folder}/new.db' AS other",
        "VACUUM INTO '{folder}/copy.db'",
        "PRAGMA journal_mode = DELETE",
        "SELECT load_extension('{folder}/code.so') FROM log",
    ],
)
def test_a_query_leaves_a_database_as_it_is(kind: str, query: str, tmp_path: Path) -> None:
    path = _database(tmp_path / f"log.{kind}")
    before = path.read_bytes()
    with pytest.raises(kwis.InputError, match="`query`"):
        kwis.read_log(path, query=query.format(folder=tmp_path), propensity="propensity", context=CONTEXT)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_query_on_an_open_sqlite_connection_cannot_write_and_leaves_it_able_to(log: Path) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE log (action, reward)")
    with pytest.raises(kwis.InputError, match="`query`"):
        kwis.read_log(connection, query="WITH x AS (SELECT 1) INSERT INTO log SELECT 1, 2")
    connection.execute("INSERT INTO log VALUES (1, 2)")
    assert connection.execute("SELECT count(*) FROM log").fetchone() == (1,)


def test_a_query_of_your_own_may_reach_other_files(log: Path, tmp_path: Path) -> None:
    query = f"SELECT * FROM read_csv('{log}')"
    found = kwis.read_log(
        str(log), query=query, allow_external=True, propensity="propensity", context=CONTEXT
    )
    scanned = kwis.scan_log(
        str(log), query=query, allow_external=True, propensity="propensity", context=CONTEXT
    )
    assert found.n == scanned.read().n == 60


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_a_query_that_takes_too_long_is_stopped(
    kind: str, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwis.data.read.queries.QUERY_SECONDS", 0.3)
    sqlite3.connect(tmp_path / "log.sqlite").execute("CREATE TABLE log (a)").connection.close()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(kwis.InputError, match=r"^`query` must end within 0\.3 seconds, and was stopped$"):
        kwis.read_log(tmp_path / f"log.{kind}", query=endless)


def test_a_query_cannot_fill_the_memory(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwis.data.read.duck.QUERY_CELLS", 1000)
    with pytest.raises(kwis.InputError, match=r"^`query` must give at most 1,000 cells, got more$"):
        kwis.read_log(log, query="SELECT * FROM range(1000000000000)")


def test_a_query_of_sqlite_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwis.data.read.databases.SQLITE_CELLS", 120)
    path = tmp_path / "log.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE log (action, reward, propensity)")
        connection.executemany("INSERT INTO log VALUES (?, ?, 0.5)", [(k % 2, k) for k in range(41)])
    connection.close()
    options = {"propensity": "propensity", "context": []}
    with pytest.raises(kwis.InputError, match=r"^`query` must give at most 120 cells, got more$"):
        kwis.read_log(path, query="SELECT * FROM log", **options)
    assert kwis.read_log(path, query="SELECT * FROM log LIMIT 40", **options).n == 40


def test_a_watch_writes_what_it_has_counted_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, watched = tmp_path / "working directory", tmp_path / "watched"
    elsewhere.mkdir()
    watched.mkdir()
    monkeypatch.chdir(elsewhere)
    write_csv(watched / "log.csv", columns(60))
    asked = ["watch", str(watched), "--context", "age,country", "--target", "p_new", "--once"]
    assert main(asked) == 0
    assert sorted(path.name for path in watched.iterdir()) == [".kwis-watch.json", "log.csv"]
    assert main([*asked, "--state", str(tmp_path / "state.json")]) == 0
    assert list(elsewhere.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.json", "watched", "working directory"]


def test_a_query_has_sixty_percent_of_the_memory_and_no_way_to_change_that(log: Path) -> None:
    asked = "SELECT current_setting('memory_limit')"
    with duckdb.connect() as connection:
        usual = connection.execute(asked).fetchall()[0][0]  # 80 % of the memory
    found = kwis.read_log(
        log, query=f"SELECT *, ({asked}) AS most FROM log", propensity="propensity", context=CONTEXT
    )
    size, unit = found["most"][0].split()
    assert unit == usual.split()[1]
    assert float(size) == pytest.approx(0.75 * float(usual.split()[0]), rel=0.01)
    with pytest.raises(kwis.InputError, match="`query`"):
        kwis.read_log(log, query="SET memory_limit = '1 TB'")


_SOUND = [
    "SELECT * FROM log; -- the log",
    "SELECT * FROM log; /* the log */",
    "SELECT * FROM log ; ;",
    "-- the log; all of it\n/* all */ SELECT * FROM log",
    "\ufeffSELECT * FROM log",
    "(SELECT * FROM log)",
    "-- the log\n((SELECT * FROM log)) -- all\n;",
    "SELECT *, ';--' AS \"/*\" FROM log; -- '",
]
_UNSOUND = [
    "SELECT * FROM log; -- the log\n DROP TABLE log",
    "SELECT * FROM log; /* the log */ DROP TABLE log",
    "(SELECT * FROM log); DROP TABLE log",
    "SELECT * FROM log -- ;\n; DROP TABLE log",
    "/* SELECT */ DROP TABLE log",
    "-- SELECT\nDROP TABLE log",
    "/**/WITH x AS (SELECT 1) DELETE FROM log",
    "(DELETE FROM log)",
    "SELECT ';' AS a, * FROM log; DELETE FROM log",
    "-- SELECT * FROM log",
    "SELECT * FROM log;\0 DROP TABLE log",
]


def _database(path: Path) -> Path:
    """The log as the table ``log`` of a database, or as a file."""
    if path.suffix == ".csv":
        return write_csv(path, columns(60))
    connection = sqlite3.connect(path) if path.suffix == ".sqlite" else duckdb.connect(str(path))
    connection.execute(f"CREATE TABLE log ({' VARCHAR, '.join(columns(1))} VARCHAR)")
    rows = list(zip(*columns(60).values(), strict=True))
    connection.executemany(f"INSERT INTO log VALUES ({', '.join('?' * len(rows[0]))})", rows)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("kind", ["csv", "duckdb", "sqlite"])
def test_comments_and_parentheses_around_a_query_are_no_second_statement(kind: str, tmp_path: Path) -> None:
    path = _database(tmp_path / f"log.{kind}")
    for query in _SOUND:
        found = read_source(path, Reading(query=query))
        assert found.table.n == 60, query
    before = path.read_bytes()
    for query in _UNSOUND:
        with pytest.raises(kwis.InputError, match="`query`"):
            read_source(path, Reading(query=query))
    assert path.read_bytes() == before


def test_on_an_open_connection_what_hides_behind_a_comment_does_not_run() -> None:
    for connection in (sqlite3.connect(":memory:"), duckdb.connect()):
        connection.execute("CREATE TABLE log (a INTEGER)")
        connection.execute("INSERT INTO log VALUES (1)")
        for query in _UNSOUND:
            with pytest.raises(kwis.InputError, match="`query`"):
                read_source(connection, Reading(query=query))
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (1,)
        connection.close()
