from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from kwis_paper import ascent
from kwis_paper.ascent import SETUPS, LoggedActions, Setup, ascend, batch_orders
from kwis_paper.climb import add_product
from kwis_paper.datasets import load
from kwis_paper.grid import Cell, dataset_cells
from kwis_paper.policies import Ascent, Gibbs, Trained, chosen_probability, sample_actions
from kwis_paper.simulate import Design, Laboratory
from kwis_paper.training import softmax


def _logged(n: int = 400, d: int = 3, n_actions: int = 4, seed: int = 0) -> tuple[LoggedActions, np.ndarray]:
    rng = np.random.default_rng(seed)
    context = rng.standard_normal((n, d))
    label = (context @ rng.standard_normal((d, n_actions))).argmax(axis=1)
    probabilities = Gibbs((), 0.5).probabilities(label, n_actions)
    action = sample_actions(probabilities, rng.random(n))
    reward = (action == label).astype(float)
    # Single precision holds contexts and inverse propensities, so that training takes them as they are.
    inverse = (1 / chosen_probability(probabilities, action)).astype(np.float32).astype(float)
    return LoggedActions(
        context=context.astype(np.float32).astype(float), action=action, propensity=1 / inverse, reward=reward
    ), label


def _estimate(kind: str, parameters: np.ndarray, temperature: float, logged: LoggedActions) -> float:
    """Slow twin: VIS or WIS of a linear softmax policy, row by row."""
    gained = total = 0.0
    for context, action, propensity, reward in zip(
        logged.context, logged.action, logged.propensity, logged.reward, strict=True
    ):
        scores = np.exp([context @ column / temperature for column in parameters.T])
        weight = scores[action] / scores.sum() / propensity
        gained += weight * reward
        total += weight
    return gained / total if kind == "SNIW" else gained / len(logged.reward)


