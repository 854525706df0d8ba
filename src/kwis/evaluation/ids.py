"""Identifiers of rows: random draws follow their order, and answers name rows by them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from kwis._validation import read_only
from kwis.checks.findings import TargetDiagnostics
from kwis.data.log import LoggedBandit
from kwis.typing import Ints

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


def row_order(log: LoggedBandit, *, by_time: bool = False) -> Ints | None:
    """The rows in the order of their keys, or of time and key where the log has both, or with ``by_time`` of
    time alone; None where they are in it already.

    Everything random goes by the place of a row, so that rows in this order are drawn, and dealt to folds,
    alike however files and rows were ordered. Rows that share a key stay in the order that they have.
    """
    if log.key is None:
        if not by_time or log.time is None:
            return None
        order = np.argsort(log.time, kind="stable")
    else:
        keys = log.table.column(log.key).values
        order = np.argsort(keys, kind="stable") if log.time is None else np.lexsort((keys, log.time))
    return None if np.array_equal(order, np.arange(log.n)) else order


def with_ids(
    found: TargetDiagnostics, log: LoggedBandit, column: str | None, actions: Ints | None = None
) -> TargetDiagnostics:
    """The same with row numbers of the source, and actions and identifiers of the rows that move the
    estimate; ``actions`` are codes of all rows where ``log`` has only some of those weighed.
    """
    rows, taken = (log.rows, log.action) if actions is None else (None, actions)
    ids = None if column is None else log[column]
    influential = tuple(
        replace(
            one,
            row=one.row if rows is None else int(rows[one.row]),
            action=str(log.action_names[int(taken[one.row])]),
            id=None if ids is None else str(ids[one.row]),
        )
        for one in found.weights.influential
    )
    local = replace(found.local, rows=read_only(log.rows[found.local.rows]))
    return replace(found, weights=replace(found.weights, influential=influential), local=local)
