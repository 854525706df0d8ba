"""Every threshold of the table in kwis.checks.verdict, and the words that go with it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from kwis.checks.diagnostics import target_diagnostics
from kwis.checks.findings import MeanTest
from kwis.checks.propensity import propensity_report
from kwis.checks.verdict import combine, propensity_verdict, verdict
from kwis.checks.weight import weight_diagnostics
from kwis.data.sample_log import sample_log
from kwis.models.propensity.check import Finding, PropensityCheck
from kwis.models.propensity.support import Support
from kwis.policy.target import resolve_target
from kwis.results import Verdict
from tests.checks.logs import simulated
from tests.estimators.catalogue import some_sample

SOUND = replace(
    weight_diagnostics(some_sample(30)), n=1000, effective_n=800.0, largest_share=0.01, pareto_k=0.3
)
NO_SIGNS = PropensityCheck(findings=(), reliability=None, fit_p_value=None)


@pytest.mark.parametrize(
    ("change", "level", "words"),
    [
        ({}, "trust", None),
        ({"effective_n": 199.0}, "with care", "only 199 effective rows of 1,000, fewer than 200"),
        ({"effective_n": 49.9}, "do not trust", "only 49 effective rows of 1,000, fewer than 50"),
        ({"effective_n": 6.0, "groups": 6}, "do not trust", "only 6 effective groups of 6, fewer than 50"),
        ({"largest_share": 0.06}, "with care", "one row carries 6% of the weight"),
        ({"largest_share": 0.06, "groups": 300}, "with care", "one group carries 6% of the weight"),
        ({"largest_share": 0.21}, "do not trust", "one row carries 21% of the weight"),
        (
            {"pareto_k": 0.71},
            "with care",
            (
                "the largest weights have a heavy tail (Pareto k 0.71), so that errors may be larger than "
                "intervals say"
            ),
        ),
        (
            {"pareto_k": 1.01},
            "do not trust",
            (
                "the largest weights have a heavy tail (Pareto k 1.01), so that errors may be larger than "
                "intervals say"
            ),
        ),
        ({"pareto_k": math.nan}, "trust", None),
        ({"zero_share": 0.99}, "trust", None),
    ],
)
def test_weights_are_judged_by_the_table(change, level, words):
    found = verdict(replace(SOUND, **change))
    assert found.level == level
    assert found.reasons == (() if words is None else (words,))


@pytest.mark.parametrize(
    ("beyond", "level"), [(0.0, "trust"), (None, "trust"), (0.002, "with care"), (0.06, "do not trust")]
)
def test_actions_the_log_knows_nothing_about_count(beyond, level):
    found = verdict(SOUND, Support(never_logged=(), beyond=beyond, rows=0))
    assert found.level == level
    if level != "trust":
        assert found.reasons == (
            f"{beyond:.1%} of the target's decisions are actions that the log says nothing about",
        )


def failure(mean, n):
    return MeanTest(
        kind="action",
        subject="push",
        region="country = BR",
        column="country",
        n=n,
        mean=mean,
        low=mean - 0.1,
        high=mean + 0.1,
        z=5,
        p_value=1e-5,
    )


def test_failed_propensities_cost_trust_by_how_much_they_misplace():
    mild = propensity_verdict([failure(1.5, 150)], NO_SIGNS, 1000, estimated=False)
    assert mild.level == "with care"
    sentence = (
        "propensities are wrong; country = BR: 'push' was taken 1.50 times as often as its propensities say, "
        "95% 1.40 to 1.60, 150 rows"
    )
    assert mild.reasons == (sentence,)
    assert propensity_verdict([failure(1.5, 250)], NO_SIGNS, 1000, estimated=False).level == "do not trust"
    assert propensity_verdict([failure(0.4, 250)], NO_SIGNS, 1000, estimated=False).level == "do not trust"
    assert propensity_verdict([failure(1.02, 200)], NO_SIGNS, 1000, estimated=False).level == "trust"
    assert propensity_verdict([], NO_SIGNS, 1000, estimated=False) == Verdict(level="trust")
    assert propensity_verdict([], NO_SIGNS, 1000, estimated=True).level == "with care"


def test_serious_signs_count_and_others_do_not():
    known = Finding(kind="constant", serious=False, sentence="fine")
    rounded = Finding(kind="rounded", serious=True, sentence="rounded")
    certain = Finding(kind="deterministic", serious=True, sentence="nothing left to chance")
    for findings, level in (
        ((known,), "trust"),
        ((known, rounded), "with care"),
        ((rounded, certain), "do not trust"),
    ):
        assert (
            propensity_verdict([], replace(NO_SIGNS, findings=findings), 100, estimated=False).level == level
        )


def test_the_worst_comes_first_and_all_reasons_are_kept():
    found = verdict(replace(SOUND, effective_n=150.0, pareto_k=1.2))
    assert found.level == "do not trust"
    assert found.reasons[0].startswith("the largest weights")
    assert found.reasons[1].startswith("only 150 effective rows")
    joined = combine(
        Verdict(level="with care", reasons=("a",)),
        Verdict(level="trust"),
        Verdict(level="with care", reasons=("b",)),
    )
    assert joined == Verdict(level="with care", reasons=("a", "b"))


def test_everything_about_a_target_at_once():
    log = sample_log(2000).read()
    target = resolve_target(log, "p_new")
    report = propensity_report(log, [target])
    found = target_diagnostics(log, target, report, bandwidth=1.5)
    assert found.target == found.local.target == "p_new"
    assert found.weights.n == 2000
    assert found.support.beyond == 0
    assert found.local.bandwidth == 1.5
    assert found.balance.weighted is not None
    assert found.verdict.level == "with care"
    assert found.verdict.reasons == report.verdict.reasons
    assert str(found.verdict) == "with care"


def test_a_target_beyond_the_log_is_not_to_be_trusted():
    log = simulated(1000)
    never = replace(log, action_names=(*log.action_names, 3))
    target = resolve_target(never, np.tile([0.25, 0.25, 0.25, 0.25], (1000, 1)), "wider")
    report = propensity_report(never, [target])
    found = target_diagnostics(never, target, report)
    assert found.support.never_logged == (3,)
    assert found.verdict.level == "do not trust"
    assert any("25.0% of the target's decisions" in reason for reason in found.verdict.reasons)
