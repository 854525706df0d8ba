"""Target policies recognised from whatever the user has.

==========================================  ================================================================
target                                      meaning
==========================================  ================================================================
``"p_new"``, a column of numbers in [0, 1]  probability of the logged action; columns ``p_new_<action>`` for
                                            every action, where they agree with it, supply the whole
                                            distribution
``"choice"``, a column of action labels     the action the policy takes, for certain
``"p_new"``, not a column but a prefix      one column ``p_new_<action>`` per action
a mapping from actions to columns           one column per action
a mapping from actions to probabilities     the same in every row; actions that are not named are never taken
:func:`kwis.always`, :func:`kwis.uniform`,  policies that need no column: see :mod:`kwis.policy.simple`
:func:`kwis.epsilon_greedy`,
:func:`kwis.mix`
:func:`kwis.joined`                         a policy in another file, matched by a key
a classifier with ``predict_proba``         fitted on *other* rows with the same columns: see
                                            :mod:`kwis.policy.classifiers`
what :func:`kwis.cross_fit` returns         learnt from this log, each row by a policy that has not seen it
a function                                  called with the log; returns any of the arrays below
an array ``(n,)``                           as a column would be
an array ``(n, K)`` or ``(n, K, 1)``        the whole distribution, in the order of ``log.action_names``
an array ``(n, K, L)``                      the same by position, where the log has a ``position``
a column of lists, where candidates are     the probability of each candidate, in their order
==========================================  ================================================================

No target may have learnt from the rewards of the rows that evaluate it, whatever its form: the estimate would
count their luck as its skill. :func:`kwis.cross_fit` learns from a log and evaluates on it all the same, by
folds. For a fitted classifier the answer asks; ``kwis.trained_elsewhere(model)`` says that other rows were
used.

Values that are actions and probabilities alike (actions 0 and 1, values 0 and 1) are refused until the user
says ``kwis.probability(...)`` or ``kwis.chosen(...)`` of the column, array or function; unless they are all
the same, which probabilities of the logged action cannot be. So is a column that by its name is one
action's share of a distribution, and a list of columns that together are one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np

from kwis.data.columns import Label
from kwis.data.distributions import (
    is_constant,
)
from kwis.data.log import LoggedBandit
from kwis.data.position import items_of, widened
from kwis.data.table import Table
from kwis.errors import InputError
from kwis.policy.classifiers import predicted
from kwis.policy.cross_fitted import CrossFitted
from kwis.policy.discrete import (
    ChosenColumn,
    DistributionColumns,
    ProbabilityColumn,
    TargetPolicy,
    TrainedElsewhere,
    from_distribution,
)
from kwis.policy.joined import Joined, matched
from kwis.policy.simple import Fixed, SimplePolicy, on_rows
from kwis.policy.target_arrays import called_with, from_array, from_stated, from_whole_array, name_of
from kwis.policy.target_columns import from_columns, from_text, refuse_pieces_of_one
from kwis.runtime.arrays import kept
from kwis.typing import ArrayLike, Classifier

_TRAINED_WHERE = (
    "{} is a fitted model and would look better than it is on the rows it was trained on: "
    "if these are among them, use kwis.cross_fit; if not, say kwis.trained_elsewhere(...)"
)
Target: TypeAlias = (
    str
    | ProbabilityColumn
    | ChosenColumn
    | DistributionColumns
    | SimplePolicy
    | Joined
    | CrossFitted
    | TrainedElsewhere
    | Mapping[Label, str]
    | Mapping[Label, float]
    | Classifier
    | Callable[[LoggedBandit], ArrayLike]
    | ArrayLike
)
"""One policy, in any form of the table above."""
Targets: TypeAlias = Target | Sequence[Target] | Mapping[str, Target]
"""One policy or several: a list, or a mapping from names of the user's choice."""


_MEANT = re.compile(r"kwis\.(chosen|probability)\('[^']*'\)")


