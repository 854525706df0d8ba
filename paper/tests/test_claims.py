from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kwis_paper.claims import CLAIMS
from kwis_paper.expected import as_page, parts
from kwis_paper.findings.record import Finding
from kwis_paper.grid import SETTINGS
from kwis_paper.records import CellFacts
from kwis_paper.results import TRUTHS, Results, Truth
from kwis_paper.simulate import Design
from kwis_paper.summaries import Pair, Spread
from kwis_paper.tables.claims import claim_table
from paper.tests.made_up import half_as_bad, results_of

DATASETS = ("soybean", "yeast", "optdigits", "page-blocks", "optdigitsDist")


def _worse(facts: CellFacts, estimator: str) -> float:
    """Kernel-WIS at twice the error of WIS."""
    return half_as_bad(facts, {"wis": "kernel-wis", "kernel-wis": "wis"}.get(estimator, estimator))


@pytest.fixture(scope="module")
def better() -> Results:
    return results_of(DATASETS, SETTINGS, half_as_bad, every=4, bootstrap=True, per_feature=True)


@pytest.fixture(scope="module")
def worse() -> Results:
    return results_of(DATASETS, SETTINGS, _worse, every=4)


def _found(results: Results, key: str, truth: Truth = "published") -> Finding:
    return next(claim for claim in CLAIMS if claim.key == key).look(results, truth)


