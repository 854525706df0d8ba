"""Targets that are columns of the log: what their values mean, and what is refused as unclear."""

from __future__ import annotations

import warnings
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kwis.data.candidates import aligned, score_lists
from kwis.data.columns import Column, Label
from kwis.data.distributions import (
    TOLERANCE,
    codes_of,
    columns_by_action,
    distribution_in,
    family,
    proper_family,
)
from kwis.data.lists import lists_in
from kwis.data.log import LoggedBandit
from kwis.data.table import Table
from kwis.errors import InputError, KwisWarning
from kwis.policy.discrete import (
    DistributionColumns,
    TargetPolicy,
    from_choice,
    from_distribution,
    from_probability,
)
from kwis.typing import Floats

if TYPE_CHECKING:
    from kwis.policy.target import Target


def from_text(log: LoggedBandit, target: str, name: str, others: Container[str]) -> TargetPolicy:
    beside = None if _holds_actions(log, target) else _beside_candidates(log, target, name)
    if beside is not None:
        return beside
    if target not in log.table:
        return from_columns(log, DistributionColumns(target), name)
    column = log.table.column(target)
    if meaning_of(column, target, log.action_names) == "choice":
        return from_choice(log, column, name, (target,))
    _refuse_one_share(log.table, target, log.action_names)
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


def _beside_candidates(log: LoggedBandit, target: str, name: str) -> TargetPolicy | None:
    """Target from a column of lists; None where there are no lists."""
    whole = by_candidate(log, log.table, target)
    if whole is None:
        return None
    columns = log.table.blocks.get(target, (target,) if target in log.table else ())
    return from_distribution(log, whole, name, f"column `{target}`: probability of each candidate", columns)


def by_candidate(log: LoggedBandit, table: Table, target: str) -> Floats | None:
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


def meaning_of(column: Column, name: str, actions: Sequence[Label], said: str | None = None) -> str:
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


def refuse_pieces_of_one(table: Table, targets: Sequence[Target], actions: Sequence[Label]) -> None:
    names = [target for target in targets if isinstance(target, str) and target in table]
    if not len(names) == len(targets) == len(actions) > 1:
        return
    columns = [table.column(name) for name in names]
    if all(column.kind == "number" for column in columns):
        total = sum(column.values.astype(np.float64) for column in columns)
        if (np.abs(total - 1) <= TOLERANCE).all():
            raise InputError(
                f"`target` must say whether {', '.join(f'`{name}`' for name in names)}, which sum to 1 "
                f"in every row, are one "
                "policy, kwis.distribution([...]), or several, a mapping from names to columns"
            )


def from_columns(log: LoggedBandit, target: DistributionColumns, name: str | None) -> TargetPolicy:
    if isinstance(target.columns, str):
        beside = _beside_candidates(log, target.columns, name or target.columns)
        if beside is not None:
            return beside
    names = columns_by_action(log.table, target.columns, log.action_names, "target")
    shared = target.columns if isinstance(target.columns, str) else _shared_prefix(names)
    label = name or shared or names[0]
    source = f"one column per action, `{names[0]}` to `{names[-1]}`"
    return from_distribution(log, distribution_in(log.table, names, "target"), label, source, names)


def _shared_prefix(names: Sequence[str]) -> str:
    """What all names begin with, without the mark that ends it."""
    alike = [len(set(letters)) == 1 for letters in zip(*names, strict=False)]
    return names[0][: [*alike, False].index(False)].rstrip("_-. ")
