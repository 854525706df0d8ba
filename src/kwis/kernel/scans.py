"""Held-out scores of many weight vectors at many bandwidths from one pass over the pairs of rows, in compiled
tiles.

Up to some dozens of columns, what a vector scores at a bandwidth depends on the contexts and on the list of
bandwidths alone, which settles from which kernels its own is squared, and never on the other vectors. With
more columns distances may be made of products, if these are precise enough for the narrowest bandwidth that
any vector wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kwis.kernel import fused_many
from kwis.kernel.held_out import Folds
from kwis.kernel.many import chained
from kwis.kernel.tiling import Layout, Tiles
from kwis.runtime.arrays import aligned
from kwis.runtime.threads import each_block, row_blocks
from kwis.typing import Floats, Ints

_MOST_SQUARINGS = 4  # of a kernel; on the way to one that is wanted, others may be in vain
_MANY_COLUMNS = 48  # from which single-precision products beat the compiled differences
_PRODUCT_CELLS = 1 << 22
_ROUGH_EXPONENT = 3e-4  # by which products may be off in the exponent of a kernel: a minimum moves by less
_ROUNDING, _TINY = float(np.finfo(np.float32).eps), float(np.finfo(np.float64).tiny)


def scores_at(
    tiles: Tiles, folds: Folds, weights: Floats, bandwidths: Floats, wanted: Floats, parts: Sequence[Ints]
) -> Floats:
    """``(parts, bandwidths, vectors)`` of the scores of the columns of ``weights`` over parts of the rows,
    which are in the order of the layout, where they are ``wanted`` (bandwidths, vectors), nan elsewhere.
    """
    arrays = tiles.scaled(float(bandwidths[0]))
    scan = _Scan.of(tiles, folds, weights, arrays)
    products = Products.of(tiles, arrays)
    stretches = (bandwidths[0] / bandwidths) ** 2
    asked: NDArray[np.bool_] = np.asarray(wanted.any(axis=1))
    # All from the same kind of distances: rounded in two ways, two scores could not be compared.
    if products is not None and stretches[asked].max() > products.farthest:
        products = None
    chain = _Chain.of(stretches, asked)
    found = np.full((len(parts), *wanted.shape), np.nan)
    found[:, chain.places] = scan.scores(chain, wanted, products, parts)
    found[:, np.logical_not(wanted)] = np.nan
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """Bandwidths in the order in which their kernels are made, by their ``places``; each is squared as often
    as ``squarings`` says from the one before, and made anew where that is 0.
    """

    places: Ints
    stretches: Floats
    squarings: Ints

    @classmethod
    def of(cls, stretches: Floats, asked: NDArray[np.bool_]) -> _Chain:
        """That of all bandwidths, but for those that are neither asked for nor lead to one that is."""
        order, squarings = chained(stretches, _MOST_SQUARINGS)
        places, steps = [order[:0]], [squarings[:0]]
        for links in np.split(np.arange(order.size), np.flatnonzero(squarings == 0)[1:]):
            some = asked[order[links]]
            if some.any():
                some[0] = True  # what the others are squared from
                places.append(order[links[some]])
                steps.append(np.diff(np.cumsum(squarings[links])[some], prepend=0))
        chosen = np.concatenate(places)
        return cls(chosen, stretches[chosen], np.concatenate(steps))


@dataclass(frozen=True, slots=True, eq=False)
class _Scan:
    """Contexts and weights laid out for the compiled code."""

    layout: Layout
    arrays: tuple[Floats, ...]
    mass: Floats
    loads: Floats
    weights: Floats
    share: Floats

    @classmethod
    def of(cls, tiles: Tiles, folds: Folds, weights: Floats, arrays: tuple[Floats, ...]) -> _Scan:
        layout, dtype = tiles.layout, tiles.dtype
        mass = layout.tiled(folds.mass, dtype).ravel()
        loads = aligned((weights.shape[1], mass.size), dtype)
        for own, weight in zip(loads, weights.T, strict=True):
            own[:] = layout.tiled(folds.mass * weight, dtype).ravel()
        order = layout.order
        return cls(layout, arrays, mass, loads, weights[order], folds.share[order])

    def scores(
        self, chain: _Chain, wanted: Floats, products: Products | None, parts: Sequence[Ints]
    ) -> Floats:
        """``(parts, places, vectors)``."""
        how = (chain.stretches.astype(self.mass.dtype), chain.squarings)
        asked = wanted[chain.places]

        def part(rows: Ints) -> Floats:
            found = np.zeros(asked.shape)
            for some in row_blocks(rows.size, rows.size if products is None else products.together):
                self._add(rows[some], how, asked, products, found)
            return found

        return np.array(each_block(part, parts))

    def _add(
        self, rows: Ints, how: tuple[Floats, Ints], wanted: Floats, products: Products | None, scores: Floats
    ) -> None:
        x, codes, tiles, tile_codes, penalty, base = self.arrays
        here = x[rows]
        distances = (np.empty((0, 0, 0), x.dtype), np.empty(0, x.dtype))
        if products is not None:
            distances, base = (products.of_rows(here), products.own(here)), products.base
        fused_many.ladder_many(
            np.array([0, rows.size]),
            here,
            codes[rows],
            tiles,
            tile_codes,
            penalty,
            base,
            self.mass,
            self.loads,
            self.weights[rows],
            self.share[rows],
            self.layout.skips[rows],
            *how,
            *distances,
            wanted,
            scores,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """All contexts, row by row in the places of the tiles, and by tile their squares, huge where there is no
    row. Distances made of their products are precise enough where they are stretched by at most ``farthest``.
    """

    contexts: Floats
    base: Floats
    farthest: float

    @classmethod
    def of(cls, tiles: Tiles, arrays: tuple[Floats, ...]) -> Products | None:
        """Those of contexts of many columns in single precision; None where differences are better."""
        x, base = arrays[0], arrays[-1]
        if tiles.dtype != np.float32 or tiles.unit.size <= _MANY_COLUMNS:
            return None
        largest = float(np.einsum("ij,ij->i", x, x).max(initial=0.0))
        farthest = _ROUGH_EXPONENT / max(2 * largest * _ROUNDING, _TINY)
        if farthest < 1:
            return None
        flat = np.zeros((base.size, x.shape[1]), x.dtype)
        flat[tiles.layout.slot] = x
        return cls(flat, base + np.einsum("ij,ij->i", flat, flat).reshape(base.shape), farthest)

    @property
    def together(self) -> int:
        """Rows whose products are held at once."""
        return max(1, _PRODUCT_CELLS // len(self.contexts))

    def of_rows(self, x: Floats) -> Floats:
        """``-2 x t`` with all contexts ``t``, by tile."""
        found: Floats = ((x * x.dtype.type(-2)) @ self.contexts.T).reshape(len(x), *self.base.shape)
        return found

    def own(self, x: Floats) -> Floats:
        """Squares of the rows themselves."""
        return np.asarray(np.einsum("ij,ij->i", x, x))
