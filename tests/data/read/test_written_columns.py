"""Which columns of text are asked about: realistic ones, half of which the rule was decided on."""

from __future__ import annotations

import pytest

import kwis
from tests.cli.example import columns
from tests.data.read.written_columns import DECIDED_ON, HELD_OUT, ROWS, Draw, column


def outcome(draw: Draw) -> str:
    log = {**columns(ROWS), "age": column(draw)}
    try:
        kwis.read_log(log, propensity="propensity", context=["age", "country"])
    except kwis.InputError as refused:
        return "asked" if str(refused).startswith("`age` (context) must hold ") else str(refused)
    return "labels"


@pytest.mark.filterwarnings("ignore::kwis.KwisWarning")
@pytest.mark.parametrize("name", DECIDED_ON)
def test_columns_that_the_rule_was_decided_on(name: str) -> None:
    draw, expected = DECIDED_ON[name]
    assert outcome(draw) == expected


@pytest.mark.filterwarnings("ignore::kwis.KwisWarning")
@pytest.mark.parametrize("name", HELD_OUT)
def test_columns_that_it_was_not(name: str) -> None:
    draw, expected = HELD_OUT[name]
    assert outcome(draw) == expected
