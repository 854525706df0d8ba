"""The door of an evaluation: what somebody says about a log and targets, checked, and the answer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from kwis import _validation as check
from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import LogArguments, refuse_said, refuse_unknown, takes_log_arguments
from kwis.data.read.assemble import checked_source
from kwis.data.read.collect import opened
from kwis.errors import InputError, KwisWarning
from kwis.evaluation.opening import Opened, opened_leanly
from kwis.evaluation.split import By, combinations_in, splits_by
from kwis.policy.action_features import ActionFeatures, feature_groups
from kwis.policy.target import Targets, resolve_targets
from kwis.result.evaluation import Evaluation
from kwis.typing import REPAIR_MODES, Classifier, Client, Regressor, RepairMode, Seed

if TYPE_CHECKING:
    from kwis.data.read.scan import Log
    from kwis.estimators.protocol import Estimators
    from kwis.intervals import IntervalMethod
    from kwis.runtime.runner import Progress


@takes_log_arguments
def evaluate(
    log: Log,
    target: Targets,
    *,
    estimators: Estimators | None = None,
    interval: IntervalMethod | str | None = None,
    level: float = 0.95,
    by: By = (),
    reward_model: Regressor | None = None,
    propensity_model: Classifier | str | None = None,
    repair: RepairMode = "auto",
    exact: bool | None = None,
    action_features: ActionFeatures | None = None,
    statistic: str = "mean",
    unit: str | Mapping[str, str] | None = None,
    per: float = 1,
    reward_label: str | Mapping[str, str] | None = None,
    lower_is_better: bool | str | Sequence[str] = False,
    rng: Seed | None = None,
    seed: int | None = None,
    client: Client | None = None,
    progress: Progress | None = None,
    **said: Unpack[LogArguments],
) -> Evaluation:
    """Estimate what target policies would have brought, compare them with the logging policy, and say whether
    to trust it.

    Parameters
    ----------
    log
        A path, a data frame or anything else that :func:`kwis.read_log` reads, with its arguments below; or
        what it or :func:`kwis.scan_log` returned. The answer does not depend on which of these it is.
    target
        A column, a classifier, a function or an array; a list of them, or a mapping from names of your
        choice. See :mod:`kwis.policy.target` for what each means.
    estimators
        Names or estimators; None: all that apply.
    interval
        An interval method for everything: :class:`kwis.StudentInterval` (None means the same),
        :class:`kwis.Bootstrap`, :class:`kwis.InfluenceInterval`, or a bound that holds at every sample size,
        :class:`kwis.LogarithmicSmoothing` or :class:`kwis.EmpiricalBernstein`, for the estimator it applies
        to; or the name of one, such as ``"bootstrap"`` or ``"clopper-pearson:20"``, of
        :mod:`kwis.intervals.names`.
    level
        Confidence level of the intervals.
    by
        Columns whose values make segments, each with estimates and differences of its own: one, or a list; a
        tuple of columns, alone or in the list, stands for their combinations.
    reward_model
        A regressor for the direct method and doubly robust estimators; None: the better of two. They take
        part if the target's probability of every action is known.
    propensity_model
        A classifier that estimates propensities where the log has none; None: the better of two.
    repair
        Whether to repair logged propensities from the actions taken: ``"auto"`` where their tests fail,
        ``"never"`` or ``"always"``; see :mod:`kwis.evaluation.mend`.
    exact
        Kernel-WIS from all pairs of rows (True), or from sampled neighbours and with an error bar (False), as
        :mod:`kwis.estimators.sampled` describes; None: by the number of rows.
    action_features
        What describes the actions, for weights over that instead of over many actions: a mapping from actions
        to a label or several, columns of the log, a table with a row per action such as
        ``"items.csv:genre"``, or an array; see :mod:`kwis.policy.action_features`.
    statistic
        What of the rewards is estimated: ``"mean"``, ``"quantile:0.95"``, ``"cvar:0.95"``,
        ``"lower-cvar:0.05"`` or ``"above:10"``, see :mod:`kwis.evaluation.statistic`.
    unit, reward_label
        Unit of the rewards and what they are called in words and charts: text, or a mapping from rewards.
    per
        Over how many decisions values are shown, such as 1000; frames and JSON stay per decision.
    lower_is_better
        Whether less is better, as for costs and latencies: True, or the rewards that it holds for.
    client
        A :class:`dask.distributed.Client` whose workers read files and Dask partitions; the answer is the
        same without it.
    rng, seed
        A seed, or a generator that one is drawn from: everything random follows from it. ``seed`` is another
        name for a seed; without either it is 0.
    progress
        Called as ``progress(done, total, what)`` at every step.
    {log arguments}

    Returns
    -------
    Evaluation
        Value, interval and verdict of every target, and how they compare. ``print`` gives the answer in
        words, ``to_html(path)`` writes the report and ``to_frame()`` returns a table.

    See Also
    --------
    kwis.read_log : reads a log once for several evaluations.
    kwis.plan : how many decisions the answer needs.
    kwis.sensitivity : what wrong propensities would do to it.
    kwis.watch : evaluates a log that grows.

    Examples
    --------
    >>> frame = kwis.sample_log(300, rng=1)
    >>> evaluation = kwis.evaluate(frame.read(), "p_new", estimators=["wis"], repair="never")
    >>> evaluation.targets
    ('p_new',)
    >>> round(evaluation.recommended["p_new"].row.estimate.value, 2)
    0.32
    """
    arguments = {**locals(), **said}
    refuse_unknown(said, "evaluate")
    check.one_of(repair, "repair", REPAIR_MODES)
    rng, method = check.one_seed(rng, seed), None
    if interval is not None:
        from kwis.intervals.names import interval_method

        method = interval_method(interval)
    level, origin = check.level(level), checked_source(said.get("propensity_source"))
    ready = None
    if isinstance(log, LoggedBandit):
        refuse_said(said)
    elif isinstance(log, Opened):  # by the command
        ready = log.ready
        arguments["log"] = log = log.log
    else:
        lean = opened_leanly(log, said, {**arguments, "rng": rng})
        if lean is None:
            log = opened(log, said, client, progress)
        else:
            log, ready = lean.log, lean.ready
    if origin is not None:
        log = replace(log, propensity_source=origin)
    combinations_in(log, by)
    try:
        targets = ready.targets if ready is not None else resolve_targets(log, target)
        features = None if action_features is None else feature_groups(log, action_features)
    except InputError as trouble:
        raise InputError(log.placed(str(trouble))) from None
    log = log if features is None else log.without_context(features.columns)
    # What computes is loaded now that the log is read: a wrong name of a column need not wait for it.
    from kwis.evaluation.account import few_rows, with_call
    from kwis.evaluation.flow import Run, Stages
    from kwis.evaluation.intervals import Intervals
    from kwis.evaluation.prepare import prepare
    from kwis.evaluation.roster import Roster
    from kwis.evaluation.statistic import Statistic
    from kwis.intervals.method import draws_blocks
    from kwis.result.presentation import Presentation
    from kwis.runtime.runner import working_on
    from kwis.runtime.threads import engine

    wanted = Statistic.of(statistic)
    how = Presentation.of(log.reward_names, unit, per, reward_label, lower_is_better)
    how = how.of_statistic(wanted.named, log.reward_names, adds_up=wanted.is_mean)
    estimators, log = wanted.estimators(estimators), wanted.log(log)
    try:
        blocks = method is not None and draws_blocks(method)
        if ready is None:
            ready = prepare(log, targets, propensity_model=propensity_model, rng=rng, by_time=blocks)
    except InputError as trouble:
        raise InputError(log.placed(str(trouble))) from None
    check.two_draws(ready.log.n, ready.log.group)
    if blocks and ready.log.key is not None and ready.log.time is None:
        raise InputError("`time` must be named for blocks of rows where rows have a `key` and no order")
    few = few_rows(ready.log.n)
    if few is not None:
        warnings.warn(few, KwisWarning, stacklevel=2)
    roster, splits = Roster.of(estimators, ready.seed, exact), splits_by(ready.log, by)
    intervals = Intervals(method=method, level=level, seed=ready.seed, presentation=how)
    steps = Stages(progress, 2 * len(ready.targets) + 6)
    with engine(), working_on(client, progress):
        steps("checking the propensities")
        if ready.whole is None:
            ready = ready.repaired(repair).pooled().over_features(features)
        answer = Run(
            ready=ready,
            roster=roster,
            reward_model=reward_model,
            intervals=intervals,
            splits=splits,
            steps=steps,
            statistic=wanted,
        ).evaluation()
    return with_call(answer, evaluate, arguments)
