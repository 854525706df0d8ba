"""Signs that logged propensities are not the probabilities somebody acted on.

Everything here is about the propensities alone, whatever the target: placeholders, rounding, certainty,
actions whose frequencies contradict them. Whether the weights of a target average to 1, overall and around
each context, is a matter for the diagnostics.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc, pdtrc

from kwis.data.candidates import sizes_in_words, uniform
from kwis.data.columns import Label
from kwis.data.copies import all_different, codes_of_rows
from kwis.data.log import LoggedBandit
from kwis.errors import UnsupportedError
from kwis.models.propensity.estimate import EstimatedPropensity
from kwis.models.propensity.reliability import Reliability, reliability
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Ints

_CERTAIN = 1 - 1e-9
_AGAINST_ALL_ODDS = 1e-3
_SAME = 1e-9
_UNIFORM = 1e-6
_UNROUNDED = 1e-4  # thousandths, well above the rounding of binary numbers
_ROUGHLY = 0.05  # 0.17 is one sixth, 0.01 is not one over 150
_FEWEST_CANDIDATES = 3  # one half for every row is a placeholder rather than a choice between two
_DESIGNED = 3  # values per action and logger, at most, of a policy that somebody wrote down
_ADVICE = (
    "so nothing is known about what other actions would have brought; a log can be evaluated if some "
    "decisions were left to chance"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was noticed.

    Attributes
    ----------
    kind
        ``deterministic`` (nothing can be estimated), ``certain`` (some rows have propensity 1), ``unlikely``
        (some took an action that their propensity all but rules out), ``constant``, ``rounded``, ``misfit``
        (the actions contradict the propensities), ``unavailable`` (some actions seem not to be available in
        some rows), ``never_logged`` (actions that no row took).
    serious
        Whether it should lower the trust in a result; otherwise it is only worth knowing.
    sentence
        The same in words.
    """

    kind: Literal[
        "deterministic",
        "certain",
        "unlikely",
        "constant",
        "rounded",
        "misfit",
        "unavailable",
        "never_logged",
    ]
    serious: bool
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PropensityCheck:
    """Outcome of :func:`propensity_signs`.

    Attributes
    ----------
    reliability
        Reliability curve, where a whole distribution is known.
    fit_p_value
        Of the test that each action was taken as often as its propensities say; needs a whole distribution
        that was logged, as one estimated from the same actions always fits them.
    """

    findings: tuple[Finding, ...]
    reliability: Reliability | None
    fit_p_value: float | None


def propensity_signs(
    log: LoggedBandit, estimated: EstimatedPropensity | None = None, *, level: float = 0.01
) -> PropensityCheck:
    """Look for signs that propensities are not what they say; part of :func:`kwis.propensity_report`, which
    also tests them in every part of the log.

    Parameters
    ----------
    estimated
        Propensities estimated from the same log; they help to recognise a logger that left nothing to chance.
    level
        How often the test of fit may raise a false alarm.
    """
    findings = []
    reason = deterministic(log, estimated)
    if reason is not None:
        findings.append(Finding(kind="deterministic", serious=True, sentence=reason))
    findings += _never_logged(log.action_names, np.bincount(log.action, minlength=log.n_actions))
    if log.propensity is not None and reason is None:
        found = (look(log, log.propensity) for look in (_certain, _unlikely, _constant, _rounded))
        findings += [finding for finding in found if finding is not None]
    distribution = known_distribution(log)
    p_value = (
        None if distribution is None or log.propensity_origin != "logged" else fit_p_value(log, distribution)
    )
    if p_value is not None and p_value < level:
        sentence = f"actions were not taken as often as their propensities say (p = {p_value:.2g})"
        findings.append(Finding(kind="misfit", serious=True, sentence=sentence))
    curve = None if distribution is None else reliability(log, distribution)
    return PropensityCheck(findings=tuple(findings), reliability=curve, fit_p_value=p_value)


