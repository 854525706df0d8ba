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


def applied(i, rows, chances, context, weight, mass, bandwidth, categorical=()):
    """``w G / M`` of row i."""
    total, around = local_mean(i, rows, chances, context, weight, mass, bandwidth, categorical)
    return weight[i] * total / around if weight[i] else 0.0


def polynomial(row, middle, scale, degree):
    """Products of up to ``degree`` columns of a context, each at most 3 standard deviations away."""
    z = [min(max((x - m) / s, -3.0), 3.0) for x, m, s in zip(row, middle, scale, strict=True)]
    products = [z[a] * z[b] for a in range(len(z)) for b in range(a, len(z))]
    return np.array([1.0, *(z if degree > 0 else []), *(products if degree > 1 else [])])


def fitted(terms, gaps, worths, prior):
    """Coefficients of a weighted ridge regression."""
    squares = sum(worth * np.outer(row, row) for row, worth in zip(terms, worths, strict=True))
    loads = sum(worth * gap * row for row, gap, worth in zip(terms, gaps, worths, strict=True))
    return np.linalg.solve(squares + prior * np.eye(len(terms[0])), loads)


def improved(neighbours, chances, checked, check_chances, context, weight, mass, bandwidth, categorical=()):
    """Approximate weights of all rows with the trend of the gaps in them, exact ones of those checked, and by
    how much the gaps left grow where their row has no part in the trend.
    """
    n, checked = weight.size, list(checked)
    data = context, weight, mass, bandwidth, categorical
    near = np.array([applied(i, neighbours, chances, *data) for i in range(n)])
    exact = {i: applied(i, range(n), [1.0] * n, *data) for i in checked}
    gaps = [exact[i] / near[i] - 1 if near[i] else 0.0 for i in checked]
    worths = np.array(
        [(1 - c) * (mass[i] * near[i] / c) ** 2 for i, c in zip(checked, check_chances, strict=True)]
    )
    numbers = np.delete(context, list(categorical), axis=1)
    d, uncertain = numbers.shape[1], np.count_nonzero(worths)
    degrees = [k for k, p in enumerate((1, 1 + d, (1 + d) * (2 + d) // 2)) if 7 * p <= uncertain]
    if not degrees:
        return near, exact, dict.fromkeys(checked, 1.0)
    worths = worths / worths.max()
    middle, scale = numbers[checked].mean(axis=0), numbers[checked].std(axis=0)
    terms = [polynomial(numbers[i], middle, scale, degrees[-1]) for i in range(n)]
    here = [terms[i] for i in checked]
    prior = sum(worth * (row @ row) for row, worth in zip(here, worths, strict=True)) / np.size(here)
    whole, growth = fitted(here, gaps, worths, prior), {}
    for place, i in enumerate(checked):
        without = fitted(*(np.delete(one, place, axis=0) for one in (here, gaps, worths)), prior)
        growth[i] = (gaps[place] - terms[i] @ without) / (gaps[place] - terms[i] @ whole)
    seen = [min(max(row @ whole, min(gaps)), max(gaps)) for row in terms]
    return near * (1 + np.array(seen)), exact, growth


def values(
    neighbours, chances, checked, check_chances, context, weight, mass, reward, bandwidth, categorical=()
):
    """Plain and normalised value, and the standard deviation of the approximation of each."""
    data = context, weight, mass, bandwidth, categorical
    near, exact, growth = improved(neighbours, chances, checked, check_chances, *data)
    load, load_reward, gaps = sum(mass * near), sum(mass * near * reward), []
    for i, chance in zip(checked, check_chances, strict=True):
        gap = mass[i] * (exact[i] - near[i])
        gaps.append((i, gap * growth[i], chance))
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


def reaction(
    neighbours, chances, checked, check_chances, context, weight, mass, columns, totals, bandwidth, heavy=()
):
    """Derivatives of ``sum c v x`` in the count of each row, and half of what two halves of the rows checked
    differ by: ``sum_i K_ij t_i (1 / G_i - w_j / M_i)`` plus ``v_j x_j``, with terms ``t = c v x``. At the
    heavy rows the sum is over all rows.
    """
    n = weight.size
    data = context, weight, mass, bandwidth
    near = [local_mean(i, neighbours, chances, *data) for i in range(n)]
    exact = {i: local_mean(i, range(n), [1.0] * n, *data) for i in checked}
    weights, exact_weights, _ = improved(neighbours, chances, checked, check_chances, *data)

    def pull(i, around, on, applied):
        """What a count of row ``on`` does to ``t_i``, but for the kernel."""
        total, load = around
        return mass[i] * applied * columns[i] * (1 / total - weight[on] / load)

    halves = []
    for half in (0, 1):
        rows, row_chances = checked[half::2], check_chances[half::2]
        terms = [mass[i] * exact_weights[i] * columns[i] for i in rows]
        stand_for = calibrated(2 / row_chances, terms, totals)
        found = np.empty(columns.shape)
        for row in range(n):
            found[row] = weights[row] * columns[row]
            mine = exact_weights.get(row, weights[row])
            found[row] += pull(row, exact.get(row, near[row]), row, mine)
            for i, count in zip(rows, stand_for, strict=True):
                if i != row:
                    found[row] += (
                        count
                        * kernel(context[i], context[row], bandwidth)
                        * pull(i, exact[i], row, exact_weights[i])
                    )
        halves.append(found)
    mean, noise = (halves[0] + halves[1]) / 2, (halves[0] - halves[1]) / 2
    for row in heavy:
        mean[row], noise[row] = weights[row] * columns[row], 0.0
        for i in range(n):
            rough = pull(i, near[i], row, weights[i])
            best = pull(i, exact[i], row, exact_weights[i]) if i in exact else rough
            stands_for = 1 / check_chances[list(checked).index(i)] if i in exact else 1.0
            seen = best if i == row else rough + (best - rough) * stands_for
            mean[row] += kernel(context[i], context[row], bandwidth) * seen
    return mean, noise


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
