"""Every sentence of the bandwidth functions, through their public names."""

import numpy as np
import pytest

import kwis

CONTEXT = np.arange(24.0).reshape(12, 2) % 7
WEIGHT = np.arange(1.0, 13.0)
FOLDS = np.arange(12) % 3
RAGGED = [[1.0], [1.0, 2.0]]

DOORS = {
    "kernel_mean": lambda **given: kwis.kernel_mean(
        **{"weight": WEIGHT, "context": CONTEXT, "bandwidth": 1.0} | given
    ),
    "cv_score": lambda **given: kwis.cv_score(
        **{"context": CONTEXT, "weight": WEIGHT, "bandwidth": 1.0, "folds": FOLDS} | given
    ),
    "select_bandwidth": lambda **given: kwis.select_bandwidth(
        **{"context": CONTEXT, "weight": WEIGHT} | given
    ),
    "select_bandwidths": lambda **given: kwis.select_bandwidths(
        **{"context": CONTEXT, "weights": WEIGHT[:, None]} | given
    ),
}
ALL = tuple(DOORS)
SCORED = ("kernel_mean", "cv_score")
SELECTING = ("select_bandwidth", "select_bandwidths")
ONE_WEIGHT = ("kernel_mean", "cv_score", "select_bandwidth")
NOT_NEGATIVE = ("cv_score", "select_bandwidth")


def with_entry(array, where, value):
    changed = array.astype(type(value) if isinstance(value, complex) else float)
    changed[where] = value
    return changed


REFUSED = [
    (ALL, "context", np.empty((0, 2)), "`context` must have at least one row, got 0"),
    (ALL, "context", np.empty((12, 0)), "`context` must have at least one column, got 0"),
    (ALL, "context", WEIGHT, "`context` must have shape (n, d), got (12,)"),
    (
        ALL,
        "context",
        with_entry(CONTEXT, (5, 1), np.nan),
        "`context` must be finite, got nan at row 5, column 1",
    ),
    (
        ALL,
        "context",
        with_entry(CONTEXT, (2, 0), -np.inf),
        "`context` must be finite, got -inf at row 2, column 0",
    ),
    (ALL, "context", CONTEXT.astype(object), "`context` must hold real numbers, got an array of type object"),
    (
        ALL,
        "context",
        with_entry(CONTEXT, (0, 0), 1j),
        "`context` must hold real numbers, got an array of type complex128",
    ),
    (ALL, "context", [["a"]] * 12, "`context` must hold real numbers, got an array of type <U1"),
    (ALL, "context", RAGGED, "`context` must be an array, got rows of different lengths"),
    (
        ONE_WEIGHT,
        "weight",
        WEIGHT[:7],
        "`weight` must have one entry per row of `context`, got 7 for 12 rows",
    ),
    (ONE_WEIGHT, "weight", CONTEXT, "`weight` must have shape (n,), got (12, 2)"),
    (ONE_WEIGHT, "weight", [], "`weight` must have one entry per row of `context`, got 0 for 12 rows"),
    (ONE_WEIGHT, "weight", with_entry(WEIGHT, 3, np.nan), "`weight` must be finite, got nan at row 3"),
    (ONE_WEIGHT, "weight", with_entry(WEIGHT, 11, np.inf), "`weight` must be finite, got inf at row 11"),
    (
        ONE_WEIGHT,
        "weight",
        WEIGHT.astype(object),
        "`weight` must hold real numbers, got an array of type object",
    ),
    (ONE_WEIGHT, "weight", WEIGHT * 1j, "`weight` must hold real numbers, got an array of type complex128"),
    (NOT_NEGATIVE, "weight", with_entry(WEIGHT, 4, -0.5), "`weight` must not be negative, got -0.5 at row 4"),
    (("select_bandwidths",), "weights", WEIGHT, "`weights` must have shape (n, E), got (12,)"),
    (
        ("select_bandwidths",),
        "weights",
        np.ones((5, 2)),
        "`weights` must have one entry per row of `context`, got 5 for 12 rows",
    ),
    (("select_bandwidths",), "weights", np.ones((12, 0)), "`weights` must have at least one column, got 0"),
    (
        ("select_bandwidths",),
        "weights",
        with_entry(np.ones((12, 3)), (6, 2), -2.0),
        "`weights` must not be negative, got -2.0 at row 6, column 2",
    ),
    (
        ("select_bandwidths",),
        "weights",
        with_entry(np.ones((12, 3)), (6, 2), np.nan),
        "`weights` must be finite, got nan at row 6, column 2",
    ),
    (SCORED, "bandwidth", 0, "`bandwidth` must be positive, got 0.0"),
    (SCORED, "bandwidth", -1.5, "`bandwidth` must be positive, got -1.5"),
    (SCORED, "bandwidth", np.nan, "`bandwidth` must be positive, got nan"),
    (SCORED, "bandwidth", -np.inf, "`bandwidth` must be positive, got -inf"),
    (SCORED, "bandwidth", [1.0, 0.0], "`bandwidth` must be positive, got 0.0 for feature 1"),
    (SCORED, "bandwidth", [np.nan, 1.0], "`bandwidth` must be positive, got nan for feature 0"),
    (
        SCORED,
        "bandwidth",
        [1.0, 1.0, 1.0],
        "`bandwidth` must be one number or one per feature (2), got shape (3,)",
    ),
    (
        SCORED,
        "bandwidth",
        [[1.0, 1.0]],
        "`bandwidth` must be one number or one per feature (2), got shape (1, 2)",
    ),
    (SCORED, "bandwidth", "cv", "`bandwidth` must be a positive number or 2 of them, got 'cv'"),
    (SCORED, "bandwidth", None, "`bandwidth` must be a positive number or 2 of them, got None"),
    (SCORED, "bandwidth", 1j, "`bandwidth` must be a positive number or 2 of them, got 1j"),
    (
        ALL,
        "kernel",
        "gauss",
        (
            "`kernel` must be a kwis.Kernel or one of rbf, laplace, matern32, matern52, epanechnikov, got "
            "'gauss'"
        ),
    ),
    (ALL, "categorical", 2, "`categorical` must list columns from 0 to 1, got 2"),
    (ALL, "categorical", [-1], "`categorical` must list columns from 0 to 1, got -1"),
    (ALL, "categorical", [0.0], "`categorical` must list columns from 0 to 1, got 0.0"),
    (ALL, "categorical", [True], "`categorical` must list columns from 0 to 1, got True"),
    (ALL, "categorical", None, "`categorical` must list columns from 0 to 1, got None"),
    (("kernel_mean",), "at", [[1.0]], "`at` must have as many columns as `context`, got 1 and 2"),
    (("kernel_mean",), "at", np.empty((0, 2)), "`at` must have at least one row, got 0"),
    (("kernel_mean",), "at", [[1.0, np.nan]], "`at` must be finite, got nan at row 0, column 1"),
    (("cv_score",), "folds", 3, "`folds` must be integer labels of shape (n,), got int64 of shape ()"),
    (
        ("cv_score",),
        "folds",
        FOLDS * 1.0,
        "`folds` must be integer labels of shape (n,), got float64 of shape (12,)",
    ),
    (
        SELECTING,
        "folds",
        FOLDS * 1.0,
        "`folds` must be a number of folds or integer labels of shape (n,), got float64 of shape (12,)",
    ),
    (
        ("cv_score", *SELECTING),
        "folds",
        FOLDS[:9],
        "`folds` must have one entry per row of `context`, got 9 for 12 rows",
    ),
    (("cv_score", *SELECTING), "folds", 0 * FOLDS, "`folds` must have at least 2 different labels, got 1"),
    (("cv_score", *SELECTING), "folds", RAGGED, "`folds` must be an array, got rows of different lengths"),
    (SELECTING, "folds", 13, "`folds` must not exceed the number of rows, got 13 folds for 12 rows"),
    (SELECTING, "folds", 1, "`folds` must be a whole number of at least 2, got 1"),
    (SELECTING, "folds", 2.5, "`folds` must be a whole number of at least 2, got 2.5"),
    (SELECTING, "folds", "5", "`folds` must be a whole number of at least 2, got '5'"),
    (SELECTING, "group", [0, 1], "`group` must have one entry per row, got 2 for 12 rows"),
    (SELECTING, "group", FOLDS, "`folds` must not exceed the number of groups, got 5 folds for 3 groups"),
    (SELECTING, "rng", "seed", "`rng` must be a seed of at least 0 or a numpy Generator, got 'seed'"),
    (SELECTING, "max_evaluations", 0, "`max_evaluations` must be a whole number of at least 1, got 0"),
    (("select_bandwidth",), "starts", 1.0, "`starts` must have shape (m,), got ()"),
    (("select_bandwidth",), "starts", np.nan, "`starts` must have shape (m,), got ()"),
    (("select_bandwidth",), "starts", [], "`starts` must have shape (m,), got (0,)"),
    (("select_bandwidth",), "starts", [[1.0, 2.0]], "`starts` must have shape (m,), got (1, 2)"),
    (("select_bandwidth",), "starts", [1.0, 0.0], "`starts` must be positive, got 0.0"),
    (("select_bandwidth",), "starts", [1.0, np.inf], "`starts` must be finite, got inf at row 1"),
]


