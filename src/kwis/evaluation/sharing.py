"""Rows that are not independent draws though nobody said so: an undeclared user or session.

Every column that may be an identifier (text or whole numbers, many values, each in several rows) is asked two
questions: do the actions of rows with the same value agree more than the propensities allow, and do their
rewards, less what context and action explain, agree more than chance?

Agreement of one value is ``T = sum over pairs of e_i e_j``, 0 on average for independent rows, with ``e``
what was not to be expected: ``1{action = k} - p_k`` over the actions, or a reward less its prediction. It is
clear where the sum of ``T`` is over 3.5 of its standard errors. The design effect, ``1 + sum of T / sum of
e^2``, says by how much variances are larger than they seem.

Where only the logged action's propensity is known, a pair has ``1{a_i = a_j} / p_j`` instead, 1 on average
for independent rows. Whoever stakes a share ``s`` of their wealth on each row having the action of the one
before it in turn has ``1 - s + s 1{same} / p`` times as much, on average the same: a thousand times as much
is clear.

A column that is part of the context may explain rewards without any harm, so its rewards are looked at only
if its name says what it is; smooth effects of numbers (an age, an hour) are taken off.

Where rows that share a value, or a context, nearly always have one and the same action although others had a
chance, they share one draw whatever the reason. They are then taken for a group: tests, folds and intervals
of independent rows would all be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from kwis.data.columns import Column, Label
from kwis.data.copies import codes_of_rows
from kwis.data.log import COPIES, SHARED, LoggedBandit
from kwis.models.propensity.check import known_distribution
from kwis.results import Verdict
from kwis.runtime.arrays import kept
from kwis.typing import Floats, Ints

CLEAR = 3.5
LARGE_EFFECT = 2.0
_LEAST_LEVELS = 20
_MOST_ROWS_EACH = 50
_MOST_ROWS = 50_000
_DEGREE = 6
_STAKES, _WEALTH = (0.05, 0.25, 0.75), 1000.0
_ONE_ACTION = 0.9
_NAMES = re.compile(
    r"(^|[_\W])(user|customer|client|session|visitor|visit|member|account|patient|person|subject|household|cookie|uid)s?([_\W]?(id|no|nr|number|key|code|hash))?$",
    re.IGNORECASE,
)
_WRITTEN_NUMBER = re.compile(r"\D{0,3}\d+[.,]\d+\D{0,3}")  # 31.8% or €12.50: an amount, no label


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Whether rows that share a value agree beyond chance, and by what factor variances are larger than they
    seem.
    """

    clear: bool
    effect: float


def sounds_like_a_group(name: str) -> bool:
    """Whether a column is called as users, sessions and the like are."""
    return _NAMES.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) is not None


def questions(log: LoggedBandit) -> tuple[str, ...]:
    """Notes that ask about columns whose name says that their rows may belong together."""
    if log.group is not None and log.group_origin != COPIES:
        return ()
    named = (name for name, _ in _candidates(log) if sounds_like_a_group(name))
    return tuple(
        f"rows share values of `{name}`: if these are one user or session each, name it with group={name!r}"
        for name in named
    )


def with_shared_draws_grouped(log: LoggedBandit) -> LoggedBandit:
    """The log with rows that share one draw as groups, and a note on them; as it is where there are none or
    groups are known.
    """
    if log.group is not None or log.propensity is None:
        return log
    found = {name: _one_draw_each(log, codes) for name, codes in _candidates(log)}
    effects = {name: effect for name, effect in found.items() if effect is not None}
    codes: Ints | None = None
    if effects:  # sessions of a user share it as well, and the user is more of them
        codes = log.table.column(max(effects, key=effects.__getitem__)).coded()[0]
    elif log.context_columns:
        contexts = codes_of_rows(log.table.column(name).values for name in log.context_columns)
        codes = contexts if _one_draw_each(log, contexts) is not None else None
    if codes is None:
        return log
    grouped = replace(log, group=kept(codes), group_origin=SHARED)
    return replace(grouped, notes=(*log.notes, _shared_in_words(grouped)))


