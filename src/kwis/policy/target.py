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
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kwis.data.candidates import aligned, score_lists
from kwis.data.columns import Column, Label
from kwis.data.distributions import (
    TOLERANCE,
    codes_of,
    columns_by_action,
    distribution_in,
    family,
    is_constant,
    probabilities_in,
    proper_family,
    sums_to_one,
)
from kwis.data.lists import lists_in
from kwis.data.log import LoggedBandit
from kwis.data.position import items_of, of_positions, widened
from kwis.data.table import Table, is_single, table_of
from kwis.errors import InputError, KwisError, KwisWarning
from kwis.policy.classifiers import predicted
from kwis.policy.cross_fitted import CrossFitted
from kwis.policy.discrete import (
    ChosenColumn,
    DistributionColumns,
    ProbabilityColumn,
    TargetPolicy,
    TrainedElsewhere,
    from_choice,
    from_distribution,
    from_probability,
)
from kwis.policy.joined import Joined, matched
from kwis.policy.simple import Fixed, SimplePolicy, resolved
from kwis.runtime.arrays import kept
from kwis.typing import Floats

_TRAINED_WHERE = (
    "{} is a fitted model and would look better than it is on the rows it was trained on: "
    "if these are among them, use kwis.cross_fit; if not, say kwis.trained_elsewhere(...)"
)
Policy = TypeVar("Policy", bound=Any)  # a record with a `name`


def resolve_targets(log: LoggedBandit, targets: Any) -> tuple[TargetPolicy, ...]:
    """Several targets: a mapping from names of your choice, a list, or a single one.

    A mapping whose keys are the actions of the log is one target, with one column per action; so is one whose
    values are probabilities.
    """
    several = (
        targets.values()
        if isinstance(targets, Mapping)
        else targets
        if isinstance(targets, list | tuple)
        else ()
    )
    columns = frozenset(target for target in several if isinstance(target, str))
    names = log.action_names if log.items is None else log.items
    return each_target(
        targets, log.table, names, lambda target, name: resolve_target(log, target, name, columns)
    )


def each_target(
    targets: Any, table: Table, actions: Sequence[Label], resolve: Callable[[Any, str | None], Policy]
) -> tuple[Policy, ...]:
    """``resolve(target, name)`` of every target, ``name`` that of a mapping; targets of the same name are
    numbered.

    ``table`` may be only the first rows of a log: they decide what is refused.
    """
    if isinstance(targets, list | tuple | Mapping) and not targets:
        raise InputError("`target` must name at least one policy, got none")
    if (
        isinstance(targets, Mapping)
        and not is_constant(targets)
        and {str(key) for key in targets} != {str(action) for action in actions}
    ):
        return tuple(resolve(target, str(name)) for name, target in targets.items())
    several = targets if isinstance(targets, list | tuple) else [targets]
    _refuse_pieces_of_one(table, several, actions)
    resolved = [resolve(target, None) for target in several]
    names = [policy.name for policy in resolved]
    return tuple(
        replace(policy, name=f"{policy.name} ({names[:i].count(policy.name) + 1})")
        if policy.name in names[:i]
        else policy
        for i, policy in enumerate(resolved)
    )


def target_in(table: Table, name: str, actions: Sequence[Label]) -> ChosenColumn | ProbabilityColumn:
    """What a column named as a target holds, by its values; one action's share of a policy is refused."""
    if _meaning(table.column(name), name, actions) == "choice":
        return ChosenColumn(name)
    _refuse_one_share(table, name, actions)
    return ProbabilityColumn(name)


