"""What :func:`kwis.large.kernel_wis` returns."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kwis.large.approximate import Approximation
from kwis.large.select import Selection
from kwis.results import Estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LargeKernelWIS:
    """Kernel-WIS of a large log, plain and normalised.

    Attributes
    ----------
    plain, normalised
        As the in-memory estimators give them, without the influence of every row; where they are approximate,
        ``std_error`` includes the error of the approximation.
    approximation
        How the estimates were approximated, and by how much they may be off; None if they are exact.
    selection
        How the bandwidth was selected; None if it was given.
    notes
        The same in sentences, to be shown beside any result.
    """

    plain: Estimate
    normalised: Estimate
    approximation: Approximation | None = None
    selection: Selection | None = None
    notes: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        return self.approximation is None


def approximation_note(made: Approximation, n: int, share: float) -> str:
    """What was done instead of all pairs, and what it costs."""
    bar = 1.96 * made.normalised_error
    text = (
        f"Kernel-WIS is approximate: local means of {n:,} rows from {made.neighbours:,} sampled neighbours, "
        f"corrected by {made.checked:,} "
        f"rows checked exactly; within {bar:.2g} of the exact normalised value in 95 % of samples "
        f"({share:.0%} of the standard error, "
        "which includes it)"
    )
    return text + ("; more `neighbours` would make it sharper" if share > 0.5 else "")


def selection_note(made: Selection, n: int) -> str:
    """What the bandwidth rests on."""
    if made.rows >= n:
        return f"the bandwidth was selected on all {n:,} rows"
    if math.isnan(made.log_error):
        spread = "its two halves disagree on whether it is finite"
    else:
        spread = f"its two halves put the error of the bandwidth at {math.expm1(made.log_error):.0%}"
    return (
        f"the bandwidth was selected on {made.rows:,} of {n:,} rows, spread evenly over files and weights; "
        f"{spread}"
    )
