"""Every diagnostic answers on logs that are small, flat or lopsided; finite numbers or nan, never an error or
a warning.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, is_dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwis
from kwis.checks.diagnostics import target_diagnostics
from kwis.checks.drift import drift
from kwis.checks.propensity import propensity_report
from kwis.policy.target import resolve_target


def all_of(log, target):
    policy = resolve_target(log, target, "target")
    report = propensity_report(log, [policy])
    return report, target_diagnostics(log, policy, report), drift(log)


def numbers_in(record):
    if is_dataclass(record):
        record = asdict(record)
    if isinstance(record, dict):
        return [number for value in record.values() for number in numbers_in(value)]
    if isinstance(record, list | tuple):
        return [number for value in record for number in numbers_in(value)]
    if isinstance(record, np.ndarray):
        return record.ravel().tolist() if record.dtype.kind == "f" else []
    return [record] if isinstance(record, float) else []


@st.composite
def odd_logs(draw):
    n, actions = draw(st.integers(1, 80)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    columns = {
        "x": draw(
            st.sampled_from(
                [
                    np.zeros(n),
                    rng.normal(size=n),
                    np.where(rng.random(n) < 0.5, np.nan, 1.0),
                    np.full(n, np.nan),
                ]
            )
        ),
        "kind": np.resize(
            np.array(
                draw(st.sampled_from([["a"], ["a", "b"], [None, "a"], [f"id{i}" for i in range(n)]])),
                dtype=object,
            ),
            n,
        ),
        "action": rng.integers(actions, size=n),
        "reward": draw(st.sampled_from([np.zeros(n), rng.normal(size=n), np.full(n, 1e100)])),
        "p": draw(st.sampled_from([np.ones(n), np.full(n, 1 / actions), rng.uniform(1e-9, 1, n)])),
        "when": draw(st.sampled_from([np.zeros(n), np.arange(n), rng.normal(size=n)])),
        "user": rng.integers(draw(st.integers(1, n)), size=n),
        "stands_for": rng.uniform(0.1, 5, n),
        "chance": draw(st.sampled_from([np.zeros(n), np.ones(n), rng.random(n)])),
        "who": np.resize(np.array(["old", "new"], dtype=object), n),
    }
    roles = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "time": st.just("when"),
                "group": st.just("user"),
                "row_weight": st.just("stands_for"),
                "logger": st.just("who"),
            },
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kwis.KwisWarning)
        return kwis.read_log(
            columns, propensity="p", context=["x", "kind"], actions=list(range(actions)), **roles
        )


@given(log=odd_logs())
def test_odd_logs_are_answered(log):
    report, found, _ = all_of(log, kwis.probability("chance"))
    assert 0 <= report.p_value <= 1
    assert found.verdict.level in ("trust", "with care", "do not trust")
    for number in numbers_in(report.tests) + numbers_in(found.weights.influential) + numbers_in(found.local):
        assert math.isfinite(number)
    json.dumps([asdict(test) for test in report.tests])


def test_many_actions_are_fine():
    rng = np.random.default_rng(0)
    n = 2000
    table = {
        "x": rng.normal(size=n),
        "action": rng.integers(100, size=n),
        "reward": rng.random(n),
        "p": np.full(n, 0.01),
    }
    report, found, _ = all_of(kwis.read_log(table, propensity="p", context="x"), np.full((n, 100), 0.01))
    assert report.p_value > 0.01
    assert found.weights.effective_n == pytest.approx(n)
