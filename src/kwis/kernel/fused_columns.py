"""Sums of a few columns with the RBF kernel at many bandwidths, in compiled code.

A matrix product needs many columns to be worth writing the kernel to memory. With a few, the kernel of a
short run of pairs is made, used for all its columns, and forgotten.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Calls exp2.py 50f15fa0e1e2: the cache of compiled code is keyed by this file alone.

from __future__ import annotations

import numpy as np

from kwis.kernel.exp2 import exp2
from kwis.kernel.fused import FAST
from kwis.runtime.compile import compiled
from kwis.typing import Floats, Ints

_RUN = 512  # pairs whose distances and kernel stay in the fastest memory, with the columns of a block's rows


def column_sums(
    q: Floats,
    columns: Floats,
    stretches: Floats,
    squarings: Ints,
    first: Ints,
    wanted: Ints,
    sums: Floats,
) -> None:
    """Add kernel sums over all pairs to ``sums`` (rows, wanted).

    The kernel of bandwidth ``b`` is ``2**(-stretches[b] q)``, made of the one before by ``squarings[b]``
    squarings where that is not 0, and ``columns[wanted[s]]`` for ``s`` from ``first[b]`` to ``first[b + 1]``
    are the columns it is summed with. Each row is summed in the order of its pairs.
    """
    _add(q, columns, stretches, squarings, first, wanted, np.empty(_RUN, q.dtype), sums)


# The kernel's memory is handed in: an array made in compiled code adds to the time it takes to compile.
@compiled(nogil=True, error_model="numpy", fastmath=FAST)
def _add(q, columns, stretches, squarings, first, wanted, k, sums):
    for start in range(0, q.shape[1], _RUN):
        for row in range(q.shape[0]):
            distances = q[row, start : start + _RUN]
            length = distances.shape[0]
            for b in range(stretches.shape[0]):
                stretch = stretches[b]
                if squarings[b] == 0:
                    for j in range(length):
                        k[j] = exp2(-stretch * distances[j])
                for _ in range(squarings[b]):
                    for j in range(length):
                        k[j] *= k[j]
                # Two columns at a time: the kernel is read once for both.
                for s in range(first[b], first[b + 1], 2):
                    t = s + (s + 1 < first[b + 1])
                    one = columns[wanted[s], start : start + _RUN]
                    other = columns[wanted[t], start : start + _RUN]
                    total, more = k[0] * one[0], k[0] * other[0]
                    for j in range(1, length):
                        total += k[j] * one[j]
                        more += k[j] * other[j]
                    sums[row, s] += total
                    if t > s:
                        sums[row, t] += more
