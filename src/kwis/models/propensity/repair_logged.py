"""Repair where only the logged action's propensity is known.

Two things can still be learnt, each used only if held-out rows are convincing:

1. The mean inverse propensity of every action around each context, which is 1 if propensities are right; they
   are multiplied by it. Only means above 1 speak against propensities: an action that is not always on offer
   has one below.
2. The distribution of the actions given the context. ``a p + (1 - a) q`` with ``q`` from the context alone is
   a propensity again, and needs no other action's ``p``; ``a`` makes held-out actions most likely. It undoes
   propensities that are too sure of themselves.

Propensities that are not sure enough in a way that the context does not show cannot be told from right ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.data.candidates import uniform
from kwis.models.propensity.choose import LEVEL, ROWS_TO_CHOOSE, Chosen, Fitted, Splits, When, choose
from kwis.models.propensity.inverse import Inverses, factors, inverse_means
from kwis.models.propensity.material import Material, codes
from kwis.models.propensity.penalised import Coefficients, Mask
from kwis.models.propensity.strengths import HeldOutPart, StrengthSearch
from kwis.models.propensity.terms import NormalScores, Terms
from kwis.runtime.arrays import kept
from kwis.runtime.threads import engine
from kwis.typing import ArrayLike, Floats, Ints, Seed

KEPT = "propensities were kept as given: no repair makes held-out actions more likely beyond chance"
"""What is said of them where nothing was repaired, though it was tried."""
_SHARES = np.linspace(0, 1, 21)
_STEPS = 2
_MOST_CELLS = 1 << 23  # of a design that is kept for refits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoggedRepairModel:
    """Propensities of logged actions repaired, or found in order and kept.

    Attributes
    ----------
    kept, terms, p_value, note
        As in :class:`~kwis.models.propensity.repair.RepairModel`; terms are ``inverse`` and ``pool``.
    log_loss_before, log_loss_after
        Mean of ``-log p(logged action)`` on held-out rows, as given and as repaired. The latter may be
        larger: after ``inverse`` propensities are right on average around each context but no distribution.
    share
        Weight of the given propensities in the pool with those from the context.
    """

    note: str
    n_actions: int
    kept: bool = True
    terms: tuple[str, ...] = ()
    p_value: float = 1.0
    log_loss_before: float = math.nan
    log_loss_after: float = math.nan
    share: float = 1.0
    _level: Level | None = field(default=None, repr=False)
    _context: Fitted | None = field(default=None, repr=False)
    _context_choice: Chosen | None = field(default=None, repr=False)

    def propensity(
        self,
        features: ArrayLike,
        action: ArrayLike,
        given: ArrayLike,
        available: Mask | None = None,
        design: Floats | None = None,
    ) -> Floats:
        """``(n,)`` propensity of the action taken, on any rows like those it was learnt from."""
        rows = check.contexts(features, "features")
        taken, said = (
            codes(action, len(rows), self.n_actions),
            check.propensities(given, "given", len(rows), like="features"),
        )
        return kept(self._applied(rows, taken, said, available, design))

    def design(self, features: Floats) -> Floats | None:
        """What refits and their propensities have in common, for those who need several; None where there is
        nothing, or it would be too large.
        """
        level = self._level
        if level is None or len(features) * level.spread.size > _MOST_CELLS:
            return None
        return _design(level.terms, features)

    def refitted(
        self, rows: Material, given: Floats, rng: np.random.Generator, design: Floats | None = None
    ) -> LoggedRepairModel:
        """The same repair learnt from other rows, with everything that was chosen left as it is."""
        level = None if self._level is None else self._level.refitted(rows, given, design)
        return replace(
            self,
            _level=level,
            _context=None if self._context_choice is None else self._context_choice.fit(rows, rng),
        )

    def _applied(
        self, features: Floats, action: Ints, given: Floats, available: Mask | None, design: Floats | None
    ) -> Floats:
        made = given if self._level is None else self._level(features, action, given, design)
        if self._context is None:
            return made
        flat = uniform(available, len(action), self.n_actions)
        alone = self._context.distribution(features, flat)[np.arange(len(action)), action]
        return np.asarray(self.share * made + (1 - self.share) * alone)


def fit_repair_logged(
    features: ArrayLike,
    action: ArrayLike,
    given: ArrayLike,
    n_actions: int,
    *,
    mass: ArrayLike | None = None,
    group: Any = None,
    available: Mask | None = None,
    always: bool = False,
    rng: Seed = 0,
) -> LoggedRepairModel:
    """Learn how to repair propensities of which only the logged action's are known, if they need it.

    Parameters
    ----------
    given
        ``(n,)`` propensity of the action taken.
    n_actions
        Number of actions, K; the others as in :func:`~kwis.models.propensity.repair.fit_repair`.
    available
        ``(n, K)`` which of them could be taken; None: all.
    """
    clean = check.contexts(features, "features")
    n, k = len(clean), check.whole(n_actions, "n_actions", 2)
    said = check.propensities(given, "given", n, like="features")
    masses = None if mass is None else check.masses(mass, n)
    groups = None if group is None else check.labels(group, "group", n, like="features")
    rows = without_distribution(clean, codes(action, n, k), k, masses, groups, available)
    generator = check.generator(rng)
    with engine(1):
        return fit_logged(rows, said, "always" if always else "convincing", generator)


def without_distribution(
    features: Floats,
    action: Ints,
    k: int,
    mass: Floats | None,
    group: Ints | None,
    available: Mask | None = None,
) -> Material:
    """Rows of which no distribution is known: a uniform one over the actions available takes its place, which
    the context's own starts from.
    """
    given = uniform(available, len(action), k)
    return Material(features=features, action=action, given=given, mass=mass, group=group)


def _available(rows: Material) -> Mask | None:
    """Where actions were available, by the distribution that stands for the one not known; None: all."""
    possible = rows.given > 0
    return None if possible.all() else possible


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """Propensities times the mean inverse propensity of the action around the context."""

    terms: Terms
    spread: Floats
    coefficients: Coefficients

    @classmethod
    def of(
        cls,
        terms: Terms,
        spread: Floats,
        rows: Material,
        given: Floats,
        design: Floats | None = None,
        start: Coefficients | None = None,
    ) -> Level:
        made = _design(terms, rows.features) if design is None else design
        known = Inverses(made, rows.action, 1 / given, _available(rows))
        learner = inverse_means(known, rows.given.shape[1], rows.weight)
        return cls(terms=terms, spread=spread, coefficients=learner.fit(spread, start))

    def refitted(self, rows: Material, given: Floats, design: Floats | None = None) -> Level:
        return Level.of(self.terms, self.spread, rows, given, design, self.coefficients)

    def __call__(self, features: Floats, action: Ints, given: Floats, design: Floats | None = None) -> Floats:
        made = _design(self.terms, features) if design is None else design
        return np.minimum(given * factors(made, action, self.coefficients), 1.0)


def _blocks(terms: Terms, features: Floats, scores: Floats | None = None) -> Mapping[str, Floats]:
    return terms.blocks(features, np.zeros((len(features), 1)), ("context", "curved"), scores)


def _design(terms: Terms, features: Floats) -> Floats:
    return _beside(_blocks(terms, features))


def _beside(blocks: Mapping[str, Floats]) -> Floats:
    return np.hstack(list(blocks.values()))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Step:
    """One of the two steps, tried on held-out rows.

    Attributes
    ----------
    p_value
        Of the given propensities being right.
    gain
        What held-out rows gain by the step, after those before it.
    made
        Held-out propensities after the step, by split.
    """

    p_value: float
    gain: float
    made: list[Floats]

    def used(self, when: When) -> bool:
        """Whether the step is to be made; either of two may be made by mistake, so each has half
        the level.
        """
        return when == "always" or (self.gain > 0 and (when == "helpful" or self.p_value < LEVEL / _STEPS))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LevelStep(_Step):
    spread: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PoolStep(_Step):
    share: float
    chosen: Chosen

    def used(self, when: When) -> bool:
        """As of any step; where the given ones have the whole share there is none."""
        return self.share < 1.0 and _Step.used(self, when)


def _level_step(splits: Splits, said: Floats, blocks: Mapping[str, Floats]) -> _LevelStep:
    part, weight = splits.rows, splits.rows.weight
    known = Inverses(_beside(blocks), part.action, 1 / said, _available(part))
    sizes = {name: block.shape[1] for name, block in blocks.items()}

    def part_of(held: Mask) -> HeldOutPart:
        return HeldOutPart(
            known.take(held),
            weight[held],
            inverse_means(known.take(~held), part.given.shape[1], weight[~held]),
        )

    search = StrengthSearch(sizes, tuple(part_of(held) for held in splits.held))
    best = search.best()
    fits = list(zip(splits.held, search.fits[best], strict=True))
    return _LevelStep(
        p_value=splits.surplus_p_value(
            [known.take(held).surplus(fit) for held, fit in fits], len(search.tried)
        ),
        gain=splits.mean(search.logs(best)),
        made=[
            np.minimum(said[held] * factors(known.design[held], part.action[held], fit), 1.0)
            for held, fit in fits
        ],
        spread=search.spread(best),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Pool:
    """Held-out propensities mixed with those from the context, by split."""

    splits: Splits
    made: list[Floats]
    alone: list[Floats]

    def mixed(self, share: float) -> list[Floats]:
        return [share * made + (1 - share) * alone for made, alone in zip(self.made, self.alone, strict=True)]

    def gains(self, share: float) -> list[Floats]:
        return [np.log(mixed / made) for mixed, made in zip(self.mixed(share), self.made, strict=True)]

    def best(self) -> float:
        return float(max(_SHARES, key=lambda share: self.splits.mean(self.gains(share))))


def _pool_step(
    splits: Splits,
    said: list[Floats],
    made: list[Floats],
    normal: NormalScores,
    rng: np.random.Generator,
) -> _PoolStep:
    """Pool ``made`` of the step before. What speaks against the given ``said`` is their own pool: only a
    distribution has likelihoods.
    """
    chosen = choose(splits, ("context",), rng, normal)
    alone = [np.exp(logs) for logs in chosen.logs]
    pool, test = _Pool(splits, made, alone), _Pool(splits, said, alone)
    share = pool.best()
    return _PoolStep(
        p_value=splits.gain_p_value(test.gains(test.best()), chosen.tried * len(_SHARES)),
        gain=splits.mean(pool.gains(share)),
        made=pool.mixed(share),
        share=share,
        chosen=chosen,
    )


def fit_logged(rows: Material, said: Floats, when: When, rng: np.random.Generator) -> LoggedRepairModel:
    """The level first, then the pool of what it gives with the context's own distribution."""
    picked = np.sort(rng.permutation(rows.n)[:ROWS_TO_CHOOSE])
    splits = Splits.of(rows.take(picked), rng)
    if splits is None:
        return LoggedRepairModel(
            note="propensities were kept as given: the log is too small to test them",
            n_actions=rows.given.shape[1],
        )
    normal = NormalScores.of(splits.rows.features)
    terms = Terms.of(rows.features, rng, curved=True, normal=normal if rows.n == splits.rows.n else None)
    given = [said[picked][held] for held in splits.held]
    before = splits.mean([-np.log(part) for part in given])
    blocks = _blocks(terms, splits.rows.features, normal.values if rows.n == splits.rows.n else None)
    level = _level_step(splits, said[picked], blocks)
    levelled = level.used(when)
    made = level.made if levelled else given
    pool = _pool_step(splits, given, made, normal, rng)
    pooled = pool.used(when)
    made = pool.made if pooled else made
    after = splits.mean([-np.log(part) for part in made])
    return LoggedRepairModel(
        kept=not (levelled or pooled),
        terms=("inverse",) * levelled + ("pool",) * pooled,
        p_value=min(1.0, _STEPS * min(level.p_value, pool.p_value)),
        log_loss_before=before,
        log_loss_after=after,
        share=pool.share if pooled else 1.0,
        note=_sentence(levelled, pooled, before, after),
        n_actions=rows.given.shape[1],
        _level=Level.of(terms, level.spread, rows, said) if levelled else None,
        _context=pool.chosen.fit(rows, rng) if pooled else None,
        _context_choice=pool.chosen if pooled else None,
    )


def _sentence(levelled: bool, pooled: bool, before: float, after: float) -> str:
    if not (levelled or pooled):
        return f"{KEPT} (held-out log loss {before:.4g})"
    ways = ("their mean inverse around each context",) * levelled + (
        "a pool with those from the context",
    ) * pooled
    # Factors around contexts do not make a distribution, whose log loss would mean something.
    losses = "" if levelled else f" (held-out log loss {before:.4g} as given, {after:.4g} as repaired)"
    return f"propensities of the logged actions were repaired by {' and '.join(ways)}{losses}"
