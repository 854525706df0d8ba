"""Claims about errors: who is better, where, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kwis_paper.findings.record import NOTHING, Finding, Look, ours, overall, rank_correlation
from kwis_paper.results import Results, Truth
from kwis_paper.scenarios import Scenario, actions_of, by_dataset, size_of
from kwis_paper.summaries import Pair

_OCCASIONS = 11
_ALL_BUT_ONE = 10 / 11


def _pairs(results: Results, setting: str, truth: Truth) -> list[Pair]:
    return [row.ours for row in ours(results, setting, truth) if row.ours is not None]


def _better(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Rows with a significant difference in which Kernel-WIS, and in which WIS, is better."""
    clear = [pair for pair in pairs if pair.significant]
    kernel = sum(pair.kernel.mean < pair.wis.mean for pair in clear)
    return kernel, len(clear) - kernel


def mostly_equal(results: Results, truth: Truth) -> Finding:
    pairs = _pairs(results, "oracle", truth)
    if not pairs:
        return NOTHING
    equal = len(pairs) - sum(_better(pairs))
    return Finding(equal > len(pairs) / 2, f"{equal} of {len(pairs)} rows differ by nothing significant")


def significant_oracle(results: Results, truth: Truth) -> Finding:
    pairs = _pairs(results, "oracle", truth)
    if not pairs:
        return NOTHING
    kernel, wis = _better(pairs)
    clear = kernel + wis
    words = f"{clear} of {len(pairs)} rows differ significantly: {kernel} for Kernel-WIS, {wis} for WIS"
    # "All but one" of eleven is a share; of two rows split one to one, "all but one" would say nothing.
    return Finding(clear <= _OCCASIONS and kernel >= clear * _ALL_BUT_ONE if clear else None, words)


def rows_won_oracle(results: Results, truth: Truth) -> Finding:
    pairs = _pairs(results, "oracle", truth)
    if not pairs:
        return NOTHING
    wis, kernel = (sum(pair.winner == name for pair in pairs) for name in ("wis", "kernel-wis"))
    return Finding(
        wis > kernel, f"WIS wins {wis} rows by more than 0.001, Kernel-WIS {kernel}, of {len(pairs)}"
    )


def medians(setting: str) -> Look:
    def look(results: Results, truth: Truth) -> Finding:
        found = by_dataset(ours(results, setting, truth), "ours")
        if not found:
            return NOTHING
        ahead = [one for one in found if one.gain > 0]
        return Finding(
            len(ahead) > len(found) / 2,
            f"positive median on {len(ahead)} of {len(found)} datasets: {_listed(found)}",
        )

    return look


def _listed(found: Sequence[Scenario]) -> str:
    return ", ".join(f"{one.dataset} {one.gain:+.3f}" for one in sorted(found, key=lambda one: -one.gain))


def margins(setting: str) -> Look:
    def look(results: Results, truth: Truth) -> Finding:
        rows = [row for row in ours(results, setting, truth) if row.ours is not None]
        gaps = [(row.ours.wis.mean - row.ours.kernel.mean, row) for row in rows if row.ours is not None]
        if not gaps:
            return NOTHING
        best, worst = max(gaps, key=lambda gap: gap[0]), min(gaps, key=lambda gap: gap[0])
        words = (
            f"largest gain of Kernel-WIS {best[0]:.3f} ({' '.join(best[1].label)}), of WIS {-worst[0]:.3f} "
            f"({' '.join(worst[1].label)})"
        )
        return Finding(best[0] > 2 * max(-worst[0], 0.0), words)

    return look


def trend(results: Results, truth: Truth) -> Finding:
    found = [
        one
        for one in by_dataset(ours(results, "oracle", truth), "ours")
        if math.isfinite(actions_of(one.dataset))
    ]
    if len(found) < 4:
        return NOTHING
    won = [one.won for one in found]
    by_size = rank_correlation([size_of(one.dataset, results) for one in found], won)
    by_actions = rank_correlation([actions_of(one.dataset) for one in found], won)
    words = (
        f"rank correlation of the share won with size {by_size:+.2f}, with action dimension "
        f"{by_actions:+.2f}, {len(found)} datasets"
    )
    return Finding(by_actions > 0.5 if math.isfinite(by_actions) else None, words)


