"""The promises of SECURITY.md that no other test covers."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

import kwis
from kwis.cli.main import main
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
    assert main(["evaluate", str(log), "--context", "age,country", "--target", "p_new", "--report", str(report)]) == 0
    scanned = kwis.scan_log(write_parquet(tmp_path / "log.parquet", columns(60)), context=CONTEXT)
    kwis.evaluate(scanned, "p_new", estimators=["wis"])
    assert "http" not in report.read_text(encoding="utf-8").replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_nothing_is_written_but_what_was_asked_for(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "working directory"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    written: list[str] = []
    watching = [True]

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and isinstance(arguments[0], str) and isinstance(arguments[2], int) and arguments[2] & 0o3:
            written.append(arguments[0])

    sys.addaudithook(watch)  # there is no way to take it away again, so it is told to stop
    try:
        report, answer = tmp_path / "report.html", tmp_path / "answer.json"
        options = ["--context", "age,country", "--target", "p_new", "--report", str(report), "--json-file", str(answer)]
        assert main(["evaluate", str(log), *options]) == 0
    finally:
        watching.clear()
    assert list(elsewhere.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.json", "log.csv", "report.html", "working directory"]
    strange = [path for path in written if not path.startswith((str(tmp_path), "/dev/", "/proc/")) and not path.endswith((".nbi", ".nbc"))]
    caches = [path for path in strange if "__pycache__" in path or ".tmp." in path or "cache" in path or path.startswith("/tmp")]
    assert sorted(strange) == sorted(caches)


NOT_YET = pytest.mark.xfail(strict=True, reason="queries run with external access off, without extensions, and on read-only databases")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM log; DROP TABLE log",
        "INSTALL httpfs; SELECT * FROM log",
        pytest.param("COPY log TO '{folder}/stolen.csv'", marks=NOT_YET),
        pytest.param("ATTACH '{folder}/new.db' AS other; SELECT * FROM log", marks=NOT_YET),
        pytest.param("SELECT * FROM read_text('{folder}/log.csv')", marks=NOT_YET),
        pytest.param("EXPORT DATABASE '{folder}/stolen'", marks=NOT_YET),
    ],
)
def test_a_query_reads_the_log_and_does_nothing_else(query: str, log: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(kwis.InputError, match="`query`"):
        kwis.read_log(str(log), query=query.format(folder=tmp_path), propensity="propensity", context=CONTEXT)
    assert sorted(tmp_path.iterdir()) == before
