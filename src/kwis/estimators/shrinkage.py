"""Ways to shrink importance weights: each a function of the weights and of one parameter.

Shrunken weights trade the noise of a few huge weights for a bias. All are 0 where the weight is 0. Each has
the parameter of its paper, which :meth:`Shrinkage.parameter_at` derives from a ``threshold``, a weight at
which the shrinkage begins to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kwis.sample import safe_ratio
from kwis.typing import Floats


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """A way to shrink weights.

    Attributes
    ----------
    shrunken
        From weights and the parameter, which broadcast, to weights.
    parameter_at
        From thresholds, and the largest weight, to parameters.
    most
        The largest parameter there is.
    aliases
        Names in the field of the doubly robust form.
    """

    name: str
    sentence: str
    shrunken: Callable[[Floats, Floats], Floats] = field(repr=False)
    parameter_at: Callable[[Floats, Floats], Floats] = field(repr=False)
    most: float = np.inf
    aliases: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Callable[[str], Shrinkage], tuple[str]]:
        return shrinkage, (self.name,)


def _optimistic(weight: Floats, parameter: Floats) -> Floats:
    root = np.sqrt(parameter)
    ratio = np.minimum(weight, 1e300) / root  # squares of huge weights would overflow
    return np.where(ratio > 1, root / (ratio + 1 / np.maximum(ratio, 1)), weight / (1 + np.square(ratio)))


def _threshold(threshold: Floats, _: Floats) -> Floats:
    return threshold


def _squared_threshold(threshold: Floats, _: Floats) -> Floats:
    return np.square(threshold)


def _inverse_threshold(threshold: Floats, _: Floats) -> Floats:
    return 1 / np.maximum(threshold, 1.0)


def _power(threshold: Floats, largest: Floats) -> Floats:
    """Under which the largest weight becomes the threshold."""
    return 1 - np.log(threshold) / np.log(largest)


SHRINKAGES = {
    rule.name: rule
    for rule in (
        Shrinkage(
            name="clipping",
            sentence="weights above the parameter are cut to it",
            shrunken=np.minimum,
            parameter_at=_threshold,
        ),
        Shrinkage(
            name="switch",
            sentence="rows whose weight is above the parameter have none (Wang et al. 2017)",
            shrunken=lambda weight, parameter: np.where(weight <= parameter, weight, 0.0),
            parameter_at=_threshold,
            aliases=("switch-dr",),
        ),
        Shrinkage(
            name="shrinkage",
            sentence="w becomes l w / (w^2 + l), l the parameter (optimistic shrinkage, Su et al. 2020)",
            shrunken=_optimistic,
            parameter_at=_squared_threshold,
            aliases=("dros",),
        ),
        Shrinkage(
            name="sub-gaussian",
            sentence="w becomes w / (1 - l + l w), the harmonic mean of w and 1 (Metelli et al. 2021)",
            shrunken=lambda weight, parameter: safe_ratio(weight, 1 - parameter + parameter * weight),
            parameter_at=_inverse_threshold,
            most=1.0,
        ),
        Shrinkage(
            name="power-mean",
            sentence="w becomes w^(1 - l), the geometric mean of w and 1 (Metelli et al. 2021)",
            shrunken=lambda weight, parameter: np.where(weight > 0, np.power(weight, 1 - parameter), 0.0),
            parameter_at=_power,
            most=1.0,
        ),
        Shrinkage(
            name="implicit-exploration",
            sentence="w becomes w / (1 + l w); for a deterministic target the propensity plus l (Gabbianelli "
            "et al. 2024)",
            shrunken=lambda weight, parameter: weight / (1 + parameter * weight),
            parameter_at=_inverse_threshold,
            aliases=("ix-dr",),
        ),
        Shrinkage(
            name="logarithmic-smoothing",
            sentence="w becomes log(1 + l w) / l (Sakhi et al. 2024, the form linear in the reward)",
            shrunken=lambda weight, parameter: np.log1p(parameter * weight) / parameter,
            parameter_at=_inverse_threshold,
        ),
    )
}


def shrinkage(name: str) -> Shrinkage:
    """The shrinkage of this name."""
    return SHRINKAGES[name]
