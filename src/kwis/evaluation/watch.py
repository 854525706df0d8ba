"""A log that grows: files arrive in a folder, and every look at it has an interval that holds with all the
others.

The value of each target, and its difference to the logging policy, have a confidence sequence
(:class:`kwis.BettingSequence`): one may look after every file and stop when the answer is good enough. What
was counted is kept in one small file, which is replaced in one step after each file of the log. So a watch
that is killed loses at most the work on one file, and counts no file twice.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from kwis import _validation as check
from kwis._call import Writer
from kwis.data.log import LoggedBandit
from kwis.data.read.arguments import LogArguments, reading_of, refuse_unknown, roles_of, takes_log_arguments
from kwis.data.read.arrivals import Arrived, Waiting, arrived, digest, is_changed, settled
from kwis.data.read.assemble import assemble
from kwis.data.read.read_log import completed, read_source
from kwis.errors import InputError
from kwis.evaluation.counted import Counted
from kwis.evaluation.look import Look
from kwis.evaluation.tally import Tally
from kwis.intervals.sequence import BettingSequence
from kwis.models.propensity.check import known_distribution
from kwis.policy.action_features import ActionFeatures, feature_groups
from kwis.policy.discrete import importance_weights
from kwis.policy.marginal import marginal_weights
from kwis.policy.simple import EpsilonGreedy, Uniform
from kwis.policy.target import Targets, resolve_targets
from kwis.runtime.process import muted
from kwis.runtime.writing import writable

STATE_NAME = ".kwis-watch.json"
SETTLE = 2.0
"""Seconds without a change after which a file may be whole."""
ALARM = 20.0
"""Capital of the bets against propensities at which they are called wrong: 5 %, over all looks."""
_REFUSED = ("group", "row_weight", "query", "allow_external")


@takes_log_arguments
def watch(
    folder: str | os.PathLike[str],
    target: Targets,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    largest_weight: float | None = None,
    action_features: ActionFeatures | None = None,
    level: float = 0.95,
    state: str | os.PathLike[str] | None = None,
    settle: float = SETTLE,
    **said: Unpack[LogArguments],
) -> Look:
    """Look at a folder in which the files of a log arrive: count those that are new and whole, and say what
    is known so far.

    Call it again when more files may have come, as often as you like: intervals hold at all looks together.
    ``kwis watch`` does so until a gate is decided. Propensities have to be logged, and rows to be decisions
    of their own, without groups.

    Parameters
    ----------
    folder
        Where the files arrive. Hidden files, and those of no format that can be read, are left alone. A file
        that changes after it was counted is refused.
    target
        Policies, as :func:`kwis.evaluate` takes them.
    bounds
        Range of the rewards, known beforehand.
    largest_weight
        What no weight can exceed, known beforehand, such as the inverse of the smallest propensity; it makes
        intervals narrower, see :class:`kwis.BettingSequence`.
    action_features
        What describes the actions, as in :func:`kwis.evaluate`, for weights over that.
    level
        Probability with which the intervals of all targets hold, at all looks.
    state
        The file in which to keep what was counted; None: ``.kwis-watch.json`` in the folder.
    settle
        Seconds without a change after which a file may be whole.
    {log arguments}

    Returns
    -------
    Look
        What all files counted so far say.

    See Also
    --------
    kwis.BettingSequence : the intervals used.
    kwis.evaluate : one look, with repair, checks and narrower intervals.
    kwis.plan : how many decisions it may take.

    Examples
    --------
    >>> context = ["country", "device", "age", "member", "signup", "hour"]
    >>> path = kwis.sample_log(200, rng=1).write("day-1.csv")
    >>> kwis.watch(".", "p_new", reward="click", context=context, settle=0).rows
    200
    >>> path = kwis.sample_log(300, rng=2).write("day-2.csv")
    >>> look = kwis.watch(".", "p_new", reward="click", context=context, settle=0)
    >>> look.rows, look.files, look.fresh
    (500, 2, ('day-2.csv',))
    """
    arguments = {
        "target": target,
        "bounds": bounds,
        "largest_weight": largest_weight,
        "action_features": action_features,
        **said,
    }
    refuse_unknown(said, "watch")
    how = BettingSequence(bounds=bounds, largest_weight=largest_weight)
    check.level(level)
    if not 0 <= settle < float("inf"):
        raise InputError(f"`settle` must be a number of seconds, got {settle!r}")
    for name in _REFUSED:
        if said.get(name):
            raise InputError(f"`{name}` must not be given to a watch, got {said.get(name)!r}")
    files = arrived(folder)
    place = Path(folder) / STATE_NAME if state is None else Path(state)
    kept = Counted.read(writable(place, "state"), how, _settings(arguments))
    new = kept.new(files)
    whole, waiting = settled(new, settle)
    fresh, repeated = [], {}
    for file in whole:
        mark = digest(file.path)
        other = kept.holding(mark)
        tally = kept.tally
        if other is None:
            tally = _counted(kept.tally, file, target, how, action_features, said)
        if is_changed(file):  # while it was read
            waiting.append(Waiting(name=file.name, reason="it is still being written"))
            continue
        kept = kept.after(file, mark, tally)
        kept.write(place)
        if other is None:
            fresh.append(file.name)
        else:
            repeated[file.name] = other
    return _look(kept, how, level, fresh, waiting, repeated)


def _counted(
    tally: Tally | None,
    file: Arrived,
    target: Targets,
    how: BettingSequence,
    action_features: ActionFeatures | None,
    said: LogArguments,
) -> Tally:
    """The sums after one more file; whatever is wrong with it is said with its name."""
    try:
        found = read_source(file.path, reading_of(said))
        with muted():  # a file may be short, the log is not
            log = assemble(found, completed(roles_of(said), found))
        _refuse(log, target, said)
        policies = resolve_targets(log, target)
        names = [policy.name for policy in policies]
        tally = Tally.start(how, names) if tally is None else tally
        if list(tally.values) != names:
            raise InputError(f"`target` must be {', '.join(tally.values)} as before, got {', '.join(names)}")
        assert log.propensity is not None
        weights = {one.name: importance_weights(one.logged, log.propensity) for one in policies}
        if action_features is not None:
            features = feature_groups(log, action_features)
            known = replace(log, behaviour=known_distribution(log))
            weights = {one.name: marginal_weights(known, one, features) for one in policies}
        inverse = {
            str(label): importance_weights((log.action == code).astype(np.float64), log.propensity)
            for code, label in enumerate(log.action_names)
            if (log.action == code).any()
        }
        return tally.add(weights, log.reward[:, 0], inverse if log.available is None else {})
    except InputError as trouble:
        sentence = str(trouble)
        if file.name not in sentence:
            place = f"in {file.name!r}"
            sentence = f"{sentence} ({place})" if sentence.endswith("?") else f"{sentence}, {place}"
        if sentence.startswith("`bounds` must hold"):
            sentence += "; say between which values all rewards lie with bounds=(low, high)"
        raise InputError(sentence) from None


def _refuse(log: LoggedBandit, target: Targets, said: LogArguments) -> None:
    """Refuse logs of which a sequence would say something else than it should."""
    if log.propensity is None:
        raise InputError("`propensity` must be logged to be watched, and this log has none")
    if len(log.reward_names) != 1:
        raise InputError(f"`reward` must be one column, got {', '.join(log.reward_names)}")
    if said.get("actions") is None and log.available is None and _draws_any(target):
        raise InputError(
            "`actions` must list all actions for a policy that takes any of them, as a file may lack some"
        )


def _draws_any(target: Targets) -> bool:
    """Whether a target, or one in it, takes every action with some probability."""
    if isinstance(target, Uniform | EpsilonGreedy):
        return True
    inside = (
        target.values() if isinstance(target, Mapping) else target if isinstance(target, list | tuple) else ()
    )
    return any(map(_draws_any, (*inside, *getattr(target, "parts", ()))))


def _look(
    kept: Counted,
    how: BettingSequence,
    level: float,
    fresh: list[str],
    waiting: list[Waiting],
    repeated: Mapping[str, str],
) -> Look:
    tally = kept.tally or Tally.start(how, [])
    each = 1 - (1 - level) / max(len(tally.values), 1)
    return Look(
        rows=tally.rows,
        files=len(kept.files),
        fresh=tuple(fresh),
        waiting=tuple(waiting),
        repeated=repeated,
        level=level,
        logging=tally.logging.interval(level),
        values={name: one.interval(each) for name, one in tally.values.items()},
        changes={name: one.interval(each) for name, one in tally.changes.items()},
        propensities_wrong=bool(tally.values) and tally.against_propensities() >= ALARM,
    )


def _settings(arguments: Mapping[str, Any]) -> dict[str, str]:
    """What has to stay the same from look to look, as code."""
    writer = Writer()
    given = {name: value for name, value in arguments.items() if value not in (None, (), False)}
    return {name: writer.code(_alone(value), name) for name, value in given.items()}


def _alone(value: Any) -> Any:
    """A list of one name as the name: the command has lists where a call may have either."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
