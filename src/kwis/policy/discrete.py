"""Target policies on the rows of a log: the record, how to say what a column means, and the weights that
follow.

How a target is recognised from what the user gave is the business of :mod:`kwis.policy.target`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kwis.data.candidates import of_pairs, refuse_lone, refuse_outside, uniform
from kwis.data.columns import Column
from kwis.data.distributions import codes_of, named, probabilities_in
from kwis.data.log import LoggedBandit
from kwis.data.remedy import SpellingError, identifier, refuse_text_for_numbers
from kwis.errors import InputError
from kwis.runtime.arrays import kept
from kwis.sample import WeightedSample
from kwis.typing import ArrayLike, Floats, Ints

if TYPE_CHECKING:
    from kwis.policy.target import Target


Values: TypeAlias = str | ArrayLike | Callable[[LoggedBandit], ArrayLike]
"""Something with a value for every row: the name of a column, an array, or a function of the log."""


@dataclass(frozen=True, slots=True)
class ProbabilityColumn:
    """A column with the target's probability of the logged action; or an array, or a function that returns
    one.
    """

    column: Values
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ChosenColumn:
    """A column with the action the target takes, for certain; or an array, or a function that returns one."""

    column: Values
    name: str | None = None


@dataclass(frozen=True, slots=True)
class TrainedElsewhere:
    """A target that has not learnt from the log it is evaluated on, as somebody says."""

    target: Target


@dataclass(frozen=True, slots=True)
class DistributionColumns:
    """One column per action: a mapping from actions, a list in the order of ``log.action_names``, or a
    prefix; or an ``(n, K)`` array, or a function that returns one.
    """

    columns: Any
    name: str | None = None


def probability(policy: Values, *, name: str | None = None) -> ProbabilityColumn:
    """Say that a column, an array or what a function of the log returns is the target's probability of the
    logged action.

    Parameters
    ----------
    policy
        Name of a column, an array with one number per row, or a function of the log that returns one.
    name
        What results call the policy; None: the name of the column or of the function.

    Returns
    -------
    ProbabilityColumn
        A target for :func:`kwis.evaluate`.

    See Also
    --------
    kwis.distribution : the probabilities of all actions, which more estimators can use.
    kwis.chosen : the action that the target takes.

    Examples
    --------
    >>> kwis.probability("p_new")
    ProbabilityColumn(column='p_new', name=None)
    """
    return ProbabilityColumn(policy, name)


def chosen(policy: Values, *, name: str | None = None) -> ChosenColumn:
    """Say that a column, an array or what a function of the log returns is the action the target takes.

    ``kwis.chosen(lambda log: (log["age"] > 40).astype(int))`` takes action 1 above forty, and 0 below.

    Parameters
    ----------
    policy
        Name of a column, an array with one label per row, or a function of the log that returns one.
    name
        What results call the policy; None: the name of the column or of the function.

    Returns
    -------
    ChosenColumn
        A target for :func:`kwis.evaluate`.

    See Also
    --------
    kwis.probability : the target's probability of the logged action.
    kwis.always : the same action in every row.

    Examples
    --------
    >>> kwis.chosen("pick")
    ChosenColumn(column='pick', name=None)
    """
    return ChosenColumn(policy, name)


def distribution(
    policy: Values | Mapping[Any, str] | Sequence[str], *, name: str | None = None
) -> DistributionColumns:
    """Say that columns hold the target's probability of each action: a prefix, a mapping from actions, or a
    list; or an array ``(n, K)``, or a function of the log that returns one.

    Columns of a list that are named after the actions may come in any order; others must follow that of
    ``log.action_names``, as an array must.

    Parameters
    ----------
    policy
        A prefix of columns, a mapping from actions to columns, a list of columns, an array or a function of
        the log.
    name
        What results call the policy; None: the name of the column or of the function.

    Returns
    -------
    DistributionColumns
        A target for :func:`kwis.evaluate`.

    See Also
    --------
    kwis.probability : one column, with the probability of the logged action.
    kwis.joined : probabilities in another file.

    Examples
    --------
    >>> kwis.distribution("p_new_")
    DistributionColumns(columns='p_new_', name=None)
    """
    columns = tuple(policy) if isinstance(policy, list) and _are_names(policy) else policy
    return DistributionColumns(columns, name)


def _are_names(given: Sequence[Any]) -> bool:
    return all(isinstance(name, str) for name in given)


def trained_elsewhere(target: Target) -> TrainedElsewhere:
    """Say that a target, such as a fitted classifier, has not learnt from the rows of the log that evaluates
    it.

    A policy that has is flattered by these rows; :func:`kwis.cross_fit` evaluates it on rows it has not seen.
    What is said here answers doubts of :mod:`kwis.checks.training`, but no clear case.

    Parameters
    ----------
    target
        Any target of :func:`kwis.evaluate`.

    Returns
    -------
    TrainedElsewhere
        The same target, with what is known about its training.

    See Also
    --------
    kwis.cross_fit : for a policy that learns from the log itself.

    Examples
    --------
    >>> kwis.trained_elsewhere("p_new")
    TrainedElsewhere(target='p_new')
    """
    return TrainedElsewhere(target)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetPolicy:
    """A policy to be evaluated, on the rows of one log.

    Attributes
    ----------
    logged
        ``(n,)`` its probability of the action that was logged.
    distribution
        ``(n, K)`` its probability of every action, where known.
    columns
        Raw columns it was read from; they hold no context.
    source
        What it was made from, in words.
    question
        What is not known about it and matters: a reason to take its estimates with care; None where there is
        nothing to ask.
    note
        What to say about it beside any result.
    elsewhere
        Whether somebody said that it has not learnt from these rows.
    factor
        ``(n,)`` what weights are multiplied by where several loggers are pooled; None: nothing. See
        :mod:`kwis.policy.loggers`.
    weight, alike
        ``(n,)`` weights over features of the actions, which then take the place of those over actions, and
        ``(K,)`` numbers that are equal for actions with the same features; see :mod:`kwis.policy.marginal`.
    """

    name: str
    logged: Floats
    distribution: Floats | None
    columns: tuple[str, ...]
    source: str
    question: str | None = None
    note: str | None = None
    elsewhere: bool = False
    factor: Floats | None = None
    weight: Floats | None = None
    alike: Ints | None = None

    def over(self, chances: Floats) -> Floats:
        """Probabilities of what weights are over, from those of actions: of features where weights are over
        these, in columns by their number.
        """
        if self.alike is None:
            return chances
        return np.asarray(chances @ (self.alike[:, None] == np.arange(self.alike.max() + 1)))

    def noted(self, note: str) -> TargetPolicy:
        """The same with something more to say about it."""
        return replace(self, note=note if self.note is None else f"{self.note}; {note}")

    def take(self, rows: Ints) -> TargetPolicy:
        """The policy on the given rows of its log."""
        whole = None if self.distribution is None else kept(self.distribution[rows])
        factor = None if self.factor is None else kept(self.factor[rows])
        weight = None if self.weight is None else kept(self.weight[rows])
        return replace(self, logged=kept(self.logged[rows]), distribution=whole, factor=factor, weight=weight)


def weigh(log: LoggedBandit, target: TargetPolicy, reward: int | str = 0) -> WeightedSample:
    """The log as the target sees it: contexts, importance weights and one of the rewards."""
    if log.propensity is None:
        raise InputError(
            "`log` must have propensities before it can be weighed; kwis.estimate_propensities supplies them"
        )
    weight = target.weight
    if weight is None:
        weight = importance_weights(target.logged, log.propensity, log.rows)
    return WeightedSample(
        context=log.context,
        weight=weight if target.factor is None else weight * target.factor,
        reward=log.reward[:, log.reward_number(reward)],
        categorical=log.categorical,
        group=log.group,
        mass=log.row_weight,
    )


def importance_weights(evaluated: Floats, propensity: Floats, rows: Ints | None = None) -> Floats:
    """How much more likely than the logger the target takes the logged actions: every importance weight is
    made here. ``rows`` are the row numbers that an error names.
    """
    with np.errstate(over="ignore"):
        weight = evaluated / propensity
    if np.isinf(weight).any():
        row = int(np.argmax(np.isinf(weight)))
        raise InputError(
            f"`propensity` must not be so small that a weight overflows, got {propensity[row]} at row "
            f"{row if rows is None else rows[row]}"
        )
    return kept(weight)


def uniform_distribution(log: LoggedBandit) -> Floats:
    """``(n, K)`` the policy that takes every action available in a row with the same probability."""
    return kept(uniform(log.available, log.n, log.n_actions))


def from_probability(
    log: LoggedBandit, column: Column, name: str, columns: tuple[str, ...] = ()
) -> TargetPolicy:
    """Target from its probability of the logged action; with two actions that is the whole distribution."""
    values = probabilities_in(column, columns[0] if columns else name, "target")
    refuse_lone(values, log.available, "target")
    whole = of_pairs(values, log.action, log.available, log.n_actions)
    source = (
        f"column `{columns[0]}`: probability of the logged action"
        if columns
        else "probability of the logged action"
    )
    return TargetPolicy(
        name=name,
        logged=kept(values),
        distribution=None if whole is None else kept(whole),
        columns=columns,
        source=source,
    )


def _refuse_written_shares(column: Column, said: str, name: str) -> None:
    """Refuse probabilities that are written as text, such as '31.8 %', with the SQL that makes numbers of
    them; do nothing about other text.
    """
    try:
        refuse_text_for_numbers(column, f"{said} must hold numbers, got {column.at(0)!r} at row 0", name)
    except SpellingError as trouble:
        fixed = f"SELECT * REPLACE ({trouble.expression} AS {identifier(name)})"
        raise InputError(f"{trouble}; a query with {fixed} makes numbers of them") from None
    except InputError:
        return


def from_choice(log: LoggedBandit, column: Column, name: str, columns: tuple[str, ...] = ()) -> TargetPolicy:
    """Target that takes the action named in each row."""
    codes, absent = codes_of(column, log.action_names)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        said = named(columns[0] if columns else name, "target")
        if absent[row]:
            raise InputError(f"{said} must name an action in every row, got none at row {row}")
        if column.kind == "text" and not (codes >= 0).any():
            _refuse_written_shares(column, said, columns[0] if columns else name)
        raise InputError(
            f"{said} must hold actions of the log, got {column.at(row)!r} at row {row}; "
            "an action that exists but was never taken must be listed in read_log(actions=[...])"
        )
    whole = np.zeros((len(log), log.n_actions))
    whole[np.arange(len(log)), codes] = 1.0
    source = f"column `{columns[0]}`: the action taken" if columns else "the action taken"
    return from_distribution(log, whole, name, source, columns)


def from_distribution(
    log: LoggedBandit, whole: Floats, name: str, source: str, columns: tuple[str, ...] = ()
) -> TargetPolicy:
    """Target from a checked ``(n, K)`` distribution, refused where it takes actions not available."""
    refuse_outside(whole, log.available, log.action_names, "target")
    logged = whole[np.arange(len(log)), log.action]
    return TargetPolicy(
        name=name, logged=kept(logged), distribution=kept(whole), columns=columns, source=source
    )
