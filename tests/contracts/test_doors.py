"""The same log and the same question get the same answer through every door."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kwis
from tests.contracts.doors import DOORS, MORE_DOORS, in_memory
from tests.contracts.questions import QUESTIONS
from tests.contracts.same import Answer, answered, worst_gap

Folders = Callable[[Any], Path]


@cache
def expected(question: str) -> Answer:
    """The answer for a data frame read into memory."""
    return _answer(question, in_memory, Path(), None)


def _answer(name: str, door: Any, folder: Path, client: Any) -> Answer:
    asked = QUESTIONS[name]

    def evaluate() -> kwis.Evaluation:
        log, more = door(asked.log(), asked.roles, folder, client)
        return kwis.evaluate(log, asked.target(), **{"rng": 0, **asked.options, **more})

    return answered(evaluate)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_door_gives_the_answer_of_a_data_frame(
    question: str, door: str, folder_of_log: Folders, client: Any
) -> None:
    found = _answer(question, DOORS[door], folder_of_log(QUESTIONS[question].log), client)
    assert worst_gap(expected(question), found) <= 1e-10


@pytest.mark.parametrize(
    "changed",
    [{"rng": 1}, {"level": 0.94}, {"by": "country"}, {"repair": "never"}, {"estimators": ["wis"]}],
    ids=str,
)
def test_the_comparison_sees_any_change(changed: Any) -> None:
    asked = QUESTIONS["resampled by users"]
    log = kwis.read_log(asked.log(), **asked.roles)
    other = answered(lambda: kwis.evaluate(log, asked.target(), **{**asked.options, **changed}))
    with pytest.raises(AssertionError):
        worst_gap(expected("resampled by users"), other)


def test_the_comparison_sees_a_reward_that_is_off_by_a_millionth() -> None:
    asked = QUESTIONS["nothing named"]
    frame = asked.log()
    frame.loc[17, "spend"] += 1e-6
    other = answered(
        lambda: kwis.evaluate(
            kwis.read_log(frame, **asked.roles), asked.target(), **{"rng": 0, **asked.options}
        )
    )
    with pytest.raises(AssertionError, match=r"estimate\.value: [0-9.]+ is not [0-9.]+$"):
        worst_gap(expected("nothing named"), other)


@pytest.mark.parametrize("door", MORE_DOORS)
def test_other_doors_give_it_too(door: str, folder_of_log: Folders, client: Any) -> None:
    found = _answer("everything", MORE_DOORS[door], folder_of_log(QUESTIONS["everything"].log), client)
    assert worst_gap(expected("everything"), found) <= 1e-10
