"""What ``results/`` must hold, and how far it agrees with the paper at least."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

from kwis_paper import archive
from kwis_paper.agreement import UNMATCHABLE, checks, incomplete
from kwis_paper.beyond.columns import KERNEL_COLUMNS
from kwis_paper.coverage_fit import scoring_fit
from kwis_paper.grid import cells
from kwis_paper.overall import PLAIN
from kwis_paper.results import Results
from kwis_paper.sample import BANDWIDTH_SETTINGS

ROOT = Path(__file__).parents[2]
_SAMPLED = {"yeast": 100, "soybean": 100, "arrhythmia": 100, "page-blocks": 100}


@pytest.fixture(scope="module")
def results() -> Results:
    return archive.read(ROOT / "results")


def test_every_experiment_of_the_paper_is_there_with_finite_errors(results: Results) -> None:
    assert incomplete(results) == []
    assert results.failures == ()
    for part in (results, *results.others.values()):
        for name, found in part.outcomes.items():
            broken = [key for key, one in found.items() if not math.isfinite(one.value + one.std_error)]
            assert broken == [], (part.provenance.command, name)


def test_every_row_has_its_sample_of_per_feature_bandwidths(results: Results) -> None:
    have = Counter(
        (facts.dataset, facts.setting, facts.policy_type)
        for key, facts in results.cells.items()
        if key in results.outcomes[PLAIN]
    )
    rows: dict[tuple[str, str], Counter[str]] = {}
    for cell in cells(settings=BANDWIDTH_SETTINGS):
        if not cell.left_out:
            rows.setdefault((cell.dataset, cell.setting), Counter())[cell.policy_type] += 1
    assert len(rows) == 17
    for (dataset, setting), kinds in rows.items():
        wanted = _SAMPLED.get(dataset, 20)
        for kind, count in kinds.items():
            assert have[dataset, setting, kind] >= wanted * count / kinds.total(), (dataset, setting, kind)


def test_every_kernel_has_forty_experiments_of_each_of_nine_datasets(results: Results) -> None:
    study = results.others["kernels"]
    for name in KERNEL_COLUMNS:
        counts = Counter(study.cells[key].dataset for key in study.outcomes[name])
        assert len(counts) == 9
        assert min(counts.values()) >= 40


def test_agreement_is_what_was_aimed_for(results: Results) -> None:
    made = checks(results)
    assert [check.name for check in made if check.met is False] == []
    shares = {check.short: (check.agreeing, check.of) for check in made}
    assert shares["Oracle, Gibbs"] == (28, 28)
    assert shares["Non-oracle, Gibbs"] == (22, 22)
    assert shares["Totals"] == (36, 36)
    assert shares["Continuous, closeness, lost"] == (3, 3)


def test_coverage_is_near_the_published_one_on_oracle_rows_of_gibbs_policies(results: Results) -> None:
    fit = scoring_fit(results)
    assert fit is not None
    rows = fit.gibbs()
    assert len(rows) == 28
    assert {one.row.bucket.dataset for one in rows}.isdisjoint({UNMATCHABLE})
    assert sum(one.gap for one in rows) / len(rows) <= 0.08
