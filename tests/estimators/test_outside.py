"""An estimator from outside of the package has everything: every source of rows, the report, the table, JSON
and the command.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import kwis
from kwis.cli.main import main
from kwis.estimators.registry import all_estimators
from kwis.evaluation.roster import Roster
from tests.estimators.outside import Bare, ClippedMean

N = 300
ROLES = {"reward": "reward", "propensity": "propensity", "context": ["x"]}


@pytest.fixture(scope="module")
def frame():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    x = rng.normal(size=N)
    chance = 0.2 + 0.6 * (x > 0)
    action = rng.random(N) < chance
    new = np.where(action, 0.7, 0.3)
    reward = rng.normal(1 + action * x, 1.0)
    return pandas.DataFrame(
        {
            "x": x,
            "action": np.where(action, "b", "a"),
            "reward": reward,
            "propensity": np.where(action, chance, 1 - chance),
            "new": new,
        }
    )


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    where = tmp_path_factory.mktemp("log") / "parts"
    where.mkdir()
    for number, part in enumerate((frame[:90], frame[90:200], frame[200:])):
        part.to_parquet(where / f"part-{number}.parquet", index=False)
    return where


def evaluated(log, estimators, **options):
    return kwis.evaluate(log, "new", estimators=estimators, repair="never", **options)


@pytest.fixture(scope="module")
def in_memory(frame):
    return evaluated(kwis.read_log(frame, **ROLES), [ClippedMean(), "wis", Bare()])


def rows_of(evaluation):
    rows = [row for row in evaluation.rows if row.target == "new"]
    return {
        row.estimator: (row.estimate.value, row.interval.low, row.interval.high, row.verdict) for row in rows
    }


def assert_same(found, other):
    first, second = rows_of(found), rows_of(other)
    assert list(first) == list(second)
    for name, (value, low, high, verdict) in first.items():
        assert second[name][:3] == pytest.approx((value, low, high), abs=1e-10)
        assert second[name][3] == verdict
    assert found.recommendation().row.estimator == other.recommendation().row.estimator


def test_its_numbers_are_those_of_its_own_formula(frame, in_memory):
    terms = np.minimum(frame["new"] / frame["propensity"], 3.0) * frame["reward"]
    value, low, high, verdict = rows_of(in_memory)["clipped-mean"]
    assert value == pytest.approx(terms.mean())
    assert (high - low) / 2 == pytest.approx(1.96 * terms.std() / np.sqrt(N), rel=0.05)
    assert "clipped weights draw the value towards 0" in verdict.reasons


def test_an_estimator_without_influence_has_a_bootstrap(in_memory):
    assert in_memory.settings.intervals["bare"] == "bootstrap (bca, 1,000 resamples)"
    assert in_memory.settings.intervals["clipped-mean"] == "Student's, from the influence function"


def test_files_give_the_same(folder, in_memory):
    assert_same(in_memory, evaluated(kwis.scan_log(folder, **ROLES), [ClippedMean(), "wis", Bare()]))


def test_a_cluster_gives_the_same(frame, folder, in_memory):
    distributed = pytest.importorskip("distributed")
    from dask import dataframe

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for log in (folder, dataframe.from_pandas(frame, npartitions=3, sort=False)):
            assert_same(
                in_memory,
                evaluated(kwis.scan_log(log, **ROLES), [ClippedMean(), "wis", Bare()], client=client),
            )


def test_report_table_and_json_have_it(in_memory, tmp_path):
    in_memory.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "clipped-mean: mean of reward times a weight of at most the cap." in page
    table = in_memory.to_frame("pandas").set_index("estimator")
    assert "clipped weights draw the value towards 0" in table.loc["clipped-mean", "reasons"]
    assert table.loc["clipped-mean", "value"] == rows_of(in_memory)["clipped-mean"][0]
    settings = json.loads(in_memory.to_json())["settings"]
    assert settings["sentences"]["clipped-mean"] == ClippedMean.sentence
    assert settings["sentences"]["bare"] == ""


def test_the_command_takes_it_by_module_and_object(folder, in_memory, capsys, tmp_path):
    out = tmp_path / "answer.json"
    asked = ["tests.estimators.outside:ClippedMean", "snips"]
    options = [part for name in asked for part in ("--estimator", name)]
    code = main(
        [
            "evaluate",
            str(folder),
            "--context",
            "x",
            "--target",
            "new",
            "--repair",
            "never",
            *options,
            "--json-file",
            str(out),
        ]
    )
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "clipped-mean" in said.out
    rows = {
        row["estimate"]["name"]: row["estimate"]["value"]
        for row in json.loads(out.read_text())["rows"]
        if row["target"] == "new"
    }
    assert rows == pytest.approx({name: rows_of(in_memory)[name][0] for name in ("clipped-mean", "wis")})


@pytest.mark.parametrize("wrong", ["tests.estimators.outside:Missing", "no.such.module:Thing", ":Thing"])
def test_the_command_says_what_it_cannot_import(folder, capsys, wrong):
    assert main(["evaluate", str(folder), "--context", "x", "--target", "new", "--estimator", wrong]) != 0
    assert "package.module:object" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("ips", "vis"),
        ("ipw", "vis"),
        ("snips", "wis"),
        ("snipw", "wis"),
        ("dm", "direct-method"),
        ("dr", "doubly-robust"),
        ("sndr", "doubly-robust-wis"),
    ],
)
def test_names_of_the_field_are_known(alias, name):
    assert list(Roster.of(alias, 0).by_name) == [name]


def test_every_estimator_of_the_package_says_what_it_is_and_has_a_name_of_its_own():
    names = [
        name
        for estimator in all_estimators()
        for name in (estimator.name, *getattr(estimator, "aliases", ()))
    ]
    assert len(set(names)) == len(names)
    assert all(estimator.sentence for estimator in all_estimators())


def test_estimators_of_one_name_are_told_apart_by_what_differs(frame):
    near, far = kwis.KernelWIS(0.5, normalised=True), kwis.KernelWIS(2.0, normalised=True)
    flat = kwis.KernelWIS(0.5, kernel="laplace", normalised=True)
    log = kwis.read_log(frame, **ROLES)
    found = evaluated(log, [near, far, ClippedMean(2.0), ClippedMean(4.0)])
    rows = rows_of(found)
    assert list(rows) == [
        "normalised-kernel-wis (h = 0.5)",
        "normalised-kernel-wis (h = 2.0)",
        "clipped-mean (cap = 2.0)",
        "clipped-mean (cap = 4.0)",
    ]
    alone = [
        rows_of(evaluated(log, [one]))[one.name] for one in (near, far, ClippedMean(2.0), ClippedMean(4.0))
    ]
    assert [row[0] for row in rows.values()] == [row[0] for row in alone]
    assert found.recommendation().row.estimator == "normalised-kernel-wis (h = 0.5)"
    assert found.settings.sentences["normalised-kernel-wis (h = 2.0)"] == near.sentence
    assert list(rows_of(evaluated(log, [near, flat]))) == [
        "normalised-kernel-wis (kernel = rbf)",
        "normalised-kernel-wis (kernel = laplace)",
    ]


def test_several_of_one_name_keep_their_place_among_last_resorts(frame):
    found = evaluated(
        kwis.read_log(frame, **ROLES), [ClippedMean(), "vis", kwis.KernelWIS(0.5), kwis.KernelWIS(2.0)]
    )
    assert found.recommendation().row.estimator == "kernel-wis (h = 0.5)"


def test_the_same_estimator_twice_is_refused(frame):
    with pytest.raises(kwis.InputError, match="different names or settings, got 'kernel-wis' twice"):
        evaluated(kwis.read_log(frame, **ROLES), [kwis.KernelWIS(1.0), kwis.KernelWIS(1.0)])
