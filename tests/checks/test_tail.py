"""Bounded weights have no heavy tail, whatever ties they have; Pareto tails keep theirs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kwis
from kwis.checks.bound import Floor, has_bounded_weights, is_bounded
from kwis.checks.pareto import pareto_k
from kwis.checks.verdict import PARETO_K
from kwis.checks.weight import weight_diagnostics
from kwis.policy.discrete import weigh
from kwis.policy.target import resolve_targets
from tests.reference import diagnostics as twin

HEAVY = PARETO_K[0]


def softmax(scores):
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


def drawn(chances, rng):
    return (chances.cumsum(axis=1) < rng.random((len(chances), 1))).sum(axis=1).clip(max=chances.shape[1] - 1)


def logger(kind, x, k, rng):
    """Chance of every action in every row."""
    n = len(x)
    if kind == "uniform":
        return np.full((n, k), 1 / k)
    if kind == "softmax":
        return softmax(2 * x @ rng.normal(size=(x.shape[1], k)))
    if kind == "few contexts":
        return 0.9 * softmax(np.round(x) @ rng.normal(size=(x.shape[1], k))) + 0.1 / k
    if kind == "rounded":
        chances = np.maximum(np.round(softmax(x @ rng.normal(size=(x.shape[1], k))), 1), 0.1)
        return chances / chances.sum(axis=1, keepdims=True)
    chances = np.full((n, k), float(kind) / k)
    chances[np.arange(n), (x @ rng.normal(size=(x.shape[1], k))).argmax(axis=1)] += 1 - float(kind)
    return chances


def tail_of(kind, n, k, target, whole, seed):
    """Tail index that the diagnostics of a log report."""
    rng = np.random.default_rng([seed, n, k])
    x = rng.normal(size=(n, 2)) if kind != "few contexts" else rng.integers(-1, 2, (n, 2)).astype(float)
    chances = logger(kind, x, k, rng)
    scores = x @ rng.normal(size=(2, k))
    new = softmax(2 * scores) if target == "softmax" else np.eye(k)[scores.argmax(axis=1)]
    action = drawn(chances, rng)
    columns = {
        "x": x,
        "action": action,
        "reward": rng.random(n),
        "p": chances if whole else chances[np.arange(n), action],
    }
    log = kwis.read_log(columns, context="x", propensity="p", actions=list(range(k)))
    (policy,) = resolve_targets(log, new)
    sample = weigh(log, policy)
    return weight_diagnostics(sample, bounded=has_bounded_weights(log, policy)).pareto_k


BOUNDED = [
    ("0.2", 2, "softmax", 500),
    ("0.2", 2, "chosen", 500),
    ("0.05", 5, "softmax", 1000),
    ("0.1", 10, "chosen", 5000),
    ("uniform", 20, "softmax", 200),
    ("uniform", 50, "chosen", 1000),
    ("few contexts", 4, "softmax", 1000),
    ("rounded", 4, "softmax", 2000),
]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("kind", "k", "target", "n"), BOUNDED)
def test_bounded_weights_are_not_heavy(kind, k, target, n, whole):
    assert sum(tail_of(kind, n, k, target, whole, seed) > HEAVY for seed in range(10)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 2_000, 20_000])
@pytest.mark.parametrize(("kind", "k", "target"), [case[:3] for case in BOUNDED])
def test_bounded_weights_are_hardly_ever_heavy(kind, k, target, n):
    assert np.mean([tail_of(kind, n, k, target, True, 1_000 + seed) > HEAVY for seed in range(200)]) <= 0.02


@pytest.mark.parametrize("shape", [0.8, 1.0, 1.2])
@pytest.mark.parametrize("n", [300, 5_000])
def test_pareto_tails_are_found_as_often_as_by_the_fit_alone(shape, n):
    weights = [np.random.default_rng([seed, n]).pareto(1 / shape, n) + 0.1 for seed in range(60)]
    alone = [twin.pareto_shape(twin.tail_excess(weight.tolist())) > HEAVY for weight in weights]
    found = [pareto_k(weight) > HEAVY for weight in weights]
    assert sum(alone) - sum(found) <= 1
    assert np.mean(found) > 0.45


@pytest.mark.parametrize("whole", [True, False])
def test_softmax_targets_with_long_tails_are_still_heavy(whole):
    assert np.mean([tail_of("softmax", 1000, 10, "softmax", whole, seed) > HEAVY for seed in range(20)]) > 0.5


def test_ties_at_the_cut_off_are_no_excess():
    weight = np.concatenate([np.ones(900), np.random.default_rng(0).uniform(1.0, 1.5, 40)])
    assert pareto_k(weight) < 0.2
    assert pareto_k(np.append(np.ones(900), np.full(40, 10.0))) == -math.inf
    assert pareto_k(np.append(np.ones(900), np.linspace(5, 50, 4).repeat(10))) == -math.inf
    assert math.isnan(pareto_k(np.append(np.ones(900), [5.0, 20.0, 400.0])))  # too few to tell


def test_rounding_hides_no_heavy_tail():
    weight = np.ceil(np.random.default_rng(1).pareto(1 / 1.1, 10_000))
    assert pareto_k(weight) > HEAVY


def test_rows_that_crowd_below_the_largest_weight_bound_the_shape():
    rng = np.random.default_rng(2)
    weight = np.concatenate(
        [np.minimum(rng.pareto(1, 2_000), 400 + rng.random(2_000)), rng.uniform(900, 1_000, 20)]
    )
    # 1 - 2^(-1/k) to the power of the number of rows above half of the largest is 1 %.
    crowd = int((weight >= weight.max() / 2).sum()) - 1
    assert (1 - 2 ** (-1 / pareto_k(weight))) ** crowd == pytest.approx(0.01)
    assert pareto_k(weight, bounded=True) == 0


def test_copies_within_a_group_do_not_make_a_tail_a_list():
    weight = np.random.default_rng(3).pareto(1, 2_000)
    sample = {"context": np.zeros((6_000, 1)), "weight": weight.repeat(3), "reward": np.zeros(6_000)}
    once = weight_diagnostics(kwis.WeightedSample(**sample, group=np.arange(2_000).repeat(3))).pareto_k
    assert once == pytest.approx(pareto_k(weight))
    assert once > HEAVY


def test_a_floor_is_shared_by_decisions():
    rng = np.random.default_rng(4)
    chances = rng.choice([0.05, 0.1, 0.6], 300)
    assert Floor.of(chances, np.arange(300)).shared
    assert not Floor.of(chances, np.zeros(300, dtype=int)).shared  # copies of one decision
    assert not Floor.of(np.array([0.01, 0.02, 0.02, 0.02]), np.arange(4)).shared
    assert is_bounded(Floor(), 25.0, 10.0)
    assert not is_bounded(Floor(), 25.0, 5.0)
