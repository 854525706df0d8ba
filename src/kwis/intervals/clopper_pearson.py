"""The interval of a binomial count, for rare successes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.estimators.protocol import Estimator, S
from kwis.intervals.independent import refuse_dependent_terms
from kwis.results import Interval
from kwis.typing import Seed


@dataclass(frozen=True, slots=True)
class ClopperPearson:
    """Interval of Clopper and Pearson (1934) for VIS, with ``sum w_i r_i / bound`` in the place of the number
    of successes.

    Terms between 0 and ``bound`` vary no more than a coin that shows ``bound`` or 0 with the same mean. So
    the interval is exact for weights that are all alike and rewards of 0 and 1, and wider than it needs to be
    otherwise. It says something even where no success was seen.

    Parameters
    ----------
    bound
        What ``w r`` cannot exceed, known beforehand: with rewards in [0, 1] and propensities of at least p,
        ``1 / p``.

    See Also
    --------
    kwis.EmpiricalBernstein : for terms of any kind within bounds.
    kwis.LogarithmicSmoothing : needs no bound on the weights.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0]] * 120, weight=[2.0, 1.0, 0.5] * 40, reward=[1.0, 0.0, 1.0] * 40
    ... )
    >>> kwis.ClopperPearson(bound=2.0).interval(kwis.VIS(), sample, level=0.95)
    Interval([0.654735, 1.02036], level=0.95, clopper-pearson)
    """

    bound: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", check.positive(self.bound, "bound"))

    def interval(self, estimator: Estimator[S], sample: S, level: float = 0.95, rng: Seed = 0) -> Interval:
        """Interval at the given level or above; ``rng`` is not used."""
        from scipy.special import betaincinv

        level = check.level(level)
        check.generator(rng)
        refuse_dependent_terms(estimator, sample, "a Clopper-Pearson interval")
        with np.errstate(over="ignore"):
            terms = np.asarray(sample.weight * sample.reward) / self.bound  # type: ignore[attr-defined]
        outside = (terms < 0) | (terms > 1)
        if outside.any():
            row = int(np.argmax(outside))
            raise InputError(
                f"`bound` must hold for every `weight` times `reward`, got {terms[row] * self.bound} outside "
                f"[0, {self.bound:g}] at row {row}"
            )
        n, successes, tail = terms.size, float(terms.sum()), (1 - level) / 2
        low = float(betaincinv(successes, n - successes + 1, tail)) if successes > 0 else 0.0
        high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
        return Interval(
            low=low * self.bound,
            high=high * self.bound,
            level=level,
            value=successes / n * self.bound,
            method="clopper-pearson",
        )
