"""Files that are broken, empty or different from the others: the right number, or one sentence that names the
file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kwis
from kwis import evaluate, scan_log
from kwis.errors import InputError, UnsupportedError
from kwis.policy.target import resolve_targets
from tests.data.read.scanned_logs import columns, table, write

N = 900
QUICK: dict[str, Any] = {"estimators": ["wis", "state-wis"], "repair": "never"}


def estimate(source: Any, target: Any = "p_new", **roles: Any) -> float:
    scanned = scan_log(source, **{"context": ["age", "country"], **roles})
    answer = evaluate(scanned, target, **QUICK)
    return answer.rows[1].estimate.value + answer.rows[2].estimate.value


def refused(sentence: str, source: Any, target: Any = "p_new", **roles: Any) -> None:
    with pytest.raises((InputError, UnsupportedError)) as caught:
        estimate(source, target, **roles)
    assert str(caught.value) == sentence
    assert "\n" not in str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "log", table(N), [300, 600])


@pytest.fixture(scope="module")
def expected() -> float:
    return estimate(table(N))


def rewrite(path: Path, **changed: Any) -> None:
    """Replace columns of a file; None takes one away."""
    whole = parquet.read_table(path)
    for name, values in changed.items():
        place = whole.column_names.index(name)
        whole = (
            whole.remove_column(place)
            if values is None
            else whole.set_column(place, name, values(whole.column(name)))
        )
    parquet.write_table(whole, path)


def test_the_folder_as_it_is_gives_the_expected_number(folder: Path, expected: float) -> None:
    assert estimate(folder) == pytest.approx(expected, rel=1e-13)


def test_a_corrupt_file_is_named(folder: Path) -> None:
    path = folder / "part-1.parquet"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(
        InputError,
        match=r"^`source` must hold files that can be read, and '[^']*part-1.parquet' cannot: [^\n]*$",
    ):
        scan_log(folder)


def test_a_file_that_goes_bad_within_is_named(folder: Path) -> None:
    path = folder / "part-2.parquet"
    data = bytearray(path.read_bytes())
    data[4:2000] = bytes(1996)
    path.write_bytes(bytes(data))
    with pytest.raises(
        InputError,
        match=r"^`source` must hold files that can be read, and '[^']*part-2.parquet' cannot: [^\n]*$",
    ):
        estimate(folder)


def test_a_file_that_vanishes_after_the_scan_is_named(folder: Path) -> None:
    scanned = scan_log(folder, context=["age"])
    (folder / "part-1.parquet").unlink()
    with pytest.raises(
        InputError,
        match=r"^`source` must hold files that can be read, and '[^']*part-1.parquet' cannot: [^\n]*$",
    ):
        evaluate(scanned, "p_new", **QUICK)


def test_an_empty_file_is_named(folder: Path) -> None:
    (folder / "part-3.parquet").touch()
    refused(f"`source` must have rows, and {str(folder / 'part-3.parquet')!r} is empty", folder)


def test_a_file_without_rows_changes_nothing(folder: Path, expected: float) -> None:
    parquet.write_table(table(N).slice(0, 0), folder / "part-0b.parquet")
    assert estimate(folder) == pytest.approx(expected, rel=1e-13)


def test_a_folder_without_any_row_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "none", table(N).slice(0, 0), [])
    refused("`source` must have rows, got none", tmp_path / "none")


def test_a_file_listed_twice_is_refused(folder: Path) -> None:
    first = folder / "part-0.parquet"
    refused(f"`source` must name every file once, got {str(first)!r} 2 times", [folder, first])


def test_another_order_of_columns_changes_nothing(folder: Path, expected: float) -> None:
    path = folder / "part-1.parquet"
    whole = parquet.read_table(path)
    parquet.write_table(whole.select(whole.column_names[::-1]), path)
    assert estimate(folder) == pytest.approx(expected, rel=1e-13)


def test_other_types_of_the_same_kind_change_nothing(folder: Path, expected: float) -> None:
    path = folder / "part-1.parquet"
    rewrite(
        path,
        reward=lambda c: c.cast(pa.int8()),
        age=lambda c: c.cast(pa.int64()),
        country=lambda c: c.dictionary_encode(),
    )
    rewrite(
        folder / "part-2.parquet",
        action=lambda c: c.cast(pa.large_string()),
        age=lambda c: c.cast(pa.float32()),
    )
    assert estimate(folder) == pytest.approx(expected, rel=1e-13)


def test_another_kind_of_column_is_refused_with_both_files(folder: Path) -> None:
    rewrite(folder / "part-1.parquet", age=lambda c: c.cast(pa.string()))
    first, second = (str(folder / f"part-{i}.parquet") for i in range(2))
    refused(f"`age` must be of one type in all files, got text in {second!r} and number in {first!r}", folder)


def test_a_missing_column_is_refused_with_its_file(folder: Path) -> None:
    path = folder / "part-2.parquet"
    rewrite(path, reward=None)
    refused(f"column `reward` is missing from file {str(path)!r}", folder)


def test_a_column_that_is_not_needed_may_be_missing(folder: Path, expected: float) -> None:
    rewrite(folder / "part-2.parquet", cost=None)
    assert estimate(folder) == pytest.approx(expected, rel=1e-13)


def put(row: int, value: Any) -> Any:
    return lambda c: pa.array([*c.to_pylist()[:row], value, *c.to_pylist()[row + 1 :]], type=c.type)


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("propensity", 0.0, "`propensity` must be in (0, 1], got 0.0"),
        ("propensity", 1.5, "`propensity` must be in (0, 1], got 1.5"),
        ("p_new", -0.2, "`p_new` (target) must be in [0, 1], got -0.2"),
        ("action", None, "`action` must have a label in every row, got none"),
    ],
)
def test_a_bad_value_is_refused_with_its_row_and_file(
    folder: Path, column: str, value: Any, sentence: str
) -> None:
    path = folder / "part-1.parquet"
    rewrite(path, **{column: put(17, value)})
    query = "SELECT * FROM log WHERE action IS NOT NULL"
    remedy = f"; to leave out such rows pass query={query!r}" if column == "action" else ""
    refused(f"{sentence} at row 17 of {str(path)!r}{remedy}", folder)


def test_a_missing_reward_is_refused_with_its_row_and_file_and_what_to_do(folder: Path) -> None:
    path = folder / "part-1.parquet"
    rewrite(path, reward=put(17, None))
    advice = "drop_missing=True leaves out rows without a reward"
    refused(f"`reward` must be finite, got nan at row 17 of {str(path)!r}; {advice}", folder)


def test_thinning_groups_and_keys_are_checked_too(folder: Path) -> None:
    path = folder / "part-1.parquet"
    rewrite(path, thinned=put(5, -1.0), pick=put(6, None), p_new_left=put(7, 0.9999))
    refused(
        f"`thinned` (row_weight) must be positive, got -1.0 at row 5 of {str(path)!r}",
        folder,
        row_weight="thinned",
    )
    remedy = "to leave out such rows pass query='SELECT * FROM log WHERE pick IS NOT NULL'"
    refused(
        f"`pick` (group) must have a label in every row, got none at row 6 of {str(path)!r}; {remedy}",
        folder,
        group="pick",
    )
    refused(
        f"`pick` (target) must name an action in every row, got none at row 6 of {str(path)!r}",
        folder,
        kwis.chosen("pick"),
    )
    with pytest.raises(
        InputError,
        match=r"^`target` must be a distribution that sums to 1 over the actions, got [0-9.]+ at row 7 of",
    ):
        estimate(folder, kwis.distribution("p_new"))


def test_what_is_no_log_is_refused_in_a_sentence(folder: Path) -> None:
    refused("`source` must be Parquet files, or Arrow tables and record batches, got int", [1, 2])
    refused("`source` must have rows, got none", [table(N).slice(0, 0)])
    refused("`target` must name a column of the log, got 'p_nw'; did you mean 'p_new'?", folder, "p_nw")


def test_an_action_that_was_never_taken_is_refused_unless_listed() -> None:
    data = columns(N)
    pick = data["pick"].copy()
    pick[5] = "up"
    data |= {"pick": pick}
    refused(
        "`pick` (target) must hold actions of the log, got 'up' at row 5; an action that exists but was "
        "never taken must be listed in read_log(actions=[...])",
        pa.table(data),
        "pick",
    )
    scanned = scan_log(pa.table(data), context=["age"], actions=["left", "middle", "right", "up"])
    answer = evaluate(scanned, "pick", **QUICK)
    assert answer.diagnostics["pick"].support.beyond == pytest.approx(1 / N)


def test_batches_may_come_from_an_iterator_once(expected: float) -> None:
    def batches() -> Iterator[Any]:
        yield from table(N).slice(0, 0).to_batches()
        for start in range(0, N, 250):
            part = table(N).slice(start, 250)
            yield part.select(part.column_names[::-1]) if start else part

    scanned = scan_log(batches(), context=["age", "country"])
    answer = evaluate(scanned, "p_new", **QUICK)
    assert answer.rows[1].estimate.value + answer.rows[2].estimate.value == pytest.approx(expected, rel=1e-13)
    with pytest.raises(
        InputError,
        match=(
            r"^`source` must be Parquet files, or Arrow data that is more than an iterator, to be read "
            r"again$"
        ),
    ):
        evaluate(scanned, "p_new", **QUICK)
    assert estimate(table(N).to_batches()) == pytest.approx(expected, rel=1e-13)
    with pytest.raises(
        InputError,
        match=r"^column `reward` is missing from the batch of `source` that starts at row 450$",
    ):
        estimate([table(N).slice(0, 450), table(N).slice(450).drop_columns("reward")])


def test_numbers_as_actions_settle_what_a_column_of_numbers_means() -> None:
    rng = np.random.default_rng(0)
    data = {
        "action": rng.integers(0, 2, N),
        "reward": rng.uniform(size=N),
        "propensity": np.full(N, 0.5),
        "pick": rng.integers(0, 2, N),
        "x": rng.integers(0, 3, N),
    }
    refused(
        "`target` must say what `pick` holds, whose values are actions and probabilities alike: "
        "kwis.chosen('pick') or "
        "kwis.probability('pick')",
        pa.table(data),
        "pick",
        context=["x"],
    )
    agree = data["action"] == data["pick"]
    answer = evaluate(scan_log(pa.table(data), context=["x"]), kwis.chosen("pick"), **QUICK)
    assert answer.rows[1].estimate.value == pytest.approx(data["reward"][agree].mean(), rel=1e-12)


@pytest.mark.parametrize(
    "target", ["p_new_left", ["p_new_left", "p_new_middle", "p_new_right"], {"mine": "p_new_right"}]
)
def test_a_scan_refuses_the_targets_that_a_log_in_memory_refuses(target: Any) -> None:
    log = kwis.read_log(columns(N), propensity="propensity", context=["age", "country"])
    with pytest.raises(InputError) as inside:
        resolve_targets(log, target)
    refused(str(inside.value), table(N), target)
