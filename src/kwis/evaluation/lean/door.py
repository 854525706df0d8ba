"""From a scan and a question to what a lean evaluation starts from: all weights and rewards, and some rows in
full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kwis.data.log import LoggedBandit
from kwis.data.read.assemble import assemble
from kwis.data.read.batches import ParquetFiles
from kwis.data.read.collect import columns_to_read
from kwis.data.read.lean import (
    Drawn,
    Stretch,
    UnusualError,
    actions_of,
    stretches_of,
    table_alike,
    table_of_batches,
)
from kwis.data.read.scan import ScannedLog
from kwis.data.read.source import Source
from kwis.data.table import Table
from kwis.estimators.protocol import Estimators
from kwis.estimators.registry import by_name, name_of_alias
from kwis.estimators.truncated_vis import TruncatedVIS
from kwis.estimators.vis import VIS
from kwis.estimators.wis import WIS
from kwis.evaluation.lean.chances import logging_chances, target_chances
from kwis.evaluation.lean.doubts import refuse_doubtful_parts, refuse_repeats, refuse_unlikely
from kwis.evaluation.lean.scanning import Scanning
from kwis.evaluation.lean.whole import Whole
from kwis.evaluation.prepare import Ready
from kwis.policy.target import Targets, resolve_targets
from kwis.runtime.runner import Progress, Steps, Threads
from kwis.runtime.threads import engine
from kwis.typing import Ints

LEAN_ROWS = 200_000
"""Logs of more rows are evaluated leanly where that is possible; of fewer, rows are few enough for all."""
ROWS_LOOKED_AT = 60_000
"""Rows whose contexts are looked at: as many as a repair of propensities is learnt from. A fault that costs
trust (:data:`kwis.checks.verdict.MISPLACED`) in a tenth of the log is over three standard errors there.
"""
_PLAIN = (VIS, WIS, TruncatedVIS)
_HEAD_ROWS = 1 << 14  # as many as show what a column holds
_MANY_LEVELS = 0.1  # of the rows: text that may be different in every row


Look = Callable[[LoggedBandit], Ready]
"""What is found out from rows whose contexts are known, while the others are read."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lean:
    """What some rows of a log showed, weights and rewards of all, and notes that ask about columns."""

    ready: Ready
    whole: Whole
    questions: tuple[str, ...]


def is_plain(estimators: Estimators | None) -> bool:
    """Whether somebody asked for estimators that need nothing but weights and rewards."""
    several = [estimators] if isinstance(estimators, str) or hasattr(estimators, "estimate") else estimators
    if not isinstance(several, list | tuple) or not several:
        return False
    names, aliases = by_name(), name_of_alias()
    known = [names.get(aliases.get(one, one)) if isinstance(one, str) else one for one in several]
    return all(type(one) in _PLAIN for one in known)


def is_lean(log: ScannedLog) -> bool:
    """Whether a scan has many rows in Parquet files, each a decision of its own."""
    roles, source = log.roles, log.source
    if not isinstance(source, ParquetFiles) or any(source.said) or (source.rows or 0) <= LEAN_ROWS:
        return False
    others = (roles.row_weight, roles.group, roles.time, roles.logger, roles.position, roles.position_in)
    asked = (roles.candidates, roles.key, roles.missing or None, roles.drop_missing or None)
    return all(one is None for one in (*others, *asked)) and roles.reward is not False


def lean_log(log: ScannedLog, target: Targets, look: Look, progress: Progress | None = None) -> Lean:
    """All that a lean evaluation needs; UnusualError, or any error of reading, where it cannot be had."""
    assert isinstance(log.source, ParquetFiles)
    with engine():
        return _lean(log, log.source, target, look, Threads(Steps(progress)))


def _lean(log: ScannedLog, source: ParquetFiles, target: Targets, look: Look, runner: Threads) -> Lean:
    names, notes = columns_to_read(source, log.roles)
    stretches = stretches_of(source)
    action = log.roles.action or "action"
    codes, actions = actions_of(stretches, action, log.roles.actions, runner)
    roles = replace(log.roles, actions=actions)
    files = tuple((footer.path, footer.rows) for footer in source.footers)

    def made(table: Table, rows: Ints) -> LoggedBandit:
        found = assemble(Source(table=table, notes=notes, dialect="duckdb"), roles)
        return replace(found, rows=rows, source_rows=codes.size, files=files)

    head = _head(stretches, names, made)
    policies = resolve_targets(head, target)
    scanning = Scanning.of(
        codes,
        head,
        logging_chances(head.table, roles, actions),
        [target_chances(head, policy) for policy in policies],
    )
    drawn = Drawn.of(stretches, ROWS_LOOKED_AT, 0)
    read, what = scanning.reading(names, [action], drawn), "reading the log"
    first = [one for one in stretches if one in drawn.stretches]
    rest = [one for one in stretches if one not in drawn.stretches]
    begun = runner.each(read, [(one,) for one in first], what)
    some = made(table_of_batches([batch for _, batches in begun for batch in batches], names), drawn.rows)
    _refuse_other_context(head, some)
    ready, others = runner.each_meanwhile(lambda: look(some), read, [(one,) for one in rest], what)
    found = dict(zip([*first, *rest], [*begun, *others], strict=True))
    parts = [found[one][0] for one in stretches]
    whole = scanning.whole(parts, some, [policy.name for policy in policies], _note(drawn, stretches))
    refuse_unlikely(whole.logging, whole.n, whole.known)
    refuse_doubtful_parts([part.logging for part in parts], [part.targets for part in parts], scanning.known)
    taken = [name for policy in policies for name in policy.columns]

    def alike(columns: Sequence[str]) -> LoggedBandit | None:
        table = table_alike([path for path, _ in files], columns, names, ROWS_LOOKED_AT / codes.size)
        return None if table is None else made(table, np.arange(table.n)).without_context(taken)

    asked = refuse_repeats(some, np.concatenate([key for part in parts for key in part.keys]), alike)
    return Lean(ready=ready, whole=whole, questions=asked)


def _head(
    stretches: Sequence[Stretch], names: Sequence[str], made: Callable[[Table, Ints], LoggedBandit]
) -> LoggedBandit:
    """The first rows, which show what the columns mean."""
    first = next(stretches[0].batches(names, rows=_HEAD_ROWS))[1]
    return made(table_of_batches([first], names), np.arange(first.num_rows))


def _refuse_other_context(head: LoggedBandit, some: LoggedBandit) -> None:
    """Refuse a context that only all rows can tell: whether a column that nobody named counts rows, or is
    different in each, or text has so many values that some are pooled.
    """
    if head.context_columns != some.context_columns:
        raise UnusualError("a context that depends on the rows")
    for name, column in some.table.columns.items():
        looked_at = name in some.context_columns or not some.context_named
        if looked_at and column.kind == "text" and len(column.levels) > _MANY_LEVELS * some.n:
            raise UnusualError("text of very many values")


def _note(drawn: Drawn, stretches: Sequence[Stretch]) -> str:
    some, every = len(drawn.stretches), len(stretches)
    places = "" if some == every else f" from {some} of {every} stretches of the log"
    return (
        f"contexts were looked at in {drawn.rows.size:,} rows drawn at random{places}, for tests of "
        f"propensities, balance, and signs that the policies learnt from these rows; weights, values and "
        f"intervals are of all {stretches[-1].stop:,} rows"
    )
