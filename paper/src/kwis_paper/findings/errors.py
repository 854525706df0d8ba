"""Claims about errors: who is better, where, and by how much.

Words without a number are read as numbers here, and the table of claims says how.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kwis_paper import published
from kwis_paper.agreement import OTHER_READING
from kwis_paper.findings.record import (
    NOTHING,
    Finding,
    Look,
    Source,
    ours,
    overall,
    rank_correlation,
)
from kwis_paper.overall import PUBLISHED_COLUMN
from kwis_paper.results import Results
from kwis_paper.scenarios import Scenario, actions_of, by_dataset, size_of
from kwis_paper.summaries import DECIMALS, SIGNIFICANT, Pair, reading_of

OCCASIONS = 11
ALL_BUT_ONE = 10 / 11
STRONGLY = 0.1
"""Normalised difference beyond which Kernel-WIS is strongly better: its error is then below 9 / 11 of that of
WIS.
"""
DRASTICALLY = 2.0
"""Times the largest loss that the largest gain must be."""


def _pairs(results: Results, setting: str, source: Source) -> list[Pair]:
    return [row.ours for row in ours(results, setting, source) if row.ours is not None]


def _better(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Rows with a significant difference in which Kernel-WIS, and in which WIS, is better."""
    clear = [pair for pair in pairs if pair.significant]
    kernel = sum(pair.kernel.mean < pair.wis.mean for pair in clear)
    return kernel, len(clear) - kernel


def _testable(pairs: Sequence[Pair]) -> list[Pair]:
    """Rows with a p-value: a single experiment has none."""
    return [pair for pair in pairs if math.isfinite(pair.welch)]


def mostly_equal(results: Results, source: Source) -> Finding:
    pairs = _testable(_pairs(results, "oracle", source))
    if not pairs:
        return NOTHING
    equal = len(pairs) - sum(_better(pairs))
    return Finding(
        equal > len(pairs) / 2, f"{equal} of {len(pairs)} rows with a p-value differ by nothing significant"
    )


def significant_oracle(results: Results, source: Source) -> Finding:
    pairs = _pairs(results, "oracle", source)
    if not pairs:
        return NOTHING
    kernel, wis = _better(pairs)
    clear = kernel + wis
    words = f"{clear} of {len(pairs)} rows differ significantly: {kernel} for Kernel-WIS, {wis} for WIS"
    # "All but one" of eleven is a share; of two rows split one to one, "all but one" would say nothing.
    return Finding(clear <= OCCASIONS and kernel >= clear * ALL_BUT_ONE if clear else None, words)


def rows_won_oracle(results: Results, source: Source) -> Finding:
    pairs = _pairs(results, "oracle", source)
    if not pairs:
        return NOTHING
    wis, kernel = (sum(pair.winner == name for pair in pairs) for name in ("wis", "kernel-wis"))
    return Finding(
        wis > kernel, f"WIS wins {wis} rows by more than 0.001, Kernel-WIS {kernel}, of {len(pairs)}"
    )


def median_oracle(results: Results, source: Source) -> Finding:
    found = by_dataset(ours(results, "oracle", source), "ours")
    if not found:
        return NOTHING
    # At the printed precision: a median of +0.0002 puts neither ahead.
    ahead = sum(round(one.gain, DECIMALS) > 0 for one in found)
    behind = sum(round(one.gain, DECIMALS) < 0 for one in found)
    words = f"median ahead on {ahead} of {len(found)} datasets, behind on {behind}: {_listed(found)}"
    return Finding(ahead > behind, words)


def median_non_oracle(results: Results, source: Source) -> Finding:
    found = by_dataset(ours(results, "non-oracle", source), "ours")
    if not found:
        return NOTHING
    strong = sum(one.gain > STRONGLY for one in found)
    words = f"median above {STRONGLY:g} on {strong} of {len(found)} datasets: {_listed(found)}"
    return Finding(strong > len(found) / 2, words)


def _listed(found: Sequence[Scenario]) -> str:
    return ", ".join(f"{one.dataset} {one.gain:+.3f}" for one in sorted(found, key=lambda one: -one.gain))


