"""``kwis check``: whether the propensities of a log are what they say, and where they are not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwis.cli import gate as gates
from kwis.cli import options as opt
from kwis.cli.limit import TimeLimit, time_limit
from kwis.cli.progress import progress
from kwis.cli.reading import LogOptions, takes_log
from kwis.cli.targets import targets_of
from kwis.cli.terminal import clear_errors, console, print_answer
from kwis.errors import UnsupportedError

if TYPE_CHECKING:
    from kwis.checks.findings import PropensityReport
    from kwis.data.log import LoggedBandit

_NO_FEATURES = (
    "`action-features` has no place in a check: propensities are tested action by action, whatever weights "
    "are over"
)
SCHEMA = "kwis-check/1"
"""Name and version of the JSON printed."""
EXAMPLES = (
    "kwis check log.parquet --context age,country",
    "kwis check log.parquet --context age,country --target p_new",
    "kwis check log.parquet --context age,country --require trust && ./train",
)


@takes_log(leave_out=("estimate_propensity",))
def check(
    named: LogOptions,
    target: opt.MaybeTarget = None,
    action_features: opt.NoActionFeatures = None,
    limit: TimeLimit = None,
    json: opt.Json = False,
    require: gates.Require = None,
) -> None:
    """Test the propensities of a log: overall, action by action, and in every region of the context.

    Right propensities are called wrong with a probability of 5 %, over all tests together.
    """
    with clear_errors(), time_limit(limit):
        if action_features is not None:
            raise UnsupportedError(_NO_FEATURES)
        found, answer = _work(named, target or [])
        if json:
            print_answer(_json(answer))
        else:
            _show(found, answer, named.source)
        verdicts = [("verdict on the propensities", answer.verdict.level)]
        gates.fail_on(gates.verdict_failures(verdicts, gates.required(require, gated=False)))


def _work(named: LogOptions, targets: list[str]) -> tuple[LoggedBandit, PropensityReport]:
    with progress(f"reading {named.source}") as told:
        log = named.read(rewards=False)
        from kwis.errors import InputError
        from kwis.policy.target import resolve_targets

        if log.propensity is None:
            raise InputError(
                "`propensity` must name a column to be checked, as the log has none called propensity or "
                "pscore"
            )
        policies = resolve_targets(log, targets_of(targets, log.table)) if targets else ()
        # What computes is loaded now that the log is read: a wrong name of a column need not wait for it.
        from kwis.checks.propensity import propensity_report
        from kwis.checks.verdict import combine
        from kwis.evaluation.scope import source_doubt

        told(0, 1, "testing the propensities")
        log = log.without_context(column for policy in policies for column in policy.columns)
        report = propensity_report(log, policies)
        return log, replace(report, verdict=combine(report.verdict, *source_doubt(log)))


def _json(report: PropensityReport) -> str:
    import json

    from kwis._text import escaped_in_json
    from kwis.result.output import plain

    return escaped_in_json(
        json.dumps(
            {"schema": SCHEMA, "propensity": plain(report)}, indent=2, ensure_ascii=False, allow_nan=False
        )
    )


def _show(log: LoggedBandit, report: PropensityReport, source: str) -> None:
    from kwis.cli import show

    out = console()
    show.show_log(out, log.overview(), source)
    show.show_propensity(out, report)
