"""Importance sampling with weights cut off at a cap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kwis import _validation as check
from kwis.errors import InputError
from kwis.estimators.ratio import Applied, RuleEstimator
from kwis.estimators.traits import Circumstances
from kwis.results import Verdict
from kwis.sample import WeightedSample
from kwis.typing import Floats


@dataclass(frozen=True, slots=True)
class TruncatedVIS(RuleEstimator):
    """Mean of ``min(w_i, cap) r_i``: trades the rare huge weight for a bias towards 0.

    Parameters
    ----------
    cap
        A number, or ``"ionides"`` for ``sqrt(n)`` (the paper's CLPD VIS), n the interactions the sample
        stands for. Its influence values take the cap as given, as n is.

    See Also
    --------
    kwis.ShrunkenIS : other ways of making large weights smaller.
    kwis.WIS : no cap, and within the range of the rewards.
    kwis.VIS : no cap.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> round(kwis.TruncatedVIS(cap=1.5).estimate(sample).value, 3)
    0.667
    """

    name: ClassVar[str] = "truncated-vis"
    sentence: ClassVar[str] = (
        "vis with weights cut at the square root of the number of rows, or at the cap that was asked for"
    )
    normalised: ClassVar[bool] = False

    cap: float | str = "ionides"

    def __post_init__(self) -> None:
        if isinstance(self.cap, str) and self.cap != "ionides":
            raise InputError(f'`cap` must be a positive number or "ionides", got {self.cap!r}')
        if not isinstance(self.cap, str):
            object.__setattr__(self, "cap", check.positive(self.cap, "cap"))

    def caveats(self, circumstances: Circumstances) -> Iterable[Verdict]:
        """It does not divide by the mean weight."""
        return circumstances.undivided()

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied:
        """Weights up to the cap, which differs between resamples of different size (groups, masses)."""
        cap = np.sqrt(counts.sum(axis=0)) if isinstance(self.cap, str) else np.array([self.cap])
        if (cap == cap[0]).all():
            cap = cap[:1]
        return Applied(np.minimum(sample.weight[:, None], cap))