def test_every_claim_has_a_finding_under_each_truth(better: Results) -> None:
    assert len({claim.key for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        for truth in TRUTHS:
            found = claim.look(better, truth)
            assert found.words
            if claim.key != "epochs":  # no classifier was trained for made-up results
                assert found.words != "no results yet", claim.key


def test_no_claim_is_judged_without_results() -> None:
    empty = replace(results_of([], SETTINGS, half_as_bad), curves={}, timings=())
    for claim in CLAIMS:
        assert claim.look(empty, "published") == Finding(None, "no results yet"), claim.key


@pytest.mark.parametrize(
    "key",
    [
        "oracle-median",
        "non-oracle-better",
        "non-oracle-median",
        "overall-non-oracle",
        "learnt-uniform",
        "always",
        "state-wis",
    ],
)
def test_claims_for_kernel_wis_follow_the_numbers(key: str, better: Results, worse: Results) -> None:
    assert _found(better, key).holds is True
    assert _found(worse, key).holds is False or key == "state-wis"


@pytest.mark.parametrize("key", ["oracle-rows", "continuous"])
def test_claims_for_wis_follow_the_numbers(key: str, better: Results, worse: Results) -> None:
    assert _found(better, key).holds is False
    assert _found(worse, key).holds is True


def test_an_exception_is_the_only_one(better: Results, worse: Results) -> None:
    def only_optdigits(facts: CellFacts, estimator: str) -> float:
        return (_worse if facts.dataset == "optdigits" else half_as_bad)(facts, estimator)

    assert _found(better, "optdigits").holds is False
    assert _found(worse, "optdigits").holds is False
    assert _found(results_of(DATASETS, SETTINGS, only_optdigits, every=4), "optdigits").holds is True


@pytest.mark.parametrize(
    ("key", "holds", "words"),
    [
        ("oracle-11", True, "11 of 85 rows differ significantly: 10 for Kernel-WIS, 1 for WIS"),
        ("oracle-rows", False, "WIS wins 14 rows by more than 0.001, Kernel-WIS 18, of 85"),
        ("oracle-median", True, "median ahead on 3 of 9 datasets, behind on 0"),
        ("oracle-margin", True, "medians from +0.000 (arrhythmia) to +0.025 (kropt)"),
        ("oracle-trend", False, "with size +0.05 (p 0.90), with action dimension +0.47 (p 0.20)"),
        ("bounded", True, "Kernel-WIS 0.89, VIS 20.67"),
        ("overall-non-oracle", True, "best or within 0.001 on 7 of 7 datasets"),
        ("state-wis", True, "worse than Kernel-WIS in 16 of 16 rows"),
        ("oracle-coverage", False, "as printed: kropt +0.063, pendigits -0.051"),
        ("non-oracle-better", False, "significantly better in 30 of 67 rows"),
        ("non-oracle-margin", True, "medians from -0.060 (optdigits) to +0.288 (soybean)"),
        ("optdigits", True, "WIS 0.137, Kernel-WIS 0.138"),
        ("continuous", True, "WIS significantly better in 3 of 6 rows, Kernel-WIS in 0"),
        ("unique", True, "better by more than 0.001 in 1 of 17 rows (yeast non-oracle)"),
        ("learnt-uniform", True, "on 9 of 9 datasets"),
        ("learnt-oracle", True, "0.17 and 1.00, against 0.00 and 0.62"),
        ("always", False, "in 13 of 17 rows"),
    ],
)
def test_the_tests_are_put_to_the_published_rows_too(
    key: str, holds: bool, words: str, better: Results
) -> None:
    found = next(claim for claim in CLAIMS if claim.key == key).look(better, "paper")
    assert found.holds is holds
    assert words in found.words


def test_a_row_without_a_p_value_is_not_counted(better: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    def pair(welch: float) -> Pair:
        return Pair(wis=Spread(0.2, 0.01), kernel=Spread(0.1, 0.01), n=5, welch=welch)

    monkeypatch.setattr(
        "kwis_paper.findings.errors._pairs", lambda *_: [pair(0.01), pair(0.5), pair(0.6), pair(np.nan)]
    )
    assert _found(better, "oracle-same").words.startswith("2 of 3 rows")
    assert _found(better, "non-oracle-better").words.startswith("significantly better in 1 of 3 rows")


def test_epochs_must_be_the_published_ones(better: Results) -> None:
    def judged(first: float, second: float) -> bool | None:
        curves = {
            ("optdigits", "linear/accuracy"): np.array([0.5, 0.971]),
            ("optdigits", "linear/epochs"): np.array([first, second]),
        }
        return _found(replace(better, curves=curves), "epochs").holds

    assert judged(6, 46) is True
    assert judged(4, 53) is False


def test_continuous_rewards_are_judged_by_both_readings(better: Results, worse: Results) -> None:
    lost = replace(better, design=Design(rule="closeness", noise="lost"))
    both = _found(replace(worse, others={"closeness": lost}), "continuous")
    assert both.holds is False
    assert both.words.startswith("distance, flip: WIS significantly better")
    assert "; closeness, lost: WIS significantly better in 0" in both.words


def test_significant_rows_are_counted(better: Results, worse: Results) -> None:
    assert "0 for WIS" in _found(better, "oracle-11").words
    assert "0 for Kernel-WIS" in _found(worse, "oracle-11").words
    assert _found(worse, "oracle-11").holds is False


def test_two_rows_split_one_to_one_are_not_all_but_one(
    better: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(kernel: int, wis: int) -> bool | None:
        monkeypatch.setattr("kwis_paper.findings.errors._better", lambda pairs: (kernel, wis))
        return _found(better, "oracle-11").holds

    assert judged(10, 1) is True
    assert judged(2, 0) is True
    assert judged(1, 1) is False
    assert judged(9, 2) is False
    assert judged(12, 0) is False
    assert judged(0, 0) is None


def test_claims_about_rewards_and_bandwidths_follow_the_numbers(better: Results) -> None:
    assert _found(better, "heatmap") == Finding(
        True, "mean reward where 3 is right, distance, flip: 9 earns 0.60, 6 earns 0.20"
    )
    turned = np.full(100, 0.4)
    turned[36] = 0.9
    assert _found(replace(better, curves={("optdigitsDist", "rewards"): turned}), "heatmap").holds is False
    assert "median of std over mean 1.50" in _found(better, "unique-spread").words
    assert _found(better, "unique").holds is True


def test_the_table_has_both_truths_side_by_side(better: Results) -> None:
    table = claim_table(better)
    assert len(table.lines) == len(CLAIMS)
    words = ("published truth", "expected truth", "the paper's own rows")
    assert table.groups[2:] == tuple(word for word in words for _ in range(2))
    assert {line.entries[2].words for line in table.lines} <= {"yes", "no", "–"}


def test_the_text_on_the_expected_truth_takes_its_numbers_from_results(
    better: Results, worse: Results
) -> None:
    conclusions, continuous, logged = parts(better)
    assert "0 change their verdict" in conclusions.paragraphs[0]
    wis = np.mean([half_as_bad(facts, "wis") for facts in better.chosen("continuous")])
    assert f"Against the published truth the errors are {wis:.3f} for WIS" in " ".join(continuous.paragraphs)
    assert "takes back" not in " ".join(continuous.paragraphs)
    assert "takes back" in " ".join(parts(worse)[1].paragraphs)
    assert "on 4 of 4 datasets" in logged.paragraphs[0]
    text = as_page(better)
    assert text.startswith("# The paper's results against the expected truth")
    assert text.count("\n## ") == 3


def test_the_text_says_where_results_are_missing() -> None:
    text = as_page(replace(results_of([], SETTINGS, half_as_bad), curves={}))
    assert "not in these results yet" in text
    assert "There are no results yet." in text
