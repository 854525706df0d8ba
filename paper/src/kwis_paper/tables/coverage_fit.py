"""Readings of the published coverage, whose level, method and test share are not in the paper."""

from __future__ import annotations

from kwis_paper.coverage_fit import WITHIN, Fit, fits
from kwis_paper.results import Results
from kwis_paper.tables.record import Line, Table, number, text, whole


def coverage_fit_table(results: Results) -> Table:
    """Every reading, the one that fits the Gibbs oracle rows best first."""
    ranked = fits(results)
    return Table(
        key="coverage-fit",
        title="Which intervals the published coverage is of",
        caption="The paper's own intervals resample finished per-row terms, so their normaliser stays fixed. "
        "Gap: mean difference from the published coverage of WIS and Kernel-WIS over the oracle rows of "
        f"Gibbs policies, arrhythmia aside; agreeing: rows with both within {WITHIN:g}. The first line is "
        "what coverage is scored at; the paper names neither level nor method nor test share.",
        columns=("Method", "Level", "Test share", "Gap", "Agreeing", "Rows"),
        lines=tuple(_line(fit) for fit in ranked),
        notes=() if ranked else ("No experiment has the paper's intervals.",),
    )


def _line(fit: Fit) -> Line:
    rows = fit.gibbs()
    entries = (
        text({"fixed-percentile": "percentile", "fixed-bca": "BCa"}[fit.method]),
        text(f"{fit.level:.0%}"),
        text(f"{fit.results.design.test_share:g}"),
        number(fit.gap),
        whole(sum(one.agrees for one in rows)),
        whole(len(rows)),
    )
    return Line(entries=entries)