def _one_draw_each(log: LoggedBandit, codes: Ints) -> float | None:
    """Design effect of rows that nearly always have the action of those they share a code with, by more than
    chance; None elsewhere.
    """
    again = np.bincount(codes) > 1
    if again.sum() < _LEAST_LEVELS:
        return None
    rows = np.flatnonzero(again[codes])
    cells = np.unique(np.column_stack([codes[rows], log.action[rows]]), axis=0)
    if cells.shape[0] * _ONE_ACTION > again.sum():
        return None
    agreement = _action_agreement(log, codes, rows)
    return agreement.effect if agreement is not None and agreement.clear else None


def _shared_in_words(log: LoggedBandit) -> str:
    assert log.group is not None
    name = _group_name(log)
    told = (
        f"rows with the same {'context' if name is None else f'`{name}`'} nearly always have the same "
        f"action, though others had a chance"
    )
    taken = f"they are taken as one draw, {np.unique(log.group).size:,} in all"
    return (
        f"{told}: {taken}; name {'the column that says what they are' if name is None else 'it'} with group="
    )


def _group_name(log: LoggedBandit) -> str | None:
    """The column that groups were made from; None if they are contexts."""
    assert log.group is not None
    return next((name for name, codes in _candidates(log) if (codes == log.group).all()), None)


def shared_draws(log: LoggedBandit, reward: int) -> Iterator[Verdict]:
    """What speaks against taking the rows of a log, or what was taken for its groups, for
    independent draws.
    """
    if log.group is not None and log.group_origin == SHARED:
        # Of a context it may be a rule just as well, with propensities that say otherwise.
        name = _group_name(log)
        doubtful = name is None or name in log.context_columns
        yield Verdict(level="do not trust" if doubtful else "with care", reasons=(_shared_in_words(log),))
        return
    if log.group is not None and log.group_origin != COPIES:
        return
    if log.group is not None:
        log = replace(
            log.take(np.unique(log.group, return_index=True)[1]), group=None
        )  # copies agree in everything
    candidates = list(_candidates(log))
    agreeing = {
        name: _action_agreement(log, codes, _some(codes), log.table.column(name))
        for name, codes in candidates
    }
    effects = {name: found.effect for name, found in agreeing.items() if found is not None and found.clear}
    if effects:  # one that is nested in another, or only goes with it, agrees less
        name = max(effects, key=effects.__getitem__)
        told = f"rows with the same `{name}` were given the same actions more often than chance allows"
        yield _verdict(effects[name], told, name)
        return
    for name, codes in candidates:
        if _rewards_matter(log, name, codes):
            rewards = _reward_agreement(log, codes, _some(codes), name, reward)
            if rewards is not None and rewards.clear:
                told = (
                    f"rows with the same `{name}` have {log.reward_names[reward]} alike beyond what context "
                    f"and action explain"
                )
                yield _verdict(rewards.effect, told, name)


def _verdict(effect: float, told: str, name: str) -> Verdict:
    reason = f"{told} (variances are about {effect:.1f} times what they seem): name it with group={name!r}"
    return Verdict(level="do not trust" if effect > LARGE_EFFECT else "with care", reasons=(reason,))


def many_labels(log: LoggedBandit, most: int) -> list[str]:
    """Columns that may hold users or sessions and have more than ``most`` labels, or too many to tell from
    some rows of a log whether rows share them.
    """
    actions = {str(action) for action in log.action_names}
    found = []
    for name, column in log.table.columns.items():
        if name not in log.reward_names and _is_label(column):
            levels = column.coded()[1]
            if len(levels) > most and not _are_actions(levels, actions):
                found.append(name)
    return found


def _are_actions(levels: Sequence[Label], actions: set[str]) -> bool:
    return len(levels) < _LEAST_LEVELS or {str(level) for level in levels[: len(actions) + 1]} <= actions


def _candidates(log: LoggedBandit) -> Iterator[tuple[str, Ints]]:
    """Columns that may be identifiers of users or sessions, with the code of every row."""
    actions = {str(action) for action in log.action_names}
    for name, column in log.table.columns.items():
        if name in log.reward_names or not _is_label(column) or _is_time(log, column):
            continue
        codes, levels = column.coded()
        if _are_actions(levels, actions) or (codes < 0).any():
            continue
        if (np.bincount(codes) > 1).sum() >= _LEAST_LEVELS:
            yield name, codes


def _is_label(column: Column) -> bool:
    if column.kind == "text":
        return not all(_WRITTEN_NUMBER.fullmatch(level) for level in column.levels)
    values = column.values
    return column.kind == "number" and not column.missing.any() and bool((values == np.round(values)).all())


