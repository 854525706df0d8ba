from __future__ import annotations

import io
import os
import signal
import sqlite3
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kwis
from kwis import InputError
from kwis.typing import Floats
from kwis_paper import cost, stages
from kwis_paper.catalogue import PAPER_DATASETS
from kwis_paper.datasets import load
from kwis_paper.estimates import PLAIN, SHARED
from kwis_paper.grid import Cell, cells, dataset_cells
from kwis_paper.paper_intervals import ESTIMATORS, METHODS
from kwis_paper.progress import Progress
from kwis_paper.runner import Task, estimator_from, run
from kwis_paper.sample import bandwidth_sample
from kwis_paper.simulate import Design, Experiment, Laboratory
from kwis_paper.status import status
from kwis_paper.store import Store
from kwis_paper.study import cell, cell_of

_TABLES = ("cells", "bandwidths", "estimates", "bootstraps", "curves")


def _contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(path) as connection:
        return {
            table: connection.execute(f"select * from {table} order by 1, 2").fetchall() for table in _TABLES
        }


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small classification table of one's own, with three classes: 6 logging policies, 60 oracle cells."""
    path = tmp_path_factory.mktemp("table") / "my.csv"
    x = np.random.default_rng(0).standard_normal((200, 2))
    lines = ["a,b,y", *(f"{a:.6f},{b:.6f},{'left' if a < 0 else 'right' if b < 0 else 'up'}" for a, b in x)]
    path.write_text("\n".join(lines) + "\n")
    return path


def _task(table: Path, **more: object) -> Task:
    return Task(**{"datasets": (str(table),), "label": "y", "settings": ("oracle",), **more})


def _cells(table: Path) -> list[Cell]:
    data = load(str(table), label="y")
    return list(dataset_cells(data.name, data.faulty, ["oracle"]))


