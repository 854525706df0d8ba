"""A case of the corpus through one door: the command, a table or file in Python, or a scan."""

from __future__ import annotations

import contextlib
import io
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kwis
from kwis.cli.main import main
from tests.hostile.cases import Case

RIGHT, REFUSED = "the right number", "refused in one sentence"
WRONG, TRACEBACK, UNFORESEEN = "a wrong number", "traceback", "exit 3"
OTHER = "another outcome"  # a sound log refused, a bad one read, another sentence, an escape on the terminal


def command(case: Case, folder: Path) -> str:
    out, err = io.StringIO(), io.StringIO()
    context = [f"--context={name}" for name in case.context]
    options = [*context, f"--target={case.target}", "--estimator=wis", "--repair=never"]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["evaluate", "--json", *options, "--", str(case.write(folder))])
    if code == 3 or "Traceback" in err.getvalue():
        return UNFORESEEN if code == 3 else TRACEBACK
    if "\x1b" in out.getvalue() + err.getvalue():
        return f"{OTHER}: an escape"
    if code == 0:
        rows = json.loads(out.getvalue())["rows"]
        estimates = (row["estimate"] for row in rows)
        return _number(case, next(each["value"] for each in estimates if each["name"] == "wis"))
    # on a busy machine the command says what it is doing
    *before, last = (line for line in err.getvalue().splitlines() if not line.endswith(" so far ..."))
    plain = all(line.startswith("warning: ") for line in before) and last.startswith("error: ")
    if code != 2 or out.getvalue() or not plain:
        return f"{OTHER}: exit {code}, {err.getvalue()!r}"
    return _sentence(case, last)


def python(case: Case, folder: Path) -> str:
    source = case.table if case.table is not None else case.write(folder)
    return _answer(case, lambda: kwis.read_log(source, propensity="propensity", context=list(case.context)))


def scan(case: Case, folder: Path) -> str:
    path = case.write(folder) if case.table is None else _parquet(case.table, folder / "log.parquet")
    return _answer(case, lambda: kwis.scan_log(path, propensity="propensity", context=list(case.context)))


DOORS: dict[str, Callable[[Case, Path], str]] = {"command": command, "python": python, "scan": scan}


def expected(case: Case) -> str:
    return RIGHT if case.refused is None else REFUSED


def _answer(case: Case, read: Callable[[], Any]) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kwis.KwisWarning)
            answer = kwis.evaluate(read(), case.target, estimators=["wis"], repair="never")
    except kwis.KwisError as refused:
        return _sentence(case, str(refused))
    except Exception as trouble:
        return f"{TRACEBACK}: {trouble!r}"
    if "\x1b" in repr(answer):
        return f"{OTHER}: an escape"
    return _number(case, next(row.estimate.value for row in answer.rows if row.estimator == "wis"))


def _number(case: Case, value: float) -> str:
    if case.refused is not None:
        return f"{WRONG}: {value} for what should be refused"
    return RIGHT if math.isclose(value, case.value, rel_tol=1e-9) else f"{WRONG}: {value}, not {case.value}"


def _sentence(case: Case, sentence: str) -> str:
    asked = (case.refused or "").replace("`source`", "")
    return REFUSED if case.refused is not None and asked in sentence else f"{OTHER}: {sentence}"


def _parquet(table: dict[str, list[object]], path: Path) -> Path:
    """Cells of one column that no Arrow type holds together are text, as a CSV file would have them."""
    import pyarrow as pa
    from pyarrow import parquet

    arrays = {}
    for name, cells in table.items():
        try:
            arrays[name] = pa.array(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            arrays[name] = pa.array([str(cell) for cell in cells])
    parquet.write_table(pa.table(arrays), path)
    return path
