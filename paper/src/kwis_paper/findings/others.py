"""Claims about coverage, bandwidths, training and time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kwis_paper.findings.record import NOTHING, Finding, Look, rank_correlation
from kwis_paper.overall import PLAIN, WARM, overall_rows
from kwis_paper.results import Results, Truth
from kwis_paper.scenarios import coverage_by_dataset
from kwis_paper.summaries import coverage_rows


def coverage_gap(setting: str) -> Look:
    def look(results: Results, truth: Truth) -> Finding:
        kind = "bootstrap" if results.replicates else "influence"
        found = coverage_by_dataset(coverage_rows(results, setting, truth, kind), "ours")
        if not found:
            return NOTHING
        far = max(found, key=lambda one: abs(one.gain))
        return Finding(
            abs(far.gain) <= 0.06,
            f"largest mean difference at 95 % ({kind}): {far.gain:+.3f} on {far.dataset}",
        )

    return look


def coverage_follows_error(results: Results, truth: Truth) -> Finding:
    kind = "bootstrap" if results.replicates else "influence"
    rows = [
        row
        for row in coverage_rows(results, "non-oracle", truth, kind)
        if row.bucket.ours is not None and math.isfinite(row.wis[-1])
    ]
    if len(rows) < 4:
        return NOTHING
    errors = [row.bucket.ours.kernel.mean for row in rows if row.bucket.ours is not None]
    linked = rank_correlation(errors, [row.kernel[-1] for row in rows])
    lost = float(np.mean([row.kernel[-1] - row.wis[-1] for row in rows]))
    return Finding(
        linked < -0.5 and lost < 0,
        f"rank correlation of error and coverage {linked:+.2f}; Kernel-WIS minus WIS {lost:+.3f} in the mean "
        f"at 95 % ({kind})",
    )


def per_feature(results: Results, truth: Truth) -> Finding:
    for name, words in ((PLAIN, "plain starts"), (WARM, "warm start")):
        found = results.outcomes.get(name, {})
        rows = [(row, [facts for facts in row.cells if facts.key in found]) for row in overall_rows(results)]
        used = [(row, cells) for row, cells in rows if len(cells) >= 2]
        if used:
            gaps = [
                float(
                    np.mean(results.errors(name, cells, truth) - results.errors("kernel-wis", cells, truth))
                )
                for _, cells in used
            ]
            better = [
                f"{row.dataset} {row.setting}"
                for (row, _), gap in zip(used, gaps, strict=True)
                if gap < -0.001
            ]
            return Finding(
                len(better) <= 1,
                f"{words}: better by more than 0.001 in {len(better)} of {len(used)} rows" + _in(better),
            )
    return NOTHING


def _in(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def kernel_values(results: Results, truth: Truth) -> Finding:
    del truth  # a fact about bandwidths
    for name, kind in ((PLAIN, "per-feature-plain"), (WARM, "per-feature")):
        found, shared = results.outcomes.get(name, {}), results.outcomes.get("kernel-wis", {})
        keys = [facts.key for facts in results.chosen("oracle") if facts.key in found and facts.key in shared]
        pairs = [(found[key].kernel_average, shared[key].kernel_average) for key in keys]
        both = np.array([pair for pair in pairs if None not in pair], dtype=np.float64)
        chosen = [results.bandwidths[kind][key] for key in keys if key in results.bandwidths.get(kind, {})]
        ratios = [one.std / one.mean for one in chosen if not one.overflowed and one.mean > 0]
        if both.size and ratios:
            smaller = float(np.median(both[:, 0])) < float(np.median(both[:, 1]))
            values = f"median kernel value {np.median(both[:, 0]):.3f} against {np.median(both[:, 1]):.3f}"
            words = f"median of std over mean {np.median(ratios):.2f}; {values}"
            return Finding(smaller and float(np.median(ratios)) > 1, words)
    return NOTHING


def digits(results: Results, truth: Truth) -> Finding:
    del truth  # a fact about rewards
    stored = results.curves.get(("optdigitsDist", "rewards"))
    if stored is None:
        return NOTHING
    table = stored.reshape(10, 10)
    nine, six = float(table[3, 9]), float(table[3, 6])
    return Finding(nine > six, f"mean reward where 3 is right: 9 earns {nine:.2f}, 6 earns {six:.2f}")


def epochs(results: Results, truth: Truth) -> Finding:
    del truth  # a fact about training
    accuracy, chosen = (
        results.curves.get(("optdigits", f"linear/{name}")) for name in ("accuracy", "epochs")
    )
    if accuracy is None or chosen is None:
        return NOTHING
    words = (
        f"best validation accuracy {accuracy.max():.2f}, epochs {chosen[0]:.0f} and {chosen[1]:.0f} "
        f"(optimiser and step size are ours)"
    )
    return Finding(abs(float(accuracy.max()) - 0.97) <= 0.015, words)


def autoencoder(results: Results, truth: Truth) -> Finding:
    del truth  # a fact about training
    parts = [
        results.curves.get(("optdigitsDist", f"autoencoder/test_{name}"))
        for name in ("reconstruction", "divergence")
    ]
    if any(part is None for part in parts):
        return NOTHING
    first, second = (np.asarray(part) for part in parts)
    moved = [abs(float(part[-1] - part[-6])) / float(part[-1]) for part in (first, second)]
    words = (
        f"after {first.size} epochs {first[-1]:.1f} and {second[-1]:.1f} nats on test rows, within "
        f"{max(moved):.0%} over the last five"
    )
    return Finding(max(moved) < 0.05 and min(first[-1], second[-1]) > 0, words)


def cost(results: Results, truth: Truth) -> Finding:
    del truth  # a fact about time
    spent = results.shared_seconds()
    if not spent:
        return NOTHING
    longest = max(spent, key=spent.__getitem__)
    total, most = sum(spent.values()) / 60, spent[longest] / 60
    words = (
        f"shared bandwidths: {total:.1f} minutes for {len(spent)} datasets, at most {most:.1f} ({longest})"
    )
    return Finding(None, words)
