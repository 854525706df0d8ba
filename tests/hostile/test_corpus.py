"""Every case of the corpus through every door: the right number or one sentence; no traceback, and no exit
code 3.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import kwis
from tests.cli.example import run_with
from tests.hostile.cases import Case, every

CASES = list(every())


def through(door: str) -> list[object]:
    """The cases that a door can be given."""
    return [pytest.param(case, id=case.name) for case in CASES if door != "scan" or case.table is not None]


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwis.cli.progress.FIRST_SECONDS", 3600.0)


@pytest.mark.parametrize("case", through("cli"))
def test_the_command_line(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = case.write(tmp_path)
    context = [argument for name in case.context for argument in (f"--context={name}",)]
    ended = run_with(capsys)(
        "evaluate",
        "--json",
        *context,
        f"--target={case.target}",
        "-e",
        "wis",
        "--repair",
        "never",
        "--",
        path,
    )
    assert "Traceback" not in ended.err
    if case.refused is None:
        assert ended.code == 0, ended.err
        rows = json.loads(ended.out)["rows"]
        assert next(
            row["estimate"]["value"] for row in rows if row["estimate"]["name"] == "wis"
        ) == pytest.approx(case.value, rel=1e-9)
    else:
        assert (ended.code, ended.out) == (2, ""), ended
        *before, last = ended.err.splitlines()
        assert all(line.startswith("warning: ") for line in before)
        assert last.startswith("error: ")
        assert case.refused in last
    assert "\x1b" not in ended.err + ended.out


@pytest.mark.parametrize("case", through("python"))
@pytest.mark.filterwarnings("ignore::kwis.KwisWarning")
def test_python(case: Case, tmp_path: Path) -> None:
    source = case.table if case.table is not None else str(case.write(tmp_path))
    if case.refused is None:
        log = kwis.read_log(source, propensity="propensity", context=list(case.context))
        check(case, kwis.evaluate(log, case.target, estimators=["wis"], repair="never"))
    else:
        with pytest.raises(kwis.KwisError) as refused:
            kwis.evaluate(
                kwis.read_log(source, propensity="propensity", context=list(case.context)),
                case.target,
                estimators=["wis"],
                repair="never",
            )
        assert case.refused in str(refused.value)


@pytest.mark.parametrize("case", through("scan"))
@pytest.mark.filterwarnings("ignore::kwis.KwisWarning")
def test_a_scan(case: Case, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    assert case.table is not None
    # Cells of one column that no Arrow type holds together are text, as a CSV file would have them.
    arrays = {}
    for name, cells in case.table.items():
        try:
            arrays[name] = pa.array(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            arrays[name] = pa.array([str(cell) for cell in cells])
    path = tmp_path / "log.parquet"
    parquet.write_table(pa.table(arrays), path)

    def answer() -> kwis.Evaluation:
        log = kwis.scan_log(path, context=list(case.context))
        return kwis.evaluate(log, case.target, estimators=["wis"], interval=kwis.InfluenceInterval())

    if case.refused is None:
        check(case, answer())
    else:
        with pytest.raises(kwis.KwisError) as refused:
            answer()
        assert case.refused.replace("`source`", "") in str(refused.value)


def check(case: Case, found: kwis.Evaluation) -> None:
    assert next(row.estimate.value for row in found.rows if row.estimator == "wis") == pytest.approx(
        case.value, rel=1e-9
    )
    assert "\x1b" not in repr(found)


def test_the_corpus_has_a_few_hundred_cases_of_different_names() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert len(names) > 200


def test_reports_of_hostile_values_hold_no_markup_of_theirs(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kwis.KwisWarning)
        for case in CASES:
            if case.table is None or "html" not in case.name or case.refused is not None:
                continue
            log = kwis.read_log(case.table, propensity="propensity", context=list(case.context))
            found = kwis.evaluate(log, case.target, estimators=["wis"], repair="never")
            page = Path(found.to_html(tmp_path / "report.html")).read_text(encoding="utf-8")
            assert "<script>alert" not in page
            assert "<img src=x" not in page
