"""Was the context known before the decision? A column decided after the action makes every estimate wrong.

Only the user knows. The answer asks where no context was named, where a column that nobody named has the name
of an outcome, and where one column almost determines the reward.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from kwis.data.columns import Column
from kwis.data.log import LoggedBandit
from kwis.estimators.traits import careful
from kwis.results import Verdict
from kwis.typing import Floats

MOST_EXPLAINED = 0.98
"""Share of a reward's variance that a single column may explain."""
MOST_LEVELS = 0.1
"""Labels of a column, as a share of the rows, above which they explain any reward."""
_SHOWN = 5
_OUTCOMES = re.compile(
    r"(^|_)(rewards?|outcomes?|click(s|ed)?|conver(sion|sions|ted)|revenue|spend|spent|purchased?|profit|sales|sold"
    r"|paid|churn(ed)?|bought|readmi\w+|died|death|response|responded)($|_)",
    re.IGNORECASE,
)


def unnamed_context(log: LoggedBandit) -> Iterable[Verdict]:
    """What to ask if nobody said what was known before the decision."""
    if log.context_named or not log.context_columns:
        return
    some = ", ".join(log.context_columns[:_SHOWN]) + (", ..." if len(log.context_columns) > _SHOWN else "")
    yield careful(
        f"you did not say what was known before the decision; it is taken to be {some}: name it with "
        "context=[...]"
    )
    for name in log.context_columns:
        if _OUTCOMES.search(name):
            yield careful(f"`{name}` is part of the context and named like an outcome: was it known before?")


def revealing_columns(log: LoggedBandit, reward: int) -> Iterable[Verdict]:
    """Columns of the context that almost determine a reward."""
    values = log.reward[:, reward]
    if np.ptp(values) == 0:
        return
    for name in log.context_columns:
        if name in log.table and _explained(log.table.column(name), values) > MOST_EXPLAINED:
            yield careful(
                f"`{name}` almost determines {log.reward_names[reward]}: was it known before the decision?"
            )


def _explained(column: Column, reward: Floats) -> float:
    """Share of the variance that a straight line through numbers explains, or the mean of each label."""
    if column.kind == "date" or column.missing.any():
        return 0.0
    if column.kind in ("number", "boolean"):
        numbers = column.values.astype(np.float64)
        if np.ptp(numbers) == 0:
            return 0.0
        with np.errstate(all="ignore"):  # squares of tiny numbers vanish: nothing is known then
            return float(np.nan_to_num(np.corrcoef(numbers, reward)[0, 1] ** 2))
    if len(column.levels) > MOST_LEVELS * len(column):
        return 0.0
    counts = np.bincount(column.values, minlength=len(column.levels))
    means = np.bincount(column.values, weights=reward, minlength=len(column.levels)) / np.maximum(counts, 1)
    return float(1 - np.mean((reward - means[column.values]) ** 2) / np.var(reward))
