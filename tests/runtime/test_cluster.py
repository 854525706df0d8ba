"""The same calls on a Dask cluster of two processes, which the tests start and stop themselves."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from pyarrow import parquet

import kwis
from kwis.data.read import collect
from tests.data.read.scanned_logs import table, write

ROWS = 2400
ASKED = {
    "estimators": [kwis.WIS(), kwis.KernelWIS(0.8, normalised=True)],
    "repair": "never",
    "exact": False,  # pairs are sampled only above this many rows, if nobody says so
}


# A worker that dies leaves half-closed connections behind, about which the libraries below us warn.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="2GB", silence_logs=50
    ) as started:
        yield started


@pytest.fixture
def client(cluster):
    with Client(cluster) as connected:
        connected.wait_for_workers(2)
        yield connected


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("cluster") / "log", table(ROWS), [700, 700, 1500])


def evaluated(source, **options):
    return kwis.evaluate(kwis.scan_log(source, context=["age", "cost"]), "p_new", **ASKED, **options)


def same(one, other):
    assert one.to_json() == other.to_json()


def test_a_folder_gives_the_same_answer_as_on_one_machine(client, folder):
    told = []
    answer = evaluated(folder, client=client, progress=lambda *step: told.append(step))
    same(answer, evaluated(folder))
    stages = {what for _, _, what in told}
    assert {"reading the log", "kernel sums"} <= stages
    assert all(done <= total for done, total, _ in told)


def test_a_dask_dataframe_gives_the_same_answer_whatever_its_partitions(client, folder):
    from dask import dataframe

    frame = dataframe.from_pandas(table(ROWS).to_pandas(), npartitions=5, sort=False)
    nothing = frame[frame["age"] > 1e9]  # partitions without rows
    both = dataframe.concat([frame, nothing], interleave_partitions=True)
    here = evaluated(folder)
    for source, where in ((both, client), (frame, None)):
        there = evaluated(source, client=where)
        assert [row.estimate.value for row in there.rows] == [row.estimate.value for row in here.rows]
        assert [row.interval.low for row in there.rows] == [row.interval.low for row in here.rows]


def test_workers_killed_in_the_middle_change_nothing(client, tmp_path):
    folder = write(tmp_path / "log", table(4500), list(range(150, 4500, 150)))
    expected = evaluated(folder)
    killed, told = [], []
    client.wait_for_workers(2)
    # asked before any is killed: a cluster that lacks a worker may not answer
    victims = client.run(os.getpid).values()

    def kill_twice():
        for done_before, victim in zip((8, 24), victims, strict=True):
            while len(told) < done_before:
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)
            killed.append((victim, len(told)))

    killer = threading.Thread(target=kill_twice)
    killer.start()
    answer = evaluated(folder, client=client, progress=lambda *step: told.append(step))
    killer.join()
    assert len({victim for victim, _ in killed}) == 2
    assert all(after < len(told) for _, after in killed)  # there was work left to do
    same(answer, expected)
    client.wait_for_workers(2)


def scarce():
    """Less memory for DuckDB than the log below takes, in the process that calls it."""
    import duckdb

    connect = duckdb.connect

    def connect_with_little(*arguments, **options):
        opened = connect(*arguments, **options)
        opened.execute("SET memory_limit = '80MB'")
        opened.execute("SET threads = 1")
        return opened

    duckdb.connect = connect_with_little


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["good lines", "a table too large for memory"])
def test_what_a_killed_worker_leaves_is_removed_by_the_next(kind, tmp_path):
    place, path = tmp_path / "temporary", tmp_path / "log.jsonl"
    place.mkdir()
    log = table(30_000).to_pydict()
    if kind == "a table too large for memory":
        rng = np.random.default_rng(0)
        log |= {f"more{i}": rng.normal(size=30_000).tolist() for i in range(100)}
    rows = [json.dumps(dict(zip(log, row, strict=True))) for row in zip(*log.values(), strict=True)]
    path.write_text("\n".join([*rows, "no JSON"] if kind == "good lines" else rows))
    sought = "kwis-*/0.jsonl" if kind == "good lines" else "kwis-*/duckdb*"
    left = []
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=50,
            env={"TMPDIR": str(place)},
        ) as alone,
        Client(alone) as connected,
    ):
        (victim,) = connected.run(os.getpid).values()
        if kind == "a table too large for memory":
            connected.run(scarce)

        def kill():
            end = time.monotonic() + 600
            while not left and time.monotonic() < end:
                time.sleep(0.001)
                left.extend(place.glob(sought))
            os.kill(victim, signal.SIGKILL)
            left.extend(place.glob(sought))

        killer = threading.Thread(target=kill)
        killer.start()
        scanned = kwis.scan_log(path, context=["age", "cost"], skip_bad_lines=kind == "good lines")
        answer = kwis.evaluate(scanned, "p_new", estimators=[kwis.WIS()], client=connected)
        killer.join()
        assert len(left) >= 2
        assert left[0] in left[1:]  # it was there when the worker was dead
        assert connected.run(os.getpid) != {victim}
        assert list(place.glob("kwis-*")) == []
    assert ("left out, as not JSON: 1 of 30,001 lines" in answer.notes) is (kind == "good lines")
    assert not [left for left in place.rglob("*") if left.suffix != ".lock" and left.is_file()]


def test_a_corrupt_file_is_named(client, tmp_path):
    folder = write(tmp_path / "log", table(900), [300, 600])
    broken = folder / "part-1.parquet"
    broken.write_bytes(broken.read_bytes()[:-100])
    with pytest.raises(
        kwis.InputError, match=r"must hold files that can be read, and '.*part-1.parquet' cannot"
    ):
        evaluated(folder, client=client)


def test_a_value_that_breaks_a_rule_is_refused_with_its_row_and_file(client, tmp_path):
    folder = write(tmp_path / "log", table(900), [300, 600])
    second = parquet.read_table(folder / "part-1.parquet")
    values = second["propensity"].to_pylist()
    values[7] = 0.0
    parquet.write_table(
        second.set_column(second.column_names.index("propensity"), "propensity", [values]),
        folder / "part-1.parquet",
    )
    with pytest.raises(
        kwis.InputError, match=r"`propensity` must be in \(0, 1\], got 0.0 at row 7 of '.*part-1.parquet'"
    ):
        evaluated(folder, client=client)


def hungry(*_: object) -> None:
    """A task that needs more memory than its worker may have."""
    held = []
    while True:
        held.append(np.ones(1 << 22))
        time.sleep(0.01)


def test_a_worker_out_of_memory_is_said_to_be(folder, monkeypatch):
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.memory.monitor-interval": "50ms",
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit="400MB", silence_logs=50
        ) as small,
        Client(small) as client,
    ):
        monkeypatch.setattr(collect, "_pieces", hungry)
        with pytest.raises(kwis.KwisError, match="lack of memory"):
            evaluated(folder, client=client)


def test_a_scheduler_that_goes_away_is_said_to_have(folder, tmp_path):
    import subprocess
    import sys

    script = (
        "import asyncio, sys\n"
        "from distributed import Scheduler\n"
        "async def main():\n"
        "    async with Scheduler(host='127.0.0.1', port=0, dashboard=False) as s:\n"
        "        print(s.address, flush=True)\n"
        "        await s.finished()\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        address = process.stdout.readline().strip()
        with dask.config.set({"distributed.comm.timeouts.connect": "1s", "distributed.comm.retry.count": 0}):
            client = Client(address, timeout=10)
            # No worker will come: the run waits until the scheduler dies.
            threading.Timer(1.0, process.kill).start()
            with pytest.raises(kwis.KwisError, match=f"the Dask scheduler of {address} went away"):
                evaluated(folder, client=client)
            client.close(timeout=1)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_client_that_is_closed_is_refused(cluster, folder):
    closed = Client(cluster)
    closed.close()
    with pytest.raises(kwis.InputError, match="must be connected to its scheduler, got one that is closed"):
        evaluated(folder, client=closed)


def test_an_encrypted_cluster_is_reached_with_the_certificates_given(folder, tmp_path, monkeypatch):
    from distributed import Security
    from typer.testing import CliRunner

    from kwis.cli.main import app

    security = Security.temporary()
    files = {}
    for name, text in {
        "ca": security.tls_ca_file,
        "cert": security.tls_client_cert,
        "key": security.tls_client_key,
    }.items():
        files[name] = tmp_path / f"{name}.pem"
        files[name].write_text(text)
    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "dashboard_address": ":0",
        "silence_logs": 50,
        "protocol": "tls://",
    }
    with LocalCluster(**options, security=security) as encrypted:
        assert encrypted.scheduler_address.startswith("tls://")
        certificates = [part for name, path in files.items() for part in (f"--tls-{name}", str(path))]
        asked = ["evaluate", str(folder), "--target", "p_new", "--estimator", "wis", "--json"]
        found = CliRunner().invoke(app, [*asked, "--scheduler", encrypted.scheduler_address, *certificates])
        alone = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["rows"] == json.loads(alone.stdout)["rows"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--scheduler", "head:8786"], "`scheduler` must be tcp://host:port or tls://host:port"),
        (["--tls-ca", "ca.pem"], "`tls-ca` must go with `scheduler`"),
        (["--scheduler", "tcp://127.0.0.1:1", "--tls-key", "key.pem"], "must go with a scheduler at tls://"),
        (["--scheduler", "tls://127.0.0.1:1", "--tls-key", "nowhere.pem"], "`tls-key` must be a file"),
        (["--scheduler", "tcp://127.0.0.1:1"], "must be the address of a Dask scheduler that answers"),
    ],
)
def test_scheduler_options_that_cannot_work_are_refused(folder, options, words):
    from typer.testing import CliRunner

    from kwis.cli.main import app

    with dask.config.set({"distributed.comm.timeouts.connect": "300ms"}):
        found = CliRunner().invoke(app, ["evaluate", str(folder), "--target", "p_new", *options])
    assert found.exit_code == 2
    assert words in " ".join(found.stderr.split())
