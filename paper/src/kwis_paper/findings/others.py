"""Claims about coverage, bandwidths, training and time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kwis_paper import published
from kwis_paper.agreement import OTHER_READING
from kwis_paper.coverage_fit import shown
from kwis_paper.findings.record import NOTHING, UNPRINTED, Finding, Look, Source, rank_correlation
from kwis_paper.overall import PLAIN, WARM, overall_rows
from kwis_paper.results import Results
from kwis_paper.store import LEVELS
from kwis_paper.summaries import SIGNIFICANT, TOLERANCE, CoverageRow, coverage_rows, reading_of

SIMILAR = 0.06


@dataclass(frozen=True, slots=True)
class _Covered:
    """Coverage of WIS and Kernel-WIS by row, and at what it was taken."""

    rows: list[tuple[CoverageRow, float, float]]
    words: str

    @classmethod
    def of(cls, results: Results, setting: str, source: Source) -> _Covered:
        """The paper's own, as printed; ours as the agreement of coverage is scored."""
        if source == "paper":
            said = coverage_rows(results, setting, "published", "influence")
            return cls([(row, row.paper_wis, row.paper_kernel) for row in said], "as printed").kept()
        at = shown(results)
        place = LEVELS.index(at.level)
        found = coverage_rows(at.results, setting, source, at.kind)
        return cls([(row, row.wis[place], row.kernel[place]) for row in found], at.words).kept()

    def kept(self) -> _Covered:
        return replace(self, rows=[one for one in self.rows if math.isfinite(one[1] + one[2])])


def coverage_gap(setting: str) -> Look:
    def look(results: Results, source: Source) -> Finding:
        covered = _Covered.of(results, setting, source)
        gaps: dict[str, list[float]] = {}
        for row, wis, kernel in covered.rows:
            gaps.setdefault(row.bucket.dataset, []).append(kernel - wis)
        if not gaps:
            return NOTHING
        means = {dataset: float(np.mean(found)) for dataset, found in gaps.items()}
        ranked = sorted(means, key=lambda dataset: -abs(means[dataset]))[:3]
        listed = ", ".join(f"{dataset} {means[dataset]:+.3f}" for dataset in ranked)
        return Finding(
            abs(means[ranked[0]]) <= SIMILAR, f"largest mean differences, {covered.words}: {listed}"
        )

    return look


def coverage_follows_error(results: Results, source: Source) -> Finding:
    covered = _Covered.of(results, "non-oracle", source)
    pairs = [
        (row.bucket.paper if source == "paper" else row.bucket.ours, wis, kernel)
        for row, wis, kernel in covered.rows
    ]
    rows = [(pair.kernel.mean, wis, kernel) for pair, wis, kernel in pairs if pair is not None]
    if len(rows) < 4:
        return NOTHING
    linked, p = rank_correlation([error for error, _, _ in rows], [kernel for _, _, kernel in rows])
    lost = float(np.mean([kernel - wis for _, wis, kernel in rows]))
    return Finding(
        linked < 0 and p <= SIGNIFICANT and lost < 0,
        f"rank correlation of error and coverage {linked:+.2f} (p {p:.2f}); Kernel-WIS minus WIS "
        f"{lost:+.3f} in the mean, {covered.words}",
    )


def per_feature(results: Results, source: Source) -> Finding:
    if source == "paper":
        return _worse_or_equal(_published_gaps(), "as printed")
    for name, words in ((PLAIN, "plain starts"), (WARM, "warm start")):
        found = results.outcomes.get(name, {})
        rows = [(row, [facts for facts in row.cells if facts.key in found]) for row in overall_rows(results)]
        gaps = {
            f"{row.dataset} {row.setting}": float(
                np.mean(results.errors(name, cells, source) - results.errors("kernel-wis", cells, source))
            )
            for row, cells in rows
            if len(cells) >= 2
        }
        if gaps:
            return _worse_or_equal(gaps, words)
    return NOTHING


def _worse_or_equal(gaps: Mapping[str, float], words: str) -> Finding:
    better = [place for place, gap in gaps.items() if gap < -TOLERANCE - 1e-9]
    return Finding(
        len(better) <= 1,
        f"{words}: better by more than {TOLERANCE:g} in {len(better)} of {len(gaps)} rows" + _in(better),
    )


def _published_gaps() -> dict[str, float]:
    table = published.table("bandwidth_sensitivity")
    rows = zip(*map(table.column, ("dataset", "behaviour", "unique", "shared")), strict=True)
    return {
        f"{dataset} {str(behaviour).lower()}": float(unique) - float(shared)
        for dataset, behaviour, unique, shared in rows
    }


def _in(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def kernel_values(results: Results, source: Source) -> Finding:
    if source == "paper":
        return UNPRINTED
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


def digits(results: Results, source: Source) -> Finding:
    if source == "paper":
        return UNPRINTED
    readings = [one for one in (results, results.others.get(OTHER_READING)) if one is not None]
    earned = [(reading_of(one.design), _earned(one)) for one in readings]
    found = [(words, pair) for words, pair in earned if pair is not None]
    if not found:
        return NOTHING
    words = "; ".join(f"{name}: 9 earns {nine:.2f}, 6 earns {six:.2f}" for name, (nine, six) in found)
    nine, six = found[0][1]
    return Finding(nine > six, f"mean reward where 3 is right, {words}")


def _earned(results: Results) -> tuple[float, float] | None:
    """Mean rewards of predicting 9 and 6 where 3 is right."""
    stored = results.curves.get(("optdigitsDist", "rewards"))
    if stored is None:
        return None
    table = stored.reshape(10, 10)
    return float(table[3, 9]), float(table[3, 6])


def epochs(results: Results, source: Source) -> Finding:
    if source == "paper":
        return UNPRINTED
    accuracy, chosen = (
        results.curves.get(("optdigits", f"linear/{name}")) for name in ("accuracy", "epochs")
    )
    if accuracy is None or chosen is None:
        return NOTHING
    words = (
        f"best validation accuracy {accuracy.max():.2f}, epochs {chosen[0]:.0f} and {chosen[1]:.0f} "
        f"(optimiser and step size are ours)"
    )
    reached = round(float(accuracy.max()), 2) == 0.97
    return Finding(reached and chosen.tolist() == [6, 46], words)


def autoencoder(results: Results, source: Source) -> Finding:
    if source == "paper":
        return UNPRINTED
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


def cost(results: Results, source: Source) -> Finding:
    if source == "paper":
        return UNPRINTED
    spent = results.shared_seconds()
    if not spent:
        return NOTHING
    longest = max(spent, key=spent.__getitem__)
    total, most = sum(spent.values()) / 60, spent[longest] / 60
    words = (
        f"shared bandwidths: {total:.1f} minutes for {len(spent)} datasets, at most {most:.1f} ({longest})"
    )
    return Finding(None, words)
