from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from kwis import InputError
from kwis_paper.catalogue import SPECS, default_faulty
from kwis_paper.datasets import load, verify
from kwis_paper.encoding import MISSING, Levels, Numbers, Table, encode, label_codes


def test_the_bundled_digits_need_no_folder_and_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIS_DATA", "/nowhere")
    digits = load("digits")
    assert digits.context.shape == (1797, 64)
    assert digits.n_actions == 10
    assert digits.source == "scikit-learn"
    assert digits.pixels is not None
    assert digits.pixels.max() == 16


@pytest.mark.parametrize("name", [name for name in SPECS if name != "digits"])
@pytest.mark.usefixtures("data_folder")
def test_every_dataset_of_the_paper_has_its_columns_and_classes(name: str) -> None:
    data, spec = load(name), SPECS[name]
    assert data.context.shape == (spec.rows, spec.columns)
    assert tuple(np.bincount(data.label)) == spec.class_counts
    assert list(data.classes) == sorted(data.classes)
    assert np.isfinite(data.context).all()
    assert np.allclose(data.context.mean(axis=0), 0, atol=1e-9)
    spread = data.context.std(axis=0)
    assert np.all(np.isclose(spread, 1) | (spread == 0))
    assert data.notes == spec.notes


@pytest.mark.usefixtures("data_folder")
def test_the_paper_s_own_column_counts_are_reproduced() -> None:
    printed = {"soybean": 132, "arrhythmia": 279, "kropt": 40}
    assert {name: load(name).context.shape[1] for name in printed} == printed


@pytest.mark.usefixtures("data_folder")
def test_the_missing_rows_of_arrhythmia_are_mentioned() -> None:
    assert any("452" in note and "1,754" in note for note in load("arrhythmia").notes)


@pytest.mark.usefixtures("data_folder")
def test_categorical_datasets_keep_their_integer_codes() -> None:
    kropt = load("kropt")
    assert kropt.levels is not None
    assert kropt.levels.shape == (28056, 6)
    assert [int(column.max()) + 1 for column in kropt.levels.T] == [4, 4, 8, 8, 8, 8]
    # Two boards are equal by codes exactly where their encoded contexts are.
    rows = np.random.default_rng(0).integers(0, kropt.n, (2000, 2))
    same_codes = (kropt.levels[rows[:, 0], 0] == kropt.levels[rows[:, 1], 0]) & (
        kropt.levels[rows[:, 0], 2] == kropt.levels[rows[:, 1], 2]
    )
    column_0, column_2 = slice(0, 4), slice(8, 16)
    gap = np.abs(kropt.context[rows[:, 0]] - kropt.context[rows[:, 1]])
    assert np.array_equal(same_codes, (gap[:, column_0].sum(axis=1) + gap[:, column_2].sum(axis=1)) == 0)
    assert load("arrhythmia").levels is None


def test_missing_is_a_level_and_two_levels_share_a_column() -> None:
    three = Levels.of("three", ["b", None, "a", "b"])
    assert three.levels == ("a", "b", MISSING)
    two = Levels.of("two", ["y", "x", "y", "y"])
    numbers = Numbers("number", np.array([1.0, np.nan, 5.0, 3.0]))
    one = Levels.of("one", ["z"] * 4)
    encoded = encode([three, two, numbers, one])
    assert encoded.shape == (4, 6)
    raw = np.array([[0, 1, 0, 1, 1], [0, 0, 1, 0, 3], [1, 0, 0, 1, 5], [0, 1, 0, 1, 3]], dtype=float)
    assert np.allclose(encoded[:, :5], (raw - raw.mean(axis=0)) / raw.std(axis=0))
    assert np.all(encoded[:, 5] == 0)


def test_labels_are_coded_in_text_order() -> None:
    codes, names = label_codes(["10", "9", "1", "10"])
    assert names == ("1", "10", "9")
    assert codes.tolist() == [1, 2, 0, 1]


def test_a_wrong_shape_or_class_count_is_refused() -> None:
    spec = SPECS["digits"]
    feature = Numbers("x", np.zeros(3))
    with pytest.raises(InputError, match=r"`digits` must have 1797 rows and 64 features, got 3 and 1"):
        verify(spec, Table((feature,), ("0", "1", "2")))
    features = tuple(Numbers(str(column), np.zeros(1797)) for column in range(64))
    with pytest.raises(InputError, match=r"`digits` must have the class counts \(178, .*\), got \(1797,\)"):
        verify(spec, Table(features, ("0",) * 1797))


def test_a_damaged_file_is_refused(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KWIS_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"`KWIS_DATA` must name a folder that holds yeast.parquet, got "):
        load("yeast")
    shutil.copy(data_folder / "soybean.parquet", tmp_path / "yeast.parquet")
    with pytest.raises(InputError, match=r"`yeast.parquet` must have the sha256 checksum 1e18.*, got d6cf"):
        load("yeast")
    manifest = {"datasets": [{"file": "yeast.parquet", "sha256": SPECS["soybean"].sha256}]}
    (tmp_path / "MANIFEST.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"`yeast` must have 1484 rows and 8 features, got 683 and 35"):
        load("yeast")


def test_a_table_of_one_s_own_is_read_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_text("size,colour,y\n1.5,red,b\n,blue,a\n2.5,?,b\n3.5,red,c\n")
    data = load(str(path), label="y")
    assert data.classes == ("a", "b", "c")
    assert data.label.tolist() == [1, 0, 1, 2]
    assert data.context.shape == (4, 4)
    assert data.faulty == ((), (0,), (1,))
    assert data.name.startswith("my#")
    path.write_text(path.read_text() + "1,blue,a\n")
    assert load(str(path), label="y").name != data.name


def test_a_table_of_one_s_own_must_make_sense(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    with pytest.raises(InputError, match=r"`dataset` must be a CSV or Parquet file when a label is given"):
        load(str(path), label="y")
    path.write_text("x,y\n1,a\n2,a\n")
    with pytest.raises(InputError, match=r"`y` must have at least 2 classes, got 1"):
        load(str(path), label="y")
    with pytest.raises(InputError, match=r"`label` must be a column of my.csv \(x, y\), got 'z'"):
        load(str(path), label="z")
    path.write_text("x,y\n1,a\n2\n")
    with pytest.raises(InputError, match=r"`my.csv` must have 2 fields in every row, got 1 at row 1"):
        load(str(path), label="y")
    path.write_text("x,y\n1,a\n2,\n")
    with pytest.raises(InputError, match=r"`y` must have a class in every row, got none at row 1"):
        load(str(path), label="y")
    path.write_text("y\na\nb\n")
    with pytest.raises(InputError, match=r"`my.csv` must have a column beside 'y', got none"):
        load(str(path), label="y")


def test_an_unknown_dataset_is_refused() -> None:
    with pytest.raises(
        InputError,
        match=r"`dataset` must be one of arrhythmia, .* or a table with a label column, got 'iris'",
    ):
        load("iris")


def test_faulty_sets_of_one_s_own_data_follow_the_paper_s_rule() -> None:
    assert default_faulty(5) == SPECS["page-blocks"].faulty
    assert default_faulty(10) == SPECS["optdigits"].faulty
    assert [len(actions) for actions in default_faulty(26)] == [
        len(actions) for actions in SPECS["letter"].faulty
    ]
    assert default_faulty(2) == ((), (0,))
