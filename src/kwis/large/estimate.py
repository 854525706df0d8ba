"""Kernel-WIS of a log larger than memory: the one front door."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.kernel.clouds import Space
from kwis.kernel.profiles import RBF, Kernel, as_kernel
from kwis.large.approximate import Approximation, approximate, sample_size
from kwis.large.blocks import Figures, Found, combined, exact
from kwis.large.frame import CACHE_BYTES, Frame
from kwis.large.opening import Opened, opened
from kwis.large.records import LargeKernelWIS, approximation_note, selection_note
from kwis.large.runner import Progress, Runner, Steps, Threads, reduced
from kwis.large.select import SELECTION_ROWS, Selection, held_out_scores, select
from kwis.large.source import Columns, Weigher
from kwis.large.summary import summarise
from kwis.results import Estimate
from kwis.runtime.threads import engine
from kwis.typing import ArrayLike, Bandwidth, Floats, Seed

EXACT_ROWS = 100_000
"""Logs of at most this many rows are estimated from all pairs unless the caller says otherwise."""


def kernel_wis(
    source: Any,
    *,
    reward: str = "reward",
    weight: str | Weigher | None = None,
    target: str | None = None,
    propensity: str | None = None,
    action: str | None = None,
    row_weight: str | None = None,
    context: Iterable[str] | None = None,
    categorical: Iterable[str] = (),
    bandwidth: Any = "cv",
    per_feature: bool = False,
    kernel: Kernel | str = RBF,
    exact: bool | None = None,
    neighbours: int | None = None,
    selection_rows: int = SELECTION_ROWS,
    block_rows: int | None = None,
    cache_bytes: int = CACHE_BYTES,
    rng: Seed = 0,
    client: Any = None,
    progress: Progress | None = None,
) -> LargeKernelWIS:
    """Kernel-WIS, plain and normalised, of a log that need not fit in memory.

    Parameters
    ----------
    source
        Parquet files: a folder, a path, a pattern or a list of them; a folder with ``context.npy``,
        ``weight.npy`` and ``reward.npy``; a :class:`kwis.WeightedSample`; with ``client``, also a Dask
        dataframe.
    weight, target, propensity, action
        A column of importance weights; or the target's probability of the logged action and the logger's; or,
        with ``action``, the action the target takes for certain.
    context
        Raw columns, encoded as :mod:`kwis.data.encode` says; None: every column without another role.
    bandwidth
        Numbers in units of the encoded context, or ``"cv"``: selected on about ``selection_rows`` rows.
    exact
        True: all pairs of rows; False: the approximation of :mod:`kwis.large.approximate`; None: exact up to
        100,000 rows.
    neighbours
        Rows in each of the two samples of the approximation; None: 20 times the square root of the rows.
    block_rows
        Rows read at once; None: a 32nd of the log, from 8,192 to 262,144.
    cache_bytes
        How much of the rows already read every process keeps; a task needs about 400 bytes per row of two
        blocks beside it.
    client
        A :class:`dask.distributed.Client` whose workers do the work; they must see the same files. Or a
        runner.
    progress
        Called as ``progress(done, total, what)``.
    """
    columns = Columns(
        reward=reward,
        weight=weight,
        target=target,
        propensity=propensity,
        action=action,
        mass=row_weight,
        context=() if context is None else tuple(context),
        categorical=tuple(categorical),
    )
    asked = Asked(
        bandwidth=bandwidth,
        per_feature=per_feature,
        kernel=as_kernel(kernel),
        exact=exact,
        neighbours=None if neighbours is None else check.whole(neighbours, "neighbours", 100),
        selection_rows=check.whole(selection_rows, "selection_rows", 10),
        cache_bytes=check.whole(cache_bytes, "cache_bytes", 0),
    )
    runner = runner_of(client, progress)
    with engine():
        log = opened(source, columns, runner, client, every=context is None, block_rows=block_rows)
        return estimated(runner, log, asked, _seed(rng))


def _seed(rng: Seed) -> int:
    from kwis.evaluation.prepare import seed_of

    return seed_of(rng)


def runner_of(client: Any, progress: Progress | None) -> Runner:
    """Workers of the client's cluster, or without one the threads of this process."""
    if client is None:
        return Threads(Steps(progress))
    if isinstance(client, Threads) or hasattr(client, "frame_blocks"):
        return client  # a runner already: the caller shares its own
    from kwis.large.cluster import Cluster

    return Cluster(client, Steps(progress))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What kind of estimate is wanted."""

    bandwidth: Any
    per_feature: bool
    kernel: Kernel
    exact: bool | None
    neighbours: int | None
    selection_rows: int
    cache_bytes: int


def framed(runner: Runner, log: Opened, cache_bytes: int = CACHE_BYTES) -> Frame:
    """How the blocks of a log are to be read, from one pass over it."""
    parts = runner.each(summarise, [(block, log.columns) for block in log.blocks], "reading the log once")
    return Frame.of(
        runner.fetch(reduced(runner, combined, parts, "reading the log once")),
        log.columns,
        log.categorical,
        cache_bytes,
    )


def estimated(runner: Runner, log: Opened, asked: Asked, seed: int) -> LargeKernelWIS:
    """The estimate, and in words how it came about."""
    frame = framed(runner, log, asked.cache_bytes)
    bandwidth, selection = _bandwidth(runner, log, frame, asked, seed)
    space = Space.of(frame.ends, frame.categorical, bandwidth, asked.kernel)
    size = sample_size(frame.n, asked.neighbours)
    wanted = asked.exact if asked.exact is not None else frame.n <= EXACT_ROWS
    if wanted or space.infinite or 2 * size >= frame.n:
        found, made = exact(runner, log.blocks, frame, space), None
    else:
        found, made = approximate(runner, log.blocks, frame, space, size=size, seed=seed)
    return _result(found, made, frame, bandwidth, selection)


def _bandwidth(
    runner: Runner, log: Opened, frame: Frame, asked: Asked, seed: int
) -> tuple[Bandwidth, Selection | None]:
    if not isinstance(asked.bandwidth, str):
        return check.bandwidth(asked.bandwidth, frame.d), None
    if asked.bandwidth != "cv":
        raise InputError(f'`bandwidth` must be positive numbers or "cv", got {asked.bandwidth!r}')
    if frame.n < 2:
        return np.inf, None
    size = min(frame.n, asked.selection_rows)
    found = select(
        runner, log.blocks, frame, asked.kernel, per_feature=asked.per_feature, size=size, seed=seed
    )
    return found.choice.value, found


def _result(
    found: Found, made: Approximation | None, frame: Frame, bandwidth: Bandwidth, selection: Selection | None
) -> LargeKernelWIS:
    notes = list(frame.notes)
    if selection is not None:
        notes.append(selection_note(selection, frame.n))
    if made is not None:
        share = made.normalised_error / found.normalised.std_error if found.normalised.std_error else 0.0
        notes.append(approximation_note(made, frame.n, share))

    mean_weight = found.plain.value / found.normalised.value if found.normalised.value else math.nan

    def estimate(name: str, figures: Figures) -> Estimate:
        return Estimate(
            name=name,
            value=figures.value,
            n=frame.n,
            std_error=figures.whole_error,
            effective_n=found.effective_n,
            mean_weight=mean_weight,
            bandwidth=bandwidth,
            choice=None if selection is None else selection.choice,
        )

    return LargeKernelWIS(
        plain=estimate("kernel-wis", found.plain),
        normalised=estimate("normalised-kernel-wis", found.normalised),
        approximation=made,
        selection=selection,
        notes=tuple(notes),
    )


def score_bandwidths(
    source: Any,
    bandwidths: ArrayLike,
    *,
    rows: int = 2000,
    kernel: Kernel | str = RBF,
    rng: Seed = 0,
    client: Any = None,
    progress: Progress | None = None,
    **columns: Any,
) -> tuple[Floats, Floats]:
    """Squared error with which all other rows of a log predict the weight of some held-out ones, and its
    standard error.

    One score per shared bandwidth, from about ``rows`` rows against the whole log: what the bandwidth
    selected on a subset is worth at full size. ``columns`` are those of :func:`kernel_wis`.
    """
    named = dict(columns)
    context = named.pop("context", None)
    named["mass"] = named.pop("row_weight", None)
    wanted = Columns(**{**named, "context": () if context is None else tuple(context)})
    runner = runner_of(client, progress)
    values: Sequence[float] = np.atleast_1d(check.real_array(bandwidths, "bandwidths", 1)).tolist()
    with engine():
        log = opened(source, wanted, runner, client, every=context is None, block_rows=None)
        frame = framed(runner, log)
        spaces = [
            Space.of(frame.ends, frame.categorical, check.bandwidth(value, frame.d), as_kernel(kernel))
            for value in values
        ]
        return held_out_scores(
            runner, log.blocks, frame, spaces, size=check.whole(rows, "rows", 2), seed=_seed(rng)
        )
