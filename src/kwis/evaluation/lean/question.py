"""Whether a question can be answered leanly, and what its answer starts from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from dataclasses import replace as with_
from typing import Any

import numpy as np

from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import LogArguments
from kwis.data.read.lean import UnusualError
from kwis.data.read.scan import ScannedLog, scan_log
from kwis.errors import KwisError
from kwis.evaluation.lean.door import is_lean, is_plain, lean_log
from kwis.evaluation.prepare import Ready, prepare
from kwis.intervals import InfluenceInterval, StudentInterval
from kwis.policy.target import Targets, resolve_targets
from kwis.runtime.runner import Progress
from kwis.typing import RepairMode, Seed

_QUICK = (StudentInterval, InfluenceInterval)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What decides whether weights and rewards are enough."""

    target: Targets
    estimators: Any
    interval: Any
    repair: RepairMode
    rng: Seed

    @property
    def is_plain(self) -> bool:
        return (
            not isinstance(self.rng, np.random.Generator)  # which a second try would draw from again
            and self.repair != "always"
            and (self.interval is None or type(self.interval) in _QUICK)
            and is_plain(self.estimators)
        )


def lean_ready(
    log: Any, said: LogArguments, question: Question, progress: Progress | None = None
) -> Ready | None:
    """All that a lean evaluation starts from; None where the log has to be read whole."""
    if not question.is_plain:
        return None
    try:
        scanned = _scanned(log, said)
        return None if scanned is None or not is_lean(scanned) else _ready(scanned, question, progress)
    except KwisError:
        return None  # what is wrong is said, with its row, by those who read the whole log


def _scanned(log: Any, said: LogArguments) -> ScannedLog | None:
    if isinstance(log, ScannedLog):
        return None if said else log
    paths = log if isinstance(log, list | tuple) else [log]
    return scan_log(log, **said) if all(isinstance(one, str | os.PathLike) for one in paths) else None


def _ready(scanned: ScannedLog, question: Question, progress: Progress | None) -> Ready:
    lean = lean_log(scanned, question.target, lambda log: _looked(log, question), progress)
    ready, mended = lean.ready, lean.ready.mended
    log = with_(ready.log, notes=tuple(dict.fromkeys((*ready.log.notes, *lean.questions))))
    mended = None if mended is None else with_(mended, log=log, given=log)
    return with_(ready, log=log, mended=mended, whole=lean.whole)


def _looked(log: LoggedBandit, question: Question) -> Ready:
    """What tests of some rows say; an error where they fail."""
    ready = prepare(log, resolve_targets(log, question.target), rng=question.rng)
    if ready.estimated is not None or ready.log.group is not None:
        raise UnusualError("propensities that are estimated, or rows that share draws")
    ready = ready.repaired(question.repair)
    if ready.mended is not None and not ready.mended.found.kept:
        raise UnusualError("propensities that need repair")
    report = ready.tested()
    if report.failures:
        raise UnusualError("propensities that fail their tests")
    return with_(ready, own_report=report)
