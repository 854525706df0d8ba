"""Aggregates of the experiments, the way the paper's tables aggregate them, with the published row beside
each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtr

from kwis.typing import Floats
from kwis_paper import published
from kwis_paper.catalogue import SPECS
from kwis_paper.records import CellFacts
from kwis_paper.results import IntervalKind, Results, Truth
from kwis_paper.simulate import Design
from kwis_paper.store import LEVELS

TOLERANCE = 0.001
SIGNIFICANT = 0.05
DECIMALS = 3
TABLES = {
    "oracle": "oracle",
    "non-oracle": "non_oracle",
    "continuous": "continuous",
    "learnt-oracle": "learnt_oracle",
    "learnt-non-oracle": "learnt_non_oracle",
}
COVERAGE_TABLES = {"oracle": "oracle_coverage", "non-oracle": "non_oracle_coverage"}


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation over experiments; the latter is ``nan`` for a single one."""

    mean: float
    std: float

    @classmethod
    def of(cls, values: Floats) -> Spread:
        kept = values[np.isfinite(values)]
        mean = float(kept.mean()) if kept.size else math.nan
        return cls(mean, float(kept.std(ddof=1)) if kept.size > 1 else math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """WIS and Kernel-WIS over the same experiments: errors, how many, and whether they differ."""

    wis: Spread
    kernel: Spread
    n: int
    welch: float
    paired: float = math.nan

    @property
    def gain(self) -> float:
        """``(WIS - Kernel-WIS) / (WIS + Kernel-WIS)``: positive where Kernel-WIS has the smaller error."""
        total = self.wis.mean + self.kernel.mean
        return (self.wis.mean - self.kernel.mean) / total if total > 0 else math.nan

    @property
    def significant(self) -> bool:
        return round(self.welch, 2) <= SIGNIFICANT

    @property
    def winner(self) -> str:
        """The better one at the printed precision; empty if they are within the tolerance."""
        difference = round(self.wis.mean, DECIMALS) - round(self.kernel.mean, DECIMALS)
        if abs(difference) <= TOLERANCE + 1e-9 or math.isnan(difference):
            return ""
        return "kernel-wis" if difference > 0 else "wis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A row of the tables by bucket; either side may be missing."""

    setting: str
    dataset: str
    policy_type: str
    bucket: str
    ours: Pair | None
    paper: Pair | None
    normalised: Spread | None = None
    cells: tuple[CellFacts, ...] = ()

    @property
    def label(self) -> tuple[str, str, str]:
        return (self.dataset, self.policy_type, self.bucket)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """A row of the coverage tables: mean coverage per level, and the published one."""

    bucket: Bucket
    wis: tuple[float, ...]
    kernel: tuple[float, ...]
    normalised: tuple[float, ...]
    paper_wis: float
    paper_kernel: float


@lru_cache(maxsize=32)
def buckets(results: Results, setting: str, truth: Truth) -> tuple[Bucket, ...]:
    """Rows of the table of a setting: the published ones in their order, then those only we have."""
    groups: dict[tuple[str, str, str], list[CellFacts]] = {}
    for facts in _comparable(results, setting):
        groups.setdefault((facts.dataset, facts.policy_type, facts.bucket), []).append(facts)
    paper = published_pairs(setting)
    ours_only = sorted(set(groups) - set(paper), key=_sorting)
    labels = sorted([*paper, *ours_only], key=lambda label: _position(label, paper))
    return tuple(
        _bucket(results, setting, label, groups.get(label, []), paper.get(label), truth) for label in labels
    )


def _comparable(results: Results, setting: str) -> list[CellFacts]:
    """The table of continuous rewards shows the single-action rows of optdigits beside its own."""
    extra = results.chosen("oracle", "optdigits") if setting == "continuous" else []
    return [*extra, *results.chosen(setting)]


def _bucket(
    results: Results,
    setting: str,
    label: tuple[str, str, str],
    cells: Sequence[CellFacts],
    paper: Pair | None,
    truth: Truth,
) -> Bucket:
    ours = (
        compare(results.errors("wis", cells, truth), results.errors("kernel-wis", cells, truth))
        if cells
        else None
    )
    normalised = Spread.of(results.errors("normalised-kernel-wis", cells, truth)) if cells else None
    return Bucket(
        setting=setting,
        dataset=label[0],
        policy_type=label[1],
        bucket=label[2],
        ours=ours,
        paper=paper,
        normalised=normalised,
        cells=tuple(cells),
    )


def _sorting(label: tuple[str, str, str]) -> tuple[str, str, float]:
    return (label[0], label[1], float(label[2].strip("(]").split(",")[1]))


def _position(
    label: tuple[str, str, str], paper: dict[tuple[str, str, str], Pair]
) -> tuple[int, str, str, float]:
    """Datasets in the published order, new ones last; within a dataset by policy and bucket."""
    order = list(dict.fromkeys(dataset for dataset, _, _ in paper))
    return (order.index(label[0]) if label[0] in order else len(order), *_sorting(label))


def published_pairs(setting: str) -> dict[tuple[str, str, str], Pair]:
    """Published rows of a setting by dataset, policy and bucket."""
    table = published.table(TABLES[setting])
    names = (
        "dataset",
        "policy_type",
        "abs_diff_bucket",
        "wis",
        "wis_std",
        "kernel_wis",
        "kernel_wis_std",
        "n_obs",
        "p_value",
    )
    rows = zip(*(table.column(name) for name in names), strict=True)
    return {
        (str(dataset), str(policy), str(bucket)): Pair(
            wis=Spread(float(wis), float(wis_std)),
            kernel=Spread(float(kernel), float(kernel_std)),
            n=int(n),
            welch=float(p),
        )
        for dataset, policy, bucket, wis, wis_std, kernel, kernel_std, n, p in rows
    }


def published_coverage(setting: str) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Published coverage of WIS and Kernel-WIS by dataset, policy and bucket."""
    table = published.table(COVERAGE_TABLES[setting])
    names = ("dataset", "policy_type", "abs_diff_bucket", "wis_coverage", "kernel_wis_coverage")
    return {
        (str(row[0]), str(row[1]), str(row[2])): (float(row[3]), float(row[4]))
        for row in zip(*map(table.column, names), strict=True)
    }


@lru_cache(maxsize=32)
def coverage_rows(
    results: Results, setting: str, truth: Truth, kind: IntervalKind
) -> tuple[CoverageRow, ...]:
    """Rows of a coverage table."""
    paper = published_coverage(setting)
    rows = []
    for bucket in buckets(results, setting, truth):
        wis, kernel, normalised = (
            _mean_coverage(results, name, bucket.cells, truth, kind)
            for name in ("wis", "kernel-wis", "normalised-kernel-wis")
        )
        said = paper.get(bucket.label, (math.nan, math.nan))
        rows.append(
            CoverageRow(
                bucket=bucket,
                wis=wis,
                kernel=kernel,
                normalised=normalised,
                paper_wis=said[0],
                paper_kernel=said[1],
            )
        )
    return tuple(rows)


def _mean_coverage(
    results: Results, name: str, cells: Sequence[CellFacts], truth: Truth, kind: IntervalKind
) -> tuple[float, ...]:
    shares = results.coverage(name, cells, truth, kind)
    kept = shares[np.isfinite(shares).all(axis=1)]
    return tuple(float(share) for share in kept.mean(axis=0)) if kept.size else (math.nan,) * len(LEVELS)


def compare(wis: Floats, kernel: Floats) -> Pair:
    """Errors of the two estimators over the same experiments, with Welch's test and the paired t-test."""
    both = np.isfinite(wis) & np.isfinite(kernel)
    wis, kernel = wis[both], kernel[both]
    return Pair(
        wis=Spread.of(wis),
        kernel=Spread.of(kernel),
        n=wis.size,
        welch=welch(wis, kernel),
        paired=paired(wis - kernel),
    )


def welch(a: Floats, b: Floats) -> float:
    """Two-sided p-value of Welch's t-test; ``nan`` where it has no answer."""
    if min(a.size, b.size) < 2:
        return math.nan
    parts = np.array([a.var(ddof=1) / a.size, b.var(ddof=1) / b.size])
    if parts.sum() <= 0:
        return 1.0 if a.mean() == b.mean() else math.nan
    freedom = parts.sum() ** 2 / (parts**2 / np.array([a.size - 1, b.size - 1])).sum()
    return float(2 * stdtr(freedom, -abs(a.mean() - b.mean()) / math.sqrt(parts.sum())))


def paired(difference: Floats) -> float:
    """Two-sided p-value of the paired t-test; ``nan`` where it has no answer."""
    n = difference.size
    if n < 2:
        return math.nan
    variance = float(difference.var(ddof=1))
    if variance <= 0:
        return 1.0 if difference.mean() == 0 else math.nan
    return float(2 * stdtr(n - 1, -abs(float(difference.mean())) / math.sqrt(variance / n)))


def notes_of(datasets: Sequence[str]) -> tuple[str, ...]:
    """What must be said wherever these datasets are shown."""
    return tuple(
        f"{note}."
        for name in dict.fromkeys(datasets)
        if name in SPECS
        for note in SPECS[name].notes
        if name == "arrhythmia"
    )


def reading_of(design: Design) -> str:
    """How continuous rewards are read, in two words."""
    return f"{design.rule}, {design.noise}"


def reward_note(design: Design) -> str:
    """How continuous rewards were read, which the paper leaves open to two readings."""
    if (design.rule, design.noise) == ("distance", "flip"):
        return (
            "Continuous rewards as printed: a wrong action earns its relative distance and one logged reward "
            "in ten is flipped. The paper's Gibbs rows and its heatmap speak for one minus that distance "
            "instead, its counts of IW and SNIW policies do not."
        )
    return (
        f"Continuous rewards by {design.rule}, one logged reward in ten {_NOISES[design.noise]}: not as "
        "printed, but it agrees with the paper's Gibbs rows and its heatmap."
    )


_NOISES = {"flip": "flipped", "lost": "lost"}
