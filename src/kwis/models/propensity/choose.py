"""How a repair is chosen and fitted: splits of the rows, spreads by held-out likelihood, then one regression
on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from kwis.models.propensity.gain import gain_p_value, surplus_p_value
from kwis.models.propensity.material import Given, Material, beside, scores
from kwis.models.propensity.multinomial import HeldOut, Scores, likelihood
from kwis.models.propensity.penalised import Coefficients, Mask
from kwis.models.propensity.strengths import Exponents, HeldOutPart, StrengthSearch
from kwis.models.propensity.terms import NormalScores, Terms
from kwis.stats.folds import make_folds
from kwis.typing import Floats

LEVEL = 0.05
When = Literal["convincing", "helpful", "always"]
_FOLDS = 3
_ROWS_FOR_ONE_SPLIT = 6_000
ROWS_TO_CHOOSE = 12_000
ROWS_TO_FIT = 60_000
_LEAST_DRAWS = 20
_REFIT_TOLERANCE = 1e-7  # a part of the rows moves the loss by far more


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """A regression ready to be applied to any rows.

    Attributes
    ----------
    names, used
        Blocks that it was chosen from, which decide what each of them holds, and those left in it.
    free_scale, spread
        What it was fitted with, so that it can be fitted again.
    """

    terms: Terms
    names: tuple[str, ...]
    used: tuple[str, ...]
    read: Given
    coefficients: Coefficients
    free_scale: bool
    spread: Floats

    def distribution(self, features: Floats, given: Floats) -> Floats:
        return self._scores(features, given).distribution(self.coefficients)

    def without(self, rows: Material, parts: int, rng: np.random.Generator) -> tuple[Fitted, ...]:
        """The same learnt from the rows without each of so many parts of them, terms and spreads held."""
        part = rows.sampled(ROWS_TO_FIT, rng)
        labels = make_folds(part.n, min(parts, part.draws), rng, part.group)
        known = self._scores(part.features, part.given)
        found = []
        for number in range(int(labels.max()) + 1):
            kept = labels != number
            learner = likelihood(
                known.take(kept), part.action[kept], part.weight[kept], free_scale=self.free_scale
            )
            made = learner.fit(self.spread, self.coefficients, tolerance=_REFIT_TOLERANCE)
            found.append(replace(self, coefficients=made))
        return tuple(found)

    def _scores(self, features: Floats, given: Floats) -> Scores:
        return scores(self.terms, self.names, self.read, features, given, self.used)[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """Spreads chosen by held-out likelihood, and what they gain.

    Attributes
    ----------
    exponents
        Spread of each block's coefficients, as a power of the square root of ten; None: left out.
    before, after
        Held-out log loss as given and with these spreads.
    logs
        Held-out log-probability of the actions taken, by split.
    tried
        Number of choices that were compared.
    """

    free_scale: bool
    names: tuple[str, ...]
    exponents: Exponents
    p_value: float
    before: float
    after: float
    logs: tuple[Floats, ...]
    tried: int

    @property
    def helps(self) -> bool:
        """Whether held-out actions become more likely at all."""
        return self.after < self.before

    @property
    def convincing(self) -> bool:
        """Whether they do so by more than chance."""
        return self.helps and self.p_value < LEVEL

    @property
    def used(self) -> tuple[str, ...]:
        powers = zip(self.names, self.exponents, strict=True)
        return (
            *(("scale",) if self.free_scale else ()),
            *(name for name, power in powers if power is not None),
        )

    def used_when(self, when: When) -> bool:
        """Whether the repair is to be made; without any term there is none."""
        return bool(self.used) and (when == "always" or self.convincing or (when == "helpful" and self.helps))

    def fit(self, rows: Material, rng: np.random.Generator) -> Fitted:
        """The regression with these spreads, learnt on the given rows."""
        part = rows.sampled(ROWS_TO_FIT, rng)
        made = Terms.of(part.features, rng, curved="curved" in self.used)
        read = Given.of(part.given, part.action)
        known, sizes = scores(made, self.names, read, part.features, part.given, self.used)
        spread = StrengthSearch(sizes, ()).spread(
            tuple(power for power in self.exponents if power is not None)
        )
        fitted = likelihood(known, part.action, part.weight, free_scale=self.free_scale).fit(spread)
        return Fitted(
            terms=made,
            names=self.names,
            used=self.used,
            read=read,
            coefficients=fitted,
            free_scale=self.free_scale,
            spread=spread,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Rows that spreads are chosen on, and which of them each split holds out."""

    rows: Material
    held: tuple[Mask, ...]

    @classmethod
    def of(cls, rows: Material, rng: np.random.Generator) -> Splits | None:
        """Three folds, or one split where rows are many; None where there is too little to learn from."""
        part = rows.sampled(ROWS_TO_CHOOSE, rng)
        if part.draws < _LEAST_DRAWS or len(np.unique(part.action)) < 2:
            return None
        folds = make_folds(part.n, _FOLDS, rng, part.group)
        return cls(
            part, tuple(folds == number for number in range(_FOLDS if part.n <= _ROWS_FOR_ONE_SPLIT else 1))
        )

    def mean(self, values: Sequence[Floats]) -> float:
        """Mean over the held-out mass of values given by split."""
        weight = self.rows.weight
        total = sum(float(weight[held] @ found) for held, found in zip(self.held, values, strict=True))
        return total / sum(float(weight[held].sum()) for held in self.held)

    def gain_p_value(self, gains: Sequence[Floats], tried: int) -> float:
        """Of gains in log-likelihood, by split."""
        return gain_p_value(gains, self._held(self._mass), self._held(self.rows.group), tried)

    def surplus_p_value(self, surplus: Sequence[Floats], tried: int) -> float:
        """Of sums that are 0 on average if propensities are right, by split."""
        return surplus_p_value(surplus, self._held(self._mass), self._held(self.rows.group), tried)

    @property
    def _mass(self) -> Floats | None:
        return None if self.rows.mass is None else self.rows.weight

    def _held(self, values: Any) -> list[Any]:
        return [None if values is None else values[held] for held in self.held]


