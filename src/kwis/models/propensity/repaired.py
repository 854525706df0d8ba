"""Logged propensities repaired on the rows of one log, each row by a model that never saw it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from kwis import _validation as check
from kwis.data.copies import with_copies_grouped
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.models.propensity.check import known_distribution
from kwis.models.propensity.choose import LEVEL, ROWS_TO_FIT, Chosen, Fitted, Splits, When, choose
from kwis.models.propensity.material import Material
from kwis.models.propensity.penalised import Mask
from kwis.models.propensity.reliability import Reliability, reliability
from kwis.models.propensity.repair import TERMS, RepairModel, described, known_terms
from kwis.models.propensity.repair_logged import LoggedRepairModel, fit_logged, without_distribution
from kwis.models.propensity.tame import between, tame_share, useful_share
from kwis.runtime.arrays import kept, room, stretches
from kwis.runtime.threads import each_block, engine
from kwis.stats.folds import make_folds
from kwis.typing import Floats, Ints, Seed

ORIGIN = "repaired"
"""``propensity_origin`` of a log whose propensities were repaired."""
_ROWS_AT_ONCE = 20_000  # a row takes a few kilobytes while its distribution is worked out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RepairSummary:
    """What a repair of the propensities of one log came to, without the propensities.

    Attributes
    ----------
    kept
        True if they are as given: nothing was found wrong, or nothing that a repair would mend.
    terms
        What the repair depends on, as in :class:`~kwis.models.propensity.repair.RepairModel`, or in
        :class:`~kwis.models.propensity.repair.LoggedRepairModel` where only the logged action's propensity is
        known.
    p_value
        Of the given propensities being right, by the likelihood of held-out actions.
    log_loss_before, log_loss_after
        Mean of ``-log p(logged action)`` on held-out rows.
    inverse_before, inverse_after
        Mean of ``1 / (K p)`` over the rows, K the number of actions available: the mean weight of a uniform
        policy, 1 if propensities are right and the candidates are known.
    reliability_before, reliability_after
        Reliability curves, where the whole distribution is known.
    note
        What was done, in a sentence.
    """

    kept: bool
    terms: tuple[str, ...]
    p_value: float
    log_loss_before: float
    log_loss_after: float
    inverse_before: float
    inverse_after: float
    reliability_before: Reliability | None
    reliability_after: Reliability | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RepairedPropensity(RepairSummary):
    """Propensities of one log after repair, beside those before.

    Attributes
    ----------
    distribution, logged
        ``(n, K)`` probability of every action, where it is known, and ``(n,)`` of the logged one.
    folds
        ``(n,)`` which fold each row was held out in; empty where nothing was repaired.
    refits
        ``(n, folds)`` propensity of the logged action by the model learnt without each fold, on all rows; no
        columns where nothing was repaired. How far estimates with them are apart is the error that the repair
        adds.
    """

    distribution: Floats | None
    logged: Floats
    folds: Ints
    refits: Floats

    @property
    def convincing(self) -> bool:
        """Whether held-out actions speak against the given propensities by more than chance."""
        return not self.kept and self.p_value < LEVEL

    def attach(self, log: LoggedBandit) -> LoggedBandit:
        """The log with these propensities and a note that says so; as it was where they were kept."""
        if self.kept:
            return log
        if self.distribution is not None:
            return log.with_propensity(self.distribution, self.note, ORIGIN)
        return replace(log, propensity=self.logged, propensity_origin=ORIGIN, notes=(*log.notes, self.note))


def repair_propensities(
    log: LoggedBandit,
    *,
    terms: Sequence[str] = TERMS,
    folds: int = 5,
    when: When = "convincing",
    rng: Seed = 0,
) -> RepairedPropensity:
    """Test logged propensities against the actions taken, and repair them where they do not fit.

    Every row's propensities come from a model learnt without it and without the other rows of its group; how
    far the model may go from the given propensities is chosen once for all rows, by the likelihood of
    held-out actions.

    Parameters
    ----------
    log
        A log with logged propensities.
    terms
        Which of ``scale``, ``actions`` and ``context`` may take part, where the whole distribution is known.
    folds
        Each row is repaired by what the other folds tell.
    when
        ``convincing``: repair if held-out actions become more likely by more than chance; ``helpful``: if
        they become more likely at all, for propensities that other tests have called wrong; ``always``:
        whatever the test says.
    rng
        A seed or a generator.

    Returns
    -------
    RepairedPropensity
        The propensities to use, which are those logged unless a repair was made; ``note`` says which, and
        ``attach(log)`` puts them into the log.

    See Also
    --------
    kwis.propensity_report : says where propensities are wrong.
    kwis.estimate_propensities : for a log without propensities.
    kwis.evaluate : repairs them itself where tests fail.

    Examples
    --------
    >>> log = kwis.sample_log(200, rng=1).read()
    >>> print(kwis.repair_propensities(log).note)
    propensities were kept as given: no repair makes held-out actions more likely beyond chance
    (held-out log loss 1.062)
    """
    check.one_of(when, "when", get_args(When))
    return repaired_when(log, lambda: when, terms=terms, folds=folds, rng=rng)


def repaired_when(
    log: LoggedBandit,
    when: Callable[[], When],
    *,
    terms: Sequence[str] = TERMS,
    folds: int = 5,
    rng: Seed = 0,
) -> RepairedPropensity:
    """:func:`repair_propensities`, where ``when`` is asked for only when a model of the repair is there."""
    log = with_copies_grouped(log)
    if log.propensity is None:
        raise InputError(
            "`log` must have propensities to be repaired; kwis.estimate_propensities supplies them"
        )
    wanted, count, generator = known_terms(terms), check.whole(folds, "folds", 2), check.generator(rng)
    given = known_distribution(log)
    with engine():
        if given is None:
            return _logged_only(log, log.propensity, count, when(), generator)
        return _whole(log, given, wanted, count, when, generator)


def _whole(
    log: LoggedBandit, given: Floats, terms: tuple[str, ...], folds: int, when: Callable[[], When],
    rng: np.random.Generator,
) -> RepairedPropensity:  # fmt: skip
    rows = Material(
        features=log.features(), action=log.action, given=given, mass=log.row_weight, group=log.group
    )
    splits = Splits.of(rows, rng)
    chosen = None if splits is None else choose(splits, terms, rng)
    labels: Ints = np.zeros(0, dtype=np.int64)
    made: Floats = given
    refits: Floats = np.zeros((rows.n, 0))
    if chosen is not None and chosen.used_when(when()):
        labels = make_folds(rows.n, min(folds, rows.draws), rng, log.group)
        made, refits = _cross_fitted(rows, chosen, labels, rng)
    return _result(log, described(chosen, repaired=labels.size > 0), given, made, labels, refits)


def _cross_fitted(
    rows: Material, chosen: Chosen, labels: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """``(n, K)`` distribution, each fold's from the rows of the others, and ``(n, folds)`` what each of the
    models says of all rows.
    """
    learnt_from, seed = _learnt_from(labels, rng), int(rng.integers(2**31))

    def learn(fold: int) -> Fitted:
        return chosen.fit(rows.take(learnt_from & (labels != fold)), np.random.default_rng([seed, fold]))

    models = each_block(learn, range(int(labels.max()) + 1))
    made, refits = _applied(rows, models, labels)
    taken = np.arange(rows.n), rows.action
    share = useful_share(
        lambda part: between(rows.given, made, part)[taken], chosen.p_value, rows.mass, rows.group
    )
    return (made, refits) if share == 1.0 else _applied(rows, models, labels, share)


def _applied(
    rows: Material, models: Sequence[Fitted], labels: Ints, share: float = 1.0
) -> tuple[Floats, Floats]:
    """What the models say, or so much of it: of the rows held out from each all actions, of all rows the
    action taken.
    """
    made, refits = room(rows.given.shape), room((rows.n, len(models)))

    def fill(fold: int) -> None:
        for part in stretches(rows.n, _ROWS_AT_ONCE):
            found = between(
                rows.given[part], models[fold].distribution(rows.features[part], rows.given[part]), share
            )
            refits[part, fold] = found[np.arange(len(found)), rows.action[part]]
            held = labels[part] == fold
            made[part][held] = found[held]

    each_block(fill, range(len(models)))
    return made, refits


def _learnt_from(labels: Ints, rng: np.random.Generator) -> Mask:
    """Rows that models are learnt from, all but one fold at a time.

    They are drawn once for all folds, or their models would be further apart than the rows of one fold
    explain.
    """
    folds = int(labels.max()) + 1
    most = ROWS_TO_FIT * folds // (folds - 1)
    drawn = np.zeros(labels.size, dtype=bool)
    drawn[rng.permutation(labels.size)[:most]] = True
    return drawn


def _logged_only(
    log: LoggedBandit, given: Floats, folds: int, when: When, rng: np.random.Generator
) -> RepairedPropensity:
    sets = log.available
    rows = without_distribution(log.features(), log.action, log.n_actions, log.row_weight, log.group, sets)
    whole = fit_logged(rows, given, when, rng)
    labels: Ints = np.zeros(0, dtype=np.int64)
    made: Floats = given
    refits: Floats = np.zeros((rows.n, 0))
    if not whole.kept:
        labels = make_folds(rows.n, min(folds, rows.draws), rng, log.group)
        learnt_from, seed = _learnt_from(labels, rng), int(rng.integers(2**31))
        refits = room((rows.n, int(labels.max()) + 1))
        design = whole.design(rows.features)

        def some(part: Any) -> Floats | None:
            return None if design is None else design[part]

        def fill(fold: int) -> None:
            others = learnt_from & (labels != fold)
            generator = np.random.default_rng([seed, fold])
            model = whole.refitted(rows.take(others), given[others], generator, some(others))
            for part in stretches(rows.n, _ROWS_AT_ONCE):
                open_to = None if sets is None else sets[part]
                refits[part, fold] = model.propensity(
                    rows.features[part], rows.action[part], given[part], open_to, some(part)
                )

        each_block(fill, range(refits.shape[1]))
        made = refits[np.arange(rows.n), labels]
        share = _share_of_logged(whole, given, made, rows)
        made, refits = (1 - share) * given + share * made, (1 - share) * given[:, None] + share * refits
    return _result(log, whole, given, made, labels, refits)


def _share_of_logged(model: LoggedRepairModel, given: Floats, made: Floats, rows: Material) -> float:
    """How much of a repair of logged propensities to use; only pools are distributions."""

    def way(share: float) -> Floats:
        return (1 - share) * given + share * made

    if model.terms == ("pool",):
        return useful_share(way, model.p_value, rows.mass, rows.group)
    return tame_share(way, model.p_value, rows.mass)


def _result(
    log: LoggedBandit,
    found: RepairModel | LoggedRepairModel,
    given: Floats,
    made: Floats,
    labels: Ints,
    refits: Floats,
) -> RepairedPropensity:
    """The record of a repair from ``given`` to ``made``, both the whole distribution or both the logged
    action's propensity.
    """
    whole = made.ndim == 2
    before, after = (table[np.arange(log.n), log.action] if whole else table for table in (given, made))
    return RepairedPropensity(
        kept=found.kept,
        terms=found.terms,
        p_value=found.p_value,
        log_loss_before=found.log_loss_before,
        log_loss_after=found.log_loss_after,
        inverse_before=_mean_inverse(log, before),
        inverse_after=_mean_inverse(log, after),
        reliability_before=reliability(log, given) if whole else None,
        reliability_after=reliability(log, made) if whole else None,
        note=found.note,
        distribution=kept(made) if whole else None,
        logged=kept(after),
        folds=kept(labels),
        refits=kept(refits),
    )


def _mean_inverse(log: LoggedBandit, propensity: Floats) -> float:
    return float(np.average(1 / (log.set_sizes * propensity), weights=log.row_weight))
