"""Bounds that hold at every sample size need a mean of independent and identically distributed terms."""

from __future__ import annotations

from typing import Any

from kwis import _validation as check
from kwis.errors import UnsupportedError
from kwis.estimators import traits
from kwis.estimators.protocol import Estimator
from kwis.sample import WeightedSample


def refuse_dependent_terms(estimator: Estimator[Any], sample: Any, what: str) -> None:
    """Refuse anything but VIS on rows that are drawn alike; ``what`` is the bound that needs it."""
    if not traits.mean_of_terms(estimator) or not isinstance(sample, WeightedSample):
        name = getattr(estimator, "name", type(estimator).__name__)
        raise UnsupportedError(f"`estimator` must be VIS for {what}, a mean of independent terms, got {name}")
    check.two_draws(sample.n, None)
    for name in ("group", "mass"):
        if getattr(sample, name) is not None:
            raise UnsupportedError(f"`sample` must have no `{name}` for {what}, whose rows are drawn alike")
