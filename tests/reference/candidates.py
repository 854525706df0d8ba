"""Slow twins of the arithmetic of candidate sets and of several loggers: one row after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def distribution(
    sets: Sequence[Sequence[Any]], scores: Sequence[Sequence[float]], actions: Sequence[Any]
) -> Any:
    """Probability of every action from those of the candidates."""
    table = []
    for offered, chances in zip(sets, scores, strict=True):
        row = dict.fromkeys(actions, 0.0)
        for action, chance in zip(offered, chances, strict=True):
            row[action] += chance
        table.append([row[action] for action in actions])
    return table


def uniform(sets: Sequence[Sequence[Any]], actions: Sequence[Any]) -> Any:
    """The same probability for every candidate."""
    return [[1 / len(offered) if action in offered else 0.0 for action in actions] for offered in sets]


def direct_value(policy: Any, predicted: Any, sets: Sequence[Sequence[int]]) -> float:
    """Mean predicted reward of a policy, summed over the candidates alone."""
    rows = [sum(policy[i][code] * predicted[i][code] for code in offered) for i, offered in enumerate(sets)]
    return sum(rows) / len(rows)


def balanced(target: Sequence[float], by_logger: Sequence[Mapping[str, float]], logger: Sequence[str]) -> Any:
    """Weights by the mixture of all loggers."""
    shares = {name: sum(one == name for one in logger) / len(logger) for name in set(logger)}
    return [
        chance / sum(shares[name] * said[name] for name in shares)
        for chance, said in zip(target, by_logger, strict=True)
    ]


def weighted(target: Sequence[float], by_logger: Sequence[Mapping[str, float]], logger: Sequence[str]) -> Any:
    """Weights by the logger that acted, times a factor of each: one over its mean squared weight."""
    naive = [chance / said[own] for chance, said, own in zip(target, by_logger, logger, strict=True)]
    trust = {}
    for name in set(logger):
        own = [weight**2 for weight, who in zip(naive, logger, strict=True) if who == name]
        trust[name] = 1 / max(1.0, sum(own) / len(own))
    usual = sum(trust[who] for who in logger) / len(logger)
    return [weight * trust[who] / usual for weight, who in zip(naive, logger, strict=True)]
