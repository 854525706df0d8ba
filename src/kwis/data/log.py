"""Logged decisions as clean arrays: what :func:`kwis.read_log` returns and everything downstream
starts from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Literal

import numpy as np

from kwis._call import Call
from kwis._text import visible
from kwis.data.candidates import Mask, refuse_outside, set_sizes
from kwis.data.columns import Array, Label
from kwis.data.encode import Encoding
from kwis.data.table import Table
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.typing import ArrayLike, Floats, Ints

COPIES, SHARED = "copies", "shared"
"""``group_origin`` of a log whose groups nobody declared."""

EVERY_OTHER_COLUMN = "no context was named, so it is every other column: "
"""How the note on a context that nobody named begins."""
_DESCRIBED = 20
"""Actions listed by :meth:`LoggedBandit.describe`, the commonest."""

PropensitySource = Literal["randomiser", "model"]
PROPENSITY_SOURCES: tuple[PropensitySource, ...] = ("randomiser", "model")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoggedBandit:
    """Decisions of a logging policy, their circumstances and their outcomes; arrays are read-only.

    Made by :func:`kwis.read_log`, which checks everything; ``log["age"]`` is the raw column ``age``.

    Attributes
    ----------
    action, action_names
        ``(n,)`` codes from 0 to K - 1, and the label of each code, sorted.
    reward, reward_names
        ``(n, R)``, one column per reward.
    propensity
        ``(n,)`` probability with which the logger chose the logged action; None if it was not logged.
    behaviour
        ``(n, K)`` the logger's whole distribution, where it is known.
    propensity_origin
        ``"logged"``, or what replaced them, such as ``"estimated"``.
    propensity_place
        Where they were read, in words.
    propensity_source
        ``"randomiser"``: the probabilities that the system drew with; ``"model"``: what a model says of them;
        None: nobody said.
    encoding
        The context ready for distances, with the story of each column: see :mod:`kwis.data.encode`.
    row_weight
        How many interactions each row stands for; None if each is one.
    group, logger, logger_names
        ``(n,)`` codes of the user or session, and of the logging policy, if given, with the labels of the
        latter.
    logger_propensity
        ``(n, L)`` probability with which each of the loggers would have taken the logged action, where it is
        known for all of them; see :mod:`kwis.policy.loggers`.
    group_origin
        ``"declared"``; ``"copies"`` where groups are copies of one row, see :mod:`kwis.data.copies`;
        ``"shared"`` where rows that share a value share one draw, though nobody said so, see
        :mod:`kwis.evaluation.sharing`.
    time
        ``(n,)`` seconds since 1970 for dates, otherwise the numbers given.
    table
        Every raw column of the source, for targets, segments and policies that are functions.
    notes
        Sentences on what was done to the source, to be shown beside any result.
    available
        ``(n, K)`` which actions could be taken in each row; None if all of them could be in every row.
    candidates
        The raw column of lists that ``available`` was read from, if it was: scores may be aligned with it.
    position, position_names
        ``(n,)`` codes of the position or slot of each decision, and their labels; see
        :mod:`kwis.data.position`.
    items
        Labels of the items where the position is part of the action; None elsewhere.
    context_columns, context_named
        Raw columns that the context was made from, and whether somebody said that these are the ones.
    rows, source_rows
        Row numbers of the source, kept by :meth:`take`, and how many rows the source has; None if not known.
    key
        Raw column that identifies a row, if somebody named one.
    files
        Paths and numbers of rows of the files that the log was read from, where it is known.
    call
        The call that read it, None where it was changed since.

    See Also
    --------
    kwis.read_log : makes it.
    kwis.evaluate : evaluates policies on it.
    kwis.WeightedSample : rows with the weights of one policy, all that an estimator sees.

    Examples
    --------
    >>> frame = {"age": [20, 40] * 20, "action": ["a", "b"] * 20, "p": [0.5] * 40, "reward": [1, 0] * 20}
    >>> log = kwis.read_log(frame, propensity="p", context=["age"])
    >>> isinstance(log, kwis.LoggedBandit), log["age"][:2].tolist()
    (True, [20, 40])
    """

    action: Ints
    action_names: tuple[Label, ...]
    reward: Floats
    reward_names: tuple[str, ...]
    encoding: Encoding
    table: Table
    rows: Ints
    propensity: Floats | None = None
    behaviour: Floats | None = None
    propensity_origin: str = "logged"
    propensity_place: str = "as given"
    propensity_source: PropensitySource | None = None
    row_weight: Floats | None = None
    group: Ints | None = None
    group_origin: str = "declared"
    time: Floats | None = None
    logger: Ints | None = None
    logger_names: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    context_columns: tuple[str, ...] = ()
    context_named: bool = True
    source_rows: int | None = None
    key: str | None = None
    logger_propensity: Floats | None = None
    available: Mask | None = None
    candidates: str | None = None
    position: Ints | None = None
    position_names: tuple[Label, ...] = ()
    items: tuple[Label, ...] | None = None
    files: tuple[tuple[str, int], ...] = ()
    call: Call | None = None

    def __len__(self) -> int:
        return int(self.action.shape[0])

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self)

    @property
    def n_actions(self) -> int:
        return len(self.action_names)

    @property
    def set_sizes(self) -> Floats:
        """``(n,)`` number of actions that were available in each row."""
        return set_sizes(self.available, len(self), self.n_actions)

    @property
    def context(self) -> Floats:
        """``(n, d)`` encoded context, ready for distances."""
        return self.encoding.context

    @property
    def categorical(self) -> tuple[int, ...]:
        """Columns of ``context`` that hold codes, compared for equality."""
        return self.encoding.categorical

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.encoding.features)

    def reward_number(self, reward: int | str) -> int:
        """Column of a reward given by its name or number."""
        known = self.reward_names
        if isinstance(reward, str) and reward in known:
            return known.index(reward)
        if isinstance(reward, int) and not isinstance(reward, bool) and 0 <= reward < len(known):
            return reward
        raise InputError(f"`reward` must be one of {', '.join(known)}, or its number, got {reward!r}")

    def features(self) -> Floats:
        """Dense matrix for regressions and classifiers: numbers standardised, categories as 0/1 columns."""
        return self.encoding.design()

    def __getitem__(self, name: str) -> Array:
        """Raw values of a column: numbers, dates, booleans, or Python strings with None where missing."""
        return self.table.column(name).natural()

    def take(self, rows: ArrayLike) -> LoggedBandit:
        """Log of the given rows, in that order, repeats allowed; codes, names and scaling stay as
        they are.
        """
        picked = np.arange(len(self))[np.asarray(rows)]

        def pick(array: Array | None) -> Array | None:
            return None if array is None else kept(array[picked])

        return replace(
            self,
            action=kept(self.action[picked]),
            reward=kept(self.reward[picked]),
            encoding=self.encoding.take(picked),
            table=self.table.take(picked),
            rows=kept(self.rows[picked]),
            propensity=pick(self.propensity),
            behaviour=pick(self.behaviour),
            row_weight=pick(self.row_weight),
            group=pick(self.group),
            time=pick(self.time),
            logger=pick(self.logger),
            call=None,
            logger_propensity=pick(self.logger_propensity),
            available=pick(self.available),
            position=pick(self.position),
        )

    def without_context(self, columns: Iterable[str]) -> LoggedBandit:
        """Log whose context leaves out what was made from the given raw columns; they stay in ``table``."""
        unwanted = set(columns)
        if not unwanted & set(self.context_columns):
            return self
        kept = tuple(name for name in self.context_columns if name not in unwanted)
        gone = ", ".join(f"`{name}`" for name in self.context_columns if name in unwanted)
        encoding = self.encoding.without(unwanted)
        fresh = [note for note in encoding.notes if note not in self.notes]
        notes = [
            f"{EVERY_OTHER_COLUMN}{', '.join(kept)}" if note.startswith(EVERY_OTHER_COLUMN) else note
            for note in self.notes
            if kept or not note.startswith(EVERY_OTHER_COLUMN)
        ]
        said = (*notes, f"not part of the context: {gone}", *fresh)
        return replace(self, encoding=encoding, context_columns=kept, notes=said)

    def with_propensity(self, distribution: Floats, note: str, origin: str = "estimated") -> LoggedBandit:
        """Log with the given ``(n, K)`` behaviour distribution, and a note that says where it is from."""
        if distribution.shape != (len(self), self.n_actions):
            raise InputError(
                f"`distribution` must have shape {(len(self), self.n_actions)}, got {distribution.shape}"
            )
        refuse_outside(distribution, self.available, self.action_names, "distribution")
        logged = distribution[np.arange(len(self)), self.action]
        return replace(
            self,
            propensity=kept(logged),
            behaviour=kept(distribution),
            propensity_origin=origin,
            propensity_place="from the context" if origin == "estimated" else self.propensity_place,
            notes=(*self.notes, note),
            call=None,
        )

    def placed(self, sentence: str) -> str:
        """A sentence that names a row of the log, with the file that the row is in."""
        return in_files(sentence, self.files)

    def describe(self) -> str:
        """What the log holds: rewards, actions with their shares and propensities, context, and notes."""
        mass = np.ones(len(self)) if self.row_weight is None else self.row_weight
        counts = np.bincount(self.action, mass, minlength=self.n_actions)
        means = [
            np.bincount(self.action, mass * column, minlength=self.n_actions) for column in self.reward.T
        ]
        lines = [repr(self), "", "  action, share, mean rewards, propensities"]
        for code in np.argsort(-counts, kind="stable")[:_DESCRIBED]:
            rows = self.action == code
            values = [f"{name} {total[code] / counts[code]:.4g}" if counts[code] else f"{name} -"
                      for name, total in zip(self.reward_names, means, strict=True)]  # fmt: skip
            chances = ""
            if self.propensity is not None and rows.any():
                chances = f", {self.propensity[rows].min():.3g} to {self.propensity[rows].max():.3g}"
            share = counts[code] / counts.sum()
            lines.append(f"  {self.action_names[code]}, {share:.1%}, {', '.join(values)}{chances}")
        if self.n_actions > _DESCRIBED:
            lines.append(f"  and {self.n_actions - _DESCRIBED:,} more actions")
        return visible("\n".join(lines))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.describe())}</pre>"

    def __repr__(self) -> str:
        notes = visible("".join(f"\n  note        {note}" for note in self.notes))
        return f"LoggedBandit: {self.overview()}{notes}"

    def overview(self, n: int | None = None, means: Sequence[float] | None = None) -> str:
        """What the columns were taken for; ``n`` and ``means`` of the rewards where these are some rows of
        many.
        """
        known = (
            f"{self.propensity_origin}, {self.propensity_place}, "
            f"{'of all actions' if self.behaviour is not None else 'of the action taken'}"
        )
        known += "" if self.propensity_source is None else f", from a {self.propensity_source}"
        actions = ", ".join(str(name) for name in self.action_names[:6]) + (
            ", ..." if self.n_actions > 6 else ""
        )
        extras = [
            name
            for name in ("row_weight", "group", "time", "logger", "candidates")
            if getattr(self, "available" if name == "candidates" else name) is not None
        ]
        shown = zip(self.reward_names, self._means() if means is None else means, strict=True)
        rewards = [f"{name} (mean {mean:.4g})" for name, mean in shown]
        lines = [
            f"{len(self) if n is None else n:,} decisions among {self.n_actions} actions ({actions})",
            f"  reward      {', '.join(rewards) or 'none'}",
            f"  propensity  {'not logged: estimated from the context' if self.propensity is None else known}",
            (
                f"  context     "
                f"{', '.join(self.feature_names[:8])}{', ...' if len(self.feature_names) > 8 else ''}"
            ),
            *([f"  also        {', '.join(extras)}"] if extras else []),
        ]
        return visible("\n".join(lines))

    def _means(self) -> Floats:
        if not self.reward_names:
            return np.empty(0)
        with np.errstate(over="ignore"):
            return np.asarray(np.average(self.reward, axis=0, weights=self.row_weight), dtype=np.float64)


def in_files(sentence: str, files: Sequence[tuple[str, int]]) -> str:
    """A sentence that names a row of several files one after the other, with its file and its row there."""

    def place(match: re.Match[str]) -> str:
        row = int(match[1])
        for path, rows in files:
            if row < rows:
                return f"at row {row} of {path!r}"
            row -= rows
        return match[0]

    return re.sub(r"\bat row (\d+)(?! of ')", place, sentence)
