from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kwis import InputError
from kwis_paper.estimates import TestSetEstimates
from kwis_paper.owners import is_alive, this_owner
from kwis_paper.records import CellFacts, StoredBandwidth
from kwis_paper.simulate import Design
from kwis_paper.store import Store

_FACTS = CellFacts(
    key="k1",
    dataset="digits",
    setting="oracle",
    logging="a",
    evaluation="b",
    behaviour="a",
    policy_type="Gibbs",
    published=False,
    n_train=10,
    n_test=5,
    difference=0.1,
    bucket="(0.0, 0.2]",
    truth_published=0.3,
    truth_expected=0.34,
)


def _estimates(value: float) -> TestSetEstimates:
    return TestSetEstimates(
        value=np.array([value, np.pi]), std_error=np.array([0.1, 1e-300]), kernel_average=0.25
    )


def test_what_is_stored_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        store.save_estimates(_FACTS, [("wis", _estimates(1 / 3))])
        store.save_bandwidths(
            [StoredBandwidth(key="k1", kind="shared", value=np.array([np.inf]), score=2 / 3, evaluations=9)]
        )
        store.save_bootstrap("k1", 200, [("wis", np.arange(16, dtype=float).reshape(4, 2, 2) / 7)])
    with Store(tmp_path / "results.sqlite") as store:
        assert list(store.cells()) == [_FACTS]
        (found,) = store.estimates("wis")
        assert found.value.tolist() == [1 / 3, np.pi]
        assert found.std_error.tolist() == [0.1, 1e-300]
        assert found.kernel_average == 0.25
        assert store.bandwidth("k1", "shared").value.tolist() == [np.inf]
        assert store.bandwidths("shared")["k1"].score == 2 / 3
        assert np.array_equal(store.bootstrap_ends("wis")["k1"], np.arange(16).reshape(4, 2, 2) / 7)
        assert store.finished(["wis", "vis"]) == {("k1", "wis")}
        assert store.bootstrapped(200) == {("k1", "wis")}
        assert store.bootstrapped(100) == set()
        assert store.bandwidth("k2", "shared") is None


def test_storing_twice_is_storing_once(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        for _ in range(2):
            store.save_estimates(_FACTS, [("wis", _estimates(0.5)), ("vis", _estimates(0.6))])
        assert len(list(store.cells())) == 1
        assert len(list(store.estimates("wis"))) == 1


def test_a_failure_is_a_row_with_its_error_until_it_succeeds(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        store.save_failure("k1", ["wis"], "ValueError: no")
        assert store.failures() == [("k1", "wis", "ValueError: no")]
        assert store.finished(["wis"]) == set()
        (failed,) = store.estimates("wis")
        assert failed.value is None
        assert failed.error == "ValueError: no"
        store.save_estimates(_FACTS, [("wis", _estimates(0.5))])
        assert store.failures() == []
        assert store.finished(["wis"]) == {("k1", "wis")}


def test_a_write_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        broken = replace(_FACTS, bucket=None)  # type: ignore[arg-type]
        with pytest.raises(sqlite3.IntegrityError):
            store.save_estimates(broken, [("wis", _estimates(0.5))])
        assert list(store.cells()) == []
        assert list(store.estimates("wis")) == []
        store.save_estimates(_FACTS, [("wis", _estimates(0.5))])
        assert len(list(store.cells())) == 1


def test_another_design_or_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with Store(path, Design(test_share=0.5)) as store:
        assert store.design.test_share == 0.5
    with Store(path) as store:
        assert store.design == Design(test_share=0.5)
    with pytest.raises(
        InputError,
        match=r"`results.sqlite` must be used with the design it was begun with, .*0.5.*, got .*0.25",
    ):
        Store(path, Design())
    connection = sqlite3.connect(path)
    connection.execute("update meta set value = json_set(value, '$.version', 99)")
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match=r"`results.sqlite` must hold results of version 1, got version 99"):
        Store(path)


def test_a_damaged_or_foreign_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    broken, foreign, odd = (tmp_path / f"{name}.sqlite" for name in ("broken", "foreign", "odd"))
    broken.write_bytes(b"not a database" * 50)
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("create table mine (a)")
    with Store(odd), closing(sqlite3.connect(odd)) as connection:
        connection.execute("update meta set value = '{}'")
        connection.commit()
    before = broken.read_bytes(), foreign.read_bytes()
    for path in (broken, foreign, odd, tmp_path, broken / "below"):
        with pytest.raises(InputError, match=r"`store` must be a file with results of a run.*name another"):
            Store(path)
    assert (broken.read_bytes(), foreign.read_bytes()) == before


def _claims(path: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(path) as connection:
        return connection.execute("select * from claims").fetchall()


def test_work_of_a_living_run_is_left_to_it_and_free_again_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with Store(path) as one, Store(path) as other:
        with one.claimed("batch") as mine:
            assert mine
            with other.claimed("batch") as theirs:
                assert not theirs
            with other.claimed("next") as free:
                assert free
        with other.claimed("batch") as theirs:
            assert theirs
    assert _claims(path) == []


def test_work_of_a_run_that_died_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    code = (
        "import os, sys; from kwis_paper.store import Store\n"
        "with Store(sys.argv[1]).claimed('batch') as mine: os._exit(0 if mine else 1)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=True)
    assert len(_claims(path)) == 1
    with Store(path) as store, store.claimed("batch") as mine:
        assert mine


def test_a_process_of_the_same_number_started_later_is_another() -> None:
    pid, started, token = this_owner().split("/")
    assert is_alive(f"{pid}/{started}/{token}")
    if started:
        assert not is_alive(f"{pid}/{int(started) - 1}/{token}")


def test_a_store_begun_before_there_was_a_choice_was_trained_once(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        (text,) = connection.execute("select value from meta").fetchone()
        design = json.loads(text)
        del design["training"]
        connection.execute("update meta set value = ?", (json.dumps(design),))
    with Store(path) as store:
        assert store.design.training == "once"