def resolve_targets(log: LoggedBandit, targets: Targets) -> tuple[TargetPolicy, ...]:
    """Several targets: a mapping from names of your choice, a list, or a single one; targets of the same name
    are numbered.

    A mapping whose keys are the actions of the log is one target, with one column per action; so is one whose
    values are probabilities.
    """
    if isinstance(targets, list | tuple | Mapping) and not targets:
        raise InputError("`target` must name at least one policy, got none")
    actions = log.action_names if log.items is None else log.items
    called: list[str | None]
    if (
        isinstance(targets, Mapping)
        and not is_constant(targets)
        and {str(key) for key in targets} != {str(action) for action in actions}
    ):
        called, several = [str(name) for name in targets], list(targets.values())
    else:
        several = list(targets) if isinstance(targets, list | tuple) else [cast("Target", targets)]
        called = [None] * len(several)
        refuse_pieces_of_one(log.table, several, actions)
    columns = frozenset(target for target in several if isinstance(target, str))
    resolved = [
        resolve_target(log, target, name, columns) for target, name in zip(several, called, strict=True)
    ]
    names = [policy.name for policy in resolved]
    return tuple(
        replace(policy, name=f"{policy.name} ({names[:i].count(policy.name) + 1})")
        if policy.name in names[:i]
        else policy
        for i, policy in enumerate(resolved)
    )


def resolve_target(
    log: LoggedBandit, target: Target, name: str | None = None, others: Container[str] = ()
) -> TargetPolicy:
    """One target policy on the rows of ``log``; the module lists what a target can be. ``others`` are columns
    that are targets too.
    """
    if log.items is not None and not isinstance(target, CrossFitted | TrainedElsewhere):
        return _at_positions(log, resolve_target(items_of(log), target, name, others))
    if isinstance(target, str):
        return from_text(log, target, name or target, others)
    if isinstance(target, ProbabilityColumn | ChosenColumn):
        return from_stated(log, target, name or target.name)
    if isinstance(target, SimplePolicy):
        parts = tuple(resolve_target(log, part, None, others) for part in target.parts)
        return on_rows(target, log, parts, name)
    if isinstance(target, Joined):
        return _from_other_table(log, target, name)
    if isinstance(target, TrainedElsewhere):
        return replace(resolve_target(log, target.target, name, others), question=None, elsewhere=True)
    if isinstance(target, CrossFitted):
        return _from_folds(log, target, name)
    if isinstance(target, Mapping):
        if is_constant(target):
            return resolve_target(log, Fixed(cast("Mapping[Label, float]", target)), name)
        target = DistributionColumns(target)
    if isinstance(target, DistributionColumns):
        if isinstance(target.columns, str | tuple | Mapping):
            return from_columns(log, target, name or target.name)
        return from_whole_array(log, target.columns, name or target.name)
    if hasattr(target, "predict_proba"):
        kind = type(target).__name__
        policy = from_array(
            log, predicted(cast("Classifier", target), log), name or kind, f"classifier {kind}"
        )
        among = None if log.available is None else f"{policy.name} chooses among the candidates of each row"
        return replace(policy, question=_TRAINED_WHERE.format(policy.name), note=among)
    if callable(target):
        label = name or name_of(target)
        return from_array(log, called_with(target, log, label), label, f"function {label}")
    return from_array(log, target, name or "target", "array")


def _at_positions(log: LoggedBandit, policy: TargetPolicy) -> TargetPolicy:
    """A policy over items as one over pairs of an item and the position of its row."""
    if policy.distribution is None or log.position is None:
        return policy
    wide = widened(policy.distribution, log.position, len(log.position_names))
    return replace(policy, distribution=kept(wide))


def _from_other_table(log: LoggedBandit, target: Joined, name: str | None) -> TargetPolicy:
    other = matched(target, log)
    if not isinstance(other, Table):
        source = f"predictions of Vowpal Wabbit, `{target.source}`"
        policy = from_array(log, other.shares, name or Path(str(target.source)).stem, source)
        return policy.noted(other.note)
    assert target.target is not None
    is_path = isinstance(target.source, str | os.PathLike)
    where, code = (f"{target.source}", repr(str(target.source))) if is_path else ("another table", "table")
    try:
        policy = resolve_target(replace(log, table=other), target.target, name)
    except InputError as trouble:
        words = str(trouble).replace("a column of the log", f"a column of {where}")
        raise InputError(_MEANT.sub(rf"kwis.joined({code}, \g<0>)", words)) from None
    return replace(policy, columns=(), source=f"{policy.source}, of {where}")


def _from_folds(log: LoggedBandit, target: CrossFitted, name: str | None) -> TargetPolicy:
    if not np.array_equal(target.rows, log.rows):
        raise InputError(
            "`target` must be cross-fitted on the log that it is evaluated on, got rows of another"
        )
    made = replace(target, name=name or target.name)
    folds = int(made.folds.max()) + 1
    return replace(
        from_distribution(log, made.distribution, made.name, f"cross-fitted over {folds} folds"),
        note=made.note,
    )
