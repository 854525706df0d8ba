"""Boosted trees in compiled loops: growing them from columns in bins, and what they predict."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np

from kwis.runtime.compile import compiled
from kwis.typing import Floats, Ints

_SURE = 1e-3  # least mass of a leaf


def grown(
    bins: Ints,
    ends: Ints,
    outcome: Floats,
    mass: Floats,
    rounds: int,
    rate: float,
    most: int,
    fewest: int,
    ridge: float,
) -> tuple[Ints, Floats, Floats, Floats]:
    """Trees one after another, each on what those before it leave over.

    Returns ``(rounds, nodes, 4)`` column (-1 in a leaf), last bin that goes left, left and right child;
    ``(rounds, nodes)`` what each leaf adds; ``(n,)`` what they leave over of the outcome; and ``(p,)`` what a
    column would gain in any leaf at most.
    """
    left_over: Floats = np.array(outcome, dtype=np.float64)
    gained: Floats = np.zeros(bins.shape[1])
    nodes: Ints = np.full((rounds, 2 * most - 1, 4), -1, np.int32)
    values: Floats = np.zeros((rounds, 2 * most - 1))
    _grow(
        bins,
        ends,
        left_over,
        mass if mass.size else None,
        rate,
        fewest,
        ridge,
        np.empty(len(bins)),
        np.empty((2, len(bins)), np.int64),
        np.empty((most, 3 * ends[-1])),
        np.zeros((5, most), np.int64),
        np.zeros((6, most)),
        gained,
        nodes,
        values,
    )
    return nodes, values, left_over, gained


# Whatever needs memory is handed in: every array made in compiled code adds to the time it takes to compile.
# Where ``mass`` is None, what it would be used for is left out.
@compiled(nogil=True, error_model="numpy")
def _grow(
    bins,
    ends,
    left_over,
    mass,
    rate,
    fewest,
    ridge,
    pulls,
    order,
    table,
    places,
    amounts,
    gained,
    nodes,
    values,
):
    """Write the trees. Of each leaf the ``table`` has, bin by bin, the sum of what is left over, the number
    of rows and, where rows have a mass, their mass.
    """
    n, p = bins.shape
    most, width = table.shape
    heavy = 1
    if mass is not None:
        heavy = 2
    rows, spare = order[0], order[1]
    # Of each leaf: its node, rows from and to; sum, mass and mean; the split it would make.
    node, begin, end, column, cut = places[0], places[1], places[2], places[3], places[4]
    total, weight, mean = amounts[0], amounts[1], amounts[2]
    gain, sum_left, weight_left = amounts[3], amounts[4], amounts[5]
    for t in range(nodes.shape[0]):
        total[0], weight[0] = 0.0, 0.0
        for i in range(n):
            rows[i] = i
            pulls[i] = left_over[i]
            counted = 1.0
            if mass is not None:
                counted = mass[i]
                pulls[i] *= counted
            total[0] += pulls[i]
            weight[0] += counted
        leaves, used = 1, 1
        node[0], begin[0], end[0], mean[0] = 0, 0, n, 0.0
        small, large = 0, -1
        while True:
            # The smaller part of a leaf is counted; the larger one, which has the counts of both, keeps the
            # rest.
            counts = table[small]
            for b in range(width):
                counts[b] = 0.0
            for z in range(begin[small], end[small]):
                i = rows[z]
                pull = pulls[i]
                for k in range(p):
                    b = 3 * (ends[k] + bins[i, k])
                    counts[b] += pull
                    counts[b + 1] += 1.0
                    if mass is not None:
                        counts[b + 2] += mass[i]
            if large >= 0:
                for b in range(width):
                    table[large, b] -= counts[b]
            for _ in range(2):
                leaf = small
                small, large = large, small
                if leaf < 0:
                    continue
                gain[leaf] = 0.0
                count = end[leaf] - begin[leaf]
                if count < 2 * fewest or weight[leaf] < _SURE:
                    continue
                now = total[leaf] * mean[leaf]
                for j in range(p):
                    behind, sums, masses = 0.0, 0.0, 0.0
                    for b in range(ends[j], ends[j + 1] - 1):
                        sums += table[leaf, 3 * b]
                        behind += table[leaf, 3 * b + 1]
                        masses += table[leaf, 3 * b + heavy]
                        if behind < fewest or masses < _SURE:
                            continue
                        rest = weight[leaf] - masses
                        if count - behind < fewest or rest < _SURE:
                            break
                        across = total[leaf] - sums
                        better = (
                            sums * sums / (masses + ridge + 1e-15)
                            + across * across / (rest + ridge + 1e-15)
                            - now
                        )
                        if better > gained[j]:
                            gained[j] = better
                        if better > gain[leaf]:
                            gain[leaf], column[leaf], cut[leaf] = better, j, b - ends[j]
                            sum_left[leaf], weight_left[leaf] = sums, masses
            fresh = 0
            for leaf in range(1, leaves):
                if gain[leaf] > gain[fresh]:
                    fresh = leaf
            if leaves == most or gain[fresh] <= 0.0:
                break
            other = leaves
            leaves += 1
            j, last = column[fresh], cut[fresh]
            first, stop = begin[fresh], end[fresh]
            middle, kept = first, 0
            for z in range(first, stop):
                i = rows[z]
                if bins[i, j] <= last:
                    rows[middle] = i
                    middle += 1
                else:
                    spare[kept] = i
                    kept += 1
            for z in range(kept):
                rows[middle + z] = spare[z]
            parent = node[fresh]
            nodes[t, parent, 0], nodes[t, parent, 1] = j, last
            nodes[t, parent, 2], nodes[t, parent, 3] = used, used + 1
            node[fresh], node[other] = used, used + 1
            used += 2
            begin[other], end[other], end[fresh] = middle, stop, middle
            total[other], weight[other] = total[fresh] - sum_left[fresh], weight[fresh] - weight_left[fresh]
            total[fresh], weight[fresh] = sum_left[fresh], weight_left[fresh]
            mean[fresh] = total[fresh] / (weight[fresh] + ridge + 1e-15)
            mean[other] = total[other] / (weight[other] + ridge + 1e-15)
            gain[fresh], gain[other] = 0.0, 0.0
            if leaves == most:
                break
            small, large = fresh, other
            if middle - first >= stop - middle:
                small, large = other, fresh
            else:
                for b in range(width):
                    table[other, b] = table[fresh, b]
        for leaf in range(leaves):
            value = rate * mean[leaf]
            values[t, node[leaf]] = value
            for z in range(begin[leaf], end[leaf]):
                left_over[rows[z]] -= value


def predicted(bins: Ints, codes: Ints, unlit: Ints, lit: Ints, nodes: Ints, values: Floats) -> Floats:
    """``(n, choices)`` sums over the trees, with the column of each choice lit in turn."""
    row: Ints = np.concatenate([np.zeros(bins.shape[1], np.uint8), unlit])
    out: Floats = np.zeros((len(bins), codes.size))
    _predict(bins, codes, unlit, lit, row, nodes, values, out)
    return out


@compiled(nogil=True, error_model="numpy")
def _predict(bins, codes, unlit, lit, row, nodes, values, out):
    n, p = bins.shape
    for i in range(n):
        for j in range(p):
            row[j] = bins[i, j]
        for k in range(codes.shape[0]):
            code = codes[k]
            if code >= 0:
                row[p + code] = lit[code]
            for t in range(nodes.shape[0]):
                at = 0
                while nodes[t, at, 0] >= 0:
                    at = nodes[t, at, 2] if row[nodes[t, at, 0]] <= nodes[t, at, 1] else nodes[t, at, 3]
                out[i, k] += values[t, at]
            if code >= 0:
                row[p + code] = unlit[code]
