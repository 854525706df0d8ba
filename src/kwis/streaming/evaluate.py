"""``kwis.evaluate`` for a log that is scanned: one pass for the estimates, a random subset of its rows for
what needs contexts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kwis import _validation as check
from kwis.errors import InputError, KwisWarning, UnsupportedError
from kwis.estimators import KernelWIS, traits
from kwis.estimators.registry import by_name
from kwis.evaluation.account import few_rows
from kwis.evaluation.prepare import seed_of
from kwis.evaluation.roster import Roster
from kwis.large.estimate import runner_of
from kwis.large.runner import Runner, reduced
from kwis.result.evaluation import Evaluation
from kwis.result.records import LOGGING_POLICY
from kwis.runtime.threads import engine
from kwis.streaming.accumulator import Accumulator, merged
from kwis.streaming.answer import Run
from kwis.streaming.checks import Sampled, known_actions
from kwis.streaming.frame import DaskFrame
from kwis.streaming.head import Head
from kwis.streaming.kernel import Kernels, asked_alike
from kwis.streaming.largest import tail_rows
from kwis.streaming.plan import Plan
from kwis.streaming.scan import ScannedLog, Whole
from kwis.streaming.sides import StreamIntervals
from kwis.streaming.source import ArrowData, Batch, Source
from kwis.typing import Seed

Progress = Callable[[int, int, str], object]

REPLICATES = 200
SUBSET_ROWS = 20_000
_TASKS = 8  # how many accumulators there are at once, whatever the number of files


def evaluate_scanned(
    log: ScannedLog,
    target: Any,
    *,
    estimators: Any = None,
    level: float = 0.95,
    replicates: int = REPLICATES,
    exact: bool | None = None,
    rng: Seed = 0,
    client: Any = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate target policies on a log that is read once, batch by batch, in memory that hardly grows with
    it.

    Values, standard errors and weight diagnostics are those of all rows, as if they were in memory. Intervals
    are percentiles of a Poisson bootstrap whose counts are hashed from the identity of each row: they do not
    depend on how the log is cut or ordered. Student's intervals, the default of a log in memory, would need
    all its rows. Propensities, balance and drift are checked on a random subset of the rows, as the notes of
    the answer say.

    Parameters
    ----------
    log
        From :func:`kwis.scan_log`.
    target
        Columns that say what the policies do: names, ``kwis.chosen``, ``kwis.probability``,
        ``kwis.distribution``; a list, or a mapping from names of your choice.
    estimators
        Names among vis, truncated-vis, wis, state-wis and normalised-state-wis, kernel-wis and
        normalised-kernel-wis; None: all.
    replicates
        Resamples of the bootstrap; 0 for intervals from standard errors, which with groups are still those of
        200 resamples.
    exact
        Whether Kernel-WIS is computed from all pairs of rows (True) or approximated (False); None: by the
        number of rows.
    client
        A :class:`dask.distributed.Client` whose workers read the files, which they must see under the same
        paths.
    """
    if not isinstance(log, ScannedLog):
        raise InputError(f"`log` must be what kwis.scan_log returns, got {type(log).__name__}")
    level, seed = check.level(level), seed_of(rng)
    roster, notes = _roster(estimators, seed)
    source = log.source
    if isinstance(source, Whole):
        raise InputError(
            "`source` must be Parquet files, Arrow data or a Dask dataframe to be read in batches"
        )
    if client is None and isinstance(source, DaskFrame):
        raise InputError(
            "`client` must be given for a Dask dataframe this large: it says where its partitions are worked "
            "on"
        )
    runner = runner_of(
        None if isinstance(source, ArrowData) else client, progress
    )  # rows that are here are not sent to workers
    replicates = check.whole(replicates, "replicates", 0)
    # One pass keeps no sums by group: the standard errors of groups can only come from resamples, of which
    # they need two.
    drawn = REPLICATES if log.roles.group is not None and replicates < 2 else replicates
    plan, context_notes = planned(
        log, runner, target, replicates=drawn, seed=seed, states=roster.wants_states
    )
    with engine():
        found = accumulated(plan, source, runner)
        if found.rows < 2:
            raise UnsupportedError(f"`source` must have at least 2 rows for an interval, got {found.rows}")
        few = few_rows(found.rows)
        if few is not None:
            warnings.warn(few, KwisWarning, stacklevel=2)
        sampled = Sampled.of(
            found.subset.finished(), plan, log.roles, known_actions(found, plan, log.roles.actions)
        )
        run = Run(
            log=log,
            plan=plan,
            found=found,
            sampled=sampled,
            estimators=roster.estimators,
            kernels=Kernels(
                wanted=asked_alike(roster.kernels), exact=exact, client=client, progress=progress
            ),
            intervals=StreamIntervals(level=level, seed=seed, percentile=replicates > 0),
        )
        return run.evaluation((*context_notes, *notes))


