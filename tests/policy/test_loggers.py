"""Several loggers: balanced and weighted weights, and which of them an evaluation chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kwis
from kwis.errors import InputError
from kwis.policy.loggers import balanced_factor, weighted_factor
from tests.reference import candidates as twin

OLD, NEW, TARGET = np.array([0.9, 0.05, 0.05]), np.array([0.1, 0.2, 0.7]), np.array([0.05, 0.15, 0.8])


def rows(n: int = 400, seed: int = 0, by_action: bool = False) -> dict[str, Any]:
    """Two loggers, the older of which hardly takes what the target takes."""
    rng = np.random.default_rng(seed)
    logger = rng.integers(0, 2, n)
    chance = np.where(logger[:, None] == 0, OLD, NEW)
    action = (rng.random(n)[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    names = np.array(list("abc"))
    table: dict[str, Any] = {
        "x": rng.normal(size=n),
        "action": names[action],
        "reward": rng.normal(0.5 * action, 1),
        "system": np.array(["old", "new"])[logger],
        "target": TARGET[action],
    }
    if by_action:
        return table | {
            f"p_{who}_{name}": np.full(n, said[code])
            for who, said in (("old", OLD), ("new", NEW))
            for code, name in enumerate(names)
        }
    return table | {"p_old": OLD[action], "p_new": NEW[action]}


def said(table: dict[str, Any]) -> list[dict[str, float]]:
    return [{"old": old, "new": new} for old, new in zip(table["p_old"], table["p_new"], strict=True)]


def row_of(found: kwis.Evaluation) -> Any:
    return next(row for row in found.rows if row.target == "target")


@pytest.mark.parametrize("propensity", ["p", "p_", {"old": "p_old", "new": "p_new"}])
@pytest.mark.parametrize("by_action", [False, True])
def test_propensities_of_every_logger_are_read(propensity: Any, by_action: bool) -> None:
    log = kwis.read_log(rows(by_action=by_action), propensity=propensity, logger="system", context="x")
    table = rows()
    assert log.logger_names == ("new", "old")
    np.testing.assert_array_equal(log.logger_propensity, np.column_stack([table["p_new"], table["p_old"]]))
    np.testing.assert_array_equal(
        log.propensity, np.where(table["system"] == "old", table["p_old"], table["p_new"])
    )
    assert (log.behaviour is not None) == by_action
    np.testing.assert_array_equal(log.take([4, 1]).logger_propensity, log.logger_propensity[[4, 1]])


def test_a_logger_without_a_column_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^`propensity` must have a column for every logger, got none for 'new'$"
    ):
        kwis.read_log(rows(), propensity={"old": "p_old", "knew": "p_new"}, logger="system", context="x")


def test_weights_are_those_of_their_slow_twins() -> None:
    table = rows()
    log = kwis.read_log(table, propensity="p", logger="system", context="x")
    naive = table["target"] / log.propensity
    balanced = naive * balanced_factor(log.logger_propensity, log.logger, None)
    weighted = naive * weighted_factor(naive, log.logger, 2, None)
    np.testing.assert_allclose(balanced, twin.balanced(table["target"], said(table), list(table["system"])))
    np.testing.assert_allclose(weighted, twin.weighted(table["target"], said(table), list(table["system"])))


def test_balanced_and_weighted_weights_err_less_than_naive_ones() -> None:
    """Standard errors differ by a factor of about 1.8, so mean squared errors of 300 logs by about 3."""
    truth = float(TARGET @ [0, 0.5, 1])
    errors: dict[str, list[float]] = {"naive": [], "balanced": [], "weighted": []}
    for seed in range(300):
        table = rows(400, seed)
        logger = (table["system"] == "old").astype(int)
        both = np.column_stack([table["p_new"], table["p_old"]])
        naive = table["target"] / both[np.arange(400), logger]
        weights = {
            "naive": naive,
            "balanced": naive * balanced_factor(both, logger, None),
            "weighted": naive * weighted_factor(naive, logger, 2, None),
        }
        for name, weight in weights.items():
            errors[name].append(weight @ table["reward"] / weight.sum() - truth)
    squares = {name: np.square(found).mean() for name, found in errors.items()}
    assert squares["balanced"] < 0.5 * squares["naive"]
    assert squares["weighted"] < 0.5 * squares["naive"]


def test_the_evaluation_pools_loggers_and_says_so() -> None:
    table = rows(1200)
    log = kwis.read_log(table, propensity="p", logger="system", context="x")
    found = kwis.evaluate(log, "target", estimators=["wis"])
    assert any("target has balanced weights over the 2 loggers" in note for note in found.notes)
    weight = np.array(twin.balanced(table["target"], said(table), list(table["system"])))
    np.testing.assert_allclose(found.weights["target"], weight)
    assert row_of(found).estimate.value == pytest.approx(weight @ table["reward"] / weight.sum())


def test_loggers_that_met_different_contexts_are_weighted_alone() -> None:
    table = rows(1200)
    table["x"] = table["x"] + 2 * (table["system"] == "old")
    log = kwis.read_log(table, propensity="p", logger="system", context="x")
    found = kwis.evaluate(log, "target", estimators=["wis"])
    assert any("loggers met different contexts" in note for note in found.notes)
    own = kwis.read_log({**table, "own": log.propensity}, propensity="own", logger="system", context="x")
    assert (
        row_of(found).estimate.value
        == row_of(kwis.evaluate(own, "target", estimators=["wis"])).estimate.value
    )
