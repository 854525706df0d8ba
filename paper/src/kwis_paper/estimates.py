"""Every estimator on all test sets of an experiment at once.

The test sets share their contexts, so one product with the kernel serves them all. The numbers are those of
the public estimators, which a test compares one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kwis.estimators.neighbourhood import LocalSums
from kwis.sample import balanced, safe_ratio
from kwis.typing import Floats
from kwis_paper.simulate import Experiment

PLAIN = ("vis", "wis", "state-wis", "truncated-vis", "logged-mean")
SHARED = ("kernel-wis", "normalised-kernel-wis")
PER_FEATURE = "kernel-wis-per-feature"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TestSetEstimates:
    """Estimates on each test set.

    Attributes
    ----------
    value, std_error
        ``(test_sets,)``, the latter from the influence function.
    kernel_average
        Mean of the kernel over all pairs of rows, for kernel estimators.
    """

    __test__ = False  # not a test, whatever its name

    value: Floats
    std_error: Floats
    kernel_average: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Influenced:
    """Estimates on each test set with the influence ``(n, test_sets)`` of every row on them.

    Attributes
    ----------
    applied
        ``(n, test_sets)`` weights applied to the rewards; None where all rows count alike.
    normalised, shifted
        Whether the estimate divides by their sum, and whether something was added to it.
    isolation
        ``(test_sets,)`` share of a row in the weight around it, on average over rows with a weight; None
        without neighbours.
    refits
        ``(parts, test_sets)`` values by each refit of the repair that the weights come from; None without
        one.
    """

    value: Floats
    influence: Floats
    applied: Floats | None = None
    normalised: bool = False
    shifted: bool = False
    kernel_average: float | None = None
    isolation: Floats | None = None
    refits: Floats | None = None

    @property
    def estimates(self) -> TestSetEstimates:
        n = self.influence.shape[0]
        error = np.sqrt(np.square(self.influence).sum(axis=0) / (n * (n - 1)))
        return TestSetEstimates(value=self.value, std_error=error, kernel_average=self.kernel_average)

    def plus(self, other: Influenced) -> Influenced:
        """The sum of two estimates, with the weights of the other."""
        return replace(
            other, value=self.value + other.value, influence=self.influence + other.influence, shifted=True
        )


def plain_estimates(experiment: Experiment, states: LocalSums) -> Mapping[str, TestSetEstimates]:
    """Estimates that need no bandwidth; ``states`` sums over the rows with the same context."""
    weight, reward = experiment.weight, experiment.reward
    cap = np.sqrt(weight.shape[0])
    return {
        "vis": mean_of(weight * reward).estimates,
        "wis": ratio_of(weight, reward).estimates,
        "state-wis": local_estimates(weight, reward, states)[0],
        "truncated-vis": mean_of(np.minimum(weight, cap) * reward).estimates,
        "logged-mean": mean_of(reward).estimates,
    }


def local_estimates(
    weight: Floats, reward: Floats, sums: LocalSums
) -> tuple[TestSetEstimates, TestSetEstimates]:
    """Estimates with weights divided by their local mean: plain and normalised; State-WIS and Kernel-WIS,
    depending on the sums.
    """
    plain, normalised = local_of(weight, [reward], sums)[0]
    return plain.estimates, normalised.estimates


def local_of(
    weight: Floats, rewards: Sequence[Floats], sums: LocalSums
) -> list[tuple[Influenced, Influenced]]:
    """Plain and normalised local estimates of several rewards ``(n, test_sets)`` under the same weights.

    With ``G = K 1``, ``M = K w`` and ``t = w G / M``, the plain influence is ``r t - J - w K(r t / M) + K(r t
    / G)``; the normalised one has ``r - N`` for ``r``, no ``J``, and is divided by the mean of ``t``.
    Products are linear in ``r``, so two per reward and two for the normaliser serve all.
    """
    n = weight.shape[0]
    # Nothing here depends on the scale of the weights, but shares of tiny ones would be infinite.
    weight = np.stack([balanced(column, n) for column in weight.T], axis=1)
    around = sums(np.concatenate([np.ones((n, 1)), weight], axis=1))
    count, mass = around[:, :1], around[:, 1:]
    applied = safe_ratio(weight * count, np.broadcast_to(mass, weight.shape))
    terms = [*(reward * applied for reward in rewards), applied]
    shares = [
        safe_ratio(term, np.broadcast_to(total, weight.shape)) for term in terms for total in (count, mass)
    ]
    pulls = np.split(sums(np.concatenate(shares, axis=1)), 2 * len(terms), axis=1)
    reactions = [near - weight * far for near, far in zip(pulls[::2], pulls[1::2], strict=True)]
    average, load = float(np.mean(count)) / n, applied.mean(axis=0)
    alone = safe_ratio(weight, np.broadcast_to(mass, weight.shape)).sum(axis=0) / np.count_nonzero(
        weight, axis=0
    )
    found = []
    for earned, pull in zip(terms[:-1], reactions[:-1], strict=True):
        plain = earned.mean(axis=0)
        ratio = plain / load
        relative = (earned - ratio * applied + pull - ratio * reactions[-1]) / load
        found.append(
            (
                Influenced(
                    value=plain, influence=earned + pull - plain, applied=applied, kernel_average=average
                ),
                Influenced(
                    value=ratio,
                    influence=relative,
                    applied=applied,
                    normalised=True,
                    kernel_average=average,
                    isolation=alone,
                ),
            )
        )
    return found


def mean_of(terms: Floats, applied: Floats | None = None) -> Influenced:
    """Means of terms ``(n, test_sets)``."""
    value = terms.mean(axis=0)
    return Influenced(value=value, influence=terms - value, applied=applied)


def ratio_of(weight: Floats, reward: Floats) -> Influenced:
    """Weighted means of the rewards."""
    value = (weight * reward).sum(axis=0) / weight.sum(axis=0)
    influence = weight * (reward - value) / weight.mean(axis=0)
    return Influenced(value=value, influence=influence, applied=weight, normalised=True)


Resampled = Callable[[Floats], Floats]
"""From counts (n, B) to the estimates (B, test_sets) on those resamples."""


def resampled_plain(experiment: Experiment, states: LocalSums) -> Mapping[str, Resampled]:
    """The estimators of :func:`plain_estimates` on resamples, normalisers and state means included."""
    weight, reward = experiment.weight, experiment.reward
    n = weight.shape[0]
    cut = np.minimum(weight, np.sqrt(n))
    return {
        "vis": lambda counts: counts.T @ (weight * reward) / n,
        "wis": lambda counts: (counts.T @ (weight * reward)) / (counts.T @ weight),
        "state-wis": lambda counts: resampled_local(weight, reward, states, counts)[0],
        "truncated-vis": lambda counts: counts.T @ (cut * reward) / n,
        "logged-mean": lambda counts: counts.T @ reward / n,
    }


def resampled_local(weight: Floats, reward: Floats, sums: LocalSums, counts: Floats) -> tuple[Floats, Floats]:
    """Plain and normalised local estimates (B, test_sets) on resamples, local means included."""
    n, sets = weight.shape
    replicates = counts.shape[1]
    weighted = [counts * weight[:, [number]] for number in range(sets)]
    around = sums(np.concatenate([counts, *weighted], axis=1))
    near = around[:, :replicates]
    plain, ratio = np.empty((replicates, sets)), np.empty((replicates, sets))
    for number in range(sets):
        near_weight = around[:, (number + 1) * replicates : (number + 2) * replicates]
        applied = safe_ratio(weighted[number] * near, np.broadcast_to(near_weight, counts.shape))
        earned = np.einsum("ib,i->b", applied, reward[:, number])
        plain[:, number], ratio[:, number] = earned / n, earned / applied.sum(axis=0)
    return plain, ratio
