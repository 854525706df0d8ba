"""Radial kernels: what they are. How they are summed over pairs is the business of ``kwis.kernel``.

A kernel is a function of ``q = sum_l (x_l - y_l)^2 / h_l^2``. It is written in logarithms, so that a row
whose neighbours are all far away can be shifted instead of underflowing to 0/0. A new kernel is two short
functions:

>>> import numpy as np
>>> cauchy = Kernel("cauchy", log_profile=lambda q: -np.log1p(q), slope=lambda q: -1 / (1 + q))

Values, gradients, bandwidth selection and intervals follow from these two.

A categorical column takes no part in ``q``: each mismatch multiplies the kernel by ``exp(-1/h^2)``, whatever
the radial kernel is, so mixed data get a product of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis.errors import InputError
from kwis.typing import Floats

Profile = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A radial kernel, scaled so that it is 1 at distance 0.

    Parameters
    ----------
    name
        Its name in results and messages.
    log_profile
        Logarithm of the kernel as a function of ``q >= 0``, elementwise; ``-inf`` where the kernel is 0.
    slope
        Derivative of ``log_profile``, elementwise. Where it is singular at ``q = 0``, return 0 there: the
        distances it multiplies are 0.

    See Also
    --------
    kwis.KernelWIS : takes a kernel.
    kwis.kernel_mean : averages with one.
    kwis.select_bandwidth : chooses its bandwidth.

    Examples
    --------
    >>> import numpy as np
    >>> rational = kwis.Kernel("rational", lambda q: -np.log1p(q), lambda q: -1 / (1 + q))
    >>> kernels = (kwis.RBF, kwis.Laplace, kwis.Matern32, kwis.Matern52, kwis.Epanechnikov, rational)
    >>> [kernel.name for kernel in kernels]
    ['rbf', 'laplace', 'matern32', 'matern52', 'epanechnikov', 'rational']
    """

    name: str
    log_profile: Profile
    slope: Profile

    @property
    def compact(self) -> bool:
        """Whether it is 0 beyond some distance, which may leave a row without neighbours."""
        return bool(np.isneginf(self.log_profile(np.array([1e60]))[0]))

    def __repr__(self) -> str:
        return f"Kernel({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """A kernel of this module is pickled by name, and is the same object wherever it is loaded."""
        if KERNELS.get(self.name) is self:
            return as_kernel, (self.name,)
        return Kernel, (self.name, self.log_profile, self.slope)


def _laplace_slope(q: Floats) -> Floats:
    return np.where(q > 0, -0.5 / np.sqrt(np.where(q > 0, q, 1.0)), 0.0)


def _matern52_log_profile(q: Floats) -> Floats:
    s = np.sqrt(5 * q)
    return np.log1p(s + s * s / 3) - s


def _matern52_slope(q: Floats) -> Floats:
    s = np.sqrt(5 * q)
    return -(5 / 6) * (1 + s) / (1 + s + s * s / 3)


def _epanechnikov_log_profile(q: Floats) -> Floats:
    return np.where(q < 1, np.log1p(-np.minimum(q, np.nextafter(1.0, 0.0))), -np.inf)


def _epanechnikov_slope(q: Floats) -> Floats:
    return np.where(q < 1, -1 / (1 - np.minimum(q, np.nextafter(1.0, 0.0))), 0.0)


RBF = Kernel("rbf", lambda q: -0.5 * q, lambda q: np.full_like(q, -0.5))
Laplace = Kernel("laplace", lambda q: -np.sqrt(q), _laplace_slope)
Matern32 = Kernel(
    "matern32", lambda q: np.log1p(np.sqrt(3 * q)) - np.sqrt(3 * q), lambda q: -1.5 / (1 + np.sqrt(3 * q))
)
Matern52 = Kernel("matern52", _matern52_log_profile, _matern52_slope)
Epanechnikov = Kernel("epanechnikov", _epanechnikov_log_profile, _epanechnikov_slope)

KERNELS = {kernel.name: kernel for kernel in (RBF, Laplace, Matern32, Matern52, Epanechnikov)}


def as_kernel(kernel: Kernel | str) -> Kernel:
    """Look a kernel up by name, or return the one given."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]
    raise InputError(f"`kernel` must be a kwis.Kernel or one of {', '.join(KERNELS)}, got {kernel!r}")


def bandwidth_from_lambda(lambda_: float, levels: int) -> float:
    """Bandwidth whose mismatch factor ``exp(-1/h^2)`` is Aitchison and Aitken's for the same ``lambda``.

    Their kernel is ``1 - lambda`` on a match and ``lambda / (levels - 1)`` on a mismatch, with ``lambda``
    from 0 (only equal levels count) to ``(levels - 1) / levels`` (all levels count alike).

    Parameters
    ----------
    lambda_
        Above 0, at most ``(levels - 1) / levels``.
    levels
        Number of levels of the categorical feature.

    Returns
    -------
    float
        Infinite where all levels count alike.

    See Also
    --------
    kwis.KernelWIS : takes the bandwidth.
    kwis.RBF : the kernel that it is for.

    Examples
    --------
    >>> round(kwis.bandwidth_from_lambda(0.2, levels=3), 3)
    0.693
    """
    if levels < 2:
        raise InputError(f"`levels` must be at least 2, got {levels}")
    limit = (levels - 1) / levels
    if not 0 < lambda_ <= limit:
        raise InputError(f"`lambda_` must be in (0, {limit:.6g}] for {levels} levels, got {lambda_}")
    ratio = lambda_ / ((levels - 1) * (1 - lambda_))
    return math.inf if ratio >= 1 else 1 / math.sqrt(-math.log(ratio))
