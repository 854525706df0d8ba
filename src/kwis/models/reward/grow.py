"""Boosted trees in compiled loops: growing them from columns in bins, and what they predict."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np

from kwis.runtime.compile import compiled

_SURE = 1e-3  # least mass of a leaf


@compiled(nogil=True, error_model="numpy")
def grown(bins, ends, outcome, mass, rounds, rate, most, fewest, ridge):
    """Trees one after another, each on what those before it leave over.

    Returns ``(rounds, nodes, 4)`` column (-1 in a leaf), last bin that goes left, left and right child, and
    ``(rounds, nodes)`` what each leaf adds. Entries of ``(leaf, bin, 3)`` histograms are sums of what is left
    over, numbers of rows and, where rows have a mass, their masses.
    """
    n, p = bins.shape
    weighted = mass.size > 0
    heavy = 2 if weighted else 1
    nodes = np.full((rounds, 2 * most - 1, 4), -1, np.int32)
    values = np.zeros((rounds, 2 * most - 1))
    left_over, pulls = np.empty(n), np.empty(n)
    for i in range(n):
        left_over[i] = outcome[i]
    rows, spare = np.empty(n, np.int64), np.empty(n, np.int64)
    table = np.zeros((most, ends[p], 3))
    # Of each leaf: its node, rows from and to; sum, mass and mean; the split it would make.
    node = np.zeros(most, np.int64)
    begin, end = np.zeros(most, np.int64), np.zeros(most, np.int64)
    total, weight, mean = np.zeros(most), np.zeros(most), np.zeros(most)
    gain, column, cut = np.zeros(most), np.zeros(most, np.int64), np.zeros(most, np.int64)
    sum_left, weight_left = np.zeros(most), np.zeros(most)
    for t in range(rounds):
        total[0], weight[0] = 0.0, 0.0
        for i in range(n):
            rows[i] = i
            counted = mass[i] if weighted else 1.0
            pulls[i] = left_over[i] * counted
            total[0] += pulls[i]
            weight[0] += counted
        leaves, used = 1, 1
        node[0], begin[0], end[0], mean[0] = 0, 0, n, 0.0
        fresh, other = 0, -1
        table[0] = 0.0
        for i in range(n):
            for j in range(p):
                entry = table[0, ends[j] + bins[i, j]]
                entry[0] += pulls[i]
                entry[1] += 1.0
                if weighted:
                    entry[2] += mass[i]
        while True:
            for leaf in (fresh, other):
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
                        sums += table[leaf, b, 0]
                        behind += table[leaf, b, 1]
                        masses += table[leaf, b, heavy]
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
            parent = nodes[t, node[fresh]]
            parent[0], parent[1], parent[2], parent[3] = j, last, used, used + 1
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
            # The smaller part is counted; the larger one is what remains.
            small, large = (fresh, other) if middle - first < stop - middle else (other, fresh)
            for b in range(ends[p]):
                for z in range(3):
                    if large == other:
                        table[other, b, z] = table[fresh, b, z]
                    table[small, b, z] = 0.0
            for z in range(begin[small], end[small]):
                i = rows[z]
                for k in range(p):
                    entry = table[small, ends[k] + bins[i, k]]
                    entry[0] += pulls[i]
                    entry[1] += 1.0
                    if weighted:
                        entry[2] += mass[i]
            for b in range(ends[p]):
                for z in range(3):
                    table[large, b, z] -= table[small, b, z]
        for leaf in range(leaves):
            value = rate * mean[leaf]
            values[t, node[leaf]] = value
            for z in range(begin[leaf], end[leaf]):
                left_over[rows[z]] -= value
    return nodes, values


@compiled(nogil=True, error_model="numpy")
def predicted(bins, codes, unlit, lit, nodes, values):
    """``(n, choices)`` sums over the trees, with the column of each choice lit in turn."""
    n, p = bins.shape
    out = np.zeros((n, codes.shape[0]))
    row = np.empty(p + unlit.shape[0], np.uint8)
    for code in range(unlit.shape[0]):
        row[p + code] = unlit[code]
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
    return out
