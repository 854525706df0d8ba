"""Regions have names a person would use, and depend on the context alone."""

from __future__ import annotations

import numpy as np

import kwis
from kwis.checks.regions import regions_of, show_range
from kwis.data.sample_log import sample_log
from tests.checks.logs import simulated


def labels(log, **options):
    return [region.label for region in regions_of(log, **options)]


def log_of(n=400, **columns):
    rng = np.random.default_rng(0)
    table = {**columns, "action": rng.integers(2, size=n), "reward": rng.random(n), "p": np.full(n, 0.5)}
    return kwis.read_log(table, propensity="p", context=list(columns))


def test_the_sample_log_has_the_regions_one_would_name():
    found = labels(sample_log().read())
    assert found[0] == "everywhere"
    assert found[1:6] == ["country = BR", "country = DE", "country = FR", "country = IN", "country = US"]
    assert "device missing" in found
    assert {"member = yes", "member = no"} <= set(found)
    assert sum(label.startswith("age from ") for label in found) == 4
    assert sum(label.startswith("signup from 20") for label in found) == 4
    assert sum(label.startswith("time from 2024-03-") for label in found) == 4


def test_ranges_and_levels_of_a_column_part_the_rows():
    regions = regions_of(sample_log(1000).read())
    for column in ("country", "age", "hour", "time", "device"):
        own = [region for region in regions if region.column == column]
        assert (np.sum([region.rows for region in own], axis=0) <= 1).all()
    ages = [region for region in regions if region.column == "age"]
    assert sum(region.n for region in ages if region.label != "age missing") > 900


def test_few_values_are_levels_and_many_are_ranges():
    rng = np.random.default_rng(1)
    assert labels(log_of(stars=rng.integers(1, 5, 400)))[1:] == [f"stars = {k}" for k in range(1, 5)]
    assert labels(log_of(age=np.arange(400.0)), bins=2)[1:] == ["age from 0 to 199", "age from 200 to 399"]


def test_small_regions_are_left_out():
    rare = np.where(np.arange(400) < 30, "rare", np.where(np.arange(400) < 200, "one", "two")).astype(object)
    assert labels(log_of(kind=rare))[1:] == ["kind = one", "kind = two"]
    assert len(labels(log_of(many=np.array([f"v{i % 100}" for i in range(400)], dtype=object)))) == 1
    assert labels(log_of(10_000, kind=np.where(np.arange(10_000) < 90, "rare", "rest").astype(object)))[
        1:
    ] == ["kind = rest"]


def test_loggers_and_periods_count_as_regions():
    log = simulated(400, logger=np.repeat(["a", "b"], 200).astype(object), time=np.arange(400))
    assert labels(log)[-6:] == [
        "time from 0 to 99",
        "time from 100 to 199",
        "time from 200 to 299",
        "time from 300 to 399",
        "logger = a",
        "logger = b",
    ]


def test_actions_and_rewards_do_not_matter():
    one, other = (
        simulated(500, seed=1),
        simulated(500, seed=1, reward=np.zeros(500), action=np.resize([0, 1, 2], 500)),
    )
    for a, b in zip(regions_of(one), regions_of(other), strict=True):
        assert a.label == b.label
        np.testing.assert_array_equal(a.rows, b.rows)


def test_ends_of_a_range_are_days_minutes_or_numbers():
    day = 86_400
    assert show_range(0.0, 10 * day, dates=True) == ("1970-01-01", "1970-01-11")
    assert show_range(60.0, 3600.0, dates=True) == ("1970-01-01T00:01", "1970-01-01T01:00")
    assert show_range(0.123456, 1e7, dates=False) == ("0.1235", "1e+07")
