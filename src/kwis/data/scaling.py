"""Explicit scaling of contexts; nothing in kwis scales them behind the caller's back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.typing import ArrayLike, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """How contexts were scaled: ``(context - mean) / scale``, column by column.

    Attributes
    ----------
    mean, scale
        ``(d,)``, one number per column.

    See Also
    --------
    kwis.standardise : makes it.

    Examples
    --------
    >>> scaled, scaling = kwis.standardise([[0.0], [2.0]])
    >>> isinstance(scaling, kwis.Scaling), scaling.mean, scaling.scale
    (True, array([1.]), array([1.]))
    """

    mean: Floats
    scale: Floats

    def apply(self, context: ArrayLike) -> Floats:
        """Scale other contexts in the same way."""
        clean = check.contexts(context)
        if clean.shape[1] != self.mean.size:
            raise InputError(
                f"`context` must have the {self.mean.size} columns of the contexts scaled before, got "
                f"{clean.shape[1]}"
            )
        # Differences of huge numbers overflow; dividing everything by the same power of two first changes
        # nothing else.
        exponent = -np.frexp(np.maximum(np.abs(self.mean), self.scale))[1]
        return (np.ldexp(clean, exponent) - np.ldexp(self.mean, exponent)) / np.ldexp(self.scale, exponent)


def standardise(context: ArrayLike, categorical: Iterable[int] | int = ()) -> tuple[Floats, Scaling]:
    """Contexts with mean 0 and standard deviation 1 in every numeric column, and the scaling that did it.

    A constant column becomes 0; columns listed in ``categorical`` stay as they are.

    Parameters
    ----------
    context
        ``(n, d)`` numbers.
    categorical
        Numbers of the columns that hold codes.

    Returns
    -------
    scaled : ndarray
        ``(n, d)`` scaled contexts.
    scaling : Scaling
        Scales other contexts in the same way.

    See Also
    --------
    kwis.WeightedSample : takes the scaled contexts.

    Examples
    --------
    >>> scaled, scaling = kwis.standardise([[0.0], [2.0]])
    >>> scaled.tolist()
    [[-1.0], [1.0]]
    """
    clean = check.contexts(context)
    codes = list(check.categorical_columns(categorical, clean))
    largest = np.abs(clean).max(axis=0)
    exponent = np.frexp(largest)[1]
    small = np.ldexp(clean, -exponent)  # within [-1, 1], so that no sum or square overflows
    spread = np.ldexp(small.std(axis=0), exponent)
    # Dividing by a subnormal spread would overflow; a column that varies by so little counts as constant.
    constant = (clean == clean[0]).all(axis=0) | (spread < np.finfo(np.float64).tiny)
    mean = np.where(constant, clean[0], np.ldexp(small.mean(axis=0), exponent))
    scale = np.where(constant, 1.0, spread)
    mean[codes], scale[codes] = 0.0, 1.0
    scaling = Scaling(check.read_only(mean), check.read_only(scale))
    return scaling.apply(clean), scaling