def margins(setting: str) -> Look:
    """By medians of datasets, as in the figures that the paper names; the largest gaps stand beside them."""

    def look(results: Results, source: Source) -> Finding:
        rows = [row for row in ours(results, setting, source) if row.ours is not None]
        gaps = [(row.ours.wis.mean - row.ours.kernel.mean, row) for row in rows if row.ours is not None]
        found = by_dataset(rows, "ours")
        if not found:
            return NOTHING
        first, last = max(found, key=lambda one: one.gain), min(found, key=lambda one: one.gain)
        best, worst = max(gaps, key=lambda gap: gap[0]), min(gaps, key=lambda gap: gap[0])
        words = (
            f"medians from {last.gain:+.3f} ({last.dataset}) to {first.gain:+.3f} ({first.dataset}); largest "
            f"gain of Kernel-WIS in a row {best[0]:.3f} ({' '.join(best[1].label)}), of WIS {-worst[0]:.3f} "
            f"({' '.join(worst[1].label)})"
        )
        return Finding(first.gain > DRASTICALLY * max(-last.gain, 0.0), words)

    return look


def trend(results: Results, source: Source) -> Finding:
    found = [
        one
        for one in by_dataset(ours(results, "oracle", source), "ours")
        if math.isfinite(actions_of(one.dataset))
    ]
    if len(found) < 4:
        return NOTHING
    won = [one.won for one in found]
    by_size, p_size = rank_correlation([size_of(one.dataset, results) for one in found], won)
    by_actions, p_actions = rank_correlation([actions_of(one.dataset) for one in found], won)
    words = (
        f"rank correlation of the share won with size {by_size:+.2f} (p {p_size:.2f}), with action dimension "
        f"{by_actions:+.2f} (p {p_actions:.2f}), {len(found)} datasets"
    )
    if not math.isfinite(by_size):
        return Finding(None, words)
    return Finding(p_size <= SIGNIFICANT or (p_actions <= SIGNIFICANT and by_actions > 0), words)


def bounded(results: Results, source: Source) -> Finding:
    kernel, vis = _largest(results, source, "kernel-wis"), _largest(results, source, "vis")
    if math.isnan(kernel):
        return NOTHING
    words = f"largest mean prediction: Kernel-WIS {kernel:.2f}, VIS {vis:.2f}"
    return Finding(kernel <= 1 < vis, words)


def _largest(results: Results, source: Source, estimator: str) -> float:
    """Largest mean prediction under single-action rewards, which no truth enters."""
    if source == "paper":
        table = published.table("percentiles")
        said = zip(table.column("reward"), table.column(f"{PUBLISHED_COLUMN[estimator]}_p100"), strict=True)
        return max(float(value) for reward, value in said if reward == "Single action")
    cells = [facts for setting in ("oracle", "non-oracle") for facts in results.chosen(setting)]
    return float(np.nanmax(results.values(estimator, cells))) if cells else math.nan


def best_non_oracle(results: Results, source: Source) -> Finding:
    rows = overall(results, source, "non-oracle")
    if not rows:
        return NOTHING
    best = [
        dataset
        for (_, dataset), means in rows.items()
        if means["kernel-wis"] <= min(means.values()) + 0.001 + 1e-9
    ]
    others = ", ".join(
        f"{dataset}: {min(means, key=means.__getitem__)}"
        for (_, dataset), means in rows.items()
        if dataset not in best
    )
    return Finding(
        len(best) == len(rows),
        f"best or within 0.001 on {len(best)} of {len(rows)} datasets"
        + (f"; else {others}" if others else ""),
    )


def state_wis(results: Results, source: Source) -> Finding:
    rows = overall(results, source, "oracle", "non-oracle")
    if not rows:
        return NOTHING
    beaten = [place for place, means in rows.items() if means["state-wis"] > means["kernel-wis"]]
    close = [f"{dataset} {setting}" for (setting, dataset) in rows if (setting, dataset) not in beaten]
    return Finding(
        len(beaten) == len(rows),
        f"worse than Kernel-WIS in {len(beaten)} of {len(rows)} rows"
        + (f"; not in {', '.join(close)}" if close else ""),
    )