def resolve_target(
    log: LoggedBandit, target: Any, name: str | None = None, others: Container[str] = ()
) -> TargetPolicy:
    """One target policy on the rows of ``log``; the module lists what a target can be. ``others`` are columns
    that are targets too.
    """
    if log.items is not None and not isinstance(target, CrossFitted | TrainedElsewhere):
        return _at_positions(log, resolve_target(items_of(log), target, name, others))
    if isinstance(target, str):
        return _from_text(log, target, name or target, others)
    if isinstance(target, ProbabilityColumn | ChosenColumn):
        return _from_stated(log, target, name or target.name)
    if isinstance(target, SimplePolicy):
        parts = tuple(resolve_target(log, part, None, others) for part in target.parts)
        return resolved(target, log, parts, name)
    if isinstance(target, Joined):
        return _from_other_table(log, target, name)
    if isinstance(target, TrainedElsewhere):
        return replace(resolve_target(log, target.target, name, others), question=None, elsewhere=True)
    if isinstance(target, CrossFitted):
        return _from_folds(log, target, name)
    if isinstance(target, Mapping):
        if is_constant(target):
            return resolve_target(log, Fixed(target), name)
        target = DistributionColumns(target)
    if isinstance(target, DistributionColumns):
        if isinstance(target.columns, str | tuple | Mapping):
            return _from_columns(log, target, name or target.name)
        return _from_whole_array(log, target.columns, name or target.name)
    if hasattr(target, "predict_proba"):
        kind = type(target).__name__
        policy = _from_array(log, predicted(target, log), name or kind, f"classifier {kind}")
        among = None if log.available is None else f"{policy.name} chooses among the candidates of each row"
        return replace(policy, question=_TRAINED_WHERE.format(policy.name), note=among)
    if callable(target):
        label = name or _name_of(target)
        return _from_array(log, _called(target, log, label), label, f"function {label}")
    return _from_array(log, target, name or "target", "array")


def _at_positions(log: LoggedBandit, policy: TargetPolicy) -> TargetPolicy:
    """A policy over items as one over pairs of an item and the position of its row."""
    if policy.distribution is None or log.position is None:
        return policy
    wide = widened(policy.distribution, log.position, len(log.position_names))
    return replace(policy, distribution=kept(wide))


def _from_stated(
    log: LoggedBandit, target: ProbabilityColumn | ChosenColumn, name: str | None
) -> TargetPolicy:
    """A target of which somebody said what its values mean."""
    make = from_choice if isinstance(target, ChosenColumn) else from_probability
    given = target.column
    if isinstance(given, str):
        return make(log, log.table.column(given, "target"), name or given, (given,))
    label = name or _name_of(given)
    table = _table_of_rows(log, _called(given, log, label) if callable(given) else given)
    if "target" not in table:
        raise InputError(
            f"`target` must be one value per row, got {len(table.columns)}; kwis.distribution takes "
            "probabilities of every action"
        )
    policy = make(log, table.column("target"), label)
    return replace(
        policy, source=f"{_kind_of(given)} {label}: {policy.source}" if callable(given) else policy.source
    )


def _from_whole_array(log: LoggedBandit, given: Any, name: str | None) -> TargetPolicy:
    """A target that somebody said is an ``(n, K)`` distribution, or a function that returns one."""
    label = name or _name_of(given)
    table = _table_of_rows(log, _called(given, log, label) if callable(given) else given)
    return _from_shares(log, table, label, _kind_of(given))


def _from_other_table(log: LoggedBandit, target: Joined, name: str | None) -> TargetPolicy:
    other = matched(target, log)
    if not isinstance(other, Table):
        source = f"predictions of Vowpal Wabbit, `{target.source}`"
        return _from_array(log, other, name or Path(target.source).stem, source)
    policy = resolve_target(replace(log, table=other), target.target, name)
    where = f", of {target.source}" if isinstance(target.source, str | os.PathLike) else ", of another table"
    return replace(policy, columns=(), source=f"{policy.source}{where}")


def _name_of(given: Any) -> str:
    """What to call a function or an array that nobody gave a name."""
    return str(getattr(given, "__name__", "function")) if callable(given) else "target"


def _kind_of(given: Any) -> str:
    return "function" if callable(given) else "array"


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


