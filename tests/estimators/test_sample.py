"""The weighted sample: what it takes, what it refuses, and what it keeps."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import kwis

GOOD = {"context": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], "weight": [1.0, 2.0, 0.0], "reward": [1.0, 0.0, 1.0]}

REFUSED = {
    "no rows": (
        {"context": np.empty((0, 2)), "weight": [], "reward": []},
        "`context` must have at least one row, got 0",
    ),
    "no columns": ({"context": np.empty((3, 0))}, "`context` must have at least one column, got 0"),
    "flat contexts": ({"context": [0.0, 1.0, 2.0]}, "`context` must have shape (n, d), got (3,)"),
    "short weights": (
        {"weight": [1.0, 2.0]},
        "`weight` must have one entry per row of `context`, got 2 for 3 rows",
    ),
    "long rewards": (
        {"reward": [1.0] * 4},
        "`reward` must have one entry per row of `context`, got 4 for 3 rows",
    ),
    "square weights": ({"weight": np.ones((3, 3))}, "`weight` must have shape (n,), got (3, 3)"),
    "nan context": (
        {"context": [[0, 1], [2, np.nan], [4, 5]]},
        "`context` must be finite, got nan at row 1, column 1",
    ),
    "infinite weight": ({"weight": [1, 2, np.inf]}, "`weight` must be finite, got inf at row 2"),
    "nan reward": ({"reward": [np.nan, 0, 1]}, "`reward` must be finite, got nan at row 0"),
    "negative weight": ({"weight": [1, -0.5, 2]}, "`weight` must not be negative, got -0.5 at row 1"),
    "object array": (
        {"reward": np.array([1, None, 2], dtype=object)},
        "`reward` must hold real numbers, got an array of type object",
    ),
    "complex array": (
        {"weight": np.ones(3) * 1j},
        "`weight` must hold real numbers, got an array of type complex128",
    ),
    "text": ({"reward": ["1", "2", "3"]}, "`reward` must hold real numbers, got an array of type <U1"),
    "group too short": (
        {"group": ["a", "b"]},
        "`group` must have one entry per row of `context`, got 2 for 3 rows",
    ),
    "group missing": (
        {"group": [1.0, np.nan, 2.0]},
        "`group` must have a label in every row, got nan at row 1",
    ),
    "group none": ({"group": ["a", None, "b"]}, "`group` must have a label in every row, got None at row 1"),
    "no such column": ({"categorical": [2]}, "`categorical` must list columns from 0 to 1, got 2"),
    "codes not whole": (
        {"context": [[0, 1], [0.5, 1], [1, 1]], "categorical": [0]},
        "`context` must hold integer codes in categorical column 0, got 0.5 at row 1",
    ),
    "mass of nothing": ({"mass": [1.0, 0.0, 2.0]}, "`mass` must be positive, got 0.0 at row 1"),
    "mass too long": (
        {"mass": [1.0] * 5},
        "`mass` must have one entry per row of `context`, got 5 for 3 rows",
    ),
}


@pytest.mark.parametrize(("change", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_wrong_is_said_in_one_sentence(change, sentence):
    with pytest.raises(kwis.InputError) as caught:
        kwis.WeightedSample(**{**GOOD, **change})
    assert str(caught.value) == sentence
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "`rows` must be at least one row number, got float64 of shape (0,)"),
        ([0.0, 1.0], "`rows` must be at least one row number, got float64 of shape (2,)"),
        ([0, 3], "`rows` must be from 0 to 2, got 3"),
        ([-1], "`rows` must be from 0 to 2, got -1"),
    ],
)
def test_rows_to_take_must_exist(rows, sentence):
    with pytest.raises(kwis.InputError) as caught:
        kwis.WeightedSample(**GOOD).take(rows)
    assert str(caught.value) == sentence


def test_taking_keeps_everything_and_the_source_rows():
    sample = kwis.WeightedSample(**GOOD, group=["b", "a", "b"], mass=[1, 2, 3], categorical=[0])
    taken = sample.take([2, 0, 2]).take([0, 1])
    assert taken.n == 2
    assert taken.rows.tolist() == [2, 0]
    assert taken.weight.tolist() == [0.0, 1.0]
    assert taken.reward.tolist() == [1.0, 1.0]
    assert taken.context.tolist() == [[4.0, 5.0], [0.0, 1.0]]
    assert taken.mass.tolist() == [3.0, 1.0]
    assert taken.categorical == (0,)
    assert taken.group[0] == taken.group[1]


def test_a_mask_takes_the_rows_it_marks():
    assert kwis.WeightedSample(**GOOD).take(np.array([True, False, True])).rows.tolist() == [0, 2]


def test_copies_of_a_group_may_get_labels_of_their_own():
    sample = kwis.WeightedSample(**GOOD, group=[0, 0, 1])
    taken = sample.take([0, 1, 0, 1], group=[0, 0, 7, 7])
    assert taken.group.tolist() == [0, 0, 1, 1]


def test_the_arrays_cannot_be_written_to_and_the_callers_stay_as_they_were():
    weight = np.array([1.0, 2.0, 0.0])
    sample = kwis.WeightedSample(**{**GOOD, "weight": weight})
    with pytest.raises(ValueError, match="read-only"):
        sample.weight[0] = 5.0
    with pytest.raises(AttributeError):
        sample.weight = weight
    assert weight.flags.writeable


def test_labels_may_be_text_or_numbers():
    text = kwis.WeightedSample(**GOOD, group=["u2", "u1", "u2"])
    numbers = kwis.WeightedSample(**GOOD, group=np.array([9, 4, 9]))
    assert text.group.tolist() == numbers.group.tolist() == [1, 0, 1]


def test_a_sample_can_be_pickled():
    sample = kwis.WeightedSample(**GOOD, group=[0, 0, 1])
    again = pickle.loads(pickle.dumps(sample))
    assert kwis.WIS().estimate(again).value == kwis.WIS().estimate(sample).value
    assert again.group.tolist() == [0, 0, 1]


class TestStandardise:
    def test_columns_get_mean_zero_and_deviation_one(self):
        context = np.random.default_rng(0).normal([3.0, -100.0], [2.0, 50.0], size=(200, 2))
        scaled, scaling = kwis.standardise(context)
        np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-14)
        np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-14)
        np.testing.assert_allclose(scaling.mean, context.mean(axis=0), rtol=1e-14)
        np.testing.assert_allclose(scaling.scale, context.std(axis=0), rtol=1e-14)

    def test_the_scaling_applies_to_other_contexts(self):
        context = np.random.default_rng(0).normal(5.0, 2.0, size=(50, 3))
        scaled, scaling = kwis.standardise(context[:40])
        np.testing.assert_array_equal(scaling.apply(context[:40]), scaled)
        np.testing.assert_allclose(
            scaling.apply(context[40:]), (context[40:] - context[:40].mean(axis=0)) / context[:40].std(axis=0)
        )

    def test_constant_columns_become_zero_and_codes_stay(self):
        context = np.column_stack([np.full(7, 0.1), np.arange(7), np.arange(7) % 3])
        scaled, scaling = kwis.standardise(context, categorical=[2])
        assert scaled[:, 0].tolist() == [0.0] * 7
        assert scaling.scale[0] == 1.0
        assert scaled[:, 2].tolist() == context[:, 2].tolist()

    @pytest.mark.parametrize("size", [1e-300, 1e300, 1.7e308])
    def test_huge_and_tiny_numbers_scale_like_any_other(self, size):
        context = np.array([[-1.0], [0.25], [1.0]])
        np.testing.assert_allclose(
            kwis.standardise(context * size)[0], kwis.standardise(context)[0], rtol=1e-12
        )

    @pytest.mark.parametrize("spread", [5e-324, 1e-323, 1e-310, 2e-308])
    def test_a_column_that_varies_by_less_than_any_normal_number_counts_as_constant(self, spread):
        scaled, scaling = kwis.standardise(np.column_stack([[0.0, spread, 0.0], [1.0, 2.0, 3.0]]))
        assert scaling.scale[0] == 1.0
        assert np.abs(scaled[:, 0]).max() < 1e-300
        np.testing.assert_allclose(scaled[:, 1], [-np.sqrt(1.5), 0, np.sqrt(1.5)])

    def test_the_callers_array_stays_as_it_was(self):
        context = np.arange(6.0).reshape(3, 2)
        kwis.standardise(context)
        assert context.tolist() == [[0, 1], [2, 3], [4, 5]]

    def test_errors_are_sentences(self):
        cases = SimpleNamespace(
            nan=lambda: kwis.standardise([[0.0], [np.nan]]),
            width=lambda: kwis.standardise(np.eye(3))[1].apply(np.eye(2)),
            codes=lambda: kwis.standardise([[0.5]], categorical=[0]),
        )
        for call, sentence in (
            (cases.nan, "`context` must be finite, got nan at row 1, column 0"),
            (cases.width, "`context` must have the 3 columns of the contexts scaled before, got 2"),
            (cases.codes, "`context` must hold integer codes in categorical column 0, got 0.5 at row 0"),
        ):
            with pytest.raises(kwis.InputError) as caught:
                call()
            assert str(caught.value) == sentence
