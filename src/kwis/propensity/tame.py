"""How much of a repair to use where it makes inverse propensities wilder than the given ones.

Weights that become wilder cost certainty for sure and gain accuracy only if the repair is right. It is used as it is where right
propensities would be contradicted as clearly in one log of a million. Otherwise propensities between the given and the repaired ones,
``p^(1 - t) q^t``, explain held-out actions as well as long as their log-likelihood is within two units of the best (a 95 % interval of
``t``), and of those the one with the least wild inverses is used. Where only the logged action's propensity is known there is no
likelihood to go by, and as much of the repair is used as makes nothing wilder.
"""

from __future__ import annotations

import numpy as np

from kwis.propensity.gain import gains_of_draws
from kwis.typing import Floats, Ints
from kwis.weights import effective_size

_WILDER = 0.9  # effective number of inverse propensities, after over before, below which a repair makes them wilder
_LIKELY = 2.0
_OVERWHELMING = 1e-6
_SHARES = np.linspace(1.0, 0.0, 21)


def between(given: Floats, made: Floats, share: float) -> Floats:
    """``(n, K)`` distributions between two, 0 where either is."""
    if share == 1.0:
        return made
    with np.errstate(divide="ignore"):
        logs = (1 - share) * np.log(given) + share * np.log(made) if share else np.log(given)
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def useful_share(given: Floats, made: Floats, action: Ints, p_value: float, mass: Floats | None, group: Ints | None) -> float:
    """Share ``t`` of a repair to be used, 1 where it makes nothing wilder; ``made`` is held out, ``p_value`` of the given being right."""
    rows = np.arange(len(action))
    said = given[rows, action]
    if p_value < _OVERWHELMING or (said <= 0).any() or not _wilder(said, made[rows, action], mass):
        return 1.0
    logged = [between(given, made, float(share))[rows, action] for share in _SHARES]
    weight = 1.0 if mass is None else mass / mass.mean()
    gains = [float(gains_of_draws([np.log(one / said) * weight], [group])[0].sum()) for one in logged]
    likely = [place for place, gain in enumerate(gains) if gain >= max(gains) - _LIKELY]
    return float(_SHARES[max(likely, key=lambda place: effective_size(1 / logged[place], mass))])


def tame_share(given: Floats, made: Floats, p_value: float, mass: Floats | None) -> float:
    """The same where only ``(n,)`` propensities of the logged actions are known."""
    if p_value < _OVERWHELMING:
        return 1.0
    return float(next(share for share in _SHARES if not _wilder(given, given ** (1 - share) * made**share, mass)))


def _wilder(given: Floats, made: Floats, mass: Floats | None) -> bool:
    return effective_size(1 / made, mass) < _WILDER * effective_size(1 / given, mass)
