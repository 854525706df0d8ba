"""How rows of ours are counted as agreeing with published ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kwis_paper.summaries import DECIMALS, Bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One statement about agreement.

    Attributes
    ----------
    short
        A few words for a heading.
    agreeing, of
        How many published rows agree, of those of the datasets that were run.
    goal
        Share that was aimed for; ``nan`` where the number is shown whatever it is.
    missing
        Published rows of datasets that were not run.
    table
        Whether this is the count of a published table, one of those the headline picks the best and the
        weakest from.
    """

    short: str
    name: str
    agreeing: int
    of: int
    goal: float = math.nan
    missing: int = 0
    table: bool = False

    @property
    def share(self) -> float:
        return self.agreeing / self.of if self.of else math.nan

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal or without rows."""
        return None if math.isnan(self.goal) or not self.of else self.share >= self.goal - 1e-12


def counted(
    short: str, name: str, rows: Sequence[Bucket], agrees: Callable[[Bucket], bool], goal: float = math.nan
) -> Check:
    """How many rows agree."""
    # A published row into which no experiment of a dataset falls does not agree; one of a dataset that was
    # not run cannot be compared.
    ran = {(row.setting, row.dataset) for row in rows if row.ours is not None}
    compared = [row for row in rows if (row.setting, row.dataset) in ran]
    return Check(
        short=short,
        name=name,
        agreeing=sum(agrees(row) for row in compared),
        of=len(compared),
        goal=goal,
        missing=len(rows) - len(compared),
    )


def numbers(short: str, name: str, gaps: Sequence[float], tolerance: float) -> Check:
    """The count of a published table of single numbers, by how far ours are from them."""
    agreeing = sum(gap <= tolerance + 1e-9 for gap in gaps)
    return Check(short=short, name=name, agreeing=agreeing, of=len(gaps), table=True)


def rounded_gap(ours: float | np.floating, paper: float, decimals: int = DECIMALS) -> float:
    """How far a number of ours, as it would be printed, is from a published one."""
    return abs(round(float(ours), decimals) - paper)


def table_rows(
    short: str, name: str, rows: Sequence[Bucket], agrees: Callable[[Bucket], bool], goal: float = math.nan
) -> Check:
    """The count of a published table."""
    return replace(counted(short, name, rows, agrees, goal), table=True)


def same_count(row: Bucket) -> bool:
    """Whether as many experiments fall into the row as in the paper."""
    return row.ours is not None and row.paper is not None and row.ours.n == row.paper.n


def within(tolerance: float) -> Callable[[Bucket], bool]:
    """Whether both errors of a row are near the published ones."""

    def agrees(row: Bucket) -> bool:
        if row.ours is None or row.paper is None:
            return False
        gaps = (
            rounded_gap(row.ours.wis.mean, row.paper.wis.mean),
            rounded_gap(row.ours.kernel.mean, row.paper.kernel.mean),
        )
        return max(gaps) <= tolerance + 1e-9

    return agrees


def wis_within(tolerance: float) -> Callable[[Bucket], bool]:
    """Whether the WIS error of a row is near the published one."""

    def agrees(row: Bucket) -> bool:
        if row.ours is None or row.paper is None:
            return False
        return rounded_gap(row.ours.wis.mean, row.paper.wis.mean) <= tolerance + 1e-9

    return agrees


def same_winner(row: Bucket) -> bool:
    """Whether the estimator with the smaller error is the same one here."""
    if row.ours is None or row.paper is None:
        return False
    return (row.ours.wis.mean > row.ours.kernel.mean) == (row.paper.wis.mean > row.paper.kernel.mean)