def of_every_row(
    of_some: PropensityCheck,
    *,
    names: Sequence[Label],
    taken: Floats,
    certain: float,
    surplus: Floats | None,
    expected: Floats,
    products: Floats,
) -> PropensityCheck:
    """What some rows showed, with all rows' word on what sums over them tell.

    Parameters
    ----------
    taken
        How often each action was taken.
    certain
        Share of the rows whose propensity is 1.
    surplus, expected, products
        Sums of ``1{action = k} - p_k`` (None where the whole distribution is not known), of ``p_k`` and of
        ``p_k p_l``.
    """
    first = [one for one in of_some.findings if one.kind == "deterministic"]
    rest = [one for one in of_some.findings if one.kind not in ("deterministic", "never_logged", "certain")]
    findings = (*first, *_never_logged(names, taken), *_certain_share(certain), *rest)
    p_value = of_some.fit_p_value
    if surplus is not None and p_value is not None:
        p_value = _fit(
            surplus, expected, lambda kept: _covariance(expected[kept], products[np.ix_(kept, kept)])
        )
    return replace(of_some, findings=findings, fit_p_value=p_value)


def check_propensities(
    log: LoggedBandit, estimated: EstimatedPropensity | None = None, *, level: float = 0.01
) -> PropensityCheck:
    """Deprecated: :func:`kwis.propensity_report` has the same as its attribute ``check``."""
    warnings.warn(
        "check_propensities is deprecated; use kwis.propensity_report(log).check",
        DeprecationWarning,
        stacklevel=2,
    )
    return propensity_signs(log, estimated, level=level)


def refuse_deterministic(log: LoggedBandit, estimated: EstimatedPropensity | None = None) -> None:
    """Raise an :class:`UnsupportedError` if the logging policy left nothing to chance."""
    reason = deterministic(log, estimated)
    if reason is not None:
        raise UnsupportedError(reason)


def deterministic(log: LoggedBandit, estimated: EstimatedPropensity | None = None) -> str | None:
    """Why the logging policy seems to have left nothing to chance, or None."""
    logged = log.propensity is not None and log.propensity_origin == "logged"
    if log.propensity is not None and logged and (log.propensity >= _CERTAIN).all():
        return f"every logged propensity is 1: the logging policy left nothing to chance, {_ADVICE}"
    if not logged and _always_the_same(log):
        return (
            f"equal contexts always got the same action: the logging policy left nothing to chance, {_ADVICE}"
        )
    if not logged and estimated is not None and (estimated.logged > 0.99).mean() > 0.99:
        return (
            f"the context foretells nearly every action: the logging policy left next to nothing to chance, "
            f"{_ADVICE}"
        )
    return None


def _always_the_same(log: LoggedBandit) -> bool:
    """Whether repeated contexts never differ in action, and would hardly have agreed by chance."""
    if any(all_different(column) for column in log.context.T):
        return False  # no context is repeated
    place = codes_of_rows(log.context.T)
    contexts = int(place.max()) + 1
    counts = np.bincount(place * log.n_actions + log.action, minlength=contexts * log.n_actions)
    counts = counts.reshape(contexts, log.n_actions)
    if ((counts > 0).sum(axis=1) > 1).any():
        return False
    sizes = counts.sum(axis=1)
    shares = counts.sum(axis=0) / len(log)
    agreement = np.log(np.maximum((shares[None, :] ** sizes[:, None]).sum(axis=1), 1e-300)).sum()
    return bool(agreement < np.log(1e-6))


def known_distribution(log: LoggedBandit) -> Floats | None:
    """The logger's whole distribution, if it is known: logged, or uniform because every propensity is one
    over the number of actions available.
    """
    if (
        log.behaviour is None
        and log.propensity is not None
        and np.abs(log.propensity - 1 / log.set_sizes).max() < 1e-9
    ):
        return uniform(log.available, log.n, log.n_actions)
    return log.behaviour


