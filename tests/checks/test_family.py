"""The statistics of the tests, and the logs with redrawn actions that judge them, equal their slow twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kwis.checks.family import Family, adjusted
from kwis.checks.null import null_of
from kwis.checks.redraw import _Redrawn, smallest_by_chance
from kwis.checks.regions import Region, regions_of
from kwis.checks.subjects import subjects_of
from kwis.policy.target import resolve_targets
from kwis.runtime.threads import engine
from tests.checks.logs import simulated, tilted
from tests.reference import diagnostics as twin


def family_of(log, shared=None):
    null = null_of(log)
    subjects = subjects_of(log, resolve_targets(log, {"tilted": tilted(log)}), null)
    shared = null.shared if shared is None else shared
    family = Family.of(subjects, regions_of(log), mass=log.row_weight, group=log.group, shared=shared)
    return family, replace(null, shared=shared)


def amounts(subject, n):
    """``(n, K)`` what each action adds to a subject."""
    if subject.code is None:
        return subject.amount
    whole = np.zeros((n, 3))
    whole[:, subject.code] = subject.amount
    return whole


def test_with_the_whole_distribution_sums_are_standardised_by_the_null():
    log = simulated(400, known="whole")
    family, null = family_of(log)
    sums = family.sums()
    for z, (s, r) in zip(sums.z(), family.pairs, strict=True):
        subject, rows = family.subjects[s], np.flatnonzero(family.regions[r].rows)
        amount = amounts(subject, 400)
        moments = [twin.row_moments(null.chance[i].tolist(), amount[i].tolist()) for i in rows]
        score = sum(amount[i, log.action[i]] - moment[0] for i, moment in zip(rows, moments, strict=True))
        variance, third, _ = (sum(moment[j] for moment in moments) for j in (1, 2, 3))
        assert z == pytest.approx(twin.wilson_hilferty(score, variance, third), rel=1e-8)


def test_groups_that_share_draws_widen_the_null():
    log = simulated(400, known="whole", users=120)
    family, _ = family_of(log, shared=0.4)
    sums = family.sums()
    for i, (s, r) in enumerate(family.pairs):
        own, rows = family.subjects[s].null, family.regions[r].rows.tolist()
        expected = twin.grouped_moments(
            own.variance.tolist(), own.third.tolist(), rows, log.group.tolist(), 0.4
        )
        assert (sums.spread.variance[i], sums.spread.third[i]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_sums_on_their_long_side_have_students_ratio_where_only_logged_propensities_are_known():
    log = simulated(400)
    family, _ = family_of(log)
    sums, compared = family.sums(), 0
    for i, (s, r) in enumerate(family.pairs):
        if family.subjects[s].kind == "action" and sums.score[i] * sums.spread.third[i] > 0:
            score = np.where(log.action == family.subjects[s].code, 1 / log.propensity, 0.0) - 1
            assert sums.z()[i] == pytest.approx(
                twin.skew_corrected(score.tolist(), family.regions[r].rows.tolist()), rel=1e-8
            )
            compared += 1
    assert compared >= 5


def test_an_action_that_is_nearly_certain_and_always_taken_has_no_spread_of_its_own():
    """Of 400 rows none took another action, as happens in 2 % of right logs; the sample says the sum cannot
    vary.
    """
    rng = np.random.default_rng(0)
    log = simulated(500)
    sure = np.arange(500) < 400
    log = replace(
        log,
        action=np.where(sure, 0, log.action),
        propensity=np.where(sure, rng.uniform(0.985, 0.995, 500), log.propensity),
    )
    regions = (*regions_of(log), Region(column="sure", label="sure", rows=sure))
    null = null_of(log)
    family = Family.of(subjects_of(log, (), null), regions, mass=None, group=None, shared=0.0)
    tests = {family.pairs[i]: z for i, z in enumerate(family.sums().z())}
    (place,) = [s for s, subject in enumerate(family.subjects) if subject.code == 0]
    assert abs(tests.get((place, len(regions) - 1), 0.0)) < 4


@pytest.mark.parametrize(("known", "of_actions"), [("logged", 1.0), ("whole", 3.0)])
def test_each_column_has_the_same_part_and_without_the_whole_distribution_each_kind_of_test(
    known, of_actions
):
    family, _ = family_of(simulated(2000, known=known))
    part = {}
    for rivals, (s, r) in zip(family.rivals, family.pairs, strict=True):
        key = family.subjects[s].kind, family.regions[r].column
        part[key] = part.get(key, 0.0) + 1 / rivals
    expected = {
        (kind, column): one
        for kind, one in (("weight", 1.0), ("action", of_actions))
        for column in (None, "x", "colour")
    }
    expected |= {("confidence", None): 1.0} if known == "whole" else {}
    assert part == pytest.approx(expected)
    assert family.size == pytest.approx(sum(expected.values()))


@pytest.mark.parametrize(
    "options", [{"known": "whole"}, {"known": "logged"}, {"known": "whole", "users": 60}]
)
def test_sums_over_redrawn_logs_equal_their_slow_twin(options):
    log = simulated(300, **options)
    family, null = family_of(log, shared=0.5 if "users" in options else 0.0)
    group = None if log.group is None else log.group.tolist()
    found = _Redrawn(family, null, seed=0).sums(5, 2)
    for draw in (0, 1):
        actions = twin.redrawn_actions(null.chance.tolist(), 5 + draw, 0, group, family.shared)
        for t, (s, r) in enumerate(family.pairs):
            subject, rows = family.subjects[s], family.regions[r].rows
            score = (amounts(subject, 300)[np.arange(300), actions] - subject.mean)[rows]
            for power, sums in enumerate(found, start=1):
                assert sums[draw, t] == pytest.approx((score**power).sum(), rel=1e-9, abs=1e-9)


def test_redrawn_logs_are_the_same_in_any_number_of_blocks_and_threads(monkeypatch):
    family, null = family_of(simulated(400, known="whole", users=100))
    smallest = smallest_by_chance(family, null)
    monkeypatch.setattr("kwis.checks.redraw._CELLS", 2000)
    with engine(1):
        one = smallest_by_chance(family, null)
    with engine(3):
        three = smallest_by_chance(family, null)
    np.testing.assert_array_equal(one, three)
    np.testing.assert_allclose(one, smallest, rtol=1e-9)


def test_blocks_of_rows_change_nothing(monkeypatch):
    family, _ = family_of(
        simulated(400, users=150, row_weight=np.random.default_rng(3).uniform(0.5, 2.0, 400))
    )
    family = replace(family, summed=None)
    sums = family.sums()
    monkeypatch.setattr("kwis.checks.family._CELLS", 500)
    small = family.sums()
    np.testing.assert_allclose(small.z(), sums.z(), rtol=1e-9)
    np.testing.assert_array_equal(small.spread.draws, sums.spread.draws)


def test_sums_of_a_part_are_those_made_before():
    family, _ = family_of(simulated(400, users=150))
    part = family.part([4, 0, 7])
    made, anew = part.sums(), replace(part, summed=None).sums()
    np.testing.assert_allclose(made.z(), anew.z(), rtol=1e-9)
    np.testing.assert_allclose(made.intervals(), anew.intervals(), rtol=1e-9)


def test_p_values_are_ranks_among_redrawn_logs_and_bonferronis_beyond_them():
    smallest = np.sort(np.random.default_rng(0).random(999))
    rank = int((smallest <= 0.2).sum())
    assert adjusted(np.array([0.2]), smallest, 50)[0] == (1 + rank) / 1000
    assert adjusted(smallest[[4]], smallest, 50)[0] == 6 / 1000
    assert adjusted(np.array([1e-20]), smallest, 50)[0] == pytest.approx(5e-19)
    assert adjusted(np.array([smallest[0] / 1.01]), smallest, 50)[0] == pytest.approx(
        min(0.001, 50 * smallest[0] / 1.01)
    )


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0.0), (0.7, 0.49), (1.0, 1.0)])
def test_how_many_draws_rows_of_a_group_share_is_estimated(share, expected):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(600), 5)
    log = replace(simulated(3000, known="whole"), group=group)
    u = np.where(rng.random(3000) < share, rng.random(600)[group], rng.random(3000))
    action = (u[:, None] > log.behaviour.cumsum(axis=1)[:, :-1]).sum(axis=1)
    assert null_of(replace(log, action=action)).shared == pytest.approx(expected, abs=0.05)


def test_what_only_logged_propensities_leave_open_is_completed():
    log = simulated(2000)
    null = null_of(log)
    assert not null.whole
    np.testing.assert_allclose(null.chance.sum(axis=1), 1)
    np.testing.assert_array_equal(null.propensity[np.arange(2000), log.action], log.propensity)
    true = null_of(simulated(2000, known="whole")).chance
    assert np.abs(null.chance - true).mean() < 0.05
    two = replace(log, action=(log.action > 0).astype(int), action_names=(0, 1))
    assert null_of(two).whole
