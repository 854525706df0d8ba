"""Logs with candidate sets: without their sets they are asked for them, with them wrong propensities show."""

from __future__ import annotations

import pytest

import kwis
from tests.checks.candidate_logs import Design, candidate_log, wrong_in

ASKED = "some actions seem not to be available in some rows; name them with --candidates"
DESIGNS = [
    Design(actions=40, smallest=8, largest=8, n=1500),
    Design(actions=7, smallest=2, largest=4, n=1500),
]


def reasons(table, **roles):
    log = kwis.read_log(table, context=["x", "z"], **roles)
    return kwis.propensity_report(log).verdict.reasons


@pytest.mark.parametrize("design", DESIGNS, ids=["40 items", "7 items"])
def test_right_propensities_without_their_sets_are_asked_about_and_not_called_wrong(design):
    table = candidate_log(design, 21).table()
    del table["candidates"]
    found = reasons(table)
    assert any(ASKED in reason for reason in found)
    assert not any("propensities are wrong" in reason for reason in found)


@pytest.mark.parametrize("sizes", [(8, 9), (6, 10), (4, 30)])
def test_uniform_choices_from_sets_of_several_sizes_are_asked_about(sizes):
    """With 8 or 9 candidates of 60, each action seems to have at least one ninth in every row."""
    log = candidate_log(Design(actions=60, smallest=sizes[0], largest=sizes[1], n=1500, heat=0.0), 24)
    table = log.table()
    del table["candidates"]
    found = reasons(table)
    assert any(ASKED in reason for reason in found)
    assert not any("propensities are wrong" in reason for reason in found)


@pytest.mark.parametrize("design", DESIGNS, ids=["40 items", "7 items"])
@pytest.mark.parametrize("how", ["halved", "too timid"])
def test_wrong_propensities_are_found_beside_their_sets(design, how):
    log = candidate_log(design, 22)
    found = reasons(log.table(wrong_in(log, how)), candidates="candidates")
    assert any("propensities are wrong" in reason for reason in found)


@pytest.mark.parametrize("how", ["too sure", "wrong where x is high"])
def test_propensities_that_are_too_sure_are_found_among_many_items(how):
    """Each item is taken some ten times, so that neither items nor a uniform policy tell."""
    log = candidate_log(Design(actions=120, smallest=12, largest=12, n=1200), 23)
    found = reasons(log.table(wrong_in(log, how)), candidates="candidates")
    assert any("mean weight of a policy like the logger's but less sure" in reason for reason in found)


@pytest.mark.slow
def test_false_alarms_beside_candidate_sets_stay_rare():
    """60 logs of designs that made no rule: 5 % is meant, and 14 % is three standard errors above it."""
    alarms = sum(
        any(
            "wrong" in reason
            for reason in reasons(candidate_log(design, seed).table(), candidates="candidates")
        )
        for design in DESIGNS
        for seed in range(100, 130)
    )
    assert alarms <= 0.14 * 60