def _is_time(log: LoggedBandit, column: Column) -> bool:
    return log.time is not None and column.kind == "number" and np.array_equal(column.values, log.time)


def _rewards_matter(log: LoggedBandit, name: str, codes: Ints) -> bool:
    if sounds_like_a_group(name):
        return True
    return name not in log.context_columns and codes.size <= _MOST_ROWS_EACH * (int(codes.max()) + 1)


def _some(codes: Ints) -> Ints:
    """Rows of as many values as make up to 50,000 rows."""
    counts = np.bincount(codes)
    order = np.random.default_rng(0).permutation(counts.size)
    kept = np.zeros(counts.size, dtype=bool)
    kept[order[: max(_LEAST_LEVELS, int((np.cumsum(counts[order]) <= _MOST_ROWS).sum()))]] = True
    return np.flatnonzero(kept[codes])


def _agreement(sums: Floats, own: float) -> Agreement | None:
    """From the agreement of each value and the sum of squares of all rows."""
    total = float(sums.sum())
    return (
        None
        if own <= 0
        else Agreement(clear=total > CLEAR * float(np.sqrt((sums**2).sum())), effect=1 + total / own)
    )


def _pairs(surprise: Floats, codes: Ints) -> Agreement | None:
    """Agreement of ``(n, K)`` surprises within values."""
    squares = (surprise**2).sum(axis=1)
    totals = np.column_stack([np.bincount(codes, column) for column in surprise.T])
    return _agreement((totals**2).sum(axis=1) - np.bincount(codes, squares), float(squares.sum()))


def _action_agreement(
    log: LoggedBandit, codes: Ints, rows: Ints, column: Column | None = None
) -> Agreement | None:
    if log.propensity is None or log.propensity_origin != "logged":
        return None
    whole = known_distribution(log)
    own = np.unique(codes[rows], return_inverse=True)[1]
    if whole is not None:
        surprise = np.eye(log.n_actions)[log.action[rows]] - whole[rows]
        return _pairs(surprise if column is None else _less(surprise, _smooth(column, rows)), own)
    return _paired(log.action[rows], 1 / log.propensity[rows], own)


def _paired(action: Ints, inverse: Floats, codes: Ints) -> Agreement:
    """Agreement of actions of which only the inverse propensity of the logged one is known."""
    order = np.argsort(codes, kind="stable")
    pair = np.flatnonzero(np.diff(codes[order]) == 0)
    before, after = order[pair], order[pair + 1]
    won = np.where(action[before] == action[after], inverse[after], 0.0)
    wealth = [float(np.log1p(stake * (won - 1)).sum()) for stake in _STAKES]
    clear = logsumexp(wealth) - np.log(len(_STAKES)) > np.log(_WEALTH)
    # Where rows share a draw every pair wins, an inverse less 1; where they do not, nothing on average.
    size = float((np.bincount(codes) ** 2.0).sum() / codes.size)
    shared = (won.mean() - 1) / max((inverse[after] - 1).mean(), 1e-12) if pair.size else 0.0
    return Agreement(clear=bool(clear), effect=1 + max(size - 1, 0.0) * float(np.clip(shared, 0.0, 1.0)))


def _reward_agreement(log: LoggedBandit, codes: Ints, rows: Ints, name: str, reward: int) -> Agreement | None:
    part = log.take(rows).without_context([name])
    design = np.hstack(
        [part.features(), np.eye(log.n_actions)[part.action], _smooth(log.table.column(name), rows)]
    )
    return _pairs(_less(part.reward[:, [reward]], design), np.unique(codes[rows], return_inverse=True)[1])


def _smooth(column: Column, rows: Ints) -> Floats:
    """``(n, 7)`` smooth functions of a number by its rank, a constant where it is text."""
    if column.kind != "number":
        return np.ones((rows.size, 1))
    ranks = np.unique(column.values[rows], return_inverse=True)[1]
    return np.polynomial.legendre.legvander(2 * ranks / max(int(ranks.max()), 1) - 1, _DEGREE)


def _less(values: Floats, design: Floats) -> Floats:
    """Values less their least-squares fit."""
    return np.asarray(values - design @ np.linalg.lstsq(design, values, rcond=None)[0])
