"""What is shown first: the estimate to use, and how far trustworthy estimates lie apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwis.result.records import Row

if TYPE_CHECKING:
    from kwis.result.evaluation import Evaluation


def trustworthy(evaluation: Evaluation, target: str, reward: str) -> list[Row]:
    """The estimates of a target that nothing found in the log forbids to trust."""
    return [
        row
        for row in evaluation.rows
        if (row.target, row.reward) == (target, reward) and row.verdict.level != "do not trust"
    ]
