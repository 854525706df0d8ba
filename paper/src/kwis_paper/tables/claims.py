"""The paper's claims in prose, with what we find under each truth."""

from __future__ import annotations

from kwis_paper.claims import CLAIMS
from kwis_paper.findings.record import Finding
from kwis_paper.results import TRUTHS, Results
from kwis_paper.summaries import notes_of
from kwis_paper.tables.record import Entry, Line, Table, text

_READING = (
    "Marginal against drastic is read as: the largest gain of Kernel-WIS in a row is more than twice the "
    "largest of WIS. "
    "Similar coverage is read as a mean difference of at most 0.06 on every dataset."
)
_VERDICTS = {True: "yes", False: "no", None: "–"}


def claim_table(results: Results) -> Table:
    """One line per claim."""
    lines = [
        Line(
            entries=(
                text(claim.section),
                text(claim.words),
                *(entry for truth in TRUTHS for entry in _entries(claim.look(results, truth))),
            )
        )
        for claim in CLAIMS
    ]
    groups = ("", "", *(f"{truth} truth" for truth in TRUTHS for _ in range(2)))
    return Table(
        key="claims",
        title="Claims made in prose",
        caption="What the paper says, and whether it is so here, under the published truth (without the "
        "noise of the rewards) and under "
        "the expected one (the rewards as logged). A dash: not a matter of yes or no, or not enough results.",
        columns=("Section", "Claim", *("Holds", "Finding") * 2),
        groups=groups,
        lines=tuple(lines),
        notes=(
            _READING,
            *notes_of(["arrhythmia"]),
        ),
    )


def _entries(finding: Finding) -> tuple[Entry, Entry]:
    return text(_VERDICTS[finding.holds], bold=finding.holds is False), text(finding.words)
