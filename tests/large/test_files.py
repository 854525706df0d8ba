"""Files that are broken, empty or unlike each other: the right number, or one sentence that names
the file.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kwis
from kwis.large import kernel_wis
from tests.large.logs import sample, table, write


def estimate(folder):
    return kernel_wis(folder, target="p_new", bandwidth=0.5, block_rows=500).normalised


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "log", table(1800))


def refused(folder, *words):
    with pytest.raises(kwis.InputError) as problem:
        estimate(folder)
    text = str(problem.value)
    assert "\n" not in text
    for word in words:
        assert word in text


def test_a_corrupt_file_is_named(folder):
    broken = folder / "part-1.parquet"
    broken.write_bytes(broken.read_bytes()[:-200])
    refused(folder, "must hold files that can be read", "part-1.parquet")


def test_a_file_with_a_damaged_page_is_named(folder):
    broken = folder / "part-1.parquet"
    content = bytearray(broken.read_bytes())
    content[4:3000] = b"\xff" * 2996
    broken.write_bytes(bytes(content))
    refused(folder, "part-1.parquet")


def test_files_without_rows_count_for_nothing(folder):
    before = estimate(folder)
    parquet.write_table(table(5).slice(0, 0), folder / "part-0a.parquet")
    assert estimate(folder).value == before.value


def test_a_log_without_any_row_is_refused(tmp_path):
    refused(write(tmp_path / "empty", table(5).slice(0, 0), files=1), "at least one row, got 0")


def test_the_order_and_the_exact_types_of_columns_do_not_matter(folder):
    before = estimate(folder)
    second = parquet.read_table(folder / "part-1.parquet")
    changed = second.select(second.column_names[::-1])
    for name, type_ in {
        "reward": pa.int64(),
        "country": pa.large_string(),
        "member": pa.int8(),
        "action": pa.float32(),
    }.items():
        changed = changed.set_column(changed.column_names.index(name), name, changed[name].cast(type_))
    parquet.write_table(changed, folder / "part-1.parquet")
    assert estimate(folder).value == pytest.approx(before.value, rel=1e-12)


def test_text_where_others_have_numbers_is_refused(folder):
    second = parquet.read_table(folder / "part-1.parquet")
    index = second.column_names.index("age")
    parquet.write_table(
        second.set_column(index, "age", second["age"].cast(pa.string())), folder / "part-1.parquet"
    )
    refused(folder, "`age` must be of one type in all files", "text", "part-1.parquet")


def test_a_missing_column_is_refused_with_its_file(folder):
    parquet.write_table(
        parquet.read_table(folder / "part-2.parquet").drop_columns(["p_new"]), folder / "part-2.parquet"
    )
    refused(folder, "`p_new`", "part-2.parquet")


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("propensity", 0.0, "`propensity` must be in (0, 1], got 0.0 at row 17 of"),
        ("p_new", 1.5, "`p_new` must be in [0, 1], got 1.5 at row 17 of"),
        ("reward", float("nan"), "`reward` must be finite, got nan at row 17 of"),
        ("age", float("inf"), "`age` must be finite, got inf at row 17 of"),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused_with_its_row_and_file(folder, column, value, words):
    second = parquet.read_table(folder / "part-1.parquet")
    values = second[column].to_pylist()
    values[17] = value
    parquet.write_table(
        second.set_column(second.column_names.index(column), column, [values]), folder / "part-1.parquet"
    )
    refused(folder, words, "part-1.parquet")


def test_a_rounding_error_past_the_ends_of_a_probability_is_taken_off(tmp_path):
    rounded, exact = (
        write(tmp_path / name, table(900).set_column(7, "p_new", [np.where(np.arange(900) % 2, high, low)]))
        for name, low, high in (("rounded", -1e-10, 1 + 1e-7), ("exact", 0.0, 1.0))
    )
    assert estimate(rounded).value == estimate(exact).value


def test_gaps_are_a_level_of_labels_and_marked_among_numbers(folder):
    second = parquet.read_table(folder / "part-1.parquet")
    for name in ("age", "country"):
        values = second[name].to_pylist()
        values[::7] = [None] * len(values[::7])
        second = second.set_column(second.column_names.index(name), name, [values])
    parquet.write_table(second, folder / "part-1.parquet")
    found = kernel_wis(folder, target="p_new", bandwidth=0.5)
    assert 0 < found.normalised.value < 1
    assert any("gaps filled with the mean" in note and "`age`" in note for note in found.notes)


def test_constant_columns_are_left_out_with_a_note(folder):
    for path in sorted(folder.iterdir()):
        part = parquet.read_table(path)
        parquet.write_table(part.append_column("site", [["shop"] * part.num_rows]), path)
    assert any("`site`" in note for note in kernel_wis(folder, target="p_new", bandwidth=0.5).notes)


def write_arrays(folder, **changed):
    log = sample(300)
    for name in ("context", "weight", "reward"):
        np.save(folder / f"{name}.npy", changed.get(name, getattr(log, name)))
    return folder


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_context_array_with_a_gap_is_refused_with_its_row(tmp_path, value):
    context = sample(300).context.copy()
    context[257, 1] = value
    refused(
        write_arrays(tmp_path, context=context),
        f"`context` must be finite, got {value} at row 257 of the arrays in {str(tmp_path)!r}",
    )


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("context", (300,), "`context` must have shape (n, d), got (300,) in"),
        ("context", (300, 1, 1), "`context` must have shape (n, d), got (300, 1, 1) in"),
        ("weight", (300, 1), "`weight` must have shape (n,), got (300, 1) in"),
        ("reward", (), "`reward` must have shape (n,), got () in"),
    ],
)
def test_arrays_of_another_shape_are_refused(tmp_path, name, shape, words):
    refused(write_arrays(tmp_path, **{name: np.ones(shape)}), words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "`target` must name the column"),
        ({"target": "p_new", "bandwidth": "scott"}, '`bandwidth` must be positive numbers or "cv"'),
        ({"target": "p_new", "neighbours": 3}, "`neighbours` must be a whole number of at least 100"),
        ({"target": "p_new", "client": 5}, "`client` must be a dask.distributed.Client, got int"),
    ],
)
def test_arguments_that_break_a_rule_are_refused(folder, arguments, words):
    with pytest.raises(kwis.InputError, match=words.replace("(", r"\(")):
        kernel_wis(folder, **arguments)


def test_groups_are_refused():
    log = sample(200)
    grouped = kwis.WeightedSample(
        context=log.context, weight=log.weight, reward=log.reward, group=[i // 2 for i in range(200)]
    )
    with pytest.raises(kwis.InputError, match="groups"):
        kernel_wis(grouped, bandwidth=1.0)


def test_csv_files_are_refused(tmp_path):
    (tmp_path / "log.csv").write_text("reward,p_new\n1,0.5\n")
    with pytest.raises(kwis.InputError, match="must be Parquet files"):
        kernel_wis(tmp_path / "log.csv", target="p_new")
