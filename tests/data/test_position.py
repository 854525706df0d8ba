"""Position of a decision as part of the context or of the action, and arrays by position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kwis
from kwis.errors import InputError
from kwis.policy.target import resolve_target

N = 90


def rows() -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(3)
    whole = rng.dirichlet(np.ones(3), (N, 2)).transpose(0, 2, 1)
    slot, action = rng.integers(0, 2, N), rng.integers(0, 3, N)
    table = {
        "x": rng.normal(size=N),
        "action": np.array(list("abc"))[action],
        "slot": slot,
        "reward": rng.random(N),
        "propensity": np.full(N, 1 / 3),
    }
    return table, whole


def test_the_position_is_a_label_of_the_context() -> None:
    table, whole = rows()
    log = kwis.read_log(table, context="x", position="slot")
    assert log.context_columns == ("x", "slot")
    assert log.categorical == (1,)
    expected = np.array([whole[i, :, table["slot"][i]] for i in range(N)])
    np.testing.assert_array_equal(resolve_target(log, whole).distribution, expected)


def test_the_position_is_part_of_the_action() -> None:
    table, whole = rows()
    log = kwis.read_log(table, context="x", position="slot", position_in="action")
    assert log.action_names == ("a at 0", "a at 1", "b at 0", "b at 1", "c at 0", "c at 1")
    assert log.context_columns == ("x",)
    assert [log.action_names[code] for code in log.action] == [
        f"{item} at {slot}" for item, slot in zip(table["action"], table["slot"], strict=True)
    ]
    for i in range(N):
        assert list(np.flatnonzero(log.available[i]) % 2) == [table["slot"][i]] * 3
    policy = resolve_target(log, whole)
    for i in range(N):
        own = policy.distribution[i].reshape(3, 2)
        np.testing.assert_array_equal(own[:, table["slot"][i]], whole[i, :, table["slot"][i]])
        assert own.sum() == pytest.approx(1)
    np.testing.assert_array_equal(policy.logged, policy.distribution[np.arange(N), log.action])
    by_item = resolve_target(log, np.repeat("b", N))
    np.testing.assert_array_equal(by_item.logged, table["action"] == "b")


def test_an_array_by_position_needs_a_position() -> None:
    table, whole = rows()
    del table["slot"]
    with pytest.raises(InputError, match=r"^`target` must have shape \(n, K\) for a log without `position`"):
        resolve_target(kwis.read_log(table, context="x"), whole)
    with pytest.raises(InputError, match=r"^`position` must be named for position_in='action', got None$"):
        kwis.read_log(table, context="x", position_in="action")
