"""Every policy by every estimator on the same rows and the same resamples, so that any two can be
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kwis._validation import read_only
from kwis.errors import UnsupportedError
from kwis.estimators import traits
from kwis.estimators.bandwidth_error import with_bandwidth_error
from kwis.estimators.joint import Contrast
from kwis.estimators.protocol import CrossValidated, Estimator, Smoother, selects_bandwidth
from kwis.estimators.resampling import resamples
from kwis.estimators.together import Job, estimates_together, resamples_together
from kwis.estimators.wis import WIS
from kwis.evaluation.thinned import worthwhile
from kwis.intervals.draws import count_chunks
from kwis.result.records import LOGGING_POLICY
from kwis.results import BandwidthChoice, Estimate
from kwis.sample import WeightedSample
from kwis.stats.subsets import drawn_rows
from kwis.typing import Floats, Ints

_MEAN = WIS()
SELECTION_ROWS = 20_000
"""Bandwidths are selected on at most this many rows, drawn at random."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reweighted:
    """A sample with estimated or repaired propensities as others would weigh it.

    Attributes
    ----------
    given
        With the propensities as given.
    refits
        With those that a model learnt without each part of the log would have brought.
    """

    given: WeightedSample
    refits: tuple[WeightedSample, ...]

    def take(self, rows: Ints) -> Reweighted:
        return Reweighted(
            given=self.given.take(rows), refits=tuple(sample.take(rows) for sample in self.refits)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Policy:
    """A policy to be estimated: one sample per reward, the same but for the reward; ``reweighted`` where a
    model made the propensities.
    """

    name: str
    samples: tuple[WeightedSample, ...]
    reweighted: tuple[Reweighted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured(Contrast):
    """One policy by one estimator for one reward, as intervals and comparisons see it.

    Attributes
    ----------
    reweighted, given
        The sample as other propensities weigh it, and the value with those given; None where propensities
        are those of the log.
    """

    target: str
    reward: str
    sample: WeightedSample
    reweighted: Reweighted | None = None
    given: float | None = None


def logging_policy(
    log_sample: Sequence[WeightedSample], rewards: Sequence[str], estimator: Estimator[Any] = _MEAN
) -> list[Measured]:
    """The logging policy itself, one entry per reward: the mean of the logged rewards, or another statistic
    of them, whatever the estimators of the targets.
    """
    name = "mean of the log" if estimator == _MEAN else f"{estimator.name} of the log"
    found = []
    for sample, reward in zip(log_sample, rewards, strict=True):
        # WIS applies its weights up to a power of two; here every weight is 1.
        estimate = replace(estimator.estimate(sample), name=name, mean_weight=1.0)
        found.append(
            Measured(
                target=LOGGING_POLICY,
                reward=reward,
                estimator=estimator,
                asked=estimator,
                sample=sample,
                estimate=estimate,
            )
        )
    return found


def measure(
    policy: Policy,
    estimators: Mapping[str, Estimator[Any]],
    rewards: Sequence[str],
    subset: Ints | None = None,
    selected: Mapping[Any, BandwidthChoice] | None = None,
) -> list[Measured]:
    """Estimates of one policy, named as the estimators are, in their order and rewards within.

    Bandwidths are selected once, on the rows of ``subset``, but for those :func:`selections` made before.
    """
    if not policy.samples[0].weight.any():
        raise UnsupportedError(
            f"`target` must sometimes take an action that was logged, and {policy.name} has probability 0 in "
            f"every row"
        )
    chosen = dict(selected or {})
    pairs = [(estimator, sample) for estimator in estimators.values() for sample in policy.samples]
    names = [name for name in estimators for _ in policy.samples]
    jobs = [Job(_held(estimator, sample, subset, chosen), sample) for estimator, sample in pairs]
    done: dict[int, Estimate] = {}
    for index, job in enumerate(jobs):
        family = traits.family(job.estimator)
        if family is None:
            done[index] = job.estimator.estimate(job.sample)
        elif index not in done:
            members = [
                other for other in range(index, len(jobs)) if traits.family(jobs[other].estimator) == family
            ]
            together = [jobs[other] for other in members]
            found = with_bandwidth_error(together, estimates_together(together), chosen.get(family))
            done.update(
                zip(members, (replace(one, **_bandwidth(family, chosen)) for one in found), strict=True)
            )
    return [
        Measured(
            target=policy.name,
            reward=rewards[index % len(rewards)],
            estimator=job.estimator,
            asked=pairs[index][0],
            sample=job.sample,
            estimate=replace(done[index], name=names[index]),
            reference=_reference(job, jobs, done),
            reweighted=policy.reweighted[index % len(rewards)] if policy.reweighted else None,
        )
        for index, job in enumerate(jobs)
    ]


def _reference(job: Job, jobs: Sequence[Job], done: Mapping[int, Estimate]) -> Estimate | None:
    """The estimate that the bias of a job is measured by, where it is among those that were made."""
    asked = traits.bias_reference(job.estimator)
    if asked is None:
        return None
    alike = (
        index
        for index, other in enumerate(jobs)
        if other.sample is job.sample and type(other.estimator) is type(asked) and other.estimator == asked
    )
    place = next(alike, None)
    return None if place is None else done[place]


def selections(
    policies: Sequence[Policy], estimators: Sequence[Mapping[str, Any]], subset: Ints | None = None
) -> list[dict[Any, BandwidthChoice]]:
    """For each policy the bandwidths that its estimators select by the weights, from family to choice; a
    family selects for all policies at once.
    """
    found: list[dict[Any, BandwidthChoice]] = [{} for _ in policies]
    asking: dict[Any, tuple[Any, list[int]]] = {}
    for number, own in enumerate(estimators):
        for weighting in map(traits.weighting, own.values()):
            if _selects_by_weights(weighting) and traits.family(weighting) is not None:
                places = asking.setdefault(traits.family(weighting), (weighting, []))[1]
                places += [] if number in places else [number]
    for asked, (weighting, places) in asking.items():
        weights = [policies[number].samples[0].weight for number in places]
        rows = slice(None) if subset is None else subset
        first = policies[places[0]].samples[0]
        part = first if subset is None else first.take(subset)
        parts = [part.with_weight(weight[rows]) for weight in weights]
        choices = traits.choices(weighting, parts)
        for number, choice, own_part in zip(places, choices, parts, strict=True):
            found[number][asked] = worthwhile(choice, weighting, own_part)
    return found


def _selects_by_weights(estimator: Any) -> bool:
    return bool(selects_bandwidth(estimator)) and isinstance(estimator, CrossValidated)


def _held(
    estimator: Any, sample: WeightedSample, subset: Ints | None, chosen: dict[Any, BandwidthChoice]
) -> Any:
    """The estimator with its bandwidth selected; ``chosen`` remembers selections, from the family after to
    the choice.
    """
    weighting = traits.weighting(estimator)
    if weighting is not estimator:
        return replace(estimator, weighting=_held(weighting, estimator.residuals(sample), subset, chosen))
    if not selects_bandwidth(estimator):
        return estimator
    if not _selects_by_weights(estimator):  # but by the reward, and anew for each
        return estimator.held(sample if subset is None else sample.take(subset))
    rule: Any = estimator
    asked = traits.family(rule)
    if asked not in chosen:
        part = sample if subset is None else sample.take(subset)
        chosen[asked] = worthwhile(rule.choose(part), rule, part)
    choice = chosen[asked]
    held = rule.at(choice.value)
    chosen[traits.family(held)] = choice
    return held


def selection_rows(n: int, seed: int) -> Ints | None:
    """Rows that bandwidths are selected on; None: all."""
    return None if n <= SELECTION_ROWS else drawn_rows(n, SELECTION_ROWS, seed)


def kernel_of(measured: Iterable[Measured], target: str) -> Smoother | None:
    """The first kernel estimator of a target with the bandwidth it used, if one took part."""
    return next(
        (one.estimator for one in measured if one.target == target and isinstance(one.estimator, Smoother)),
        None,
    )


def samples_of(measured: Iterable[Measured]) -> dict[tuple[str, str], WeightedSample]:
    """From target and reward to the sample, which all estimators share."""
    return {(one.target, one.reward): one.sample for one in measured}


def std_errors_of(measured: Iterable[Measured]) -> dict[tuple[str, str], dict[str, float]]:
    """From target and reward to the estimated standard errors by estimator."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for one in measured:
        found.setdefault((one.target, one.reward), {})[one.estimate.name] = one.estimate.std_error
    return found


def _bandwidth(family: Any, chosen: dict[Any, BandwidthChoice]) -> dict[str, Any]:
    """What an estimate says about its bandwidth."""
    if not isinstance(family, Smoother):
        return {}
    bandwidth = (
        family.bandwidth if np.ndim(family.bandwidth) == 0 else read_only(np.asarray(family.bandwidth))
    )
    return {"bandwidth": bandwidth, "choice": chosen.get(family)}


def resample(
    measured: Sequence[Measured],
    wanted: Callable[[Measured], bool],
    replicates: int,
    seed: int,
    tick: Callable[[int, int], object] | None = None,
) -> list[Measured]:
    """The same with estimates on ``replicates`` resamples for those that are ``wanted``; ``tick`` is told how
    many are done.

    The resamples are those of ``Bootstrap(replicates)`` with ``rng=seed``.
    """
    together = batches(measured, wanted)
    if not together:
        return list(measured)
    parts: dict[int, list[Floats]] = {index: [] for batch in together for index in batch}
    sample, done = measured[0].sample, 0
    for counts in count_chunks(sample.n, sample.group, replicates, np.random.default_rng(seed)):
        for batch in together:
            jobs = [Job(measured[index].estimator, measured[index].sample) for index in batch]
            if traits.family(jobs[0].estimator) is None:
                found = [resamples(job.estimator, job.sample, counts).values for job in jobs]
            else:
                found = resamples_together(jobs, counts)
            for index, values in zip(batch, found, strict=True):
                parts[index].append(values)
        done += counts.shape[1]
        if tick is not None:
            tick(done, replicates)
    return [
        replace(one, resampled=np.concatenate(parts[index])) if index in parts else one
        for index, one in enumerate(measured)
    ]


def batches(measured: Sequence[Measured], wanted: Callable[[Measured], bool]) -> list[list[int]]:
    """Indices of those to be worked out together: of one target and one family."""
    found: dict[Any, list[int]] = {}
    for index, one in enumerate(measured):
        if wanted(one):
            family = traits.family(one.estimator)
            found.setdefault(index if family is None else (one.target, family), []).append(index)
    return list(found.values())
