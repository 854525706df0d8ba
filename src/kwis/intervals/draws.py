"""Resampling with replacement, as counts per row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kwis.typing import Floats, Ints

_CHUNK_CELLS = 1 << 22  # 32 MB of counts at a time
_BATCH_CELLS = 1 << 17  # random row numbers drawn together, small enough to be counted in cache


def count_chunks(
    n: int, group: Ints | None, replicates: int, rng: np.random.Generator, block: int = 1
) -> Iterator[Floats]:
    """Counts ``(n, b)`` of each row in b resamples, until there are ``replicates`` of them; whole groups are
    drawn, or runs of ``block`` rows.

    Row numbers are drawn resample by resample, so the counts do not depend on the size of the chunks.
    """
    codes = None if group is None else np.unique(group, return_inverse=True)[1]
    units = n if codes is None else int(codes.max()) + 1
    chunks = -(-replicates // max(1, min(replicates, _CHUNK_CELLS // n)))
    for size in np.diff(np.linspace(0, replicates, chunks + 1).astype(int)):
        counts = _draw(units, int(size), rng) if block == 1 else _draw_blocks(units, int(size), rng, block)
        yield counts if codes is None else counts[codes]


def _draw(units: int, replicates: int, rng: np.random.Generator) -> Floats:
    counts = np.empty((units, replicates))
    step = max(1, _BATCH_CELLS // units)
    for start in range(0, replicates, step):
        batch = min(step, replicates - start)
        picks = rng.integers(units, size=(batch, units))
        picks += units * np.arange(batch)[:, None]
        counts[:, start : start + batch] = (
            np.bincount(picks.ravel(), minlength=batch * units).reshape(batch, units).T
        )
    return counts


def _draw_blocks(n: int, replicates: int, rng: np.random.Generator, block: int) -> Floats:
    """Runs of consecutive rows that start anywhere, the first row following the last; n rows in all, so the
    last run may be cut short.
    """
    runs = -(-n // block)
    offsets = np.arange(runs * block)[:n] % block
    counts = np.empty((n, replicates))
    for b in range(replicates):
        starts = np.repeat(rng.integers(n, size=runs), block)[:n]
        counts[:, b] = np.bincount((starts + offsets) % n, minlength=n)
    return counts
