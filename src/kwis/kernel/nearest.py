"""The nearest other rows of every row, from blocks of all distances."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import numpy as np

from kwis.runtime.compile import compiled
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints

_ROWS = 64  # whose distances are held at once, in the memory next to the processor
_FEW = 5_000  # rows, up to which numpy is quick enough that nothing need be compiled
_BESIDE = 32  # distances that are looked at together: most of the time none of them is small enough
_MANY_COLUMNS = 48  # with more, products are made in single precision: half the time, and nobody is near


def nearest_rows(features: Floats, count: int, of: int = 0) -> Ints:
    """``(n, count)`` numbers of the nearest other rows, the nearest first, of equals the earlier one; ``of``
    is among how many rows neighbours are sought in all, if that is more.
    """
    n = features.shape[0]
    few = max(n, of) <= _FEW
    points = features - features.mean(axis=0)  # squares are small beside what tells them apart
    if features.shape[1] > _MANY_COLUMNS:
        points = points.astype(np.float32)
    squares = np.square(points).sum(axis=1)
    found = np.empty((n, count), dtype=np.int64)

    def fill(rows: slice) -> None:
        products = points[rows] @ points.T
        if few:
            _one_by_one(products, squares, rows.start, found[rows])
        else:
            _nearest(products, squares, rows.start, np.empty(count), found[rows])

    each_block(fill, row_blocks(n, _ROWS))
    return found


def _one_by_one(products: Floats, squares: Floats, first: int, out: Ints) -> None:
    """What :func:`_nearest` finds, in numpy: the nearest, the nearest of the others, and so on."""
    distances = np.add(np.multiply(products, -2, out=products), squares, out=products)
    every = np.arange(len(distances))
    distances[every, first + every] = np.inf
    for place in range(out.shape[1]):
        out[:, place] = distances.argmin(axis=1)
        distances[every, out[:, place]] = np.inf


@compiled(nogil=True, error_model="numpy")
def _nearest(products, squares, first, least, out):
    """The nearest of each row, whose number is ``first`` and following, from inner products with all;
    ``least`` is memory for the smallest distances.
    """
    rows, n = products.shape
    count = out.shape[1]
    for i in range(rows):
        for place in range(count):
            least[place] = np.inf
        for start in range(0, n, _BESIDE):
            some, of_some = products[i, start : start + _BESIDE], squares[start : start + _BESIDE]
            limit, near = least[count - 1], 0
            for j in range(some.shape[0]):
                near += of_some[j] - 2 * some[j] < limit
            if near == 0:
                continue
            for j in range(some.shape[0]):
                distance = of_some[j] - 2 * some[j]  # without the row's own square, the same for all
                if distance < least[count - 1] and start + j != first + i:
                    place = count - 1
                    while place > 0 and least[place - 1] > distance:
                        least[place], out[i, place] = least[place - 1], out[i, place - 1]
                        place -= 1
                    least[place], out[i, place] = distance, start + j
