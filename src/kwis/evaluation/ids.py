"""What rows are called in the source, so that somebody can look them up."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from kwis.checks import TargetDiagnostics
from kwis.data.log import LoggedBandit

_LIKE_IDS = re.compile(r"(^|_)(id|key|uuid|guid)$|[a-z]Id$|[a-z]ID$", re.ASCII)


def id_column(log: LoggedBandit) -> str | None:
    """The column that identifies rows: the key that somebody named, or one with the name of an identifier
    whose values all differ; None if there is none.
    """
    if log.key is not None:
        return log.key
    for name in log.table.columns:
        if _LIKE_IDS.search(name) and name not in log.context_columns:
            values = log[name]
            if len({str(value) for value in values}) == len(values):
                return name
    return None


def with_ids(found: TargetDiagnostics, log: LoggedBandit, column: str | None) -> TargetDiagnostics:
    """The same with the actions and identifiers of the rows that move the estimate."""
    place = {int(row): number for number, row in enumerate(np.asarray(log.rows))}
    ids = None if column is None else log[column]

    rows = []
    for one in found.weights.influential:
        at = place.get(one.row, one.row)
        action = str(log.action_names[int(log.action[at])])
        rows.append(replace(one, action=action, id=None if ids is None else str(ids[at])))
    return replace(found, weights=replace(found.weights, influential=tuple(rows)))
