"""Reward models fitted for the estimate they serve: more robust doubly robust (Farajtabar et al. 2018)."""

from __future__ import annotations

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.typing import ArrayLike, Floats


def mrdr_weights(weight: ArrayLike, propensity: ArrayLike) -> Floats:
    """How much each row counts in a fit that minimises the variance of the doubly robust estimate:
    ``w^2 (1 - p)``.

    For the ``row_weight`` of :func:`kwis.predict_rewards`. Actions that the log took with certainty add no
    variance, and those with large importance weights most of it.

    Parameters
    ----------
    weight
        Importance weights of the target.
    propensity
        Probability with which the logged action was taken.

    Returns
    -------
    ndarray
        ``(n,)``, one number per row.

    See Also
    --------
    kwis.predict_rewards : takes them as ``row_weight``.
    kwis.DoublyRobust : the estimate whose variance they reduce.

    Examples
    --------
    >>> kwis.mrdr_weights([2.0, 1.0], [0.5, 1.0])
    array([2., 0.])
    """
    w = check.weights(weight, "weight", np.size(weight))
    p = check.propensities(propensity, "propensity", w.size, like="weight")
    largest = float(w.max())
    counts = np.square(w / largest) * (1 - p) if largest > 0 else np.zeros_like(w)
    if not counts.any():
        raise InputError(
            "`weight` must be positive where `propensity` is below 1 in at least one row, got none"
        )
    return np.asarray(counts / counts.mean())