@pytest.mark.parametrize(
    ("door", "argument", "value", "sentence"),
    [(door, *rest) for doors, *rest in REFUSED for door in doors],
    ids=lambda value: value if isinstance(value, str) and value in (*ALL, "weight", "context") else "",
)
def test_what_cannot_be_is_refused_in_one_sentence(door, argument, value, sentence):
    with pytest.raises(kwis.InputError) as caught:
        DOORS[door](**{argument: value})
    assert str(caught.value) == sentence
    assert isinstance(caught.value, ValueError)


def test_starts_of_the_wrong_width_are_refused():
    with pytest.raises(kwis.InputError) as caught:
        kwis.select_bandwidth(CONTEXT, WEIGHT, per_feature=True, starts=[[1.0, 2.0, 3.0]])
    assert str(caught.value) == "`starts` must have shape (m,) or (m, 2), got (1, 3)"


def test_codes_must_be_whole_numbers():
    context = with_entry(CONTEXT, (3, 1), 0.5)
    with pytest.raises(kwis.InputError) as caught:
        kwis.cv_score(context, WEIGHT, 1.0, FOLDS, categorical=1)
    assert str(caught.value) == "`context` must hold integer codes in categorical column 1, got 0.5 at row 3"
    with pytest.raises(kwis.InputError) as caught:
        kwis.kernel_mean(WEIGHT, CONTEXT, bandwidth=1.0, at=[[0.0, 0.25]], categorical=1)
    assert str(caught.value) == "`at` must hold integer codes in categorical column 1, got 0.25 at row 0"


def test_what_is_fine_is_not_refused():
    assert np.isfinite(kwis.kernel_mean([2.0], [[1.0]], bandwidth=1.0)).all()  # one row
    assert kwis.select_bandwidth([[0.0], [1.0]], [1.0, 2.0], folds=2).value == np.inf
    assert kwis.select_bandwidth(CONTEXT, 0 * WEIGHT).score == 0  # all weights zero
    assert (
        kwis.cv_score(CONTEXT, WEIGHT, np.float32(1.0), FOLDS.astype(np.uint8) * 7)[0]
        == kwis.cv_score(CONTEXT, WEIGHT, 1, FOLDS)[0]
    )
