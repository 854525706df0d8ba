"""How much of a repair to use where it makes inverse propensities wilder than the given ones.

Weights that become wilder cost certainty for sure and gain accuracy only if the repair is right. It is used
as it is where right propensities would be contradicted as clearly in one log of a hundred. Otherwise
propensities on the way from the given to the repaired ones explain held-out actions as well as long as their
log-likelihood is within two units of the best (a 95 % interval of the share of the way), and of those the
ones with the least wild inverses are used. Where repaired propensities are no distribution there is no
likelihood to go by, and as much of the repair is used as makes nothing wilder.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kwis.models.propensity.gain import gains_of_draws
from kwis.sample import effective_size
from kwis.typing import Floats, Ints

_WILDER = (
    0.9  # effective number of inverse propensities, after over before, below which a repair makes them wilder
)
_LIKELY = 2.0
_CLEAR = 0.01
_SHARES = tuple(np.linspace(1.0, 0.0, 21).tolist())

Way = Callable[[float], Floats]
"""From the share of the way to ``(n,)`` propensities of the logged actions."""


def between(given: Floats, made: Floats, share: float) -> Floats:
    """``(n, K)`` distributions ``p^(1 - t) q^t`` between two, 0 where either is."""
    if share == 1.0:
        return made
    with np.errstate(divide="ignore"):
        logs = (1 - share) * np.log(given) + share * np.log(made) if share else np.log(given)
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def useful_share(way: Way, p_value: float, mass: Floats | None, group: Ints | None) -> float:
    """Share of a repair to be used, all of it where it makes nothing wilder.

    Parameters
    ----------
    way
        Distributions on the way to the repair, held out.
    p_value
        Of the given propensities being right.
    """
    said = way(0.0)
    if p_value < _CLEAR or (said <= 0).any() or not _wilder(said, way(1.0), mass):
        return 1.0
    logged = {share: way(share) for share in _SHARES}
    weight = 1.0 if mass is None else mass / mass.mean()
    gains = {
        share: float(gains_of_draws([np.log(one / said) * weight], [group])[0].sum())
        for share, one in logged.items()
    }
    likely = [share for share, gain in gains.items() if gain >= max(gains.values()) - _LIKELY]
    return max(likely, key=lambda share: effective_size(1 / logged[share], mass))


def tame_share(way: Way, p_value: float, mass: Floats | None) -> float:
    """The same where propensities on the way are no distributions."""
    said = way(0.0)
    return (
        1.0 if p_value < _CLEAR else next(share for share in _SHARES if not _wilder(said, way(share), mass))
    )


def _wilder(given: Floats, made: Floats, mass: Floats | None) -> bool:
    return effective_size(1 / made, mass) < _WILDER * effective_size(1 / given, mass)
