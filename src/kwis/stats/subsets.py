"""Random rows of a log that has more of them than a question needs."""

from __future__ import annotations

import numpy as np

from kwis.typing import Ints


def some_rows(n: int, most: int, seed: int = 0) -> slice | Ints:
    """At most ``most`` of ``n`` rows, drawn at random and in order; all of them if they are no more."""
    return slice(None) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
