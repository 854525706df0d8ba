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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from kwis.errors import InputError
from kwis.estimators.precision import few_terms, without_noise
from kwis.estimators.protocol import Resamples
from kwis.results import BandwidthChoice, Estimate, Precision
from kwis.runtime.arrays import kept, room
from kwis.sample import WeightedSample, effective_size
from kwis.stats import long
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

    def derivatives(self, columns: Floats, counted: Floats) -> Floats:
        """Of the sums of ``c v x`` with respect to the count of each row, for the columns ``x``."""
        found = self.weight * columns
        if self.reaction is not None:
            found += self.reaction(counted * found)
        return found

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


class RuleEstimator:
    """An estimator that is a rule for the weights it applies: ``applied`` says all, the rest follows."""

    __slots__ = ()

    def estimate(self: Rule, sample: WeightedSample) -> Estimate:
        """Value of the policy."""
        return ratio_estimate(self, sample)

    def resampled(
        self: Rule, sample: WeightedSample, counts: Floats, *, influence: bool = False
    ) -> Resamples:
        """The same on resamples with the given counts (n, B), the weights applied worked out anew on each."""
        return ratio_resamples(self, sample, counts, influence)


def ratio_estimate(
    rule: Rule,
    sample: WeightedSample,
    *,
    bandwidth: Bandwidth | None = None,
    choice: BandwidthChoice | None = None,
) -> Estimate:
    """Estimate under a rule on the sample itself."""
    made = _long_estimate(rule, sample)
    if made is not None:
        return replace(made, bandwidth=bandwidth, choice=choice)
    columns, scales = columns_of([sample.reward])
    with np.errstate(all="ignore"):
        applied = rule.applied(sample, mass_of(sample)[:, None])
        parts = parts_of(applied, sample, columns)
        found = estimate_from(parts, rule, sample, 0, scales[0])
    divided = rule.normalised or applied.reaction is not None
    if np.isnan(found.value) or (divided and parts.sums[-1] == 0):
        raise no_weight(rule.name, sample)
    if np.isinf(found.value):
        raise InputError(f"`weight` times `reward` must have a finite sum for {rule.name}, got {found.value}")
    return replace(found, bandwidth=bandwidth, choice=choice)


def _long_estimate(rule: Rule, sample: WeightedSample) -> Estimate | None:
    """The same for many rows, each of which has a weight of its own, in a few passes; None elsewhere."""
    if sample.mass is not None or not long.is_long(sample.weight, sample.reward):
        return None
    n = sample.n
    applied = rule.applied(sample, np.broadcast_to(1.0, (n, 1)))
    weight = applied.weight[:, 0]
    if applied.reaction is not None or applied.own is not None or not long.is_long(weight):
        return None
    extent = long.Extent.of(weight)
    total, largest = long.products(weight, sample.reward)
    if not (largest == 0 or long.in_range(largest)) or not long.in_range(extent.largest, extent.total):
        return None
    value = total / (extent.total if rule.normalised else n)
    factor = n / extent.total if rule.normalised else None
    influence = long.influence_of(weight, sample.reward, value, factor)
    alike = not rule.normalised or long.is_constant(weight)
    shares = np.broadcast_to(1 / n, n) if alike else long.parts_of(weight, extent.total)
    return Estimate(
        name=rule.name,
        value=value,
        n=n,
        std_error=standard_error(influence, sample.group),
        effective_n=extent.total**2 / extent.squares,
        mean_weight=extent.total / n,
        influence=influence,
        leverage=shares,
    )


def mass_of(sample: WeightedSample) -> Floats:
    return np.ones(sample.n) if sample.mass is None else sample.mass


def scale_of(reward: Floats) -> int:
    """Power of two by which rewards are divided to be at most 1: their products with the largest weights then
    stay in range, and a power of two is exact.
    """
    return int(np.frexp(np.abs(reward).max())[1])


def columns_of(rewards: Sequence[Floats]) -> tuple[Floats, list[int]]:
    """Rewards as columns with one of ones last, for the normaliser; and the power of two each was divided
    by.
    """
    scales = [scale_of(reward) for reward in rewards]
    values = room((rewards[0].size, len(rewards) + 1))
    for column, (reward, scale) in enumerate(zip(rewards, scales, strict=True)):
        values[:, column] = np.ldexp(reward, -scale)
    values[:, -1] = 1.0
    return values, scales


def parts_of(applied: Applied, sample: WeightedSample, columns: Floats) -> Parts:
    """What estimates are made of, for rewards as columns (n, q)."""
    mass, v = mass_of(sample)[:, None], applied.weight[:, 0]
    return Parts(
        weight=v,
        sums=np.einsum("i,ij->j", mass[:, 0] * v, columns),
        direct=applied.derivatives(columns, mass),
        effective_n=effective_size(v, sample.mass),
        isolation=applied.isolation(mass),
    )


