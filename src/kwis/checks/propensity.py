"""Are the propensities right? One family of tests, with 5 % of false alarms over the whole verdict.

What right propensities fix, tested on the whole log and in every region of :mod:`kwis.checks.regions`:

- the mean weight of every target is 1, and beside candidate sets that of a policy like the logger's but less
  sure;
- each action is taken as often as its propensities say. Where only the propensity of the logged action is
  known, by ``E[1{action = a} / propensity] = 1`` where the action is available; without candidate sets, below
  1 is then no fault, as it may not always have been;
- where the whole distribution is known, its confidence: actions given a probability of 0.9 are taken 90 % of
  the time;
- where it is known and actions are many, the odds of all of them at once (:mod:`kwis.checks.pooled`).

All of them together are judged by logs whose actions are drawn anew from the propensities
(:mod:`kwis.checks.redraw`): exact where the whole distribution is known and each row is a draw of its own.
Elsewhere something is filled in, the probabilities of actions not taken or how far rows of a group share a
draw, and the 5 % are approximate. A region is one column's doing: propensities that are wrong only where two
columns meet are found here only as far as either column shows it by itself.

A mean weight that fails alone speaks against its target as much as against the propensities, and against no
other target.

Without targets a policy that takes every available action with the same probability stands in for one. Where
nobody named the candidates and its mean weight is far below 1, :mod:`kwis.checks.availability` asks for them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from kwis import _validation as check
from kwis.checks.availability import unavailable
from kwis.checks.family import Family
from kwis.checks.findings import MeanTest, PropensityReport
from kwis.checks.locate import REST, located
from kwis.checks.null import Null, null_of
from kwis.checks.pooled import Pooled, pooled_of
from kwis.checks.redraw import smallest_by_chance
from kwis.checks.regions import EVERYWHERE, regions_of
from kwis.checks.subjects import subjects_of
from kwis.checks.verdict import propensity_verdict
from kwis.data.copies import with_copies_grouped
from kwis.data.log import LoggedBandit
from kwis.errors import InputError
from kwis.models.propensity.check import propensity_signs
from kwis.models.propensity.estimate import EstimatedPropensity
from kwis.policy.discrete import TargetPolicy
from kwis.results import Verdict
from kwis.stats.subsets import drawn_rows
from kwis.typing import Floats

MOST_TESTS = 400
_NAMED = 5  # columns without a part in the tests that are named
TESTED_ROWS = 200_000
"""Propensities are tested on at most this many rows, drawn at random; errors that only more rows would show
stay unseen.
"""
_CELLS = 50_000_000  # rows times actions
_UNTESTED = "propensities could not be tested: too few rows or groups, or nothing was left to chance"


def propensity_report(
    log: LoggedBandit,
    targets: Sequence[TargetPolicy] = (),
    estimated: EstimatedPropensity | None = None,
    *,
    level: float = 0.05,
) -> PropensityReport:
    """Test the propensities of a log and say where they fail.

    Parameters
    ----------
    log
        With propensities: logged, or attached by ``estimated.attach(log)``.
    targets
        The policies whose weights matter.
    estimated
        Given if the propensities were estimated from this very log; the false alarms are then no longer
        exactly at ``level``.
    level
        Chance of calling right propensities wrong, over all tests together.

    Returns
    -------
    PropensityReport
        The verdict, the p-value of all tests together, and in ``failures`` where the propensities are wrong.
        It prints as its verdict.

    See Also
    --------
    kwis.repair_propensities : repairs what fails.
    kwis.sensitivity : what errors that no test can see would do.

    Examples
    --------
    >>> log = kwis.sample_log(200, rng=1).read()
    >>> kwis.propensity_report(log).verdict.level
    'trust'
    """
    if log.propensity is None:
        raise InputError(
            "`log` must have propensities to be checked; kwis.estimate_propensities supplies them"
        )
    log = with_copies_grouped(log)
    names = [target.name for target in targets]
    signs = propensity_signs(log, estimated, level=0.0)  # its own test of fit is part of the family here
    log, targets, some = _manageable(log, targets)
    null = null_of(log)
    level = check.level(level)
    hidden = unavailable(log, null)
    if hidden is not None:
        signs = replace(signs, findings=(*signs.findings, hidden))
    family, notes = _family_of(log, targets, null, uniform=hidden is None)
    tests, failures = tuple[MeanTest, ...](), tuple[MeanTest, ...]()
    pooled = pooled_of(log, null)
    if family.pairs or pooled is not None:
        if pooled is not None:
            family = replace(family, size=family.size + pooled.size)
        smallest = smallest_by_chance(family, null, pooled, level)
        tests = family.judged(smallest) if family.pairs else ()
        failures = _failures(family, tests, smallest, level, names, pooled)
        tests += () if pooled is None else pooled.judged(smallest, family.size)
    if not tests:
        notes = (_UNTESTED, *notes)
    untested = None if tests else _draws_of(log)
    asks = log.available is None and not null.whole

    def judged(about: Sequence[str]) -> Verdict:
        others = [name for name in names if name not in about]
        counted = [test for test in failures if not _is_of(test, others)]
        return propensity_verdict(
            counted, signs, len(log), estimated is not None, untested, targets=names, asks=asks
        )

    return PropensityReport(
        verdict=judged(names),
        p_value=min((test.p_value for test in tests), default=1.0),
        level=level,
        failures=failures,
        tests=tests,
        check=signs,
        estimated=estimated is not None,
        notes=(*some, *notes),
        targets={name: judged([name]) for name in names},
    )


def _manageable(
    log: LoggedBandit, targets: Sequence[TargetPolicy]
) -> tuple[LoggedBandit, Sequence[TargetPolicy], tuple[str, ...]]:
    """The log and its targets, or rows drawn at random where there are too many, or tables of rows by actions
    too large, with a note.
    """
    fitting = _CELLS // log.n_actions
    most = min(fitting, TESTED_ROWS)
    if len(log) <= most:
        return log, targets, ()
    rows = drawn_rows(len(log), most)
    why = f", as there are {log.n_actions:,} actions" if most == fitting else f" from the {len(log):,}"
    note = f"propensities were tested on {most:,} rows drawn at random{why}"
    return log.take(rows), [target.take(rows) for target in targets], (note,)


def _failures(
    family: Family,
    tests: Sequence[MeanTest],
    smallest: Floats,
    level: float,
    targets: Sequence[str],
    pooled: Pooled | None,
) -> tuple[MeanTest, ...]:
    """Failures of the tests that need no target, then those of each target's weights in other places."""

    def found(chosen: Sequence[int]) -> tuple[MeanTest, ...]:
        return (
            located(family.part(chosen), tuple(tests[i] for i in chosen), smallest, level) if chosen else ()
        )

    alone = found([i for i, test in enumerate(tests) if not _is_of(test, targets)])
    known = {test.region.removeprefix(REST) for test in alone}
    if pooled is not None and EVERYWHERE not in known:
        together = _pooled_failure(family, pooled, smallest, level, known)
        alone = (*together, *alone)
        known |= {test.region for test in together}
    if EVERYWHERE in known:
        return alone
    own = [
        test
        for name in targets
        for test in found([i for i, test in enumerate(tests) if _is_of(test, [name])])
    ]
    return (*alone, *(test for test in own if test.region.removeprefix(REST) not in known))


