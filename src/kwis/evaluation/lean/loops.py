"""Compiled loops over the rows of a batch; :mod:`kwis.evaluation.lean.pass_sums` says what they add up."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np

from kwis.checks.drawn import mixed
from kwis.runtime.compile import compiled
from kwis.stats.passes import BEYOND, number_of

_CERTAIN = 1 - 1e-9
_REGROUPED = {"reassoc", "contract", "nsz"}  # sums in another order, the same one always
_BLOCK = 512  # rows whose sums stay next to the processor


@compiled(nogil=True, error_model="numpy")
def stir(key, bits):
    for i in range(key.shape[0]):
        key[i] = mixed(key[i] + bits[i] * np.uint64(0x9E3779B97F4A7C15))


@compiled(nogil=True, error_model="numpy", fastmath=_REGROUPED)
def add_chances(chances, expected, products):
    """Sums of the chances of each action, and of products of two; ``products`` is filled below and on its
    diagonal.
    """
    for a in range(chances.shape[0]):
        x, total = chances[a], 0.0
        for i in range(x.shape[0]):
            total += x[i]
        expected[a] += total
        for b in range(a + 1):
            y, product = chances[b], 0.0
            for i in range(x.shape[0]):
                product += x[i] * y[i]
            products[a, b] += product


@compiled(nogil=True, error_model="numpy")
def least_if_proper(chances, tolerance):
    """The smallest chance; -1 unless the chances of every row are in [0, 1], so that they are numbers, and
    sum to 1.
    """
    total, wrong, least = np.empty(_BLOCK), 0, BEYOND
    for start in range(0, chances.shape[1], _BLOCK):
        rows = min(_BLOCK, chances.shape[1] - start)
        total[:] = 0.0
        for a in range(chances.shape[0]):
            x = chances[a, start : start + rows]
            sizes = x.view(np.int64)
            for i in range(rows):
                total[i] += x[i]
                wrong += not ((x[i] >= 0.0) & (x[i] <= 1.0))
            for i in range(rows):
                least = min(least, sizes[i])
        for i in range(rows):
            wrong += not (np.abs(total[i] - 1.0) <= tolerance)
    return -1.0 if wrong else number_of(least)


@compiled(nogil=True, error_model="numpy")
def least_positive(chances):
    least = np.inf
    for a in range(chances.shape[0]):
        for i in range(chances.shape[1]):
            if chances[a, i] > 0.0:
                least = min(least, chances[a, i])
    return least


@compiled(nogil=True, error_model="numpy")
def rows_up_to(chances, most):
    """How many rows have a positive chance of at most so much."""
    least, found = np.empty(_BLOCK), 0
    for start in range(0, chances.shape[1], _BLOCK):
        rows = min(_BLOCK, chances.shape[1] - start)
        least[:] = np.inf
        for a in range(chances.shape[0]):
            x = chances[a, start : start + rows]
            for i in range(rows):
                least[i] = x[i] if (x[i] > 0.0) & (x[i] < least[i]) else least[i]
        for i in range(rows):
            found += least[i] <= most
    return found


@compiled(nogil=True, error_model="numpy")
def add_logging(code, chances, logged, known, taken, ends):
    gather, fine = chances.shape[0] > 0 and not known, True
    smallest, largest, certain = ends[0], ends[1], ends[2]
    for i in range(code.shape[0]):
        if gather:
            logged[i] = chances[code[i], i]
        p = logged[i]
        fine &= (p > 0.0) & (p <= 1.0)
        taken[code[i]] += 1.0
        smallest, largest = min(smallest, p), max(largest, p)
        certain += p >= _CERTAIN
    ends[0], ends[1], ends[2] = smallest, largest, certain
    return fine


@compiled(nogil=True, error_model="numpy", fastmath=_REGROUPED)
def add_ratios(chances, wanted, sums):
    """Sum over rows and actions of the squared wanted chance over the other, and the largest ratio, where no
    chance is 0.
    """
    ratio, total, most = np.empty(_BLOCK), 0.0, 0
    sizes = ratio.view(np.int64)
    for a in range(chances.shape[0]):
        for start in range(0, chances.shape[1], _BLOCK):
            rows = min(_BLOCK, chances.shape[1] - start)
            x, p = wanted[a, start : start + rows], chances[a, start : start + rows]
            for i in range(rows):
                ratio[i] = x[i] / p[i]
                total += x[i] * ratio[i]
            for i in range(rows):
                most = max(most, sizes[i])
    sums[3] += total
    sums[6] = max(sums[6], number_of(most))


@compiled(nogil=True, error_model="numpy")
def add_lost(chances, wanted, never, sums):
    """The same where some are, or none is known; and what is wanted of actions that have no chance."""
    whole = chances.shape[0]
    for i in range(wanted.shape[1]):
        beyond = 0.0
        for a in range(wanted.shape[0]):
            x = wanted[a, i]
            if never[a] or (whole and chances[a, i] == 0.0):
                beyond += x
            if whole and chances[a, i] > 0.0:
                sums[3] += x * x / chances[a, i]
                sums[6] = max(sums[6], x / chances[a, i])
        sums[4] += beyond
        sums[5] += beyond > 0.0


@compiled(nogil=True, error_model="numpy")
def add_target(code, logged, wanted, said, known, weight, sums):
    gather, fine = wanted.shape[0] > 0 and not known, True
    total, squares = sums[1], sums[2]
    for i in range(code.shape[0]):
        if gather:
            said[i] = wanted[code[i], i]
        w = said[i] / logged[i]
        weight[i] = w
        fine &= (said[i] >= 0.0) & (said[i] <= 1.0) & (w < np.inf)
        total += w
        squares += w * w
    sums[0] += code.shape[0]
    sums[1], sums[2] = total, squares
    return fine


@compiled(nogil=True, error_model="numpy", fastmath=_REGROUPED)
def add_two_odds(logged, weight, values, levels, sums):
    """:func:`add_odds` where values are the two in ``levels``: without a choice for every row, which no
    processor foresees. False, and nothing is added, where there are others.
    """
    others = 0
    for i in range(values.shape[0]):
        others += (values[i] != levels[0]) & (values[i] != levels[1])
    if others:
        return False
    logged_all, odds_all, logged_second, odds_second = 0.0, 0.0, 0.0, 0.0
    for i in range(values.shape[0]):
        second, odds = 1.0 if values[i] == levels[1] else 0.0, weight[i] - logged[i]
        logged_all += logged[i]
        odds_all += odds
        logged_second += second * logged[i]
        odds_second += second * odds
    sums[0, 0] += logged_all - logged_second
    sums[0, 1] += odds_all - odds_second
    sums[1, 0] += logged_second
    sums[1, 1] += odds_second
    return True


@compiled(nogil=True, error_model="numpy")
def add_odds(logged, weight, values, levels, sums):
    """How many levels ``values`` has, which are filled in, or -1 for more; ``sums`` by level are of
    ``logged`` and of ``weight - logged``.
    """
    number = 0
    for i in range(values.shape[0]):
        place = 0
        while place < number and levels[place] != values[i]:
            place += 1
        if place == number:
            if number == levels.shape[0]:
                return -1
            levels[number] = values[i]
            number += 1
        sums[place, 0] += logged[i]
        sums[place, 1] += weight[i] - logged[i]
    return number
