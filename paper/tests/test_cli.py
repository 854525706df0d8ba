from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import kwis
from kwis.cli.main import main
from kwis_paper import archive, checkout
from kwis_paper.simulate import Laboratory


class Constant:
    """An estimator from outside the package."""

    name = "constant"

    def estimate(self, sample: kwis.WeightedSample) -> kwis.Estimate:
        return kwis.Estimate(
            name=self.name,
            value=0.25,
            std_error=0.0,
            n=sample.n,
            effective_n=1.0,
            influence=np.zeros(sample.n),
        )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classification table of one's own with three classes: 60 oracle experiments."""
    path = tmp_path_factory.mktemp("table") / "my.csv"
    x = np.random.default_rng(0).standard_normal((120, 2))
    lines = ["a,b,y", *(f"{a:.6f},{b:.6f},{'left' if a < 0 else 'right' if b < 0 else 'up'}" for a, b in x)]
    path.write_text("\n".join(lines) + "\n")
    return path


def _run(table: Path, store: Path, *more: str) -> int:
    return main(
        [
            "paper",
            "run",
            "--dataset",
            str(table),
            "--label",
            "y",
            "--setting",
            "oracle",
            "--store",
            str(store),
            *more,
        ]
    )


@pytest.fixture(scope="module")
def store(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "results.sqlite"
    assert _run(table, path) == 0
    return path


@pytest.fixture
def copy(store: Path, tmp_path: Path) -> Path:
    path = tmp_path / "copy.sqlite"
    with sqlite3.connect(store) as source, sqlite3.connect(path) as target:
        source.backup(target)
    return path


def test_a_run_started_again_has_nothing_to_do(
    table: Path, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(table, copy, "--jobs", "1") == 0
    assert capsys.readouterr().out.startswith("0 experiments run, 60 already there, 0 failed")


def test_bootstrap_per_feature_and_an_estimator_of_ones_own_can_be_added(table: Path, copy: Path) -> None:
    assert _run(table, copy, "--bootstrap", "5", "--estimator", f"{__name__}:Constant") == 0
    assert _run(table, copy, "--per-feature", "plain", "--sample", "3") == 0
    results = archive.load(copy)
    assert results.replicates == 5
    assert {outcome.value for outcome in results.outcomes["constant"].values()} == {0.25}
    assert 3 <= len(results.outcomes["kernel-wis-per-feature-plain"]) <= 6
    assert all(outcome.bootstrap is not None for outcome in results.outcomes["wis"].values())


def test_tables_figures_and_page_are_made_from_a_store_or_from_exported_results_alike(
    store: Path, tmp_path: Path
) -> None:
    assert (
        main(
            [
                "paper",
                "export",
                "--store",
                str(store),
                "--out",
                str(tmp_path / "results"),
                "--made-by",
                "a test",
            ]
        )
        == 0
    )
    for name, source in (("a", store), ("b", tmp_path / "results")):
        assert (
            main(
                [
                    "paper",
                    "tables",
                    "--from",
                    str(source),
                    "--out",
                    str(tmp_path / name / "tables"),
                    "--format",
                    "csv,md",
                ]
            )
            == 0
        )
        assert (
            main(["paper", "figures", "--from", str(source), "--out", str(tmp_path / name / "figures")]) == 0
        )
        page, text = tmp_path / name / "paper.html", tmp_path / name / "expected.md"
        assert (
            main(["paper", "report", "--from", str(source), "--out", str(page), "--expected", str(text)]) == 0
        )
    made = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*"))
    assert len(made) > 60
    assert made == sorted(path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*.*"))
    for path in made:
        if path.suffix in (".md", ".svg") and path.name != "expected.md":
            assert (tmp_path / "a" / path).read_text() == (tmp_path / "b" / path).read_text(), path
    assert "Made by “a test”" in (tmp_path / "b" / "paper.html").read_text(encoding="utf-8")


def test_one_command_makes_everything_from_exported_results_to_the_same_bytes(
    store: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    assert main(["paper", "export", "--store", str(store), "--out", str(results)]) == 0
    made = []
    for name in ("a", "b"):
        docs = tmp_path / name / "docs"
        docs.mkdir(parents=True)
        (docs / "paper.md").write_text(f"{checkout.BEGIN}\n{checkout.END}\n")
        asked = ["--from", str(results), "--out", str(tmp_path / name), "--checkout", str(tmp_path / name)]
        assert main(["paper", "rebuild", *asked]) == 0
        files = [path for path in (tmp_path / name).rglob("*") if path.is_file()]
        made.append({path.relative_to(tmp_path / name): path.read_bytes() for path in files})
    assert made[0] == made[1]
    assert {path.parts[0] for path in made[0]} == {"docs", "figures", "tables", "paper.html", "expected.md"}
    assert len(made[0]) > 60


def test_status_counts_what_is_there(table: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "status", "--dataset", str(table), "--label", "y", "--store", str(store)]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[-3:] for line in shown.splitlines() if " oracle" in line] == [["60", "60", "0"]]
    assert main(["paper", "status", "--dataset", "digits", "--setting", "oracle", "--store", str(store)]) == 0
    assert "188" in capsys.readouterr().out


def test_a_failed_experiment_makes_the_command_fail(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: Laboratory, cell: object) -> object:
        raise ZeroDivisionError("out of luck")

    monkeypatch.setattr(Laboratory, "experiment", broken)
    store = tmp_path / "results.sqlite"
    assert _run(table, store) == 1
    assert "error: 60 experiments failed" in capsys.readouterr().err
    assert main(["paper", "status", "--dataset", str(table), "--label", "y", "--store", str(store)]) == 1
    assert "ZeroDivisionError: out of luck" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "--dataset", "nonsense"], "`dataset` must be one of arrhythmia"),
        (["run", "--dataset", "digits", "--setting", "nonsense"], "`setting` must be one of oracle"),
        (
            ["run", "--dataset", "digits", "--per-feature", "hot"],
            "`per-feature` must be warm or plain, got 'hot'",
        ),
        (
            ["run", "--dataset", "digits", "--estimator", "nothing"],
            "`estimator` must look like my.module:MyEstimator",
        ),
        (
            ["run", "--dataset", "digits", "--setting", "continuous"],
            "`setting` must be one that the dataset is used in (digits in oracle, non-oracle",
        ),
        (["run", "--rule", "nearness"], "`rule` must be closeness or distance, got 'nearness'"),
        (["run", "--noise", "none"], "`noise` must be flip or lost, got 'none'"),
        (["run", "--training", "never"], "`training` must be per-log or once, got 'never'"),
        (["run", "--test-share", "1.5"], "`test-share` must be between 0 and 1, got 1.5"),
        (["setups", "--dataset", "yeast"], "`dataset` must be among pendigits, page-blocks"),
        (["status", "--store", "nothing.sqlite"], "`store` must be a file with results"),
        (["tables"], "`from` must name a store or a folder of results"),
        (["tables", "--from", "nothing"], "`store` must be a file with results"),
        (["report", "--from", "nothing"], "`store` must be a file with results"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["paper", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error: {sentence}")
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["paper", "tables", "--from", str(store), "--out", str(tmp_path / "t"), "--format", "docx"]) == 2
    )
    assert "`format` must be among csv, md, tex, got 'docx'" in capsys.readouterr().err


def test_the_design_is_that_of_the_options_and_kept_by_the_store(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "once.sqlite"
    assert _run(table, path, "--training", "once", "--test-share", "0.5", "--rule", "closeness") == 0
    design = archive.load(path).design
    assert (design.training, design.test_share, design.rule, design.noise) == (
        "once",
        0.5,
        "closeness",
        "flip",
    )
    assert _run(table, path) == 0
    assert "0 experiments run, 60 already there" in capsys.readouterr().out
    assert _run(table, path, "--training", "per-log") == 2


def test_results_of_another_design_lie_beside_and_are_read_with_the_main_ones(
    store: Path, table: Path, tmp_path: Path
) -> None:
    other = tmp_path / "half.sqlite"
    assert _run(table, other, "--test-share", "0.5") == 0
    folder = tmp_path / "results"
    assert main(["paper", "export", "--store", str(store), "--out", str(folder)]) == 0
    assert main(["paper", "export", "--store", str(other), "--out", str(folder / "half")]) == 0
    found = archive.read(folder)
    assert found.others["half"].design.test_share == 0.5
    assert found.design.test_share == 0.25