def choose(
    splits: Splits,
    terms: tuple[str, ...],
    rng: np.random.Generator,
    normal: NormalScores | None = None,
) -> Chosen:
    """Choose the spreads of the terms; the normal scores of the features may be known."""
    part, free = splits.rows, "scale" in terms
    names = tuple(name for name in ("actions", "context") if name in terms) + (
        ("curved",) if "context" in terms else ()
    )
    read = Given.of(part.given, part.action)
    if "curved" in names and normal is None:
        normal = NormalScores.of(part.features)
    made = Terms.of(part.features, rng, curved="curved" in names, normal=normal)
    blocks = made.blocks(
        part.features, read.logs(part.given), names, None if normal is None else normal.values
    )
    known, sizes = beside(blocks, read, part.given)
    weight, action = part.weight, part.action

    def part_of(held: Mask) -> HeldOutPart:
        others = likelihood(known.take(~held), action[~held], weight[~held], free_scale=free)
        return HeldOutPart(HeldOut(known.take(held), action[held]), weight[held], others)

    search = StrengthSearch(sizes, tuple(part_of(held) for held in splits.held))
    best = search.best()
    said = np.log(np.maximum(part.given[np.arange(part.n), action], read.floor))
    gains = [logs - said[held] for logs, held in zip(search.logs(best), splits.held, strict=True)]
    after = search.loss(best)
    p_value = splits.gain_p_value(gains, len(search.tried))
    return Chosen(
        free_scale=free,
        names=tuple(sizes),
        exponents=best,
        p_value=p_value,
        before=after + splits.mean(gains),
        after=after,
        logs=search.logs(best),
        tried=len(search.tried),
    )
