"""Readings of the published coverage, whose level, method and test share are not in the paper."""

from __future__ import annotations

from kwis_paper.coverage_fit import WITHIN, Fit, fits, scoring_fit
from kwis_paper.results import Results
from kwis_paper.tables.record import Line, Table, number, text, whole


def coverage_fit_table(results: Results) -> Table:
    """Every reading, the one that fits the Gibbs oracle rows best first."""
    ranked, best = fits(results), scoring_fit(results)
    used = None if best is None else best.words
    return Table(
        key="coverage-fit",
        title="Which intervals the published coverage is of",
        caption="The paper's own intervals resample finished per-row terms, so their normaliser stays fixed. "
        "Gap: mean difference from the published coverage of WIS and Kernel-WIS over the oracle rows of "
        "Gibbs policies of datasets run at every share, arrhythmia aside; agreeing: rows with both within "
        f"{WITHIN:g}. The paper names neither level nor method nor test share. Bold: what coverage is scored "
        "at, the best of those whose every oracle and non-oracle row was run.",
        columns=("Method", "Level", "Test share", "Gap", "Agreeing", "Rows"),
        lines=tuple(_line(fit, used) for fit in ranked),
        notes=() if ranked else ("No experiment has the paper's intervals.",),
    )


def _line(fit: Fit, used: str | None) -> Line:
    bold = fit.words == used
    entries = (
        text({"fixed-percentile": "percentile", "fixed-bca": "BCa"}[fit.method], bold=bold),
        text(f"{fit.level:.0%}", bold=bold),
        text(f"{fit.results.design.test_share:g}", bold=bold),
        number(fit.gap),
        whole(fit.agreeing),
        whole(fit.rows),
    )
    return Line(entries=entries)
