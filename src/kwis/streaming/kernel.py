"""Kernel-WIS of a scanned log, from :mod:`kwis.large`, in the form in which policies are compared.

:mod:`kwis.large` knows its standard error, not the influence of every row. How it goes with the other
estimates is therefore read off a random subset of the rows, on which Kernel-WIS with the same bandwidth is
computed in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from kwis.errors import UnsupportedError
from kwis.estimators.kernel_wis import KernelWIS
from kwis.large.runner import Progress
from kwis.results import Estimate
from kwis.sample import WeightedSample
from kwis.streaming.checks import Sampled
from kwis.streaming.frame import DaskFrame
from kwis.streaming.plan import Plan
from kwis.streaming.scan import ScannedLog
from kwis.streaming.sides import Side, Sides
from kwis.streaming.source import ArrowData, ParquetFiles
from kwis.streaming.totals import Totals

_ROWS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """How Kernel-WIS is wanted: which forms, and the settings of :func:`kwis.large.kernel_wis`."""

    wanted: tuple[KernelWIS, ...] = ()
    exact: bool | None = None
    client: Any = None
    progress: Progress | None = None

    def refusal(self, log: ScannedLog, plan: Plan) -> str | None:
        """Why there can be no Kernel-WIS of this log; None if there can."""
        if isinstance(log.source, ArrowData):
            return "Kernel-WIS reads a log more than once, which Parquet files allow and other sources do not"
        if plan.group is not None:
            return "standard errors of Kernel-WIS by group need all rows in memory"
        if not plan.context:
            return "there is no context"
        if plan.propensity.columns is not None or any(
            target.chance and target.chance.columns for target in plan.targets
        ):
            return "Kernel-WIS of a scanned log needs the probability of the logged action in one column"
        return None

    def found(self, log: ScannedLog, plan: Plan, seed: int) -> dict[tuple[str, str], Any]:
        """From target and reward to what :func:`kwis.large.kernel_wis` says; the bandwidth is selected once
        per target.
        """
        from kwis.large import kernel_wis

        answers: dict[tuple[str, str], Any] = {}
        assert isinstance(log.source, ParquetFiles | DaskFrame)
        source = (
            log.source.frame
            if isinstance(log.source, DaskFrame)
            else [footer.path for footer in log.source.footers]
        )
        for target in plan.targets:
            bandwidth = self.wanted[0].bandwidth
            for reward in plan.rewards:
                found = kernel_wis(
                    source,
                    reward=reward,
                    target=target.names[0],
                    propensity=plan.propensity.column,
                    action=plan.action if target.chosen is not None else None,
                    row_weight=plan.row_weight,
                    context=plan.context,
                    categorical=_named(log),
                    bandwidth=bandwidth,
                    per_feature=self.wanted[0].per_feature is True,
                    kernel=self.wanted[0].kernel,
                    exact=self.exact,
                    rng=seed,
                    client=self.client,
                    progress=self.progress,
                )
                answers[target.name, reward] = found
                bandwidth = found.plain.bandwidth
        return answers


def _named(log: ScannedLog) -> tuple[str, ...]:
    asked = log.roles.categorical
    return (asked,) if isinstance(asked, str) else tuple(asked)


def asked_alike(wanted: Sequence[KernelWIS]) -> tuple[KernelWIS, ...]:
    """Refuse forms of Kernel-WIS that differ in more than being normalised, or select in a way that large
    logs do not have.
    """
    other = next((one.per_feature for one in wanted if not isinstance(one.per_feature, bool)), None)
    if other is not None:
        raise UnsupportedError(f"`per_feature` must be True or False for a scanned log, got {other!r}")
    settings = {(str(one.bandwidth), one.kernel, one.per_feature) for one in wanted}
    if len(settings) > 1:
        raise UnsupportedError(
            "`estimators` must have one bandwidth and kernel for all forms of Kernel-WIS of a scanned log"
        )
    return tuple(wanted)


def kernel_side(
    form: KernelWIS,
    estimate: Estimate,
    side: tuple[str, str],
    place: tuple[int, int],
    sides: Sides,
    sampled: Sampled,
) -> Side:
    """An estimate of Kernel-WIS beside the others; ``side`` is its target and reward, ``place`` their
    numbers.
    """
    plain = sides.other(*side, estimate)
    sample = sampled.sample(*place)
    rows = np.arange(min(_ROWS, sample.n))  # a random subset is in no order
    linear, share = _linear(
        replace(form, bandwidth=estimate.bandwidth), sample.take(rows), sides.totals, place
    )
    own = float(sides.totals.product(linear, linear))
    if own <= 0 or plain.squares <= 0:
        return plain
    scale = Fraction(float(np.sqrt(share * plain.squares / own)))
    fitted = {place: value * scale for place, value in linear.items()}
    return replace(plain, linear=fitted)


def _linear(
    form: KernelWIS, sample: WeightedSample, totals: Totals, place: tuple[int, int]
) -> tuple[dict[int, Fraction], float]:
    """The part of the influence that is linear in the terms of a row, fitted on a subset, and its share of
    the whole.
    """
    influence = form.estimate(sample).influence
    assert influence is not None
    mass = np.ones(sample.n) if sample.mass is None else sample.mass
    terms = mass[:, None] * np.stack(
        [np.ones(sample.n), sample.reward, sample.weight, sample.weight * sample.reward], axis=1
    )
    size = np.sqrt((terms**2).sum(axis=0))
    size[size == 0] = 1.0
    fitted = np.linalg.lstsq(terms / size, influence, rcond=1e-10)[0] / size
    total = float(influence @ influence)
    share = float(((terms @ fitted) ** 2).sum()) / total if total > 0 else 0.0
    layout, (t, k) = totals.layout, place
    places = (0, layout.reward(k), layout.weight(t), layout.load(t, k))
    return {at: Fraction(float(value)) for at, value in zip(places, fitted, strict=True)}, min(share, 1.0)


def kernel_notes(answers: Iterable[Any]) -> tuple[str, ...]:
    """Notes of all answers, each once."""
    said = [note for answer in answers for note in answer.notes]
    paired = (
        "how Kernel-WIS goes with the other estimates, which its differences rest on, was read off a random "
        "subset of the rows"
    )
    return (*dict.fromkeys(said), paired)
