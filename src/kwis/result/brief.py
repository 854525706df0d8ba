"""What is shown first: the estimate to use, and how far trustworthy estimates lie apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwis.result.records import LOGGING_POLICY, Row

if TYPE_CHECKING:
    from kwis.result.evaluation import Evaluation


def trustworthy(evaluation: Evaluation, target: str, reward: str) -> list[Row]:
    """The estimates of a target that nothing found in the log forbids to trust."""
    return [
        row
        for row in evaluation.rows
        if (row.target, row.reward) == (target, reward) and row.verdict.level != "do not trust"
    ]


def brief_rows(evaluation: Evaluation) -> list[Row]:
    """The logging policy, and for every target and reward the estimate to use and its runner-up."""
    wanted = {
        (found.target, found.reward, row.estimator)
        for found in evaluation.recommendations
        for row in (found.row, found.runner_up)
        if row is not None
    }
    return [
        row
        for row in evaluation.rows
        if row.target == LOGGING_POLICY or (row.target, row.reward, row.estimator) in wanted
    ]