def _called(target: Any, log: LoggedBandit, name: str) -> Any:
    """What a function makes of the log; it is given all rows at once, which those written for one row do not
    expect.
    """
    try:
        return target(log)
    except KwisError:
        raise
    except Exception as trouble:
        said = (
            f"`target` must be a function of the whole log, log[name] being a column: {name} ended in "
            f"{type(trouble).__name__}"
        )
        raise InputError(f"{said} ({trouble})") from trouble


def _from_text(log: LoggedBandit, target: str, name: str, others: Container[str]) -> TargetPolicy:
    beside = None if _holds_actions(log, target) else _by_candidate(log, log.table, target)
    if beside is not None:
        columns = log.table.blocks.get(target, (target,) if target in log.table else ())
        return from_distribution(
            log, beside, name, f"column `{target}`: probability of each candidate", columns
        )
    if target not in log.table:
        return _from_columns(log, DistributionColumns(target), name)
    column = log.table.column(target)
    if isinstance(target_in(log.table, target, log.action_names), ChosenColumn):
        return from_choice(log, column, name, (target,))
    policy = from_probability(log, column, name, (target,))
    members = proper_family(log.table, target, log.action_names)
    if not members:
        named = family(log.table, target, log.action_names)
        if named is not None and not _coincidence(target, named, others):
            _warn_of(named, "they are not probabilities that sum to 1 in every row")
        return policy
    whole = from_distribution(log, distribution_in(log.table, members, "target"), name, "", members)
    apart = np.abs(whole.logged - policy.logged)
    if apart.max() > 1e-6:
        row = int(np.argmax(apart))
        _warn_of(
            members,
            f"`{target}` says {policy.logged[row]:g} of the logged action at row {row}, they say "
            f"{whole.logged[row]:g}",
        )
        return policy
    source = f"column `{target}`, with the whole distribution in `{members[0]}` to `{members[-1]}`"
    return replace(policy, distribution=whole.distribution, columns=(target, *members), source=source)


def _by_candidate(log: LoggedBandit, table: Table, target: str) -> Floats | None:
    """``(n, K)`` distribution from lists of probabilities in the order of the candidates; None where there
    are no lists.
    """
    if log.candidates is None:
        return None
    sets, scores = lists_in(log.table, log.candidates), score_lists(table, target)
    return (
        None if sets is None or scores is None else aligned(sets, scores, target, log.action_names, "target")
    )


def _holds_actions(log: LoggedBandit, target: str) -> bool:
    """Whether a column of text names an action in each row, and no list of probabilities."""
    if target not in log.table or log.table.column(target).kind != "text":
        return False
    return bool((codes_of(log.table.column(target), log.action_names)[0] >= 0).any())


def _coincidence(target: str, members: Sequence[str], others: Container[str]) -> bool:
    """Whether columns named like shares of a target are targets of their own, or numbered: `p_t10` is no
    share of `p_t1`.
    """
    digits = target[-1:].isdigit() and all(member[len(target)].isdigit() for member in members)
    return digits or any(member in others for member in members)


def _warn_of(members: Sequence[str], reason: str) -> None:
    warnings.warn(f"`{members[0]}` to `{members[-1]}` were not used: {reason}", KwisWarning, stacklevel=6)


def _meaning(column: Column, name: str, actions: Sequence[Label], said: str | None = None) -> str:
    """What values are: the action taken, or its probability; ``said`` stands for them in an error."""
    codes = codes_of(column, actions)[0]
    labels = bool(len(codes)) and bool((codes >= 0).all())
    chances = column.kind in ("number", "boolean") and bool(
        ((column.values >= 0) & (column.values <= 1)).all()
    )
    if labels and chances and len(np.unique(codes)) > 1:
        what = repr(name) if said is None else said
        raise InputError(
            f"`target` must say what `{name}` holds, whose values are actions and probabilities alike: "
            f"kwis.chosen({what}) or kwis.probability({what})"
        )
    # No policy gives every logged action the probability 1, nor 0: values that never change are an action.
    # Text can only be meant as actions; the error for one that is unknown names its row.
    return "choice" if labels or column.kind == "text" else "probability"