def _pooled_failure(
    family: Family, pooled: Pooled, smallest: Floats, level: float, known: Collection[str]
) -> tuple[MeanTest, ...]:
    """The strongest failure of the pooled tests; none if they pass without the rows of the regions that are
    known to fail.
    """
    if known:
        rows = np.any([region.rows for region in family.regions if region.label in known], axis=0)
        rest = pooled.without(rows)
        if not rest.enough or min(test.p_value for test in rest.judged(smallest, family.size)) >= level:
            return ()
    failed = [test for test in pooled.judged(smallest, family.size) if test.p_value < level]
    return (min(failed, key=lambda test: (test.p_value, -test.z)),) if failed else ()


def _is_of(test: MeanTest, targets: Sequence[str]) -> bool:
    return test.kind == "weight" and test.subject in targets


def _draws_of(log: LoggedBandit) -> str:
    return f"{len(log):,} rows" if log.group is None else f"{np.unique(log.group).size:,} groups"


def _family_of(
    log: LoggedBandit, targets: Sequence[TargetPolicy], null: Null, *, uniform: bool
) -> tuple[Family, tuple[str, ...]]:
    """All tests of one log, and notes on what had to be left out."""
    subjects = subjects_of(log, targets, null, uniform=uniform)
    # One region more than can be tested tells that there are too many. Of hundreds of columns most have no
    # part in the tests, and their regions need not be made.
    most = MOST_TESTS // len(subjects) + 1
    regions, bins = regions_of(log, most=most), 4
    if len(regions) == most:
        bins, most = 2, 2 * most
        regions = regions_of(log, bins=bins, most=most)
    while True:
        every = Family.of(subjects, regions, mass=log.row_weight, group=log.group, shared=null.shared)
        family = every.limited(MOST_TESTS)
        tested = {regions[r].column for _, r in family.pairs}
        columns = dict.fromkeys(regions[r].column for _, r in every.pairs)
        left_out = [name for name in columns if name not in tested]
        if len(regions) < most or len(left_out) > _NAMED:
            break
        most *= 2
        regions = regions_of(log, bins=bins, most=most)
    if not left_out:
        return family, ()
    some = ", ".join(f"`{name}`" for name in left_out[:_NAMED]) + (", ..." if len(left_out) > _NAMED else "")
    return family, (f"propensities were not tested by {some}, as {MOST_TESTS} tests are enough",)
