"""Random samples of rows with known chances: evenly along an order, or larger rows more likely."""

from __future__ import annotations

import numpy as np

from kwis.typing import Floats, Ints


def neighbour_chance(mass: Floats, weight: Floats, size: int, total: float, mean_weight: float) -> Floats:
    """Chance of each row to be among about ``size`` neighbours: half in proportion to its mass, half to its
    share of the weight.
    """
    return np.minimum(size * mass * (0.5 + 0.5 * weight / mean_weight) / total, 1.0)


def systematic(chance: Floats, order: Floats, rng: np.random.Generator) -> Ints:
    """Rows drawn with the given probabilities, evenly along ``order``: every stretch of it gets its share,
    give or take one row.
    """
    ties = rng.random(order.size)
    along = np.argsort(order)
    if (np.diff(order[along]) == 0).any():
        along = np.lexsort((ties, order))
    climbed = np.cumsum(np.append(rng.random(), chance[along]))
    return np.sort(along[np.floor(climbed[1:]) > np.floor(climbed[:-1])])


def priority(size: Floats, count: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """``count`` rows, those of larger ``size`` more likely, and the chance of each; all with certainty if
    there are no more.

    Rows are ranked by a random number over their size. Those of smallest rank are a sample with probability
    ``min(1, size * tau)``, ``tau`` the smallest rank left out.
    """
    if size.size <= count:
        return np.arange(size.size), np.ones(size.size)
    rank = rng.random(size.size) / size
    smallest = np.argpartition(rank, count)
    rows = np.sort(smallest[:count])
    return rows, np.minimum(1.0, size[rows] * rank[smallest[count]])
