"""Every case of the corpus through every door: the right number or one sentence; no traceback, and no exit
code 3. ``python -m tests.hostile`` prints the counts.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import kwis
from tests.hostile.cases import Case, every
from tests.hostile.doors import DOORS, expected

CASES = list(every())


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwis.cli.progress.FIRST_SECONDS", 3600.0)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
@pytest.mark.parametrize("door", DOORS)
def test_the_outcome_is_the_expected_one(door: str, case: Case, tmp_path: Path) -> None:
    assert DOORS[door](case, tmp_path) == expected(case)


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
