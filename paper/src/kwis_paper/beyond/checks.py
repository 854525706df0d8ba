"""What was aimed for past the paper, each statement with its figures from stored results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kwis_paper.beyond.columns import RECOMMENDED
from kwis_paper.beyond.intervals import DEFAULT_METHOD
from kwis_paper.beyond.naming import called
from kwis_paper.beyond.summary import (
    SEVEN,
    coverage,
    datasets_of,
    equal_shares,
    error,
    finished,
    gap,
    regret,
    settings_of,
)
from kwis_paper.further import MISREPORTS
from kwis_paper.records import CellFacts
from kwis_paper.results import Results

HALF = 0.5
LARGEST_ERROR = 0.04
OVER_ORACLE = 1.5
OVER_BETTER = 1.05
COVERED = (0.92, 0.98)
COVERED_NON_ORACLE = 0.85
LEVEL = 0.95
REGRET = 0.10
NO_GAP = 0.00005
REPORTED = "2"
"""Number of the statements that are reported as they come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A statement, whether the results bear it out (None if it is shown as it comes, or there are no
    results), and the figures.
    """

    number: str
    name: str
    met: bool | None
    figures: str


def goals(results: Results) -> list[Goal]:
    """All statements, in order."""
    made = [
        *_errors(results),
        _oracle_suite(results),
        *_held_out(results),
        *_coverage(results),
        _per_feature(results),
        _regret(results),
    ]
    return [replace(goal, figures="no results") if "nan" in goal.figures else goal for goal in made]


def _errors(results: Results) -> list[Goal]:
    cells = {name: finished(results, "non-oracle", name) for name in SEVEN}
    ran = [name for name in SEVEN if cells[name]]
    ours = {name: error(results, RECOMMENDED, cells[name]) for name in ran}
    kernel = {name: error(results, "kernel-wis", cells[name]) for name in ran}
    oracle = {name: error(results, "oracle-wis", cells[name]) for name in ran}
    shares = {name: ours[name] / kernel[name] for name in ran}
    whole = len(ran) == len(SEVEN)
    halved, below = (
        sum(share <= HALF for share in shares.values()),
        sum(share < 1 for share in shares.values()),
    )
    mean = _mean(list(ours.values()))
    over = _mean([ours[name] / oracle[name] for name in ran])
    listed = ", ".join(f"{name} {ours[name]:.4f} / {kernel[name]:.4f}" for name in ran)
    return [
        Goal(
            number="1a",
            name=(
                "Recommended at most half of raw Kernel-WIS on six of seven non-oracle datasets, below it "
                "on all"
            ),
            met=(halved >= 6 and below == 7) if whole else None,
            figures=f"half on {halved} of {len(ran)}, below on {below}; {listed}" if ran else "no results",
        ),
        Goal(
            number="1b",
            name="at most 0.04 on average over them",
            met=mean <= LARGEST_ERROR if whole else None,
            figures=f"{mean:.4f}",
        ),
        Goal(
            number="1c",
            name="on average at most 1.5 times the error of WIS with oracle propensities",
            met=over <= OVER_ORACLE if whole else None,
            figures=(
                f"{over:.2f} times ({', '.join(f'{name} {ours[name] / oracle[name]:.2f}' for name in ran)})"
            ),
        ),
    ]


def _oracle_suite(results: Results) -> Goal:
    cells = finished(results, "oracle")
    shares = {}
    for name in datasets_of(cells):
        part = [facts for facts in cells if facts.dataset == name]
        shares[name] = error(results, RECOMMENDED, part) / min(
            error(results, one, part) for one in ("wis", "kernel-wis")
        )
    worst = max(shares.values(), default=math.nan)
    return Goal(
        number="1d",
        name="Oracle suite: at most 5 % above the better of WIS and Kernel-WIS on every dataset",
        met=worst <= OVER_BETTER if len(shares) == len(SEVEN) + 2 else None,
        figures=", ".join(f"{name} {share - 1:+.1%}" for name, share in shares.items()) or "no results",
    )


def _held_out(results: Results) -> list[Goal]:
    """The same question of what is reported as it comes; misreports on soybean and yeast were in view when
    the rule was made.
    """
    made = [
        _asked(results, f"non-oracle {name}", finished(results, "non-oracle", name))
        for name in ("letter", "kropt")
    ]
    made += [_asked(results, how, finished(results, how)) for how in MISREPORTS]
    return [
        Goal(number=REPORTED, name=f"Half of raw Kernel-WIS? {name}", met=met, figures=figures)
        for name, met, figures in made
    ]


def _asked(results: Results, name: str, cells: Sequence[CellFacts]) -> tuple[str, bool | None, str]:
    if not cells:
        return name, None, "no results"
    ours, kernel, oracle = (error(results, one, cells) for one in (RECOMMENDED, "kernel-wis", "oracle-wis"))
    return (
        name,
        ours <= HALF * kernel,
        f"{ours:.4f} / {kernel:.4f} = {ours / kernel:.2f}; oracle propensities {oracle:.4f}",
    )


def _coverage(results: Results) -> list[Goal]:
    made = []
    for number, setting, words in (
        ("3a", "oracle", "between 92 % and 98 % over the oracle suite"),
        ("3b", "non-oracle", "at least 85 % over the non-oracle suite after repair"),
    ):
        cells = finished(results, setting)
        share, width = coverage(results, RECOMMENDED, DEFAULT_METHOD, cells).at(LEVEL)
        low, high = COVERED if setting == "oracle" else (COVERED_NON_ORACLE, 1.0)
        met = None if math.isnan(share) else low <= share <= high
        figures = f"{share:.1%}, mean width {width:.3f}, over {len(cells):,} experiments"
        made.append(
            Goal(
                number=number,
                name=f"Coverage of the default interval at 95 %: {words}",
                met=met,
                figures=figures,
            )
        )
    return made


def _per_feature(results: Results) -> Goal:
    gaps = {}
    for dataset in datasets_of(results.cells.values()):
        cells = [facts for facts in results.cells.values() if facts.dataset == dataset]
        found = gap(results, "normalised-kernel-wis-shrunk", "normalised-kernel-wis", cells)
        if found.n:
            gaps[dataset] = found
    # Bandwidths that agree but for the tolerance of their search differ by millionths, which is no
    # difference.
    worse = [name for name, one in gaps.items() if one.mean > max(one.std_error, NO_GAP)]
    better = [name for name, one in gaps.items() if one.mean < -max(one.std_error, NO_GAP)]
    figures = ", ".join(f"{name} {one.mean:+.4f} ± {one.std_error:.4f}" for name, one in gaps.items())
    return Goal(
        number="4",
        name=(
            "Shrunk per-feature bandwidth no worse than the shared one on every dataset within one standard "
            "error, better on two"
        ),
        met=(not worse and len(better) >= 2) if len(gaps) >= len(SEVEN) else None,
        figures=figures or "no results",
    )


def _regret(results: Results) -> Goal:
    cells = [facts for setting in settings_of(results) for facts in finished(results, setting)]
    pooled, alike = regret(results, cells), regret(results, cells, equal_shares(cells) if cells else None)
    settings = len(settings_of(results))
    worst = max(pooled.share, alike.share) if cells else math.nan
    return Goal(
        number="5",
        name="Recommended at most 10 % above the best single estimator in hindsight, over all settings",
        met=None if math.isnan(worst) else worst <= REGRET,
        figures=f"{pooled.recommended:.4f} against {pooled.best:.4f} of {called(pooled.name)} "
        f"({pooled.share:+.1%}) over {len(cells):,} "
        f"experiments; {alike.share:+.1%} against {called(alike.name)} if every dataset in each of "
        f"{settings} settings counts alike",
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan
