"""Folds: balanced, reproducible, and kind to groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwis


@given(n=st.integers(2, 60), k=st.integers(2, 12), seed=st.integers(0, 5))
def test_folds_differ_by_one_row_at_most(n, k, seed):
    k = min(n, k)
    sizes = np.bincount(kwis.make_folds(n, k, rng=seed))
    assert sizes.size == k
    assert sizes.max() - sizes.min() <= 1


@given(
    sizes=st.lists(st.integers(1, 7), min_size=3, max_size=15), k=st.integers(2, 3), seed=st.integers(0, 5)
)
def test_whole_groups_stay_together_and_folds_stay_balanced(sizes, k, seed):
    group = np.random.default_rng(seed).permutation(
        np.repeat([f"group {number}" for number in range(len(sizes))], sizes)
    )
    folds = kwis.make_folds(group.size, k, rng=seed, group=group)
    assert all(np.unique(folds[group == label]).size == 1 for label in np.unique(group))
    rows = np.bincount(folds, minlength=k)
    assert rows.min() > 0
    assert rows.max() - rows.min() <= max(sizes)


def test_groups_of_one_row_each_are_dealt_evenly():
    assert sorted(np.bincount(kwis.make_folds(17, 5, group=np.arange(17))).tolist()) == [3, 3, 3, 4, 4]


def test_the_same_seed_gives_the_same_folds_and_another_seed_others():
    first, again, other = (kwis.make_folds(40, 4, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    group = np.arange(40) // 2
    np.testing.assert_array_equal(
        kwis.make_folds(40, 4, rng=3, group=group), kwis.make_folds(40, 4, rng=3, group=group)
    )


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    first, second = kwis.make_folds(40, 4, rng=rng), kwis.make_folds(40, 4, rng=rng)
    assert (first != second).any()
    np.testing.assert_array_equal(first, kwis.make_folds(40, 4, rng=0))


def test_numpy_s_global_random_state_is_neither_read_nor_moved():
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = kwis.make_folds(30, 3)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    np.testing.assert_array_equal(first, kwis.make_folds(30, 3))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 0, "k": 2}, "`n` must be a whole number of at least 1, got 0"),
        ({"n": 2.0, "k": 2}, "`n` must be a whole number of at least 1, got 2.0"),
        ({"n": 9, "k": 1}, "`k` must be a whole number of at least 2, got 1"),
        ({"n": 9, "k": 2.5}, "`k` must be a whole number of at least 2, got 2.5"),
        ({"n": 9, "k": True}, "`k` must be a whole number of at least 2, got True"),
        ({"n": 3, "k": 5}, "`k` must not exceed the number of rows, got 5 folds for 3 rows"),
        (
            {"n": 4, "k": 3, "group": [0, 0, 1, 1]},
            "`k` must not exceed the number of groups, got 3 folds for 2 groups",
        ),
        ({"n": 4, "k": 2, "group": [0, 1]}, "`group` must have one entry per row, got 2 for 4 rows"),
        (
            {"n": 3, "k": 2, "group": [0.0, np.nan, 1.0]},
            "`group` must have a label in every row, got nan at row 1",
        ),
        (
            {"n": 3, "k": 2, "group": ["a", None, "b"]},
            "`group` must have a label in every row, got None at row 1",
        ),
        ({"n": 3, "k": 2, "rng": -1}, "`rng` must be a seed of at least 0 or a numpy Generator, got -1"),
        ({"n": 3, "k": 2, "rng": None}, "`rng` must be a seed of at least 0 or a numpy Generator, got None"),
    ],
)
def test_folds_that_cannot_be_are_refused(arguments, sentence):
    with pytest.raises(kwis.InputError) as caught:
        kwis.make_folds(**arguments)
    assert str(caught.value) == sentence
