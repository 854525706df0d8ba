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


def calibrated(weights, terms, totals):
    """Weights ``a (1 + terms . c)`` with the c at which the sums of the terms (k, q) are the totals."""
    weights, terms = np.array(weights), np.array(terms)
    change = np.linalg.solve((terms.T * weights) @ terms, totals - weights @ terms)
    return weights * (1 + terms @ change)


def reaction(neighbours, chances, checked, check_chances, context, weight, mass, columns, totals, bandwidth):
    """Derivatives of ``sum c v x`` in the count of each row, and half of what two halves of the rows checked
    differ by: ``sum_i K_ij t_i (1 / G_i - w_j / M_i)`` plus ``v_j x_j``, with terms ``t = c v x``.
    """
    n = weight.size
    data = context, weight, mass, bandwidth
    near = [local_mean(i, neighbours, chances, *data) for i in range(n)]
    exact = {i: local_mean(i, range(n), [1.0] * n, *data) for i in checked}

    def pull(i, around, on):
        """What a count of row ``on`` does to ``t_i``, but for the kernel."""
        total, load = around
        return mass[i] * weight[i] * total / load * columns[i] * (1 / total - weight[on] / load)

    halves = []
    for half in (0, 1):
        rows, row_chances = checked[half::2], check_chances[half::2]
        terms = [mass[i] * weight[i] * exact[i][0] / exact[i][1] * columns[i] for i in rows]
        stand_for = calibrated(2 / row_chances, terms, totals)
        found = np.empty(columns.shape)
        for row in range(n):
            found[row] = weight[row] * near[row][0] / near[row][1] * columns[row]
            found[row] += pull(row, exact.get(row, near[row]), row)
            for i, count in zip(rows, stand_for, strict=True):
                if i != row:
                    found[row] += count * kernel(context[i], context[row], bandwidth) * pull(i, exact[i], row)
        halves.append(found)
    return (halves[0] + halves[1]) / 2, (halves[0] - halves[1]) / 2


def isolation(neighbours, chances, checked, check_chances, context, weight, mass, bandwidth):
    """Mean share of a row in the weight around it, over the mass that has a weight."""
    n, total = weight.size, 0.0
    data = context, weight, mass, bandwidth
    for i in range(n):
        if weight[i]:
            own = mass[i] * weight[i]
            first = own / local_mean(i, neighbours, chances, *data)[1]
            total += mass[i] * first
            if i in checked:
                exact = own / local_mean(i, range(n), [1.0] * n, *data)[1]
                total += mass[i] * (exact - first) / check_chances[list(checked).index(i)]
    return total / mass[weight > 0].sum()