def mostly_better(results: Results, source: Source) -> Finding:
    pairs = _testable(_pairs(results, "non-oracle", source))
    if not pairs:
        return NOTHING
    kernel, wis = _better(pairs)
    return Finding(
        kernel > len(pairs) / 2,
        f"significantly better in {kernel} of {len(pairs)} rows with a p-value, significantly worse in {wis}",
    )


def optdigits(results: Results, source: Source) -> Finding:
    rows = overall(results, source, "non-oracle")
    if ("non-oracle", "optdigits") not in rows:
        return NOTHING
    behind = [dataset for (_, dataset), means in rows.items() if means["kernel-wis"] >= means["wis"]]
    means = rows["non-oracle", "optdigits"]
    words = (
        f"optdigits: WIS {means['wis']:.3f}, Kernel-WIS {means['kernel-wis']:.3f}; not ahead on "
        f"{', '.join(behind) or 'no dataset'}"
    )
    return Finding(behind == ["optdigits"], words)


def continuous(results: Results, source: Source) -> Finding:
    found = _degraded(results, source)
    other = results.others.get(OTHER_READING)
    if source == "paper" or found is None or other is None:
        return found or NOTHING
    second = _degraded(other, source)
    if second is None:
        return found
    # Both readings of the rewards must show it.
    return Finding(
        found.holds and second.holds,
        f"{reading_of(results.design)}: {found.words}; {reading_of(other.design)}: {second.words}",
    )


def _degraded(results: Results, source: Source) -> Finding | None:
    pairs = [
        row.ours
        for row in ours(results, "continuous", source)
        if row.dataset == "optdigitsDist" and row.ours is not None
    ]
    means = overall(results, source, "continuous").get(("continuous", "optdigitsDist"))
    if not pairs or means is None:
        return None
    kernel, wis = _better(pairs)
    words = (
        f"WIS significantly better in {wis} of {len(pairs)} rows, Kernel-WIS in {kernel}; errors WIS "
        f"{means['wis']:.3f}, Kernel-WIS {means['kernel-wis']:.3f}{_normalised(results, source)}"
    )
    return Finding(means["kernel-wis"] > means["wis"] and wis > kernel, words)


def _normalised(results: Results, source: Source) -> str:
    if source == "paper":
        return ""
    cells = results.chosen("continuous", "optdigitsDist")
    return f", normalised {np.mean(results.errors('normalised-kernel-wis', cells, source)):.3f}"


def uniform(results: Results, source: Source) -> Finding:
    found = by_dataset(ours(results, "learnt-non-oracle", source), "ours")
    if not found:
        return NOTHING
    ahead = [one for one in found if one.gain > 0 and one.won > 0.5]
    least = min(found, key=lambda one: one.won)
    return Finding(
        len(ahead) == len(found),
        f"positive median and most rows won on {len(ahead)} of {len(found)} datasets, the fewest on "
        f"{least.dataset} ({least.won:.0%}); medians {_listed(found)}",
    )


def learnt_oracle(results: Results, source: Source) -> Finding:
    learnt, gibbs = (
        by_dataset(ours(results, setting, source), "ours") for setting in ("learnt-oracle", "oracle")
    )
    if not learnt or not gibbs:
        return NOTHING
    (low_learnt, high_learnt), (low_gibbs, high_gibbs) = (
        (min(one.won for one in found), max(one.won for one in found)) for found in (learnt, gibbs)
    )
    words = (
        f"share of rows won, worst and best dataset: {low_learnt:.2f} and {high_learnt:.2f}, against "
        f"{low_gibbs:.2f} and {high_gibbs:.2f}"
    )
    return Finding(low_learnt > low_gibbs and high_learnt > high_gibbs, words)


def always(results: Results, source: Source) -> Finding:
    rows = overall(results, source, "oracle", "non-oracle", "continuous")
    if not rows:
        return NOTHING
    ahead = sum(means["kernel-wis"] <= means["wis"] for means in rows.values())
    return Finding(
        ahead == len(rows), f"error at most that of WIS in {ahead} of {len(rows)} rows of the overall table"
    )
