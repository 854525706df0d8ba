"""Raw columns become contexts as :mod:`kwis.data.encode` documents."""

from __future__ import annotations

import numpy as np
import pytest

from kwis.data.encode import encode
from kwis.data.table import table_of
from kwis.errors import KwisWarning
from kwis.kernel.profiles import RBF

N = 400


def encoded(**columns: object) -> object:
    return encode(table_of(list(columns.items())), columns)


def test_a_mismatch_of_codes_weighs_as_much_as_two_random_rows_differ_in_a_number() -> None:
    rng = np.random.default_rng(0)
    encoding = encoded(x=rng.gamma(2, 3, N))
    x = encoding.context[:, 0]
    mean_squared_distance = ((x[:, None] - x) ** 2).mean()
    assert mean_squared_distance == pytest.approx(2, rel=1e-12)
    assert np.exp(RBF.log_profile(np.array([mean_squared_distance / 1.7**2])))[0] == pytest.approx(
        np.exp(-1 / 1.7**2)
    )


def test_scaling_is_kept_and_can_be_undone() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(1e6, 20, N)
    encoding = encoded(x=values)
    feature = encoding.features[0]
    np.testing.assert_allclose(encoding.context[:, 0] * feature.scale + feature.centre, values, rtol=1e-12)


def test_huge_and_tiny_numbers_are_standardised_too() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=N)
    for factor in (1e300, 1e-300):
        np.testing.assert_allclose(encoded(x=z * factor).context[:, 0], (z - z.mean()) / z.std(), atol=1e-9)


def test_missing_numbers_get_the_median_and_a_column_that_says_so() -> None:
    values = np.array([1.0, 2.0, np.nan, 10.0, 100.0])
    encoding = encoded(x=values)
    assert [feature.name for feature in encoding.features] == ["x", "x missing"]
    filled = np.array([1, 2, 6, 10, 100.0])
    np.testing.assert_allclose(encoding.context[:, 0], (filled - filled.mean()) / filled.std())
    np.testing.assert_array_equal(encoding.context[:, 1], [0, 0, 1, 0, 0])
    assert encoding.categorical == (1,)


def test_a_constant_with_gaps_leaves_only_the_gaps() -> None:
    encoding = encoded(x=np.array([3.0, np.nan, 3.0, 3.0]))
    assert [feature.name for feature in encoding.features] == ["x missing"]


def test_missing_text_is_a_level_of_its_own() -> None:
    encoding = encoded(c=np.array(["b", None, "a", "", "b"], dtype=object))
    assert encoding.features[0].levels == ("a", "b", "(missing)")
    np.testing.assert_array_equal(encoding.context[:, 0], [1, 2, 0, 2, 1])


def test_yes_and_no_are_codes_however_they_are_written() -> None:
    flags = np.array([True, False, True, True])
    for column in (flags, flags.astype(int), flags.astype(float)):
        encoding = encoded(c=column)
        assert encoding.categorical == (0,)
        np.testing.assert_array_equal(encoding.context[:, 0], flags)


def test_dates_count_in_seconds_and_are_standardised() -> None:
    dates = np.array(["2024-01-01", "2024-01-02", "2024-01-04"], dtype="datetime64[D]")
    expected = np.array([0.0, 1.0, 3.0])
    expected = (expected - expected.mean()) / expected.std()
    np.testing.assert_allclose(encoded(d=dates).context[:, 0], expected, atol=1e-9)
    np.testing.assert_allclose(
        encoded(d=np.array(["2024-01-01", "2024-01-02", "2024-01-04"])).context[:, 0], expected, atol=1e-9
    )


def test_text_that_only_looks_like_dates_is_text() -> None:
    assert encoded(d=np.array(["2024-01-01", "2024-13-77", "2024-01-04"])).categorical == (0,)
    assert encoded(d=np.array(["2024-01-01", "soon", "2024-01-04"])).categorical == (0,)


def test_numbers_listed_as_categorical_are_labels() -> None:
    table = table_of([("zip", np.array([10, 30, 20, 30]))])
    encoding = encode(table, ["zip"], ["zip"])
    assert encoding.features[0].levels == (10, 20, 30)
    np.testing.assert_array_equal(encoding.context[:, 0], [0, 2, 1, 2])


def test_a_thousand_levels_are_kept_and_one_more_is_pooled() -> None:
    labels = np.array([f"{i:04d}" for i in range(1001)] + ["0500"] * 3 + ["0600"] * 2)
    assert len(encoded(c=labels[labels != "1000"]).features[0].levels) == 1000
    with pytest.warns(KwisWarning, match=r"^`c` has 1001 different values"):
        encoding = encoded(c=labels)
    assert encoding.features[0].levels == ("0500", "0600", "(other)")


def test_an_identifier_named_as_context_is_warned_about_and_left_out() -> None:
    with pytest.warns(KwisWarning, match=r"^`c` has 2000 different values"):
        encoding = encoded(c=np.array([f"u{i:04d}" for i in range(2000)]))
    assert encoding.notes == (
        "`c` was left out of the context: the same in every row",
        "no context is left, so all rows count as alike",
    )


def test_the_design_matrix_has_one_column_per_frequent_level() -> None:
    rng = np.random.default_rng(0)
    country = rng.choice(["a", "b", "c"], N)
    flag = rng.random(N) < 0.5
    encoding = encoded(x=rng.normal(size=N), country=country, flag=flag)
    expected = np.column_stack([encoding.context[:, 0], *(country == level for level in "abc"), flag])
    np.testing.assert_array_equal(encoding.design(), expected)


def test_the_design_matrix_stays_narrow_with_many_categories() -> None:
    rng = np.random.default_rng(0)
    columns = {f"c{j}": np.array([f"v{v}" for v in rng.integers(40, size=N)]) for j in range(100)}
    assert encoded(**columns).design().shape[1] == 600
    assert encoded(c=columns["c0"]).design().shape[1] == 20


def test_leaving_out_a_raw_column_leaves_out_all_that_was_made_from_it() -> None:
    encoding = encoded(x=np.array([1.0, np.nan, 3.0]), y=np.array([1.0, 2.0, 4.0]))
    assert [feature.name for feature in encoding.without(["x"]).features] == ["y"]
    assert encoding.without(["x", "y"]).context.shape == (3, 1)
