"""Kernel-WIS from sampled neighbours, row by row with loops over the pairs: the slow twin of
:mod:`kwis.estimators.sampled`.

It is told which rows are neighbours and which are checked, with their chances, and imports nothing that it
checks.
"""

from __future__ import annotations

import math

import numpy as np


def kernel(a: np.ndarray, b: np.ndarray, bandwidth: float, categorical: tuple[int, ...] = ()) -> float:
    squares = 0.0
    for j in range(a.size):
        squares += (
            float(a[j] != b[j]) * 2 / (2 * bandwidth**2)
            if j in categorical
            else (a[j] - b[j]) ** 2 / (2 * bandwidth**2)
        )
    return math.exp(-squares)


def local_mean(i, rows, chances, context, weight, mass, bandwidth, categorical=()):
    """``G`` and ``M`` around row i: its own term, and those of the other rows given over their chances."""
    total, load = mass[i], mass[i] * weight[i]
    for j, chance in zip(rows, chances, strict=True):
        if j != i:
            k = kernel(context[i], context[j], bandwidth, categorical) * mass[j] / chance
            total, load = total + k, load + k * weight[j]
    return total, load


def values(
    neighbours, chances, checked, check_chances, context, weight, mass, reward, bandwidth, categorical=()
):
    """Plain and normalised value, and the standard deviation of the approximation of each."""
    n = weight.size
    everyone = range(n), [1.0] * n
    data = context, weight, mass, bandwidth, categorical
    load, load_reward, gaps = 0.0, 0.0, []
    for i in range(n):
        total, around = local_mean(i, neighbours, chances, *data)
        first = weight[i] * total / around if weight[i] else 0.0
        load, load_reward = load + mass[i] * first, load_reward + mass[i] * first * reward[i]
        if i in checked:
            total, around = local_mean(i, *everyone, *data)
            gap = mass[i] * ((weight[i] * total / around if weight[i] else 0.0) - first)
            chance = check_chances[list(checked).index(i)]
            gaps.append((i, gap, chance))
            load, load_reward = load + gap / chance, load_reward + gap * reward[i] / chance
    plain, normalised = load_reward / mass.sum(), load_reward / load
    errors = [
        math.sqrt(
            sum((gap * (reward[i] - centre)) ** 2 * (1 - chance) / chance**2 for i, gap, chance in gaps)
        )
        / over
        for centre, over in ((0.0, mass.sum()), (normalised, load))
    ]
    return plain, normalised, errors
