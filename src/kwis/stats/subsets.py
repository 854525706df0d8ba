"""Random subsets of rows, for what need not be computed on all rows of a large log."""

from __future__ import annotations

import numpy as np

from kwis import _validation as check
from kwis.typing import Ints, Seed


def drawn_rows(n: int, most: int, rng: Seed = 0) -> Ints:
    """``most`` of ``n`` rows, drawn at random and in order."""
    return np.sort(check.generator(rng).choice(n, most, replace=False))


def some_rows(n: int, most: int) -> slice | Ints:
    """At most ``most`` of ``n`` rows, always the same ones; all of them if they are no more."""
    return slice(None) if n <= most else drawn_rows(n, most)
