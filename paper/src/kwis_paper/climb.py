"""Gradient ascent of a linear softmax policy, compiled: thousands of small steps for thousands of policies.

With ``p`` the probabilities of a row, ``w`` its weight and ``r`` its reward, the gradient of the estimate of
a batch is the sum over rows of ``context (1[taken] - p) pull / temperature`` with the pull

==========  =============================  ============================
objective   IW: ``sum(w r) / rows``        SNIW: ``sum(w r) / sum(w)``
==========  =============================  ============================
plain       ``w r / rows``                 ``w (r - SNIW) / sum(w)``
log         ``w r / sum(w r)``             ``w r / sum(w r) - w / sum(w)``
==========  =============================  ============================

A batch that earned nothing has no logarithm, and is passed over.

Thousands of steps magnify the last bit of a sum until they end at another policy, and BLAS sums in another
order on another kind of processor. So matrix products are written out, in a fixed order.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np
from numba import njit

from kwis.runtime.compile import compiled


@njit(nogil=True)
def add_product(left, right, out):
    """``out += left @ right``, each number summed in the order of the columns of ``left``."""
    rows, inner = left.shape
    fours = inner - inner % 4
    for i in range(rows):
        for k in range(0, fours, 4):
            w, x, y, z = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
            for a in range(right.shape[1]):
                first = out[i, a] + w * right[k, a] + x * right[k + 1, a]
                out[i, a] = first + y * right[k + 2, a] + z * right[k + 3, a]
        for k in range(fours, inner):
            for a in range(right.shape[1]):
                out[i, a] += left[i, k] * right[k, a]


@njit(nogil=True)
def _weigh(scores, temperature, action, inverse, rows, weight):
    """Turn scores into probabilities, in place, and find the weight of every row."""
    n_actions = scores.shape[1]
    for i in range(rows.shape[0]):
        top = scores[i, 0]
        for a in range(1, n_actions):
            top = max(top, scores[i, a])
        total = 0.0
        for a in range(n_actions):
            scores[i, a] = np.exp((scores[i, a] - top) / temperature)
            total += scores[i, a]
        for a in range(n_actions):
            scores[i, a] /= total
        weight[i] = scores[i, action[rows[i]]] * inverse[rows[i]]


@njit(nogil=True)
def _pull(weight, reward, rows, normalised, logarithm, pull):
    """How strongly every row pulls its action up; False if the batch has no gradient."""
    size = rows.shape[0]
    mass, gained = 0.0, 0.0
    for i in range(size):
        mass += weight[i]
        gained += weight[i] * reward[rows[i]]
    if mass <= 0.0 or (logarithm and gained <= 0.0):
        return False
    for i in range(size):
        earned = weight[i] * reward[rows[i]]
        if normalised and logarithm:
            pull[i] = earned / gained - weight[i] / mass
        elif normalised:
            pull[i] = (earned - weight[i] * gained / mass) / mass
        elif logarithm:
            pull[i] = earned / gained
        else:
            pull[i] = earned / size
    return True


@compiled(nogil=True)
def climb(
    context, action, inverse, reward, orders, batch, step, temperature, n_actions, normalised, logarithm
):
    """Parameters (d, n_actions) after all epochs, from zero."""
    n, d = context.shape
    parameters = np.zeros((d, n_actions))
    weight, pull = np.empty(batch), np.empty(batch)
    for epoch in range(orders.shape[0]):
        for start in range(0, n, batch):
            rows = orders[epoch, start : start + batch]
            taken = np.empty((rows.shape[0], d))
            for i in range(rows.shape[0]):
                taken[i] = context[rows[i]]
            scores = np.zeros((rows.shape[0], n_actions))
            add_product(taken, parameters, scores)
            _weigh(scores, temperature, action, inverse, rows, weight)
            if not _pull(weight, reward, rows, normalised, logarithm, pull):
                continue
            for i in range(rows.shape[0]):
                force = step * pull[i] / temperature
                for a in range(n_actions):
                    scores[i, a] *= -force
                scores[i, action[rows[i]]] += force
            add_product(taken.T, scores, parameters)
    return parameters
