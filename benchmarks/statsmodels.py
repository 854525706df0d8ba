"""Least-squares cross-validation of statsmodels' kernel regression: leave-one-out, one bandwidth
per feature.
"""

from __future__ import annotations

import warnings

import numpy as np
from statsmodels.nonparametric.kernel_regression import KernelReg

import kwis
from benchmarks import data
from benchmarks.harness import Check, Line, Settings, interleaved


def statsmodels_selection(settings: Settings) -> list[Line]:
    d = 3
    log = data.numeric(settings.size(300, 60), d)
    one_each = np.arange(len(log.weight))

    def ours(_):
        return kwis.select_bandwidth(log.context, log.weight, folds=one_each, per_feature=True)

    def theirs(_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about its own future defaults
            return KernelReg(log.weight, log.context, var_type="c" * d, reg_type="lc", bw="cv_ls")

    ours(0)
    mine, other = interleaved(settings.rounds(3), ours, theirs)
    score, _ = kwis.cv_score(log.context, log.weight, np.abs(other.result.bw), one_each)
    return [
        Line(
            name=f"leave-one-out selection, n={len(log.weight):,}, d={d}",
            ours=mine.median,
            theirs=other.median,
            ratio=other.over(mine),
            rounds=settings.rounds(3),
            against='statsmodels KernelReg(bw="cv_ls")',
            check=Check("score above the one at its bandwidths", mine.result.score / score - 1, 1e-6),
        )
    ]
