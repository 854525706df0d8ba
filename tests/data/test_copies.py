"""Copies of rows are told from decisions of their own that happen to look alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kwis.checks.propensity import propensity_report
from kwis.data.copies import all_different, copies, with_copies_grouped
from kwis.data.log import LoggedBandit
from kwis.data.read.read_log import read_log
from kwis.models.propensity.estimate import estimate_propensities
from kwis.models.propensity.repaired import repair_propensities
from kwis.models.reward import predict_rewards


def log_of(
    n: int = 300,
    seed: int = 0,
    *,
    context: str = "continuous",
    rate: float = 0.4,
    rows: Callable[[np.random.Generator], np.ndarray] | None = None,
    chance: float = 0.7,
    extra: str | None = None,
) -> LoggedBandit:
    """Two actions; contexts that are different in every row, or of a few values, or of users with three rows
    each.
    """
    rng = np.random.default_rng([seed, n])
    x = {
        "continuous": rng.normal(size=n),
        "few": rng.integers(0, 6, n).astype(float),
        "many": rng.integers(0, n // 3, n).astype(float),
        "users": rng.normal(size=n)[np.arange(n) // 3],
    }[context]
    first = rng.random(n) < chance
    columns = {
        "x": x,
        "action": np.where(first, "a", "b"),
        "reward": (rng.random(n) < rate).astype(float),
        "p": np.where(first, chance, 1 - chance),
        "q": np.where(first, 0.25, 0.75),
    }
    if extra == "moment":
        columns["moment"] = rng.uniform(1e5, 2e5, n)
    if extra == "price":
        columns["price"] = np.where(first, 3.5, 7.25)
    picked = np.arange(n) if rows is None else rows(rng)
    return read_log({name: values[picked] for name, values in columns.items()}, context=["x"], propensity="p")


def thrice(rng: np.random.Generator) -> np.ndarray:
    return np.repeat(np.arange(300), 3)


def a_fifth_twice(rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(np.append(np.arange(300), rng.choice(300, 60, replace=False)))


@pytest.mark.parametrize("rate", [0.4, 0.007])
@pytest.mark.parametrize(
    ("context", "rows", "extra"),
    [
        ("continuous", thrice, None),
        ("continuous", a_fifth_twice, None),
        ("users", thrice, None),
        ("many", thrice, None),
        ("few", thrice, "moment"),
    ],
)
def test_copies_are_found_at_any_multiplicity(context, rows, extra, rate):
    for seed in range(5):
        log = log_of(seed=seed, context=context, rows=rows, extra=extra, rate=rate)
        labels = copies(log)
        assert labels is not None
        whole = np.column_stack(
            [column.values for column in log.table.columns.values() if column.kind != "text"]
        )
        order = np.argsort(labels, kind="stable")
        same = np.diff(labels[order]) == 0
        assert (whole[order][1:][same] == whole[order][:-1][same]).all()  # rows of one label are equal
        assert len(np.unique(labels)) == 300


def test_a_fifth_that_is_there_twice_is_found_by_a_column_outside_the_context_too():
    labels = copies(log_of(context="few", rows=a_fifth_twice, extra="moment"))
    assert labels is not None
    assert len(np.unique(labels)) == 300


@pytest.mark.parametrize("chance", [0.5, 0.7, 0.97])
@pytest.mark.parametrize("rate", [0.4, 0.007])
@pytest.mark.parametrize(
    ("context", "extra"),
    [("continuous", None), ("few", None), ("many", None), ("users", None), ("many", "price")],
)
def test_decisions_that_look_alike_are_no_copies(context, extra, rate, chance):
    assert all(
        copies(log_of(seed=seed, context=context, rate=rate, chance=chance, extra=extra)) is None
        for seed in range(20)
    )


def test_a_log_with_copies_has_groups_and_says_so():
    log = with_copies_grouped(log_of(rows=thrice))
    assert log.group_origin == "copies"
    assert log.notes[-1] == (
        "600 of the 900 rows are copies of others (rows occur 3 times each): each counts as one decision; "
        "if copies are decisions of their own, name a column that tells them apart with group="
    )
    assert with_copies_grouped(log) is log
    plain = log_of()
    assert with_copies_grouped(plain) is plain


def test_copies_are_never_split_over_folds():
    log = log_of(rows=thrice)
    for folds in (repair_propensities(log, when="always").folds, predict_rewards(log).folds):
        assert (folds.reshape(300, 3) == folds[::3, None]).all()


def test_right_propensities_of_a_log_three_times_over_are_kept():
    assert all(repair_propensities(log_of(seed=seed, rows=thrice)).kept for seed in range(6))


def test_propensities_are_tested_and_estimated_with_copies_as_one_decision():
    log = log_of(rows=thrice)
    labels = copies(log)
    folds = estimate_propensities(log).folds
    assert all(len(np.unique(folds[labels == label])) == 1 for label in range(20))
    assert propensity_report(log).p_value == propensity_report(with_copies_grouped(log)).p_value


@pytest.mark.parametrize(
    ("values", "different"),
    [
        (np.arange(5_000.0), True),
        (np.append(np.arange(5_000.0), 17.0), False),  # again beyond the first thousand
        (np.append(0.0, -np.arange(3.0)), False),  # zeros of both signs
        (np.append(np.arange(5_000.0), np.nan), True),
        (np.append(np.arange(5_000.0), [np.nan, np.nan]), False),
        (np.arange(5_000), True),
        (np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[us]"), False),  # is not looked into
    ],
)
def test_numbers_that_are_all_different_are_told(values: np.ndarray, different: bool) -> None:
    shuffled = np.random.default_rng(0).permutation(values)
    assert all_different(values) == all_different(shuffled) == different