@pytest.fixture(scope="module")
def finished(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "results.sqlite"
    with Store(path) as store:
        summary = run(store, _task(table), io.StringIO())
    assert (summary.finished, summary.skipped, summary.failed) == (60, 0, 0)
    return path


def test_every_cell_has_every_estimator_on_nine_test_sets(finished: Path, table: Path) -> None:
    with Store(finished) as store:
        keys = {facts.key for facts in store.cells()}
        assert keys == {one.key for one in _cells(table)}
        for name in (*PLAIN, *SHARED):
            results = list(store.estimates(name))
            assert {one.key for one in results} == keys
            assert all(one.value.shape == one.std_error.shape == (9,) for one in results)
            assert all(np.isfinite(one.value).all() for one in results)
        assert set(store.bandwidths("shared")) == keys
        assert {facts.dataset.split("#")[0] for facts in store.cells()} == {"my"}


def test_bandwidths_of_a_batch_are_those_chosen_one_by_one(finished: Path, table: Path) -> None:
    laboratory = Laboratory(load(str(table), label="y"))
    with Store(finished) as store:
        chosen = store.bandwidths("shared")
    for one in _cells(table)[::7]:
        alone = kwis.select_bandwidth(
            laboratory.train_context, laboratory.weight(one, 0), folds=laboratory.fold_labels
        )
        assert chosen[one.key].score == pytest.approx(alone.score, rel=1e-6)


def test_running_again_does_nothing(finished: Path, table: Path) -> None:
    before = _contents(finished)
    with Store(finished) as store:
        summary = run(store, _task(table), io.StringIO())
    assert (summary.finished, summary.skipped) == (0, 60)
    assert _contents(finished) == before


def test_one_thread_or_two_give_the_same_bits(finished: Path, table: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite"
    with Store(path) as store:
        run(store, _task(table, threads=1), io.StringIO())
    assert _contents(path) == _contents(finished)


def test_learnt_policies_run_and_leave_their_curves(table: Path, tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        summary = run(store, _task(table, settings=("learnt-oracle", "learnt-non-oracle")), io.StringIO())
        assert (summary.finished, summary.failed) == (64, 0)
        assert {row[1] for row in _contents(store.path)["curves"]} >= {"linear/accuracy", "one-layer/epochs"}


class _Half:
    name = "half"

    def estimate(self, sample: kwis.WeightedSample) -> kwis.Estimate:
        return kwis.Estimate(
            name=self.name,
            value=sample.n / 2,
            std_error=0.0,
            n=sample.n,
            effective_n=1.0,
            influence=np.zeros(sample.n),
        )


def _copy(finished: Path, tmp_path: Path) -> Path:
    path = tmp_path / "copy.sqlite"
    with sqlite3.connect(finished) as source, sqlite3.connect(path) as target:
        source.backup(target)
    return path


def test_an_estimator_from_outside_is_a_column_of_its_own(
    finished: Path, table: Path, tmp_path: Path
) -> None:
    with Store(_copy(finished, tmp_path)) as store:
        summary = run(store, _task(table, extra=(_Half(),)), io.StringIO())
        assert summary.finished == 60
        assert {tuple(one.value) for one in store.estimates("half")} == {(25.0,) * 9}
        after, before = _contents(store.path), _contents(finished)
    assert [row for row in after["estimates"] if row[1] != "half"] == before["estimates"]
    assert after["bandwidths"] == before["bandwidths"]


def test_an_estimator_is_found_by_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("my_estimators")
    module.Half, module.half, module.number = _Half, _Half(), 3  # type: ignore[attr-defined]
    module.Taken = type("Taken", (_Half,), {"name": "wis"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_estimators", module)
    assert estimator_from("my_estimators:Half").name == "half"
    assert estimator_from("my_estimators:half").name == "half"
    for path, sentence in {
        "half": "`estimator` must look like my.module:MyEstimator, got 'half'",
        "my_estimators:Third": (
            "`estimator` must name something that can be imported, got 'my_estimators:Third'"
        ),
        "no_such_module:Half": (
            "`estimator` must name something that can be imported, got 'no_such_module:Half'"
        ),
        "my_estimators:number": (
            r"`estimator` must have a name and a method estimate\(sample\), got "
            r"'my_estimators:number'"
        ),
        "my_estimators:Taken": "`estimator` must have a name of its own, got 'wis'",
    }.items():
        with pytest.raises(InputError, match=sentence):
            estimator_from(path)


def test_the_status_counts_what_is_finished_and_what_failed(
    finished: Path, table: Path, tmp_path: Path
) -> None:
    with Store(_copy(finished, tmp_path)) as store:
        task = _task(table, settings=("oracle", "non-oracle"))
        oracle, non_oracle = status(store, task)
        assert (oracle.total, oracle.finished, oracle.failed) == (60, 60, 0)
        assert (non_oracle.total, non_oracle.finished) == (6 * 5 * 10, 0)
        store.save_failure(_cells(table)[0].key, ["wis"], "ValueError: no")
        assert (status(store, task)[0].finished, status(store, task)[0].failed) == (59, 1)


def test_the_status_of_the_paper_needs_no_data(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        assert sum(part.total for part in status(store, Task(datasets=PAPER_DATASETS))) == 10_340
        assert (
            sum(part.total for part in status(store, Task(datasets=PAPER_DATASETS, left_out=True)))
            == 10_340 + 2432
        )


def test_the_bandwidth_sample_has_every_row_of_the_table_and_every_policy_type() -> None:
    chosen = bandwidth_sample(20)
    counts: dict[tuple[str, str], list[str]] = {}
    for one in cells():
        if one.key in chosen:
            counts.setdefault((one.dataset, one.setting), []).append(one.policy_type)
    assert len(counts) == 17
    assert all(20 <= len(kinds) <= 22 and set(kinds) == {"Gibbs", "IW", "SNIW"} for kinds in counts.values())
    assert chosen <= bandwidth_sample(30)


def test_bootstrap_intervals_can_be_added_later(finished: Path, table: Path, tmp_path: Path) -> None:
    task = _task(table, replicates=10)
    with Store(_copy(finished, tmp_path)) as store:
        assert run(store, task, io.StringIO()).finished == 60
        assert run(store, task, io.StringIO()).skipped == 60
        ends = store.bootstrap_ends("kernel-wis")
        assert len(ends) == 60
        assert all((one[:, 0] <= one[:, 1]).all() for one in ends.values())


def test_a_failed_cell_is_recorded_and_tried_again(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky = _cells(table)[3].key
    sound = Laboratory.experiment

    def experiment(self: Laboratory, one: Cell) -> Experiment:
        if one.key == unlucky:
            raise ZeroDivisionError("out of luck")
        return sound(self, one)

    monkeypatch.setattr(Laboratory, "experiment", experiment)
    with Store(tmp_path / "results.sqlite") as store:
        summary = run(store, _task(table), io.StringIO())
        assert (summary.finished, summary.failed) == (59, 1)
        assert {(key, error) for key, _, error in store.failures()} == {
            (unlucky, "ZeroDivisionError: out of luck")
        }
        monkeypatch.setattr(Laboratory, "experiment", sound)
        summary = run(store, _task(table), io.StringIO())
        assert (summary.finished, summary.skipped, summary.failed) == (1, 59, 0)
        assert store.failures() == []


def test_a_cell_whose_weights_are_not_finite_fails_alone(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky = _cells(table)[0].key
    sound = Laboratory.weight

    def weight(self: Laboratory, one: Cell, number: int) -> Floats:
        values = sound(self, one, number).copy()
        if one.key == unlucky:
            values[7] = np.inf
        return values

    monkeypatch.setattr(Laboratory, "weight", weight)
    with Store(tmp_path / "results.sqlite") as store:
        summary = run(store, _task(table), io.StringIO())
        assert (summary.finished, summary.failed) == (59, 1)
        assert {error for _, _, error in store.failures()} == {
            "ValueError: `weight` must be finite, got inf at row 7"
        }


def test_per_feature_bandwidths_run_on_a_sample_of_cells(finished: Path, table: Path, tmp_path: Path) -> None:
    only = frozenset(one.key for one in _cells(table)[5:8])
    with Store(_copy(finished, tmp_path)) as store:
        for kind in (stages.WARM_KIND, stages.PLAIN_KIND):
            task = _task(table, per_feature=kind, only=only)
            before = set(store.timings())
            assert run(store, task, io.StringIO()).finished == 3
            assert [(stage, count) for _, _, stage, count, *_ in set(store.timings()) - before] == [(kind, 3)]
            assert run(store, task, io.StringIO()).finished == 0
            chosen = store.bandwidths(kind)
            assert set(chosen) == only
            assert all(one.value.shape == (2,) for one in chosen.values())
            assert {one.key for one in store.estimates(stages.estimator_of(kind))} == only
        shared = store.bandwidths("shared")
        assert all(
            store.bandwidths(stages.WARM_KIND)[key].score <= shared[key].score * (1 + 1e-9) for key in only
        )


def test_searches_per_feature_are_part_of_the_time_left(
    finished: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []

    class Counting(Progress):
        def __init__(self, *args: Any, work: float) -> None:
            super().__init__(*args, work=work)
            told.append(work)

        def advance(self, cells: int, label: str, work: float = 0.0) -> None:
            told.append(-work)

    monkeypatch.setattr("kwis_paper.runner.Progress", Counting)
    only = frozenset(one.key for one in _cells(table)[5:8])
    with Store(_copy(finished, tmp_path)) as store:
        run(store, _task(table, per_feature=stages.WARM_KIND, only=only), io.StringIO())
    searches = 3 * cost.searching(200, 2, Design())
    assert told[0] > searches > 0
    assert sum(told) == pytest.approx(0.0, abs=1e-9)


def test_the_arrays_of_a_cell_are_those_the_run_used(tmp_path: Path) -> None:
    chosen = next(one for one in cells(["digits"], ["oracle"]) if one.policy_type == "IW")
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        stored = stages.choose_shared(Laboratory(load("digits")), [chosen]).bandwidths
        store.save_bandwidths(stored)
    studied = cell(chosen.key, store=path)
    assert studied.bandwidth == stored[0].value[0]
    assert studied.context.shape == (450, 64)
    assert studied.weight.shape == studied.reward.shape == (450, 9)
    assert studied.expected == pytest.approx(0.1 + 0.8 * studied.published)
    assert cell(chosen.key).bandwidth == pytest.approx(studied.bandwidth, rel=1e-3)


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(InputError, match="`key` must be that of a cell of the paper's grid, got 'nothing'"):
        cell_of("nothing")


def test_progress_says_how_fast_and_how_long() -> None:
    clock = iter([0.0, 10.0, 40.0]).__next__
    stream = io.StringIO()
    progress = Progress(100, stream, clock)
    progress.advance(10, "digits oracle")
    progress.advance(10, "digits oracle")
    progress.close()
    assert (
        stream.getvalue() == "[######......................] 20/100 cells  0.5/s  2:40 left  digits oracle\n"
    )


def test_time_left_is_told_by_the_work_done_not_by_the_cells() -> None:
    """Bandwidths of a batch take a minute before its first cell is finished: not hours for all the rest."""
    stream, now = io.StringIO(), [0.0]
    progress = Progress(256, stream, lambda: now[0], work=1000.0)
    now[0] = 31.0
    progress.advance(0, "letter oracle", 1.0)
    assert "time left unknown yet" in stream.getvalue()
    now[0] = 62.0
    progress.advance(0, "letter oracle", 399.0)
    assert "0/256 cells  0.0/s  1:33 left  letter oracle" in stream.getvalue()
    now[0] = 93.0
    progress.advance(1, "letter oracle", 200.0)
    assert "1/256 cells  0.0/s  1:02 left  letter oracle" in stream.getvalue()


def test_batches_that_another_run_is_at_are_left_to_it(
    finished: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwis_paper.cost.BATCH", 20)
    path, cells = tmp_path / "shared.sqlite", _cells(table)
    with Store(path) as store, Store(path) as other:
        with other.claimed(cells[20].key):
            summary = run(store, _task(table), io.StringIO())
        assert (summary.finished, summary.elsewhere) == (40, 20)
        assert not {key for key, _ in store.finished(["wis"])} & {one.key for one in cells[20:40]}
        rest = run(other, _task(table), io.StringIO())
        assert (rest.finished, rest.skipped, rest.elsewhere) == (20, 40, 0)
    assert len(_contents(path)["cells"]) == 60


def test_every_cell_has_the_papers_own_intervals(finished: Path) -> None:
    with Store(finished) as store:
        found = {(key, name, method) for key, name, method, _ in store.intervals()}
        keys = {facts.key for facts in store.cells()}
    assert found == {(key, name, method) for key in keys for name in ESTIMATORS for method in METHODS}


_ROWS = 188 * 7  # cells times estimators
_RUN = """
import sys
from kwis_paper.runner import Task, estimator_from, run
from kwis_paper.sample import bandwidth_sample
from kwis_paper.store import Store
with Store(sys.argv[1]) as store:
    run(store, Task(datasets=("digits",), settings=("oracle",)))
"""


def _start(path: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, str(path)], env=environment, stderr=subprocess.DEVNULL
    )


def _stored(path: Path) -> int:
    if not path.exists():
        return 0
    with sqlite3.connect(path, timeout=60) as connection:
        try:
            return int(connection.execute("select count(*) from estimates").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


@pytest.mark.slow
def test_a_run_killed_three_times_and_resumed_has_the_results_of_an_undisturbed_one(tmp_path: Path) -> None:
    undisturbed, killed = tmp_path / "undisturbed.sqlite", tmp_path / "killed.sqlite"
    assert _start(undisturbed).wait(timeout=300) == 0
    assert _stored(undisturbed) == _ROWS
    rng = np.random.default_rng(20)
    seen = 0
    for most in (1, _ROWS // 3, 2 * _ROWS // 3):
        process = _start(killed)
        # The file's growth decides when to strike, then chance: at first while bandwidths are chosen, later
        # between or within cells.
        aim = int(rng.integers(seen, most))
        while process.poll() is None and (_stored(killed) < aim or not killed.exists()):
            time.sleep(0.01)
        time.sleep(float(rng.random()) * 0.05)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        left = _stored(killed)
        assert left >= seen
        assert left % 7 == 0  # seven estimators per cell: no cell is half written
        seen = left
    assert 0 < seen < _ROWS
    assert _start(killed).wait(timeout=300) == 0
    assert _contents(killed) == _contents(undisturbed)