def _certain(log: LoggedBandit, propensity: Floats) -> Finding | None:
    certain = (propensity >= _CERTAIN) & (log.set_sizes > 1)
    return next(_certain_share(float(np.average(certain, weights=log.row_weight))), None)


def _certain_share(share: float) -> Iterator[Finding]:
    if share > 0:
        sentence = (
            f"the propensity is 1 in {share:.1%} of the rows, where nothing is known about other actions"
        )
        yield Finding(kind="certain", serious=share > 0.05, sentence=sentence)


def _never_logged(names: Sequence[Label], taken: Any) -> Iterator[Finding]:
    never = [repr(name) for name, count in zip(names, taken, strict=True) if not count]
    if never:
        yield Finding(kind="never_logged", serious=False, sentence=f"no row took {', '.join(never)}")


def _unlikely(log: LoggedBandit, propensity: Floats) -> Finding | None:
    """Actions taken against all odds: one of propensity p or less is, in any row, taken with a chance of at
    most K p, K the number of actions available there.

    Not where rows stand for others, or where so many actions were taken that there may be more.
    """
    sizes = log.set_sizes
    if log.row_weight is not None or sizes.max() > len(log) / 10 or log.propensity_origin != "logged":
        return None
    smallest = np.sort(propensity)
    chance = np.minimum(
        sizes.sum() * smallest / np.arange(1, len(log) + 1), 1.0
    )  # of so many at all, by Markov
    if chance.min() >= _AGAINST_ALL_ODDS:
        return None
    count = int(np.flatnonzero(chance < _AGAINST_ALL_ODDS)[-1]) + 1
    row = int(np.argmax(propensity <= smallest[count - 1]))
    who = f"row {row}" if count == 1 else f"{count:,} rows, the first of them row {row},"
    sentence = (
        f"{who} took an action of propensity {smallest[count - 1]:.2g} or less, which would happen in one "
        f"log of "
    )
    sentence += f"{1 / chance[count - 1]:,.0f}"
    return Finding(kind="unlikely", serious=True, sentence=sentence)


def _constant(log: LoggedBandit, propensity: Floats) -> Finding | None:
    value = float(propensity[0])
    if np.ptp(propensity) > _SAME or value >= _CERTAIN:
        return None
    actions = uniform_actions(log)
    if actions is None:
        there = f"there are {log.n_actions} actions"
        if log.available is not None:
            there = sizes_in_words(log.available)
        elif (
            _FEWEST_CANDIDATES <= round(1 / value) < log.n_actions
            and abs(value * round(1 / value) - 1) < _UNIFORM
        ):
            sentence = (
                f"every propensity is {value:.4g}: right if actions were drawn uniformly from "
                f"{round(1 / value)} that were available, of the {log.n_actions}"
            )
            return Finding(kind="constant", serious=False, sentence=sentence)
        sentence = f"every propensity is {value:.4g} although {there}, which looks like a placeholder"
        return Finding(kind="constant", serious=True, sentence=sentence)
    those = (
        "the number of actions available"
        if log.available is not None
        else "the number of actions"
        if actions == log.n_actions
        else f"{actions} actions, of which {log.n_actions} were taken"
    )
    sentence = f"every propensity is {value:.4g}, one over {those}: right if actions were drawn uniformly"
    return Finding(kind="constant", serious=False, sentence=sentence)


def uniform_actions(log: LoggedBandit) -> int | None:
    """Number of actions if every propensity is one over it, to the digits given; None otherwise. Of candidate
    sets that of the first row.

    It may be larger than the number of actions in the log, if chance can have left so many out.
    """
    if log.propensity is None or np.ptp(log.propensity) > _SAME:
        return None
    if log.available is not None:
        sizes = log.set_sizes
        return int(sizes[0]) if np.abs(log.propensity * sizes - 1).max() < _ROUGHLY else None
    value, known = float(log.propensity[0]), log.n_actions
    actions = round(1 / value)
    if actions >= known and abs(value * actions - 1) < _UNIFORM:
        draws = len(log) if log.group is None else np.unique(log.group).size
        missed = actions * np.exp(draws * np.log1p(-1 / actions)) if actions > 1 else 0.0
        if actions == known or pdtrc(float(actions - known - 1), missed) > _AGAINST_ALL_ODDS:
            return actions
    rounded = any(abs(value - round(1 / known, digits)) < _SAME for digits in range(2, 9))
    return known if rounded and abs(value * known - 1) < _ROUGHLY else None


