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
def test_every_door_gives_the_answer_of_a_data_frame(question: str, door: str, folder_of_log: Folders, client: Any) -> None:
    found = _answer(question, DOORS[door], folder_of_log(QUESTIONS[question].log), client)
    assert worst_gap(expected(question), found) <= 1e-10


@pytest.mark.parametrize("door", MORE_DOORS)
def test_other_doors_give_it_too(door: str, folder_of_log: Folders, client: Any) -> None:
    found = _answer("everything", MORE_DOORS[door], folder_of_log(QUESTIONS["everything"].log), client)
    assert worst_gap(expected("everything"), found) <= 1e-10
