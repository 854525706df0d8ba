"""Many actions at once: wrong propensities show although each action is too rare to be tested."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

import kwis
from kwis.checks.drawn import redrawn_actions
from kwis.checks.null import null_of
from kwis.checks.pooled import FEWEST_ACTIONS, pooled_of
from kwis.checks.propensity import propensity_report
from kwis.cli.main import app
from tests.checks.candidate_logs import CandidateLog, Design, candidate_log
from tests.reference import diagnostics as twin

BY_CONTEXT = [
    Design(actions=60, smallest=4, largest=12, n=2000, heat=0.4, own=0.0),
    Design(actions=120, smallest=12, largest=12, n=2000, heat=0.4, own=0.0),
    Design(actions=250, smallest=6, largest=20, n=2000, heat=0.4, own=0.0),
]
"""The context changes the scores of all items; no item is better by itself."""
SMALL = Design(actions=25, smallest=3, largest=8, n=60)
NAMES = [f"{design.actions} items" for design in BY_CONTEXT]


def read(log: CandidateLog, propensity, **columns):
    roles = {role: role for role in ("group", "row_weight") if role in columns}
    table = log.table(propensity) | columns
    return kwis.read_log(table, context=["x", "z"], candidates="candidates", **roles)


def redrawn(log: CandidateLog, seed) -> CandidateLog:
    """The same with actions drawn uniformly from the candidates."""
    chance = log.available * log.even[:, None]
    u = np.random.default_rng([seed, 1]).random((len(chance), 1))
    action = (u > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return replace(log, action=action, chance=chance)


def kinds(report):
    return {test.kind for test in report.failures}


@pytest.mark.parametrize("design", BY_CONTEXT, ids=NAMES)
def test_uniform_propensities_are_found_wrong_where_the_context_changes_the_odds_of_rare_items(design):
    log = candidate_log(design, 31)
    report = propensity_report(read(log, log.even))
    assert report.verdict.level == "do not trust"
    (failure,) = [test for test in report.failures if test.kind == "context"]
    typical = np.exp(design.heat * np.sqrt(2))  # odds of an item, by a standard deviation of its score
    assert failure.mean == pytest.approx(typical, rel=0.25)
    assert "changes the odds of actions by a factor of about" in report.verdict.reasons[0]
    assert "nan" not in repr(report)


@pytest.mark.parametrize("design", BY_CONTEXT, ids=NAMES)
def test_few_right_uniform_propensities_are_called_wrong(design):
    logs = (redrawn(candidate_log(design, seed), seed) for seed in range(40, 46))
    assert sum(propensity_report(read(log, log.even)).wrong for log in logs) <= binom.isf(0.001, 6, 0.05)


@pytest.mark.slow
def test_right_propensities_of_many_items_are_called_wrong_five_percent_of_the_time():
    """At most 5 % beyond doubt, also for groups whose rows share their draws and for a logger with scores."""
    alarms = logs = 0
    for design in BY_CONTEXT:
        for seed in range(1000, 1070):
            log = redrawn(candidate_log(design, seed), seed)
            alarms += propensity_report(read(log, log.even)).wrong
            logs += 1
    assert alarms <= binom.isf(0.002, logs, 0.05)


def test_items_that_are_better_by_themselves_are_found_though_none_is_tested_alone():
    log = candidate_log(Design(actions=250, smallest=6, largest=20, n=800, heat=0.6), 32)
    report = propensity_report(kwis.read_log(log.table(log.even), context=[], candidates="candidates"))
    assert kinds(report) == {"actions"}
    assert "everywhere: the odds of actions are off by a factor of about 1." in report.verdict.reasons[0]


def test_the_column_that_matters_is_named():
    """Scores depend on x alone, and z stands beside it."""
    log = candidate_log(BY_CONTEXT[1], 33)
    other = np.random.default_rng(7).normal(size=len(log.x))
    score = log.x[:, [0]] @ np.random.default_rng(8).normal(size=(1, 120))
    chance = np.where(log.available, np.exp(0.4 * score), 0.0)
    chance /= chance.sum(axis=1, keepdims=True)
    u = np.random.default_rng(9).random((len(chance), 1))
    action = (u > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    log = replace(log, action=action, chance=chance, x=np.column_stack([log.x[:, 0], other]))
    (failure,) = propensity_report(read(log, log.even)).failures
    assert (failure.column, failure.subject, failure.region) == ("x", "x", "everywhere")


def test_a_place_that_explains_everything_is_named_alone():
    """Where x is high candidates are far from equally likely, and nowhere else."""
    log = candidate_log(replace(BY_CONTEXT[1], heat=1.0, own=1.0), 34)
    high = log.x[:, 0] > 0.7
    even = redrawn(log, 34)
    log = replace(log, action=np.where(high, log.action, even.action))
    report = propensity_report(read(log, log.even))
    assert report.failures
    assert {test.column for test in report.failures} == {"x"}
    assert all(test.kind == "action" for test in report.failures)


def test_groups_that_share_their_draws_raise_no_alarm():
    """Rows of a user take the same place in their candidates; pairs of such rows are left out."""
    for seed in range(6):
        log = candidate_log(BY_CONTEXT[0], 60 + seed)
        group = np.random.default_rng(seed).integers(150, size=len(log.action))
        chance = log.available * log.even[:, None]
        u = np.random.default_rng([seed, 2]).random(150)[group][:, None]
        action = (u > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
        report = propensity_report(read(replace(log, action=action), log.even, group=group))
        pooled = [test for test in report.tests if test.kind in ("actions", "context")]
        assert pooled
        assert min(test.p_value for test in pooled) > 0.01


@pytest.mark.parametrize("options", [{}, {"group": 40}, {"group": 40, "row_weight": 3.0}])
def test_statistics_equal_their_slow_twin(options):
    rng = np.random.default_rng(0)
    columns = {}
    if "group" in options:
        columns["group"] = rng.permutation(SMALL.n) % options["group"]
    if "row_weight" in options:
        columns["row_weight"] = rng.uniform(1, options["row_weight"], SMALL.n)
    log = candidate_log(SMALL, 35)
    log = read(log, log.even, **columns)
    null = null_of(log)
    pooled = pooled_of(log, null)
    group = list(range(SMALL.n)) if log.group is None else log.group.tolist()
    mass = np.ones(SMALL.n) if log.row_weight is None else log.row_weight / log.row_weight.mean()
    spread, skewness = pooled.moments
    for j, part in enumerate(pooled.parts):
        features = {"": [np.ones(SMALL.n)], "the context": list(log.context.T)}.get(
            part.subject, [log.context[:, ["x", "z"].index(part.subject)] if part.column else None]
        )
        expected = sum(
            twin.pairs_alike(
                (mass * np.clip(values, -3, 3)).tolist(), log.action.tolist(), null.chance.tolist(), group
            )
            for values in features
        )
        z = twin.wilson_hilferty(expected, spread[j] ** 2, skewness[j] * spread[j] ** 3)
        assert pooled.z()[j] == pytest.approx(z, rel=1e-8)


@pytest.mark.parametrize("users", [None, 15])
def test_redrawn_actions_equal_their_slow_twin(users):
    group = None if users is None else np.random.default_rng(1).integers(users, size=SMALL.n)
    log = candidate_log(SMALL, 36)
    null = replace(null_of(read(log, log.even)), shared=0.0 if users is None else 0.6)
    found = redrawn_actions(null, group, 4, 2, seed=1)
    for draw in (0, 1):
        labels = None if group is None else group.tolist()
        expected = twin.redrawn_actions(null.chance.tolist(), 4 + draw, 1, labels, null.shared)
        assert found[draw].tolist() == expected


def test_sets_of_several_sizes_may_be_uniform_to_the_digits_given():
    log = candidate_log(SMALL, 37)
    for said in (log.even, np.round(log.even, 3)):
        assert null_of(read(log, said)).whole
    assert not null_of(read(log, log.even * np.where(np.arange(SMALL.n) == 3, 0.99, 1.0))).whole


def test_few_actions_are_tested_one_by_one_only():
    def read_uniform(actions):
        rng = np.random.default_rng(2)
        table = {"x": rng.normal(size=300), "action": rng.integers(actions, size=300), "reward": np.ones(300)}
        return kwis.read_log(table, propensity=1 / actions, context=["x"], actions=range(actions))

    few, many = read_uniform(FEWEST_ACTIONS - 1), read_uniform(FEWEST_ACTIONS)
    assert pooled_of(few, null_of(few)) is None
    assert [part.subject for part in pooled_of(many, null_of(many)).parts] == ["", "the context", "x"]


def test_the_command_says_so(tmp_path):
    log = candidate_log(BY_CONTEXT[2], 38)
    path = tmp_path / "log.csv"
    table = log.table(log.even)
    pd.DataFrame(table | {"candidates": ["|".join(row) for row in table["candidates"]]}).to_csv(
        path, index=False
    )
    words = ["check", str(path), "--context", "x,z", "--candidates", "candidates"]
    shown = CliRunner().invoke(app, words)
    assert "changes the odds of actions by a factor of about" in " ".join(shown.stdout.split())
    answer = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert "do not trust" in json.dumps(answer)
