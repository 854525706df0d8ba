"""Threads, memory and the arrays of the caller."""

import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import kwis
from kwis.kernel.held_out import Folds
from kwis.runtime import threads
from kwis.runtime.threads import beside, default_threads, each_block, engine, meanwhile, row_blocks
from tests.kernel.samples import CAUCHY, sample


def blas_threads():
    return [library["num_threads"] for library in threads._blas().info()]


def everything(n):
    """Bytes of what the engine computes in all its plans."""
    context, weight, folds = sample((n // 2, n - n // 2), 5)
    codes, many = np.round(context), np.stack([weight**power for power in (0.5, 0.8, 1, 1.3, 2)], axis=1)
    choice = kwis.select_bandwidth(context, weight, folds=folds)
    results = [
        *kwis.cv_score(context, weight, 0.9, folds),
        *kwis.cv_score(context, weight, np.full(5, 1.1), folds),
        *kwis.cv_score(context, weight, np.full(5, 1.1), folds, kernel=CAUCHY),
        *kwis.cv_score(codes, weight, np.full(5, 1.1), folds, categorical=range(5)),
        kwis.kernel_mean(weight, context, bandwidth=0.7),
        kwis.kernel_mean(weight, context, bandwidth=0.7, at=context[::2]),
        choice.value,
        choice.score,
        [found.value for found in kwis.select_bandwidths(context, many, folds=folds)],
    ]
    return [np.asarray(result).tobytes() for result in results]


@pytest.mark.parametrize("n", [300, 900])
def test_results_have_the_same_bits_for_any_number_of_threads(n):
    found = []
    for count in (1, 2, 3):
        with engine(threads=count):
            found.append(everything(n))
    assert found[0] == found[1] == found[2] == everything(n)


def test_results_have_the_same_bits_from_several_threads_at_once():
    expected, found = everything(900), {}

    def work(number):
        found[number] = everything(900)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [found[number] for number in range(3)] == [expected] * 3


def test_blas_has_one_thread_inside_and_its_own_number_afterwards():
    before = blas_threads()
    assert before
    with engine():
        assert set(blas_threads()) == {1}
        with engine(threads=2):
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_blas_is_restored_after_an_error():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), engine():
        each_block(lambda _: 1 // 0, [1, 2, 3])
    assert blas_threads() == before
    assert each_block(lambda block: 2 * block, [1, 2, 3]) == [2, 4, 6]


def test_blas_stays_at_one_thread_until_the_last_python_thread_is_done():
    """Two uses that overlap: the first to enter leaves first, and must not hand its limit back too early, nor
    the second too late.
    """
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = blas_threads()
        entered, leave = threading.Event(), threading.Event()

        def longer():
            with engine():
                entered.set()
                leave.wait(30)

        other = threading.Thread(target=longer)
        with engine():
            other.start()
            assert entered.wait(30)
        assert set(blas_threads()) == {1}
        leave.set()
        other.join()
        assert blas_threads() == before


def test_the_number_of_threads_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("KWIS_THREADS", "3")
    assert default_threads() == 3
    for nonsense in ("", "0", "-2", "many"):
        monkeypatch.setenv("KWIS_THREADS", nonsense)
        assert default_threads() >= 1


def test_blocks_cover_the_rows_in_order_and_keep_their_results_apart():
    assert row_blocks(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    with engine(threads=3):
        assert each_block(lambda rows: rows.start, row_blocks(50, 1)) == list(range(50))
        assert threads._state.pool is not None
    assert threads._state.pool is None


LAYOUTS = {
    "fortran": np.asfortranarray,
    "read-only": lambda array: _frozen(array.copy()),
    "strided": lambda array: np.repeat(array, 2, axis=0)[::2],
    "reversed": lambda array: array[::-1].copy()[::-1],
    "list": lambda array: array.tolist(),
}


def _frozen(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("n", [90, 640])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_layout_of_arrays_does_not_matter(n, layout):
    context, weight, folds = sample((n // 3, n - n // 3), 3, (1,))
    given = layout(context), layout(weight), 0.9, layout(folds)
    score, gradient = kwis.cv_score(*given, categorical=[1])
    expected = kwis.cv_score(context, weight, 0.9, folds, categorical=[1])
    assert score == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])
    got = kwis.kernel_mean(given[1], given[0], bandwidth=[0.5, 1.0, 2.0], at=given[0])
    np.testing.assert_array_equal(
        got, kwis.kernel_mean(weight, context, bandwidth=[0.5, 1.0, 2.0], at=context)
    )
    assert (
        kwis.select_bandwidth(given[0], given[1], folds=given[3]).value
        == kwis.select_bandwidth(context, weight, folds=folds).value
    )


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16, np.float32, bool])
def test_other_kinds_of_numbers_are_taken_as_they_are(kind):
    rng = np.random.default_rng(0)
    context, weight = rng.integers(0, 2, (60, 3)).astype(kind), rng.integers(0, 2, 60).astype(kind)
    folds = (np.arange(60) % 3).astype(np.uint8)
    as_double = context.astype(float), weight.astype(float), 0.9, folds
    assert kwis.cv_score(context, weight, 0.9, folds)[0] == kwis.cv_score(*as_double)[0]
    np.testing.assert_array_equal(
        kwis.kernel_mean(weight, context, bandwidth=1),
        kwis.kernel_mean(as_double[1], as_double[0], bandwidth=1.0),
    )


@pytest.mark.parametrize("n", [90, 640])
def test_no_argument_is_modified(n):
    context, weight, folds = (array.copy() for array in sample((n // 3, n - n // 3), 3, (1,)))
    many, starts, bandwidth = (
        np.stack([weight, weight**2, weight**0.5, weight + 1, 2 * weight], axis=1),
        np.array([0.5, 1.0]),
        np.ones(3),
    )
    arrays = [context, weight, folds, many, starts, bandwidth]
    before = [array.copy() for array in arrays]
    kwis.cv_score(context, weight, bandwidth, folds, categorical=1)
    kwis.kernel_mean(weight, context, bandwidth=bandwidth, categorical=1)
    kwis.kernel_mean(weight, context, bandwidth=bandwidth, at=context, kernel="laplace")
    kwis.select_bandwidth(
        context, weight, folds=folds, starts=starts, per_feature=True, categorical=1, max_evaluations=5
    )
    kwis.select_bandwidths(context, many, folds=folds)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert array.flags.writeable


@pytest.mark.parametrize("kernel", ["rbf", "epanechnikov"])
def test_memory_grows_with_the_rows_not_with_their_pairs(kernel):
    """A matrix of all pairs would take 3,200 MB; numpy's own arrays are what tracemalloc sees."""
    n = 20_000
    context = np.random.default_rng(0).standard_normal((n, 2))
    weight, folds = np.exp(context[:, 0]), np.where(np.arange(n) < 40, 0, 1)
    labels = (
        np.where(np.arange(n) % 100, 1, 0) if kernel == "rbf" else folds
    )  # few pairs suffice where they are slow
    tracemalloc.start()
    try:
        kwis.cv_score(context, weight, 0.5, labels, kernel=kernel)
        kwis.cv_score(context, weight, np.full(2, 0.5), labels, kernel=kernel)
        if kernel == "rbf":
            kwis.kernel_mean(weight, context, bandwidth=0.5)
        kwis.kernel_mean(weight, context, bandwidth=0.5, at=context[:50], kernel=kernel)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 120e6


@pytest.mark.parametrize("folds", [2, 200, 20_000], ids=["halves", "hundreds", "one row each"])
def test_folds_of_any_number_are_cut_into_blocks_without_listing_pairs(folds):
    """20,000 rows: to list which rows predict which, all blocks at once, would take 400 MB and more."""
    labels = np.arange(20_000) % folds
    tracemalloc.start()
    try:
        cut = Folds.of(labels)
        blocks = cut.blocks(26)
        jobs = [cut.job(blocks[number]) for number in (0, -1)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(np.sort(np.concatenate(blocks)), np.arange(20_000))
    assert max(map(len, blocks)) <= 26
    assert peak < 12e6
    for job in jobs:
        rest = (
            [set(job.rest[~shared]) for shared in job.own]
            if job.own is not None
            else [set(job.rest)] * len(job.held_out)
        )
        assert all(
            known == set(np.flatnonzero(labels != labels[row]))
            for row, known in zip(job.held_out[:2], rest[:2], strict=True)
        )


SMALL = """
import sys
import numpy as np
import kwis
rng = np.random.default_rng(0)
context, weight = rng.standard_normal((599, 3)), rng.exponential(size=599)
sample = kwis.WeightedSample(context=context, weight=weight, reward=rng.random(599))
kwis.KernelWIS("cv").estimate(sample)
kwis.KernelWIS(0.5).estimate(sample)
kwis.select_bandwidth(context[:150], weight[:150], per_feature=True, max_evaluations=5)
kwis.select_bandwidths(context, np.stack([weight] * 5, axis=1))
kwis.kernel_mean(weight, context, bandwidth=1.0, at=context[:3])
print(sorted({"numba", "sklearn", "matplotlib", "pandas"} & set(sys.modules)))
"""


def test_small_samples_need_no_compiler():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SMALL], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_done_beside_shares_the_pool_and_its_result_is_waited_for(count):
    begun = threading.Event()

    def work():
        begun.set()
        return each_block(lambda number: number**2, range(5)), threading.get_ident()

    with engine(threads=count), beside(work) as later:
        if count > 1:
            assert begun.wait(timeout=60)  # before anybody asks for it
        found, thread = later()
        assert found == [0, 1, 4, 9, 16]
        assert later() == (found, thread)
        assert (thread == threading.get_ident()) == (count == 1)


def test_an_error_beside_is_raised_where_the_result_is_asked_for():
    def fail():
        raise ValueError("beside")

    for count in (1, 2):
        with engine(threads=count), beside(fail) as later, pytest.raises(ValueError, match="beside"):
            later()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_blocks_go_on_while_other_work_is_done(count):
    begun = threading.Event()

    def work():
        assert count == 1 or begun.wait(timeout=60)
        return sum(each_block(lambda number: number, range(10)))

    def square(number):
        begun.set()
        return number**2

    with engine(threads=count):
        assert meanwhile(work, square, range(40)) == (45, [number**2 for number in range(40)])


@pytest.mark.parametrize("fails", ["work", "blocks"])
@pytest.mark.parametrize("count", [1, 2])
def test_an_error_ends_blocks_and_other_work(fails, count):
    def step(name):
        if name == fails:
            raise IndexError(name)

    with engine(threads=count), pytest.raises(IndexError, match=fails):
        meanwhile(lambda: step("work"), step, ["blocks"] * 9)
