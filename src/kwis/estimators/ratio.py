"""The one form all estimators have: weighted sums of rewards over a count or over the sum of the weights
applied.

With ``c_i`` how often row i counts (its mass, times its count in a resample) and ``v_i`` the weight the
estimator applies to it,

- plain: ``sum c_i v_i r_i / sum c_i``;
- normalised: ``sum c_i v_i r_i / sum c_i v_i``.

An estimator is therefore a rule for ``v``; values, influence, standard errors and resamples follow from it
here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kwis.errors import InputError
from kwis.estimators.protocol import Resamples
from kwis.results import BandwidthChoice, Estimate
from kwis.runtime.arrays import kept
from kwis.sample import WeightedSample, effective_size
from kwis.stats.influence import standard_error
from kwis.typing import Bandwidth, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """Weights an estimator applies on B resamples.

    Attributes
    ----------
    weight
        ``(n, B)``, or ``(n, 1)`` if they are the same on every resample; on rows not drawn, any finite
        number.
    reaction
        Where the weight of a row depends on its neighbours: for terms ``c_i v_i x_i`` the (n, B) derivatives,
        with respect to the count of each row, of their sum by way of the weights ``v``. None where each row
        has its own weight only. If B is 1, there may be any number of terms.
    own
        Where the weight of a row depends on its neighbours: ``(n, B)`` share of each row in the weight around
        it.
    """

    weight: Floats
    reaction: Callable[[Floats], Floats] | None = None
    own: Callable[[], Floats] | None = None

    def isolation(self, counted: Floats) -> float | None:
        """Mean over the rows that have a weight of the share of each in the weight around it, on the first
        resample.
        """
        if self.own is None:
            return None
        share, count = self.own()[:, 0], counted[:, 0]
        return float(count @ share / count[share > 0].sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """What estimates of several rewards under the same weights are made of.

    Attributes
    ----------
    weight
        ``(n,)`` weights applied.
    sums
        ``(q,)`` of ``c v x`` for the columns ``x``.
    direct
        ``(n, q)`` derivatives of these sums with respect to the count of each row.
    noise, drawn
        Where the weights come from sampled neighbours: ``(n, q)`` half of what two halves of the sample
        differ by in ``direct``; and the independent errors that make up the error of ``sums``, at the rows
        checked.
    neighbours, checked
        Sizes of these samples.
    """

    weight: Floats
    sums: Floats
    direct: Floats
    effective_n: float
    isolation: float | None
    noise: Floats | None = None
    drawn: Floats | None = None
    neighbours: int = 0
    checked: int = 0


class Rule(Protocol):
    """Which weights an estimator applies to a sample whose rows count ``counts`` (n, B) times, mass
    included.
    """

    @property
    def name(self) -> str: ...

    @property
    def normalised(self) -> bool: ...

    def applied(self, sample: WeightedSample, counts: Floats) -> Applied: ...


def ratio_estimate(
    rule: Rule,
    sample: WeightedSample,
    *,
    bandwidth: Bandwidth | None = None,
    choice: BandwidthChoice | None = None,
) -> Estimate:
    """Estimate under a rule on the sample itself."""
    statistics = _statistics(rule, sample, np.ones((sample.n, 1)), with_influence=True)
    value = float(statistics.values[0])
    if np.isnan(value):
        raise no_weight(rule.name, sample)
    if np.isinf(value):
        raise InputError(f"`weight` times `reward` must have a finite sum for {rule.name}, got {value}")
    assert statistics.influence is not None
    influence = kept(statistics.influence[:, 0])
    return Estimate(
        name=rule.name,
        value=value,
        n=sample.n,
        std_error=standard_error(influence, sample.group),
        effective_n=effective_size(statistics.applied[:, 0], sample.mass),
        mean_weight=float(statistics.mean_weight[0]),
        isolation=statistics.isolation,
        influence=influence,
        leverage=leverage(statistics.applied[:, 0] if rule.normalised else np.ones(sample.n), sample.mass),
        bandwidth=bandwidth,
        choice=choice,
    )


def no_weight(name: str, sample: WeightedSample) -> InputError:
    """What is raised where an estimate would divide by weights that are all 0."""
    return InputError(
        f"`weight` must be positive in at least one row for {name}, got 0.0 in all {sample.n} rows"
    )


def leverage(load: Floats, mass: Floats | None) -> Floats:
    """Share of each row in the sum of ``load``, which is not 0 everywhere."""
    share = load / load.max()  # sums of huge weights would overflow
    if mass is not None:
        share = share * (mass / mass.max())
    return kept(share / share.sum())


def ratio_resamples(rule: Rule, sample: WeightedSample, counts: Floats, influence: bool) -> Resamples:
    """Estimates under a rule on resamples, the weights applied worked out anew on each."""
    statistics = _statistics(rule, sample, counts, with_influence=influence)
    return Resamples(statistics.values, statistics.influence)


@dataclass(frozen=True, slots=True, eq=False)
class _Statistics:
    values: Floats
    applied: Floats
    mean_weight: Floats
    influence: Floats | None = None
    isolation: float | None = None


def _statistics(rule: Rule, sample: WeightedSample, counts: Floats, *, with_influence: bool) -> _Statistics:
    counted = counts if sample.mass is None else counts * sample.mass[:, None]
    # Rewards of at most 1: their products with the largest weights then stay in range, and a power of two is
    # exact.
    scale = int(np.frexp(np.abs(sample.reward).max())[1])
    reward = np.ldexp(sample.reward, -scale)
    with np.errstate(all="ignore"):
        applied = rule.applied(sample, counted)
        total = counted.sum(axis=0)
        loads, load = _sums(counted, applied.weight, reward)
        values = loads / (load if rule.normalised else total)
        if rule.normalised or applied.reaction is not None:
            values[load == 0] = np.nan
        found = np.ldexp(values, scale), applied.weight, load / total
        if not with_influence:
            return _Statistics(*found)
        share = total / load if rule.normalised else np.ones_like(total)
        influence = _influence(rule, reward, counted, applied, values, share)
        # Per row drawn, not per unit of mass: a row that stands for many is still one draw.
        influence *= counts.sum(axis=0) / total
        if sample.mass is not None:
            influence *= sample.mass[:, None]
        return _Statistics(*found, np.ldexp(influence, scale, out=influence), applied.isolation(counted))


def _sums(counted: Floats, weight: Floats, reward: Floats) -> tuple[Floats, Floats]:
    """``sum c v r`` and ``sum c v``; numpy's own loops, because the bits of BLAS depend on its number of
    threads.
    """
    if weight.shape[1] == 1:
        return np.einsum("ib,i->b", counted, weight[:, 0] * reward), np.einsum(
            "ib,i->b", counted, weight[:, 0]
        )
    return np.einsum("ib,ib,i->b", counted, weight, reward), np.einsum("ib,ib->b", counted, weight)


def _influence(
    rule: Rule, reward: Floats, counted: Floats, applied: Applied, values: Floats, share: Floats
) -> Floats:
    """Derivative of each value with respect to the count of each row, times the total count.

    The normalised form is the plain one for rewards less the value, divided by the mean of the weights
    applied.
    """
    influence = np.multiply(applied.weight, share)
    influence *= np.subtract(reward[:, None], values) if rule.normalised else reward[:, None]
    if applied.reaction is not None:
        influence += applied.reaction(counted * influence)
    if not rule.normalised:
        influence -= values
    np.copyto(influence, 0.0, where=counted == 0)
    return influence