@pytest.mark.parametrize(("kind", "objective"), list(product(["IW", "SNIW"], ["log", "plain"])))
def test_one_step_follows_the_gradient_of_the_objective(
    kind: str, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged, _ = _logged()
    monkeypatch.setattr(ascent, "EPOCHS", 1)
    setup = Setup(batch=0, step=0.1, objective=objective)  # type: ignore[arg-type]
    step = _ascend(kind, logged, setup) / setup.step
    shape = np.log if objective == "log" else float
    numeric = np.empty_like(step)
    for index in np.ndindex(step.shape):
        nudge = np.zeros_like(step)
        nudge[index] = 1e-5
        up, down = (_estimate(kind, sign * nudge, 0.5, logged) for sign in (1, -1))
        numeric[index] = (shape(up) - shape(down)) / 2e-5
    assert np.allclose(step, numeric, atol=1e-8)


@pytest.mark.parametrize(("kind", "objective"), list(product(["IW", "SNIW"], ["log", "plain"])))
def test_training_in_batches_is_one_such_step_after_another(kind: str, objective: str) -> None:
    """Slow twin: numpy, batch by batch; the last batch of an epoch is shorter."""
    logged, _ = _logged(n=70)
    setup = Setup(batch=32, step=0.05, objective=objective)  # type: ignore[arg-type]
    orders = batch_orders(70, setup, np.random.default_rng(5))
    parameters = np.zeros((3, 4))
    for order in orders:
        for start in (0, 32, 64):
            rows = order[start : start + 32]
            parameters += setup.step * _gradient(kind, objective, parameters, 0.5, logged, rows)
    found = ascend(Ascent(kind, 0.5), logged, 4, setup, orders)
    assert np.allclose(found, parameters, rtol=1e-9, atol=1e-12)


def test_a_batch_that_earned_nothing_is_passed_over() -> None:
    logged, _ = _logged(n=40)
    nothing = LoggedActions(
        context=logged.context,
        action=logged.action,
        propensity=logged.propensity,
        reward=np.zeros_like(logged.reward),
    )
    assert not _ascend("SNIW", nothing, Setup()).any()


@pytest.mark.parametrize("kind", ["IW", "SNIW"])
def test_ascent_improves_the_policy(kind: str) -> None:
    logged, label = _logged()
    parameters = _ascend(kind, logged, SETUPS["per-log"])
    learnt = softmax(logged.context @ parameters / 0.5)
    assert np.allclose(learnt.sum(axis=1), 1)
    assert chosen_probability(learnt, label).mean() > 0.5
    assert _estimate(kind, parameters, 0.5, logged) > _estimate(kind, np.zeros((3, 4)), 0.5, logged)


def test_the_last_bits_of_what_is_logged_do_not_reach_the_policy() -> None:
    logged, _ = _logged()
    nudged = replace(
        logged,
        context=logged.context * (1 + 1e-15),
        propensity=logged.propensity * (1 - 1e-15),
        reward=logged.reward * (1 - 1e-15),
    )
    assert np.array_equal(_ascend("SNIW", logged, Setup()), _ascend("SNIW", nudged, Setup()))


@pytest.mark.parametrize("inner", [3, 4, 9])
def test_products_are_summed_column_after_column(inner: int) -> None:
    """To the bit, and so on every processor; BLAS takes another order."""
    rng = np.random.default_rng(0)
    left, right, start = (rng.standard_normal(shape) for shape in ((5, inner), (inner, 6), (5, 6)))
    expected = start.copy()
    for column in range(inner):
        expected += left[:, [column]] * right[column]
    add_product(left, right, start)
    assert np.array_equal(start, expected)


def _ascend(kind: str, logged: LoggedActions, setup: Setup) -> np.ndarray:
    orders = batch_orders(logged.action.size, setup, np.random.default_rng(3))
    return ascend(Ascent(kind, 0.5), logged, 4, setup, orders)


def _gradient(
    kind: str,
    objective: str,
    parameters: np.ndarray,
    temperature: float,
    logged: LoggedActions,
    rows: np.ndarray,
) -> np.ndarray:
    probabilities = softmax(logged.context[rows] @ parameters / temperature)
    weight = chosen_probability(probabilities, logged.action[rows]) / logged.propensity[rows]
    earned = weight * logged.reward[rows]
    if kind == "IW":
        value, pull = earned.mean(), earned / rows.size
    else:
        value = earned.sum() / weight.sum()
        pull = weight * (logged.reward[rows] - value) / weight.sum()
    if objective == "log":
        pull = pull / value
    slope = np.eye(4)[logged.action[rows]] - probabilities
    return logged.context[rows].T @ (pull[:, None] * slope) / temperature


def _cells(setting: str) -> list[Cell]:
    data = load("digits")
    found = dataset_cells(data.name, data.faulty, [setting])
    return [cell for cell in found if isinstance(cell.evaluation, Ascent)]


def test_policies_are_trained_on_the_log_of_their_cell_and_its_propensities() -> None:
    laboratory = Laboratory(load("digits"))
    one, other = _cells("non-oracle")[0], _cells("non-oracle")[4]
    assert one.logging == other.logging
    assert one.behaviour != other.behaviour
    assert laboratory.evaluated(one) == Trained(one.evaluation, one.logging, one.behaviour)  # type: ignore[arg-type]
    assert not np.array_equal(laboratory.target(one), laboratory.target(other))


def test_trained_once_all_cells_share_a_policy() -> None:
    laboratory = Laboratory(load("digits"), Design(training="once"))
    one, other = _cells("oracle")[0], _cells("oracle")[8]
    assert one.evaluation == other.evaluation
    assert one.logging != other.logging
    assert laboratory.target(one) is laboratory.target(other)


def test_training_many_at_once_gives_the_bits_of_training_each_alone() -> None:
    cells = _cells("oracle")[:6]
    together, alone = Laboratory(load("digits")), Laboratory(load("digits"))
    assert together.train(cells) == 6
    assert together.train(cells) == 0
    for cell in cells:
        assert np.array_equal(together.target(cell), alone.target(cell))


def test_tables_of_trained_policies_are_forgotten_and_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwis_paper.simulate._TABLES_KEPT", 2)
    laboratory = Laboratory(load("digits"))
    cells = _cells("oracle")[:4]
    first = [laboratory.target(cell).copy() for cell in cells]
    assert sum(isinstance(policy, Trained) for policy in laboratory._tables) == 2
    assert all(
        np.array_equal(laboratory.target(cell), table) for cell, table in zip(cells, first, strict=True)
    )
