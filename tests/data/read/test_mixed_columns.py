"""Text among numbers: refused with its row and the ways out, each of which works."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kwis
from kwis.data.columns import column_of_items
from kwis.data.read.frames import from_frame
from kwis.errors import InputError
from tests.cli.example import columns, run_with, write_csv

N = 300
ROLES: dict[str, Any] = {"propensity": "propensity", "context": ["age", "country"]}


def table(**changed: Any) -> dict[str, Any]:
    return {**columns(N), **changed}


def ages(odd: object, row: int = 17) -> list[Any]:
    return [odd if i == row else age for i, age in enumerate(columns(N)["age"])]


def test_a_word_among_numbers_is_refused_with_its_row_and_the_ways_out(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", table(age=ages("unknown")))
    with pytest.raises(InputError) as refused:
        kwis.read_log(path, **ROLES)
    assert str(refused.value) == (
        "`age` (context) must hold numbers in every row, as it does in nearly all, got 'unknown' at row 17; "
        "pass missing=['unknown'] if it stands for a gap, or categorical=['age'] if these are labels, or "
        "query=\"SELECT * REPLACE (CAST(NULLIF(age, 'unknown') AS DOUBLE) AS age) FROM log\""
    )


def test_each_way_out_works(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", table(age=ages("unknown")))
    gap = kwis.read_log(write_csv(tmp_path / "gap.csv", table(age=ages(""))), **ROLES)
    named = kwis.read_log(path, **ROLES, missing="unknown")
    cast = kwis.read_log(
        path, **ROLES, query="SELECT * REPLACE (CAST(NULLIF(age, 'unknown') AS DOUBLE) AS age) FROM log"
    )
    np.testing.assert_array_equal(named.encoding.context, gap.encoding.context)
    np.testing.assert_array_equal(cast.encoding.context, gap.encoding.context)
    labels = kwis.read_log(path, **ROLES, categorical=["age"])
    assert labels.encoding.features[0].kind == "category"


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("Y", "N")])
def test_a_reward_of_yes_and_no_comes_with_the_query_that_makes_numbers_of_it(
    yes: str, no: str, tmp_path: Path
) -> None:
    clicks = columns(N)["reward"]
    path = write_csv(tmp_path / "log.csv", table(reward=[yes if click > 0 else no for click in clicks]))
    with pytest.raises(
        InputError, match=r"^`reward` must hold numbers, got '\w+' at row 0; pass query="
    ) as refused:
        kwis.read_log(path, **ROLES)
    query = f"SELECT * REPLACE (CAST(reward = '{yes}' AS INTEGER) AS reward) FROM log"
    assert str(refused.value).endswith(f'pass query="{query}"')
    np.testing.assert_array_equal(
        kwis.read_log(path, **ROLES, query=query).reward[:, 0], np.array(clicks) > 0
    )


def test_of_two_other_words_the_rarer_reward_is_guessed_to_be_1(tmp_path: Path) -> None:
    words = ["ja" if row % 5 == 0 else "nein" for row in range(N)]
    path = write_csv(tmp_path / "log.csv", table(reward=words))
    with pytest.raises(InputError, match=r"\(that 'ja' counts as 1 is a guess\); pass query=") as refused:
        kwis.read_log(path, **ROLES)
    query = "SELECT * REPLACE (CAST(reward = 'ja' AS INTEGER) AS reward) FROM log"
    assert str(refused.value).endswith(f'pass query="{query}"')
    found = kwis.read_log(path, **ROLES, query=query).reward[:, 0]
    np.testing.assert_array_equal(found, np.arange(N) % 5 == 0)
    three = write_csv(tmp_path / "three.csv", table(reward=["maybe", *words[1:]]))
    with pytest.raises(InputError, match=r"must hold numbers, got 'maybe' at row 0$"):
        kwis.read_log(three, **ROLES)


def test_the_command_line_names_its_own_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_csv(tmp_path / "log.csv", table(age=ages("not known")))
    options = ("--context", "age,country", "--target", "p_new", "-e", "wis", "--json", "--repair", "never")
    ended = run_with(capsys)("evaluate", path, *options)
    assert ended.code == 2
    assert "pass --missing 'not known' if it stands for a gap, or --categorical age if" in ended.err
    assert ended.err.endswith(
        """--query "SELECT * REPLACE (CAST(NULLIF(age, 'not known') AS DOUBLE) AS age) FROM log"\n"""
    )
    query = shlex.split(ended.err.partition("or --query ")[2])[0]
    assert run_with(capsys)("evaluate", path, *options, "--query", query).code == 0
    assert run_with(capsys)("evaluate", path, *options, "--missing", "not known").code == 0


@pytest.mark.parametrize(
    "odd",
    [
        "NA ",
        "a,b",
        "a\\b",
        "it's",
        "--",
        "$HOME",
        "two\nlines",
        "4\xa04",
        "1\u202f044",
        "44\xa0",
        "\uff11\uff12",
    ],
)
def test_ways_out_that_the_command_offers_work_as_they_are_written(
    odd: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_csv(tmp_path / "log.csv", table(age=ages(odd)))
    options = ("--context", "age,country", "--target", "p_new", "-e", "wis", "--json", "--repair", "never")
    ended = run_with(capsys)("evaluate", path, *options)
    assert "row 17; pass " in ended.err
    ways = re.findall(
        r"(?:pass|or) (--.*?)(?=, or --| if |$)", ended.err.replace(" if it stands for a gap", "")
    )
    assert len(ways) >= 2
    for way in ways:
        assert run_with(capsys)("evaluate", path, *options, *shlex.split(way)).code == 0, way


@pytest.mark.parametrize("write", ["{},5", "1,{:03}", "${}", "{} €", "{}%"])
def test_columns_written_with_commas_and_currencies_are_refused(write: str) -> None:
    with pytest.raises(InputError, match=r"^`age` \(context\) must hold plain numbers in every row, got '"):
        kwis.read_log(table(age=[write.format(age) for age in columns(N)["age"]]), **ROLES)


def test_numbers_stored_as_text_are_asked_about_and_a_few_codes_are_not() -> None:
    with pytest.raises(InputError, match=r"^`age` \(context\) must hold numbers as numbers"):
        kwis.read_log(table(age=[str(age) for age in columns(N)["age"]]), **ROLES)
    kwis.read_log(table(age=[str(age % 5) for age in columns(N)["age"]]), **ROLES)


def test_many_words_among_many_numbers_are_refused_too() -> None:
    with pytest.raises(InputError, match="got 'unknown' at row 0 and 99 more like it"):
        kwis.read_log(
            table(age=["unknown" if i % 3 == 0 else str(age) for i, age in enumerate(columns(N)["age"])]),
            **ROLES,
        )


def test_a_word_among_dates_is_refused() -> None:
    days = [f"2024-01-{1 + i % 28:02}" for i in range(N)]
    with pytest.raises(InputError, match=r"must hold dates in every row, .* got 'unknown' at row 3"):
        kwis.read_log(table(age=["unknown" if i == 3 else day for i, day in enumerate(days)]), **ROLES)


@pytest.mark.parametrize(
    "labels", [["0", "1", "unknown"], ["A1", "B2", "7"], ["01", "02", "13"], ["18-25", "26-40", "41"]]
)
def test_labels_stay_labels(labels: list[str]) -> None:
    log = kwis.read_log(table(age=[labels[i % 3] for i in range(N)]), **ROLES)
    assert log.encoding.features[0].levels == tuple(labels if labels[2] != "7" else ["7", "A1", "B2"])


def test_numbers_can_stand_for_gaps(tmp_path: Path) -> None:
    log = kwis.read_log(table(age=ages(-999)), **ROLES, missing=["-999"])
    assert [feature.name for feature in log.encoding.features[:2]] == ["age", "age missing"]


def test_roles_keep_their_labels_whatever_is_missing() -> None:
    log = kwis.read_log(table(), **ROLES, missing=["push", "0"])
    assert "push" in log.action_names
    assert log.reward.min() == 0


def test_decimal_commas_in_several_columns_are_named_together_with_one_query(tmp_path: Path) -> None:
    commas = {name: [f"{i % 50},{i % 10}" for i in range(N)] for name in ("age", "height")}
    for rows in ({**table(), **commas}, table(age=ages("unknown"), height=commas["height"])):
        path = write_csv(tmp_path / "log.csv", rows)
        roles = {**ROLES, "context": ["age", "height"]}
        with pytest.raises(InputError) as refused:
            kwis.read_log(path, **roles)
        assert "; so must `height`; pass " in str(refused.value)
        assert "categorical=['age', 'height'] if these are labels" in str(refused.value)
        query = ast.literal_eval(str(refused.value).partition("query=")[2])
        log = kwis.read_log(path, **roles, query=query)
        kinds = {feature.name: feature.kind for feature in log.encoding.features}
        assert (kinds["age"], kinds["height"]) == ("number", "number")


@pytest.mark.parametrize(
    "items", [["x", None, "y", "", "x"], ["", ""], [None, None], ["b", "a"], ["é", "e\u0301"]]
)
@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_text_of_arrow_is_that_of_its_entries_one_by_one(items: list[Any], kind: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    expected = column_of_items(items)
    whole = arrow.array(items, getattr(arrow, kind)())
    parts = arrow.chunked_array([arrow.array(["q"], whole.type), whole[:1], whole[1:]]).slice(1)
    for values in (whole, parts):
        found = from_frame(arrow.table({"a": values})).columns["a"]
        assert (found.kind, found.levels, found.values.dtype) == (
            expected.kind,
            expected.levels,
            expected.values.dtype,
        )
        np.testing.assert_array_equal(found.values, expected.values)
