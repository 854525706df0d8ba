"""Candidates and loggers beside policies that need no column, propensities given as values, and rows left
out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kwis
from kwis.errors import InputError
from kwis.policy.target import resolve_target
from tests.data.test_candidates import read, rows
from tests.policy.test_loggers import NEW, OLD
from tests.policy.test_loggers import rows as rows_of_two


def test_uniform_and_epsilon_greedy_keep_to_the_candidates() -> None:
    log = read(rows())
    assert log.available is not None
    any_alike = log.available / log.available.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(resolve_target(log, kwis.uniform()).distribution, any_alike)
    new = resolve_target(log, "new").distribution
    best = new == new.max(axis=1, keepdims=True)
    explored = resolve_target(log, kwis.epsilon_greedy("new", 0.2)).distribution
    np.testing.assert_allclose(explored, 0.8 * best + 0.2 * any_alike)
    with pytest.raises(InputError, match="not among its candidates"):
        resolve_target(log, kwis.always("a"))


def test_propensities_given_as_lists_or_a_number_keep_to_the_candidates() -> None:
    frame, log = rows(), read(rows())
    lists = kwis.read_log(frame, candidates="offered", propensity=list(frame["p"]), context="x")
    np.testing.assert_array_equal(lists.behaviour, log.behaviour)
    two = frame.assign(offered=[[action, "e"] for action in frame["action"]])
    half = kwis.read_log(two, candidates="offered", propensity=0.5, context="x")
    np.testing.assert_array_equal(half.behaviour, half.available / 2)
    with pytest.raises(InputError, match="`propensity` must be 0 for actions that are not available"):
        kwis.read_log(frame, candidates="offered", propensity=dict.fromkeys("abcde", 0.2), context="x")


@pytest.mark.parametrize("given", [False, True])
def test_rows_without_a_reward_leave_with_their_candidates(given: bool) -> None:
    frame, whole = rows(), read(rows())
    frame.loc[[0, 7], "reward"] = np.nan
    candidates: Any = list(frame["offered"]) if given else "offered"
    lists: Any = list(frame["p"]) if given else "p"
    log = kwis.read_log(frame, candidates=candidates, propensity=lists, context="x", drop_missing=True)
    left = np.delete(np.arange(len(frame)), [0, 7])
    np.testing.assert_array_equal(log.available, whole.available[left])
    np.testing.assert_array_equal(log.behaviour, whole.behaviour[left])
    np.testing.assert_array_equal(
        resolve_target(log, list(frame["new"])).distribution,
        resolve_target(whole, "new").distribution[left],
    )


def test_loggers_may_have_fixed_probabilities() -> None:
    fixed = {name: dict(zip("abc", said, strict=True)) for name, said in (("old", OLD), ("new", NEW))}
    log = kwis.read_log(rows_of_two(), propensity=fixed, logger="system", context="x")
    columns = kwis.read_log(rows_of_two(by_action=True), propensity="p", logger="system", context="x")
    np.testing.assert_array_equal(log.logger_propensity, columns.logger_propensity)
    np.testing.assert_array_equal(log.behaviour, columns.behaviour)
