"""Threads of a service: the process is left as it was, whatever several evaluations do at once."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import sklearn.ensemble  # noqa: F401 - loads the thread pools that are looked at
from threadpoolctl import ThreadpoolController

import kwis
from kwis.data.sample_log import sample_log
from kwis.models.reward import predict_rewards
from kwis.runtime import process

THREADS = 8


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns so often that they meet in the middle of everything."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any], count: int) -> list[Any]:
    barrier = threading.Barrier(THREADS)

    def started(number: int) -> Any:
        if number < THREADS:
            barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, range(count)))


@pytest.mark.usefixtures("hasty")
def test_models_fitted_in_threads_leave_the_filters_of_warnings_alone() -> None:
    log = sample_log(600, rng=0).read(reward="click")
    expected = predict_rewards(log).logged
    before = list(warnings.filters)
    found = at_once(lambda _: predict_rewards(log).logged, 16)
    assert list(warnings.filters) == before
    assert all(np.array_equal(one, expected) for one in found)


def test_kwis_itself_changes_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    log = sample_log(600, rng=0).read(reward="click")
    enter, callers = warnings.catch_warnings.__enter__, []

    def entered(self: Any) -> Any:
        callers.append(sys._getframe(1).f_globals["__name__"])
        return enter(self)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", entered)
    kwis.evaluate(log, ["p_new"], by=["country"])
    assert not [name for name in callers if name.startswith("kwis.")]


def test_libraries_that_change_filters_are_entered_by_one_thread_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = sample_log(600, rng=0).read(reward="click")
    enter, alone = warnings.catch_warnings.__enter__, []

    def entered(self: Any) -> Any:
        alone.append(process.one_at_a_time._is_owned())  # type: ignore[attr-defined]
        return enter(self)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", entered)
    kwis.evaluate(log, ["p_new", "p_bold"], repair="always")
    kwis.estimate_propensities(log)
    assert alone
    assert all(alone)


@pytest.mark.usefixtures("hasty")
def test_limits_of_threads_are_what_they_were_after_many_fits_at_once() -> None:
    log = sample_log(600, rng=0).read(reward="click")
    pools = ThreadpoolController()
    with pools.limit(limits=3):
        before = [pool["num_threads"] for pool in pools.info()]
        at_once(lambda _: predict_rewards(log), 16)
        assert [pool["num_threads"] for pool in pools.info()] == before


def test_warnings_of_a_scanned_log_are_muted_in_one_thread_only() -> None:
    said: list[str] = []

    def elsewhere() -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            process.warn("heard", 2)
        said.extend(str(one.message) for one in caught)

    with process.muted():
        process.warn("not heard", 2)
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
    assert said == ["heard"]


@pytest.mark.slow
def test_a_thousand_evaluations_from_eight_threads_leave_everything_as_it_was() -> None:
    import resource

    log = sample_log(200, rng=0).read(reward="click")
    expected = kwis.evaluate(log, ["p_new"]).to_json()
    pools = ThreadpoolController()
    at_once(lambda _: kwis.evaluate(log, ["p_new"]), 4 * THREADS)
    before = list(warnings.filters), [pool["num_threads"] for pool in pools.info()], threading.active_count()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = at_once(lambda _: hash(kwis.evaluate(log, ["p_new"]).to_json()), 1000)
    assert set(found) == {hash(expected)}
    assert (
        list(warnings.filters),
        [pool["num_threads"] for pool in pools.info()],
        threading.active_count(),
    ) == before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1.2 * memory + 50_000