def _refuse_one_share(table: Table, target: str, actions: Sequence[Label]) -> None:
    for action in actions:
        prefix = target.removesuffix(f"_{action}")
        if prefix != target and proper_family(table, prefix, actions):
            raise InputError(
                f"`target` must be the probability of the logged action or of every action, got `{target}`, "
                f"by its name the "
                f"probability of {action!r} alone; say {prefix!r} for the whole policy, or "
                f"kwis.probability({target!r})"
            )


def _refuse_pieces_of_one(table: Table, targets: Sequence[Any], actions: Sequence[Label]) -> None:
    if (
        len(targets) != len(actions)
        or len(targets) < 2
        or not all(isinstance(target, str) and target in table for target in targets)
    ):
        return
    columns = [table.column(target) for target in targets]
    if all(column.kind == "number" for column in columns):
        total = sum(column.values.astype(np.float64) for column in columns)
        if (np.abs(total - 1) <= TOLERANCE).all():
            raise InputError(
                f"`target` must say whether {', '.join(f'`{target}`' for target in targets)}, which sum to 1 "
                f"in every row, are one "
                "policy, kwis.distribution([...]), or several, a mapping from names to columns"
            )


def _from_columns(log: LoggedBandit, target: DistributionColumns, name: str | None) -> TargetPolicy:
    names = columns_by_action(log.table, target.columns, log.action_names, "target")
    label = name or (target.columns if isinstance(target.columns, str) else names[0])
    source = f"one column per action, `{names[0]}` to `{names[-1]}`"
    return from_distribution(log, distribution_in(log.table, names, "target"), label, source, names)


def _from_array(log: LoggedBandit, values: Any, name: str, source: str) -> TargetPolicy:
    table = _table_of_rows(log, values)
    matrix = len(table.blocks.get("target", ())) == log.n_actions
    beside = None if matrix or not (table.lists or table.blocks) else _by_candidate(log, table, "target")
    if beside is not None:
        return from_distribution(log, beside, name, f"{source}: probability of each candidate")
    if "target" not in table:
        return _from_shares(log, table, name, source)
    column = table.column("target")
    meaning = _meaning(column, name, log.action_names, source.partition(" ")[0])
    policy = (from_choice if meaning == "choice" else from_probability)(log, column, name)
    return replace(policy, source=f"{source}: {policy.source}")


def _table_of_rows(log: LoggedBandit, values: Any) -> Table:
    """Values given as an array, one entry or several for each row of the log; for each row of the source if
    rows were left out of it.
    """
    if isinstance(values, np.ndarray) and values.ndim == 3 and values.shape[2] > 1:
        if len(values) != len(log) and len(values) == log.source_rows:
            values = values[log.rows]
        values = of_positions(values, log, "target")
    table = None if is_single(values) else table_of([("target", values)])
    if table is None or not (table.columns or (table.lists and log.candidates is not None)):
        raise InputError(
            f"`target` must be a column, a classifier, a function or an array, got {type(values).__name__}"
        )
    if table.n != len(log) and table.n == log.source_rows:
        return table.take(log.rows)
    if table.n != len(log):
        raise InputError(
            f"`target` must have one entry per row of the log, got {table.n} for {len(log)} rows"
        )
    return table


def _from_shares(log: LoggedBandit, table: Table, name: str, source: str) -> TargetPolicy:
    names = table.blocks.get("target", ())
    if len(names) != log.n_actions:
        raise InputError(
            f"`target` must have one column per action, got {len(names) or 1} for {log.n_actions} actions"
        )
    shares = [probabilities_in(table.column(key), key, "target") for key in names]
    return from_distribution(log, kept(sums_to_one(np.column_stack(shares), "target")), name, source)
