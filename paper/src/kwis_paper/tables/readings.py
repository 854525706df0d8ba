"""Which published numbers speak for which reading of continuous rewards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kwis_paper import published
from kwis_paper.agreement import OTHER_READING
from kwis_paper.overall import ESTIMATORS, PUBLISHED_COLUMN, SETTING_OF
from kwis_paper.results import Results
from kwis_paper.summaries import Bucket, buckets, reading_of
from kwis_paper.tables.record import Line, Table, number, text

_DATASET = "optdigitsDist"
_REWARD, _BEHAVIOUR = next(words for words, setting in SETTING_OF.items() if setting == "continuous")
_POLICIES = {"Gibbs": ("Gibbs",), "IW and SNIW": ("IW", "SNIW")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A number that a reading gives; the reading speaks for itself by ``more`` of it, or by less."""

    name: str
    value: float
    more: bool = False
    decimals: int = 3

    def nearer(self, other: Evidence) -> bool:
        """Whether this reading is nearer to the paper than another."""
        return self.value > other.value if self.more else self.value < other.value


def reading_table(results: Results) -> Table | None:
    """Both readings, number by number; None where only one was run."""
    other = results.others.get(OTHER_READING)
    if other is None or not all(part.chosen("continuous", _DATASET) for part in (results, other)):
        return None
    first, second = reading_of(results.design), reading_of(other.design)
    pairs = list(zip(evidence(results), evidence(other), strict=True))
    speaking = {
        first: [mine.name for mine, theirs in pairs if mine.nearer(theirs)],
        second: [mine.name for mine, theirs in pairs if theirs.nearer(mine)],
    }
    return Table(
        key="continuous-readings",
        title="Which numbers speak for which reading of continuous rewards",
        caption=f"{_DATASET}, against the published truth. A wrong action earns its relative distance, as "
        "printed, or one minus it (closeness); one logged reward in ten is flipped, as printed, or lost. "
        "Bold: the reading nearer to the paper.",
        columns=("", first, second),
        lines=tuple(
            Line(
                entries=(
                    text(mine.name),
                    number(mine.value, mine.decimals, bold=mine.nearer(theirs)),
                    number(theirs.value, theirs.decimals, bold=theirs.nearer(mine)),
                ),
                dataset=_DATASET,
                setting="continuous",
            )
            for mine, theirs in pairs
        ),
        notes=tuple(f"For {words}: {'; '.join(names)}." for words, names in speaking.items() if names),
    )


def evidence(results: Results) -> Iterator[Evidence]:
    """What a reading gives beside the published numbers."""
    for words, policies in _POLICIES.items():
        rows = [
            row
            for row in buckets(results, "continuous", "published")
            if row.dataset == _DATASET and row.policy_type in policies
        ]
        total = sum(row.paper.n for row in rows if row.paper)
        yield Evidence(
            name=f"{words} experiments in their published bucket, of {total}",
            value=sum(min(row.ours.n, row.paper.n) for row in rows if row.ours and row.paper),
            more=True,
            decimals=0,
        )
        yield Evidence(name=f"{words} rows, mean gap to the published errors", value=_mean_gap(rows))
    cells = results.chosen("continuous", _DATASET)
    errors = {name: results.errors(name, cells, "published").mean() for name in ESTIMATORS}
    yield Evidence(
        name="overall errors of five estimators, mean gap",
        value=_gap({name: float(error) for name, error in errors.items()}, "overall", ""),
    )
    for share in (75, 100):
        found = {name: float(np.percentile(results.values(name, cells), share)) for name in ESTIMATORS}
        yield Evidence(
            name=f"{share}th percentiles of five estimators, mean gap",
            value=_gap(found, "percentiles", f"_p{share}"),
        )
    yield Evidence(
        name="reward of predicting 9 where 3 is right, less that of 6 (high and low in the heatmap)",
        value=_heatmap(results),
        more=True,
        decimals=2,
    )


def _mean_gap(rows: list[Bucket]) -> float:
    """Over WIS and Kernel-WIS and the rows that both have."""
    both = [(row.ours, row.paper) for row in rows if row.ours and row.paper]
    gaps = [
        abs(mine - said)
        for ours, paper in both
        for mine, said in ((ours.wis.mean, paper.wis.mean), (ours.kernel.mean, paper.kernel.mean))
    ]
    return float(np.mean(gaps)) if gaps else math.nan


def _gap(ours: dict[str, float], table: str, ending: str) -> float:
    said = {
        name: published.table(table).value(
            f"{PUBLISHED_COLUMN[name]}{ending}", reward=_REWARD, behaviour=_BEHAVIOUR, dataset=_DATASET
        )
        for name in ours
    }
    return float(
        np.mean([abs(ours[name] - float(value)) for name, value in said.items() if value is not None])
    )


def _heatmap(results: Results) -> float:
    stored = results.curves.get((_DATASET, "rewards"))
    if stored is None:
        return math.nan
    table = stored.reshape(10, 10)
    return float(table[3, 9] - table[3, 6])