def bounded(results: Results, truth: Truth) -> Finding:
    del truth  # predictions are compared with no truth
    cells = [facts for setting in ("oracle", "non-oracle") for facts in results.chosen(setting)]
    if not cells:
        return NOTHING
    kernel, vis = results.values("kernel-wis", cells), results.values("vis", cells)
    return Finding(
        bool(np.nanmax(kernel) <= 1 < np.nanmax(vis)),
        f"largest mean prediction: Kernel-WIS {np.nanmax(kernel):.2f}, VIS {np.nanmax(vis):.2f}",
    )


def best_non_oracle(results: Results, truth: Truth) -> Finding:
    rows = overall(results, truth, "non-oracle")
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


def state_wis(results: Results, truth: Truth) -> Finding:
    rows = overall(results, truth, "oracle", "non-oracle")
    if not rows:
        return NOTHING
    beaten = [place for place, means in rows.items() if means["state-wis"] > means["kernel-wis"]]
    close = [f"{dataset} {setting}" for (setting, dataset) in rows if (setting, dataset) not in beaten]
    return Finding(
        len(beaten) == len(rows),
        f"worse than Kernel-WIS in {len(beaten)} of {len(rows)} rows"
        + (f"; not in {', '.join(close)}" if close else ""),
    )


def mostly_better(results: Results, truth: Truth) -> Finding:
    pairs = _pairs(results, "non-oracle", truth)
    if not pairs:
        return NOTHING
    kernel, wis = _better(pairs)
    return Finding(
        kernel > len(pairs) / 2,
        f"significantly better in {kernel} of {len(pairs)} rows, significantly worse in {wis}",
    )


def optdigits(results: Results, truth: Truth) -> Finding:
    rows = overall(results, truth, "non-oracle")
    if ("non-oracle", "optdigits") not in rows:
        return NOTHING
    behind = [dataset for (_, dataset), means in rows.items() if means["kernel-wis"] >= means["wis"]]
    means = rows["non-oracle", "optdigits"]
    words = (
        f"optdigits: WIS {means['wis']:.3f}, Kernel-WIS {means['kernel-wis']:.3f}; not ahead on "
        f"{', '.join(behind) or 'no dataset'}"
    )
    return Finding("optdigits" in behind, words)


def continuous(results: Results, truth: Truth) -> Finding:
    pairs = [
        row.ours
        for row in ours(results, "continuous", truth)
        if row.dataset == "optdigitsDist" and row.ours is not None
    ]
    cells = results.chosen("continuous", "optdigitsDist")
    if not pairs:
        return NOTHING
    kernel, wis = _better(pairs)
    names = ("wis", "kernel-wis", "normalised-kernel-wis")
    means = [float(np.mean(results.errors(name, cells, truth))) for name in names]
    shown = f"errors WIS {means[0]:.3f}, Kernel-WIS {means[1]:.3f}, normalised {means[2]:.3f}"
    words = f"WIS significantly better in {wis} of {len(pairs)} rows, Kernel-WIS in {kernel}; {shown}"
    return Finding(means[1] > means[0] and wis > kernel, words)


def uniform(results: Results, truth: Truth) -> Finding:
    found = by_dataset(ours(results, "learnt-non-oracle", truth), "ours")
    if not found:
        return NOTHING
    ahead = [one for one in found if one.gain > 0]
    return Finding(
        len(ahead) == len(found),
        f"positive median on {len(ahead)} of {len(found)} datasets: {_listed(found)}",
    )


def learnt_oracle(results: Results, truth: Truth) -> Finding:
    learnt, gibbs = (
        by_dataset(ours(results, setting, truth), "ours") for setting in ("learnt-oracle", "oracle")
    )
    if not learnt or not gibbs:
        return NOTHING
    low, high = (
        (min(one.won for one in found) for found in (learnt, gibbs)),
        (max(one.won for one in found) for found in (learnt, gibbs)),
    )
    (low_learnt, low_gibbs), (high_learnt, high_gibbs) = tuple(low), tuple(high)
    words = (
        f"share of rows won, worst and best dataset: {low_learnt:.2f} and {high_learnt:.2f}, against "
        f"{low_gibbs:.2f} and {high_gibbs:.2f}"
    )
    return Finding(low_learnt > low_gibbs and high_learnt > high_gibbs, words)


def always(results: Results, truth: Truth) -> Finding:
    rows = overall(results, truth, "oracle", "non-oracle", "continuous")
    if not rows:
        return NOTHING
    ahead = sum(means["kernel-wis"] <= means["wis"] for means in rows.values())
    return Finding(
        ahead == len(rows), f"error at most that of WIS in {ahead} of {len(rows)} rows of the overall table"
    )
