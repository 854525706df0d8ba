"""What earlier results still hold of the experiments of a new run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace

from kwis_paper.estimates import PER_FEATURE
from kwis_paper.results import Outcome, Results

_ROUNDING = 2e-6  # numbers up to 1 are kept to six digits, and processors may round the last one apart


def with_earlier(results: Results, earlier: Results) -> Results:
    """Add what earlier results have of the very same experiments by other estimators, with bandwidths.

    An experiment is the same if its facts and its WIS estimate are, to rounding: a policy trained in another
    way is another experiment under the same name.
    """
    ours, theirs = results.outcomes.get("wis", {}), earlier.outcomes.get("wis", {})
    same = {
        key
        for key, facts in results.cells.items()
        if key in ours
        and key in theirs
        and _alike(asdict(facts), asdict(earlier.cells[key]))
        and _alike(_wis(ours[key]), _wis(theirs[key]))
    }
    added = {
        name: {key: one for key, one in found.items() if key in same}
        for name, found in earlier.outcomes.items()
        if name.startswith(PER_FEATURE)
    }
    bandwidths = {
        kind: {key: one for key, one in found.items() if key in same}
        for kind, found in earlier.bandwidths.items()
        if kind.startswith("per-feature")
    }
    # Times of searches that the new run has all made again are not those of these results.
    used = {
        (results.cells[key].dataset, results.cells[key].setting, kind)
        for kind, found in bandwidths.items()
        for key in found
        if key not in results.bandwidths.get(kind, {})
    }
    stages = tuple(
        timing for timing in earlier.timings if (timing.dataset, timing.setting, timing.stage) in used
    )
    return replace(
        results,
        outcomes=dict(results.outcomes)
        | {name: {**found, **results.outcomes.get(name, {})} for name, found in added.items()},
        bandwidths=dict(results.bandwidths)
        | {kind: {**found, **results.bandwidths.get(kind, {})} for kind, found in bandwidths.items()},
        timings=(*results.timings, *stages),
    )


def _wis(outcome: Outcome) -> dict[str, float]:
    return {"value": outcome.value, "std_error": outcome.std_error}


def _alike(ours: Mapping[str, object], theirs: Mapping[str, object]) -> bool:
    """Whether all entries are equal, real numbers to rounding."""
    return all(
        math.isclose(one, other, abs_tol=_ROUNDING)
        if isinstance(one, float) and isinstance(other, float)
        else one == other
        for one, other in ((ours[name], theirs[name]) for name in ours)
    )
