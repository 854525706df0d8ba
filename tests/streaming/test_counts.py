"""Poisson counts hashed from row identities, and sums that do not depend on the order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kwis.streaming.counts import count_table, counts_of, row_keys, text_key
from kwis.streaming.sums import Sums
from tests.reference import streaming as twin


def test_the_table_is_poisson_with_mean_and_variance_exactly_one() -> None:
    numbers = np.bincount(count_table())
    ks = np.arange(numbers.size)
    assert (numbers.sum(), (ks * numbers).sum(), (ks * ks * numbers).sum()) == (65536, 65536, 2 * 65536)
    for k, number in enumerate(numbers):
        assert abs(number / 65536 - twin.poisson(k)) < 3e-4


def test_counts_are_those_of_the_slow_twin() -> None:
    keys = row_keys("folder/part-7.parquet", 12, 5)
    assert keys.tolist() == [twin.row_key("folder/part-7.parquet", row) for row in range(12, 17)]
    counts = counts_of(keys, 3, 11)
    assert counts.tolist() == [[twin.count(int(key), 3, b, count_table()) for b in range(11)] for key in keys]


def test_counts_of_rows_resamples_and_seeds_are_uncorrelated() -> None:
    n, b = 20_000, 8
    keys = row_keys("a", 0, n)
    both = np.concatenate(
        [counts_of(keys, 0, b), counts_of(keys, 1, b), counts_of(row_keys("b", 0, n), 0, b)], axis=1
    )
    off = np.corrcoef(both.T)[~np.eye(both.shape[1], dtype=bool)]
    assert np.abs(off).max() < 4.5 / np.sqrt(n)  # 276 pairs of standard normal size
    lagged = np.corrcoef(both[1:, 0], both[:-1, 0])[0, 1]
    assert abs(lagged) < 4 / np.sqrt(n)
    assert both.mean() == pytest.approx(1, abs=4 / np.sqrt(both.size))


def test_a_name_has_the_same_key_everywhere() -> None:
    assert int(text_key("left")) == twin.word_of("left")


@given(
    arrays(np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=st.floats(-1e60, 1e60)),
    st.integers(0, 39),
)
def test_sums_are_exact_to_thirty_digits_and_merge_in_any_order(terms: np.ndarray, cut: int) -> None:
    keys = row_keys("x", 0, len(terms))
    whole = Sums.empty(2, 3)
    whole.add(keys, terms, 0)
    parts = []
    for rows in (slice(cut, None), slice(0, cut)):
        part = Sums.empty(2, 3)
        part.add(keys[rows], np.ascontiguousarray(terms[rows]), 0)
        parts.append(part)
    merged = parts[0].merge(parts[1])
    for a in range(2):
        size = twin.exact_sum(np.abs(terms[:, a]))
        assert abs(whole.total.fraction(a) - twin.exact_sum(terms[:, a])) <= size * Fraction(1, 10**29)
        assert abs(whole.total.fraction(a) - merged.total.fraction(a)) <= size * Fraction(1, 10**29)
    size = twin.exact_product(np.abs(terms[:, 0]), np.abs(terms[:, 1]))
    assert abs(
        whole.products.fraction(0, 1) - twin.exact_product(terms[:, 0], terms[:, 1])
    ) <= size * Fraction(1, 10**29) + Fraction(1, 10**280)
    counts = counts_of(keys, 0, 3)
    expected = np.einsum("ib,ia->ab", counts, terms)
    room = 1e-13 * np.einsum("ib,ia->ab", counts, np.abs(terms)) + 1e-300
    assert (np.abs(whole.resampled.rounded - expected) <= room).all()
    assert (
        np.abs(whole.resampled.rounded - merged.resampled.rounded)
        <= 1e-29 * room / 1e-13 + np.spacing(np.abs(expected)) * 1.01
    ).all()
