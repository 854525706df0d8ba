"""Sums over rows that merge in any order: of terms, of their products, and of both on every resample."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from kwis.streaming.compiled import add_products, add_resampled, add_sums
from kwis.streaming.counts import count_table, seed_word
from kwis.typing import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """An array of sums kept as ``high + low``, to about 32 digits."""

    high: Floats
    low: Floats

    @classmethod
    def zeros(cls, *shape: int) -> Self:
        return cls(np.zeros(shape), np.zeros(shape))

    def merge(self, other: Exact) -> Exact:
        """Both sums added, to the same precision."""
        total = self.high + other.high
        part = total - self.high
        rest = (self.high - (total - part)) + (other.high - part)
        return Exact(total, rest + (self.low + other.low))

    @property
    def rounded(self) -> Floats:
        return self.high + self.low

    def fraction(self, *index: int) -> Fraction:
        """One of the sums as it is, unrounded."""
        return Fraction(float(self.high[index])) + Fraction(float(self.low[index]))


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """``sum z_i``, ``sum z_i z_i'`` and, on B Poisson resamples, ``sum c_ib z_i`` of the terms ``z_i`` of the
    rows.

    Every estimate of a mean or of a ratio of means is a function of the first, its standard error of the
    second (influence values are linear in the terms), its bootstrap distribution of the third.
    """

    total: Exact
    products: Exact
    resampled: Exact

    @classmethod
    def empty(cls, terms: int, replicates: int) -> Self:
        return cls(Exact.zeros(terms), Exact.zeros(terms, terms), Exact.zeros(terms, replicates))

    def add(self, keys: Ints, terms: Floats, seed: int) -> None:
        """Take rows in, in place."""
        add_sums(terms, self.total.high, self.total.low)
        add_products(terms, self.products.high, self.products.low)
        if self.resampled.high.shape[1]:
            add_resampled(
                keys, terms, seed_word(seed), count_table(), self.resampled.high, self.resampled.low
            )

    def merge(self, other: Sums) -> Sums:
        return Sums(
            self.total.merge(other.total),
            self.products.merge(other.products),
            self.resampled.merge(other.resampled),
        )
