"""Answers, alarms and verdicts hold on ordinary logs: a short run of the study, on designs that no rule was
made with.

Each limit is the aim of :mod:`tests.statistical.holds.aims`, widened to what chance leaves one run in a
thousand of so few logs.
"""

import warnings

import pytest
from scipy import stats

from tests.statistical.holds import aims
from tests.statistical.holds.record import alarms_of, records_of
from tests.statistical.holds.regimes import all_regimes
from tests.statistical.holds.summary import covers
from tests.statistical.holds.world import World

pytestmark = pytest.mark.slow

TESTED, EVALUATED = (
    60,
    24,
)  # logs of each regime, with the tests of the propensities alone and with everything
FIRST = 10_000  # seeds of their own, so that no figure of the page is asserted

RIGHT = [
    *(f"uniform/K{actions} n500" for actions in (2, 3, 5, 6, 7, 12, 20)),
    *(
        f"epsilon/{epsilon} n1000 {target}"
        for epsilon in (0.05, 0.1, 0.2)
        for target in ("deterministic", "softmax")
    ),
    *(f"small/{smallest} n500 {given}" for smallest in (0.03, 0.005) for given in ("all", "logged")),
    "small/three targets K3 n500",
    "small/n200 K3",
    "thinned/softmax",
    "copies/three times",
    "users/40 of 25",
    "users/200 of 5",
]
ANSWERED = [
    "softmax/K5 n500 binary moderate",
    "epsilon/0.05 n1000 deterministic",
    "copies/three times",
    "users/40 of 25",
    "users/200 of 5 with moods",
    "missing/K2 n1000 constant",
    "missing/K3 n1000 softmax",
    "misreport/clipped, logged",
    "misreport/too extreme, logged",
    "thinned/deterministic",
    "skewed/revenue one target",
    "skewed/conversions one target",
    "heavy/deterministic K5",
]
BOUNDED = [
    "uniform/K20 n500",
    "epsilon/0.2 K2 n500",
    "epsilon/0.1 n1000 deterministic",
    "tail/discrete context greedy n1000",
    "tail/tenths n1000",
]


def most(logs, share):
    """So many of the logs at most, if each has this chance and luck is worse in one run of a
    thousand only.
    """
    return int(stats.binom.ppf(0.999, logs, share))


def evaluated(name, logs=EVALUATED):
    world = World(all_regimes()[name], "test")
    return [record for seed in range(FIRST, FIRST + logs) for record in records_of(world, seed, {})]


@pytest.mark.parametrize("name", RIGHT)
def test_right_propensities_are_seldom_called_wrong(name):
    world = World(all_regimes()[name], "test")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # copies and users may be remarked upon; here only the tests count
        alarms = [alarms_of(world, seed)[0]["alarm"] for seed in range(FIRST, FIRST + TESTED)]
    assert sum(alarms) <= most(TESTED, aims.ALARMS[1])


@pytest.mark.parametrize("name", ANSWERED)
def test_answers_are_covered_or_distrusted(name):
    records = evaluated(name)
    for side in (0, 1):
        missed = [one for one in records if not covers(one)[side] and one["verdict"] != "do not trust"]
        assert len(missed) <= most(len(records), 1 - aims.LEAST_COVERED)
    if all_regimes()[name].kind == "right":
        assert sum(one["repaired"] for one in records) <= most(len(records), aims.MOST_REPAIRS)


@pytest.mark.parametrize("name", BOUNDED)
def test_bounded_weights_have_no_heavy_tail(name):
    heavy = [one for one in evaluated(name) if (one["pareto_k"] or 0) > 0.7]
    assert len(heavy) <= most(EVALUATED, aims.MOST_HEAVY)


def test_heavy_tails_are_found():
    records = [one for one in evaluated("tail/Pareto n2000") if one["target"] == "t1"]
    assert sum((one["pareto_k"] or 0) > 0.5 for one in records) >= EVALUATED / 3


def test_equal_policies_are_not_claimed_to_differ():
    false = {one["seed"] for one in evaluated("ten/equal gaussian n500") if one["false_claims"]}
    assert len(false) <= most(EVALUATED, aims.MOST_FALSE_CLAIMS)


def test_a_policy_trained_on_its_own_log_is_never_to_be_trusted():
    assert not [one for one in evaluated("trained/on its own log", 8) if one["verdict"] == "trust"]


def test_segments_hold_together():
    records = evaluated("segments/6 of 100", 2 * EVALUATED)
    assert sum(not one["segments_together"] for one in records) <= most(len(records), 1 - aims.LEAST_COVERED)