def planned(
    log: ScannedLog, runner: Runner, target: Any, *, replicates: int, seed: int, states: bool
) -> tuple[Plan, tuple[str, ...]]:
    """What is to be done with every batch, and notes on how it was decided."""
    source = log.source
    assert not isinstance(source, Whole)
    head = Head.of(source.head(runner), log.roles)
    targets, propensity, rewards = head.targets(target), head.propensity(), head.rewards()
    if LOGGING_POLICY in [one.name for one in targets]:
        raise InputError(
            f"`target` must not be called {LOGGING_POLICY!r}, the name of the policy that every target is "
            f"compared with"
        )
    context, notes = head.context((*rewards, *propensity.names), targets)
    roles = log.roles
    rows = source.rows
    plan = Plan(
        action=roles.action or "action",
        rewards=rewards,
        propensity=propensity,
        targets=targets,
        context=context,
        also=tuple(name for name in (roles.time, roles.logger) if name is not None),
        row_weight=roles.row_weight,
        group=roles.group,
        key=roles.key,
        pivots=head.first_rewards(rewards),
        replicates=replicates,
        seed=seed,
        subset=SUBSET_ROWS if rows is None else min(SUBSET_ROWS, max(rows, 1)),
        tail=tail_rows(rows),
        states=states and bool(context) and roles.group is None,
    )
    source.check(plan.columns)
    return plan, notes


def accumulated(plan: Plan, source: Source, runner: Runner) -> Accumulator:
    """One pass over all batches: a few tasks side by side, merged in a fixed order."""
    parts = source.parts(runner)
    if not parts:
        raise InputError("`source` must have rows, got none")
    count = min(_TASKS, len(parts))
    tasks = [(plan, source.read, *parts[first::count]) for first in range(count)]
    handles = runner.each(_accumulate, tasks, "reading the log")
    return (
        runner.fetch(reduced(runner, _merge, handles, "merging"))
        if len(handles) > 1
        else runner.fetch(handles[0])
    )


def _accumulate(plan: Plan, read: Callable[..., Iterable[Batch]], *parts: Any) -> Accumulator:
    return plan.accumulated(batch for part in parts for batch in read(part, plan.columns))


def _merge(*parts: Accumulator) -> Accumulator:
    return merged(list(parts))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Estimators that take part, by name."""

    estimators: Mapping[str, Any]

    @property
    def kernels(self) -> tuple[KernelWIS, ...]:
        return tuple(
            estimator
            for estimator in self.estimators.values()
            if traits.statistics(estimator) == traits.PAIRS
        )

    @property
    def wants_states(self) -> bool:
        return any(traits.statistics(estimator) == traits.STATES for estimator in self.estimators.values())


def _roster(asked: Any, seed: int) -> tuple[_Wanted, tuple[str, ...]]:
    roster = Roster.of(asked, seed)
    able = {name: estimator for name, estimator in roster.by_name.items() if _streams(estimator)}
    unable = [name for name in roster.by_name if name not in able]
    if unable and not roster.all_that_apply:
        raise UnsupportedError(
            f"`estimators` must be of those that a scanned log has, got {unable[0]}; kwis.read_log has all"
        )
    notes = (f"left out, as they need all rows in memory: {', '.join(unable)}",) if unable else ()
    return _Wanted(able), notes


def _streams(estimator: Any) -> bool:
    """Whether one pass gathers what it needs: only for estimators of this library."""
    return estimator.name in by_name() and traits.statistics(estimator) is not None
