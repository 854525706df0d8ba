"""The study of the estimate recommended: its table, and that the page keeps what is said of it."""

from tests.statistical.holds.choice import HEAVY_WEIGHTS, changes, single, table
from tests.statistical.holds.page import SHRUNKEN, written


def _record(seed, value, unshrunk, recommended, *, family="heavy, right"):
    """A log of rewards with standard deviation 2 and a truth of 1; the first interval holds it."""
    return {
        "regime": f"design/{seed // 2:03d}",
        "seed": seed,
        "family": family,
        "truth": 1.0,
        "scale": 2.0,
        "recommended": recommended,
        "value": value,
        "low": 0.0,
        "high": 3.0,
        "unshrunk": unshrunk,
        "unshrunk_interval": [unshrunk - 0.5, unshrunk + 0.5],
    }


def test_errors_and_coverage_are_shown_by_family():
    records = [
        _record(0, 2.0, 3.0, HEAVY_WEIGHTS[0]),
        _record(1, 0.0, -1.0, HEAVY_WEIGHTS[1]),
        _record(2, 1.2, 1.2, "wis", family="mild, right"),
        {"regime": "design/009", "seed": 0, "refused": "no weight"},
    ]
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in table(records).splitlines()]
    assert shown[2] == ["heavy, right", "1", "2", "2", "0.500", "1.000", "0.50", "100", "0"]
    assert shown[3] == ["mild, right", "1", "1", "0", "0.100", "0.100", "1.00", "100", "100"]
    assert shown[4][:4] == ["all", "2", "3", "2"]


def test_single_estimators_are_shown_beside_the_one_recommended():
    records = [
        {**_record(seed, value, 3.0, "wis"), "estimates": {"wis": value, "vis": 1.4}}
        for seed, value in ((0, 1.2), (1, 0.8))
    ]
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in single(records).splitlines()]
    assert shown[2:] == [
        ["recommended", "1.00", "1.00"],
        ["without shrinking", "10.00", "10.00"],
        ["wis", "1.00", "1.00"],
        ["vis", "2.00", "2.00"],
    ]


def test_policies_told_apart_are_counted():
    known = {"gain": 0.5, "change": [0.1, 0.6], "unshrunk_change": [-0.4, -0.1]}
    shown = [line.replace(" ", "").strip("|").split("|") for line in changes([known, known]).splitlines()]
    assert shown[2:] == [["recommended", "2", "100", "2", "0"], ["withoutshrinking", "2", "0", "0", "2"]]


def test_a_page_that_is_written_anew_keeps_what_another_study_said():
    before = f"# An old page\n\n{SHRUNKEN}\n\nA table.\n"
    after = written([], before)
    assert after.endswith(f"\n{SHRUNKEN}\n\nA table.\n")
    assert "An old page" not in after
    assert SHRUNKEN not in written([], "# An old page")
