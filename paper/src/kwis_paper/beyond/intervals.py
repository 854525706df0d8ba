"""Intervals of the pipelines on all test sets of a cell, by the functions behind
:class:`kwis.StudentInterval`, and bounds.

Those from the standard error alone (``influence``) follow from the stored estimates and are not stored again.
The bounds hold at every sample size if the weights are right, and belong to VIS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from kwis import VIS, EmpiricalBernstein, LogarithmicSmoothing, StudentInterval, WeightedSample
from kwis.estimators.joint import Contrast, model_error
from kwis.intervals import IntervalMethod
from kwis.intervals.student import (
    LONGEST_ARM,
    bias_beyond_chance,
    degrees_of_freedom,
    leave_one_out_error,
    student_ends,
)
from kwis.typing import Floats
from kwis_paper.estimates import Influenced
from kwis_paper.store import LEVELS

INFLUENCE, STUDENT = "influence", "student"
DEFAULT_METHOD = STUDENT
"""The method whose coverage is judged: what ``kwis.evaluate`` uses by default."""
INTERVALS_OF = (
    "recommended",
    "wis",
    "normalised-kernel-wis",
    "doubly-robust-wis",
    "repaired-wis",
    "repaired-normalised-kernel-wis",
    "repaired-doubly-robust-wis",
    "repaired-doubly-robust-normalised-kernel-wis",
    "oracle-wis",
)
BOUNDED = ("vis", "repaired-vis")
LOGARITHMIC, BERNSTEIN = "logarithmic-smoothing", "empirical-bernstein"
SHOWN = (
    *((name, method) for name in INTERVALS_OF for method in (INFLUENCE, STUDENT)),
    *((name, method) for name in BOUNDED for method in (INFLUENCE, LOGARITHMIC, BERNSTEIN)),
)
"""Estimators and methods of the table of intervals."""


def intervals_of(
    found: Mapping[str, Influenced],
    reward: Floats,
    picked: Sequence[str],
    clipped: Mapping[int, Contrast] | None = None,
) -> tuple[tuple[str, str, Floats], ...]:
    """Estimator, method and ends ``(levels, 2, test_sets)``; ``picked`` are the pipelines behind the
    recommended one, by test set, and ``clipped`` their estimates where weights are heavy.
    """
    clipped = clipped or {}
    names = {*INTERVALS_OF[1:], *(name for t, name in enumerate(picked) if t not in clipped)}
    made = {name: student(found[name], reward, _whole(found, name)) for name in names}
    made[INTERVALS_OF[0]] = np.stack(
        [_ends(clipped[t]) if t in clipped else made[name][..., t] for t, name in enumerate(picked)], axis=-1
    )
    return tuple((name, STUDENT, made[name]) for name in INTERVALS_OF)


def _ends(estimate: Contrast) -> Floats:
    """Ends ``(levels, 2)``."""
    found = [StudentInterval().of(estimate, level) for level in LEVELS]
    return np.array([[one.low, one.high] for one in found])


def _whole(found: Mapping[str, Influenced], name: str) -> Influenced | None:
    """The same with WIS for Kernel-WIS, against which the bias of a kernel estimate is judged; None for any
    other.
    """
    kernel = "normalised-kernel-wis"
    return found[f"{name.removesuffix(kernel)}wis"] if name.endswith(kernel) else None


def student(one: Influenced, reward: Floats, whole: Influenced | None = None) -> Floats:
    """Ends ``(levels, 2, test_sets)`` of Student intervals with the error of the repair, bias-aware where
    ``whole`` is given.
    """
    applied = np.ones_like(one.influence) if one.applied is None else one.applied
    shares = applied / applied.sum(axis=0)
    leverage = shares if one.normalised else np.full_like(shares, 1 / shares.shape[0])
    error = leave_one_out_error(one.influence, leverage)
    if one.refits is not None:
        error = np.hypot(error, model_error(one.refits))
    freedom = np.minimum(
        degrees_of_freedom(one.influence, leverage), degrees_of_freedom(one.influence, shares)
    )
    bias: Floats | float = 0.0
    if whole is not None:
        bias = bias_beyond_chance(one.value - whole.value, one.influence - whole.influence)
    bounds = (float(reward.min()), float(reward.max())) if one.normalised or one.shifted else None
    arm = LONGEST_ARM if one.shifted else math.inf
    return np.array(
        [
            student_ends(one.value, error, freedom, level, bounds=bounds, bias=bias, longest_arm=arm)
            for level in LEVELS
        ]
    )


def bounds_of(
    estimator: str, weight: Floats, reward: Floats, largest: float
) -> tuple[tuple[str, str, Floats], ...]:
    """Ends of the bounds of VIS for one set of weights; ``largest`` is what a weight can be at most, known
    from the policies.
    """
    samples = [
        WeightedSample(context=np.zeros((len(w), 1)), weight=w, reward=r)
        for w, r in zip(weight.T, reward.T, strict=True)
    ]
    methods: dict[str, IntervalMethod] = {
        LOGARITHMIC: LogarithmicSmoothing((0.0, 1.0)),
        BERNSTEIN: EmpiricalBernstein((0.0, largest)),
    }
    made = []
    for name, method in methods.items():
        found = [[method.interval(VIS(), sample, level) for sample in samples] for level in LEVELS]
        made.append(
            (
                estimator,
                name,
                np.array([[[one.low for one in row], [one.high for one in row]] for row in found]),
            )
        )
    return tuple(made)
