"""The record of a log."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import kwis
from kwis.data.log import LoggedBandit
from kwis.data.sample_log import sample_log
from kwis.errors import InputError


@pytest.fixture(scope="module")
def log() -> LoggedBandit:
    return sample_log(600, rng=1).read()


def test_take_picks_rows_of_everything_and_keeps_codes_and_scaling(log: LoggedBandit) -> None:
    rows = np.array([5, 3, 3, 500])
    part = log.take(rows)
    assert len(part) == 4
    for name in ("action", "reward", "propensity", "context", "group", "time"):
        np.testing.assert_array_equal(getattr(part, name), getattr(log, name)[rows])
    np.testing.assert_array_equal(part.rows, rows)
    np.testing.assert_array_equal(part.take([3, 0]).rows, [500, 5])
    assert part.action_names == log.action_names
    assert part["country"].tolist() == log["country"][rows].tolist()
    np.testing.assert_array_equal(
        log.take(log["country"] == "BR").rows, np.flatnonzero(log["country"] == "BR")
    )


def test_the_record_and_its_arrays_cannot_be_changed(log: LoggedBandit) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        log.action = log.action  # type: ignore[misc]
    for name in ("action", "reward", "propensity", "context", "group", "time"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(log, name)[0] = 0


def test_the_text_of_a_log_says_what_it_holds(log: LoggedBandit) -> None:
    text = repr(log)
    assert text.splitlines()[0] == "LoggedBandit: 600 decisions among 3 actions (banner, email, push)"
    assert "click (mean 0." in text
    assert "propensity  logged, column `propensity`, of the action taken" in text
    assert "country, device, age, age missing, member, signup, hour" in text
    assert "group, time" in text


def test_context_can_lose_the_columns_of_a_target(log: LoggedBandit) -> None:
    less = log.without_context(["age", "p_new"])
    assert "age" not in less.feature_names
    assert "age missing" not in less.feature_names
    assert less.notes[-1] == "not part of the context: `age`"
    coin, age = [0, 1] * 30, [20, 31, 40] * 20
    table = {"age": age, "old": age[::-1], "action": coin, "reward": coin[::-1]}
    unnamed = kwis.read_log(table, propensity=0.5)
    assert unnamed.without_context(["old"]).notes[0].endswith("every other column: age")
    assert less["age"].shape == (600,)
    assert log.without_context(["p_new"]) is log


def test_propensities_can_be_replaced_with_a_note(log: LoggedBandit) -> None:
    even = np.full((600, 3), 1 / 3)
    new = log.with_propensity(even, "all alike", origin="repaired")
    assert new.propensity is not None
    assert (new.propensity == 1 / 3).all()
    assert new.notes[-1] == "all alike"
    assert "propensity  repaired, column `propensity`, of all actions" in repr(new)
    with pytest.raises(InputError, match=r"^`distribution` must have shape \(600, 3\), got \(600, 2\)$"):
        log.with_propensity(even[:, :2], "")


def test_asking_for_a_raw_column_that_is_not_there_names_the_nearest(log: LoggedBandit) -> None:
    with pytest.raises(InputError, match=r"got 'cuntry'; did you mean 'country'\?$"):
        log["cuntry"]


def test_raw_columns_come_back_as_given(log: LoggedBandit) -> None:
    table = sample_log(600, rng=1).table
    for name, values in table.items():
        back = log[name]
        assert back.tolist() == values.tolist() or np.array_equal(back, values, equal_nan=True), name