def uniform_in_sets(log: LoggedBandit) -> bool:
    """Whether every propensity is one over the number of candidates of its row, to the digits given."""
    if log.propensity is None or log.available is None:
        return False
    even = 1 / log.set_sizes
    roundings = (even, *(np.round(even, digits) for digits in range(2, 9)))
    exact = any(np.abs(log.propensity - value).max() < _SAME for value in roundings)
    return exact and bool(np.abs(log.propensity / even - 1).max() < _ROUGHLY)


def _rounded(log: LoggedBandit, propensity: Floats) -> Finding | None:
    """Few digits in many different values.

    A simple policy has few values and is left alone: epsilon-greedy, or a split that gives each action a
    share in percent.
    """
    thousands = propensity * 1000
    if np.abs(thousands - np.rint(thousands)).max() >= _UNROUNDED:
        return None
    values = np.unique(propensity)
    designed = len(
        np.unique(np.stack([propensity, log.action]), axis=1).T
    ) <= _DESIGNED * log.n_actions * max(1, len(log.logger_names))
    for digits in (1, 2, 3):
        scaled = values * 10**digits
        if (
            np.abs(scaled - np.rint(scaled)).max() < 1e-7
            and len(values) >= (5 if digits == 1 else 10)
            and not designed
        ):
            error = 0.5 / (10**digits * values[0])
            sentence = (
                f"propensities are rounded to {digits} digits, so that weights can be off by up to "
                f"{100 * error:.2g}%"
            )
            return Finding(kind="rounded", serious=error > 0.05, sentence=sentence)
    return None


def fit_p_value(log: LoggedBandit, distribution: Floats) -> float | None:
    """P-value of the test that actions were taken as often as ``distribution`` says.

    Sums of ``1{action = k} - p_k`` over the rows have mean 0 if the distribution is right, and the covariance
    that it gives them; with groups that of the groups' sums. Actions expected fewer than five times are left
    out; None where fewer than two are left.
    """
    surplus = -distribution.copy()
    surplus[np.arange(len(log)), log.action] += 1.0
    mass = (
        np.ones((len(log), 1)) if log.row_weight is None else log.row_weight[:, None] / log.row_weight.mean()
    )
    surplus *= mass
    expected = distribution.sum(axis=0)

    def covariance(kept: Ints) -> Floats:
        if log.group is None and log.row_weight is None:
            chances = distribution[:, kept]
            return _covariance(expected[kept], chances.T @ chances)
        sums = draw_sums(surplus[:, kept], log.group)
        return sums.T @ sums

    return _fit(surplus.sum(axis=0), expected, covariance)


def _covariance(expected: Floats, products: Floats) -> Floats:
    """That of surpluses of rows under their propensities: the sample's own collapses where a rare action
    happens not to be taken.
    """
    return np.diag(expected) - products


def _fit(surplus: Floats, expected: Floats, covariance: Callable[[Ints], Floats]) -> float | None:
    """Chance of a total surplus so far from 0; ``covariance`` is that of the actions kept."""
    kept = np.flatnonzero(expected >= 5)
    if len(kept) < 2:
        return None
    kept = kept[kept != kept[np.argmax(expected[kept])]]  # the surpluses of all actions sum to 0
    total, spread = surplus[kept], covariance(kept)
    statistic = total @ np.linalg.pinv(spread, hermitian=True) @ total
    rank = np.linalg.matrix_rank(spread, hermitian=True)
    return float(chdtrc(float(rank), max(float(statistic), 0.0))) if rank else float("nan")
