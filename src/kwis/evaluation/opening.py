"""A log that is about to be evaluated: read whole, or where that is enough for the question, leanly."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import LogArguments

if TYPE_CHECKING:
    from kwis.data.read.scan import Log
    from kwis.evaluation.prepare import Ready


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A log that is read; of a lean evaluation some of its rows, and what it starts from."""

    log: LoggedBandit
    ready: Ready | None = None

    def overview(self, context: Collection[str]) -> str:
        """What was read, in words; ``context`` are the columns that no policy is in."""
        log = self.log.without_context(set(self.log.context_columns) - set(context))
        whole = None if self.ready is None else self.ready.whole
        if whole is None:
            return log.overview()
        return log.overview(whole.n, [float(reward.mean()) for reward in whole.reward])


def opened_leanly(log: Log, said: LogArguments, asked: Mapping[str, Any]) -> Opened | None:
    """The log with what a lean evaluation starts from; None where it has to be read whole.

    Parameters
    ----------
    said
        What is said about the log besides.
    asked
        The arguments of :func:`kwis.evaluate`.
    """
    others = (
        asked["by"],
        asked["client"],
        asked["action_features"] is not None,
        asked["statistic"] != "mean",
    )
    if asked["estimators"] is None or any(others):
        return None
    # Loaded here, as it takes time and most questions need more than weights and rewards.
    from kwis.evaluation.lean.question import Question, lean_ready
    from kwis.intervals.names import interval_method

    question = Question(
        target=asked["target"],
        estimators=asked["estimators"],
        interval=None if asked["interval"] is None else interval_method(asked["interval"]),
        repair=asked["repair"],
        rng=asked["rng"],
    )
    ready = lean_ready(log, said, question, asked["progress"])
    return None if ready is None else Opened(replace(ready.log, call=getattr(log, "call", None)), ready)