def estimate_from(parts: Parts, rule: Rule, sample: WeightedSample, j: int, scale: int) -> Estimate:
    """Estimate of the reward in column ``j``, which was divided by ``2**scale``; the last column is of ones.

    With ``d_j = v x_j + D(c v x_j)`` the derivatives of the sum in column ``j``, ``D`` the reaction of the
    weights, the influence of the plain form is ``d_j - value``, and that of the normalised form, a ratio of
    two sums, ``(d_j - value d_ones) sum c / sum c v``.
    """
    mass = mass_of(sample)
    total, load = float(mass.sum()), parts.sums[-1]
    value = float(parts.sums[j] / (load if rule.normalised else total))

    def effect(derivatives: Floats, constant: float) -> Floats:
        """Effect of each row on the value, from those on the sums."""
        found = (
            (derivatives[:, j] - value * derivatives[:, -1]) * (total / load)
            if rule.normalised
            else derivatives[:, j] - constant
        )
        # Per row drawn, not per unit of mass: a row that stands for many is still one draw.
        return np.ldexp(found * (mass * (sample.n / total)), scale)

    influence, precision = effect(parts.direct, value), None
    if parts.drawn is not None:
        drawn = effect(parts.drawn, 0.0)
        drawn *= few_terms(drawn)
        precision = Precision(
            neighbours=parts.neighbours, checked=parts.checked, error=_length(drawn) / sample.n
        )
        if parts.noise is not None:
            influence = influence * without_noise(influence, effect(parts.noise, 0.0), sample.group)
        influence += drawn
        influence -= influence.mean()
    influence = kept(influence)
    return Estimate(
        name=rule.name,
        value=float(np.ldexp(value, scale)),
        n=sample.n,
        std_error=standard_error(influence, sample.group),
        effective_n=parts.effective_n,
        mean_weight=float(load / total),
        isolation=parts.isolation,
        influence=influence,
        leverage=leverage(parts.weight if rule.normalised else np.ones(sample.n), sample.mass),
        precision=precision,
    )


def no_weight(name: str, sample: WeightedSample) -> InputError:
    """What is raised where an estimate would divide by weights that are all 0."""
    return InputError(
        f"`weight` must be positive in at least one row for {name}, got 0.0 in all {sample.n} rows"
    )


def _length(vector: Floats) -> float:
    largest = float(np.abs(vector).max())
    return largest * float(np.sqrt(np.square(vector / largest).sum())) if largest > 0 else 0.0


def leverage(load: Floats, mass: Floats | None) -> Floats:
    """Share of each row in the sum of ``load``, which is not 0 everywhere."""
    share = load / load.max()  # sums of huge weights would overflow
    if mass is not None:
        share = share * (mass / mass.max())
    return kept(share / share.sum())


def ratio_resamples(rule: Rule, sample: WeightedSample, counts: Floats, influence: bool) -> Resamples:
    """Estimates under a rule on resamples, the weights applied worked out anew on each."""
    counted = counts if sample.mass is None else counts * sample.mass[:, None]
    scale = scale_of(sample.reward)
    reward = np.ldexp(sample.reward, -scale)
    with np.errstate(all="ignore"):
        applied = rule.applied(sample, counted)
        total = counted.sum(axis=0)
        loads, load = _sums(counted, applied.weight, reward)
        values = loads / (load if rule.normalised else total)
        if rule.normalised or applied.reaction is not None:
            values[load == 0] = np.nan
        if not influence:
            return Resamples(np.ldexp(values, scale))
        if rule.normalised:
            # rewards less the value have a sum of 0, so the derivative of the normaliser drops out
            effect = applied.derivatives(reward[:, None] - values, counted) * (total / load)
        else:
            effect = applied.derivatives(reward[:, None], counted) - values
        effect *= counts.sum(axis=0) / total
        if sample.mass is not None:
            effect *= sample.mass[:, None]
        np.copyto(effect, 0.0, where=counted == 0)
        return Resamples(np.ldexp(values, scale), np.ldexp(effect, scale, out=effect))


def _sums(counted: Floats, weight: Floats, reward: Floats) -> tuple[Floats, Floats]:
    """``sum c v r`` and ``sum c v``; numpy's own loops, because the bits of BLAS depend on its number of
    threads.
    """
    if weight.shape[1] == 1:
        return np.einsum("ib,i->b", counted, weight[:, 0] * reward), np.einsum(
            "ib,i->b", counted, weight[:, 0]
        )
    return np.einsum("ib,ib,i->b", counted, weight, reward), np.einsum("ib,ib->b", counted, weight)
