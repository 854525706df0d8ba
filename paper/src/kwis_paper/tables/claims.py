"""The paper's claims in prose, with what we find under each truth."""

from __future__ import annotations

from kwis_paper.claims import CLAIMS
from kwis_paper.findings import errors, others
from kwis_paper.findings.record import Finding, Source
from kwis_paper.results import Results
from kwis_paper.summaries import SIGNIFICANT, notes_of
from kwis_paper.tables.record import Entry, Line, Table, text

_READINGS = (
    (
        f"All but one is read as at least {errors.ALL_BUT_ONE:.0%} of the rows that differ, as in the paper; "
        "ahead in the median as ahead on more datasets than behind, at three decimals; strongly as a median "
        f"above {errors.STRONGLY:g} on most datasets."
    ),
    (
        "Marginally and drastically are read off the medians of the datasets, as the paper does: the largest "
        f"is more than {errors.DRASTICALLY:g} times as far above 0 as the lowest is below."
    ),
    (
        "A relation, of coverage to the error too, is a rank correlation with a p-value of at most "
        f"{SIGNIFICANT:g}, which misses a curve that rises and falls; similar coverage is a mean difference "
        f"of at most {others.SIMILAR:g} on every dataset."
    ),
    "Where the paper's own rows do not bear a claim out by these readings, a “no” of ours says little.",
)
_SOURCES: dict[Source, str] = {
    "published": "published truth",
    "expected": "expected truth",
    "paper": "the paper's own rows",
}
_VERDICTS = {True: "yes", False: "no", None: "–"}


def claim_table(results: Results) -> Table:
    """One line per claim."""
    lines = [
        Line(
            entries=(
                text(claim.section),
                text(claim.words),
                *(entry for source in _SOURCES for entry in _entries(claim.look(results, source))),
            )
        )
        for claim in CLAIMS
    ]
    groups = ("", "", *(words for words in _SOURCES.values() for _ in range(2)))
    return Table(
        key="claims",
        title="Claims made in prose",
        caption="What the paper says, and whether it is so here, under the published truth (without the "
        "noise of the rewards), under the expected one (the rewards as logged) and, by the same test, in "
        "the published tables. A dash: not a matter of yes or no, not enough results, or not in those "
        "tables.",
        columns=("Section", "Claim", *("Holds", "Finding") * len(_SOURCES)),
        groups=groups,
        lines=tuple(lines),
        notes=(
            *_READINGS,
            *notes_of(["arrhythmia"]),
        ),
    )


def _entries(finding: Finding) -> tuple[Entry, Entry]:
    return text(_VERDICTS[finding.holds], bold=finding.holds is False), text(finding.words)
