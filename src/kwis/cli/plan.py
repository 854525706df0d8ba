"""``kwis plan``: how many decisions tell a target from the logging policy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kwis.cli import options as opt
from kwis.cli.limit import TimeLimit, time_limit
from kwis.cli.progress import progress
from kwis.cli.reading import LogOptions, takes_log
from kwis.cli.targets import targets_of
from kwis.cli.terminal import clear_errors, print_answer

SCHEMA = "kwis-plan/1"
"""Name and version of the JSON printed."""
EXAMPLES = (
    "kwis plan log.parquet --context age,country --target p_new --difference 0.01",
    "kwis plan log.parquet --context age,country --target p_new --power 0.9 --logging p_explore",
)
Difference = Annotated[
    float | None,
    typer.Option(
        "--difference",
        metavar="NUMBER",
        show_default=False,
        help="Difference per decision that should not be missed. Default: the one estimated.",
    ),
]
Power = Annotated[float, typer.Option("--power", metavar="NUMBER", help="Probability to tell it.")]
Logging = Annotated[
    str | None,
    typer.Option(
        "--logging",
        metavar="COLUMN",
        show_default=False,
        help="A policy, in any form that a target has, that a new log is to be written by.",
    ),
]


@takes_log()
def plan(
    named: LogOptions,
    target: opt.OneTarget,
    difference: Difference = None,
    power: Power = 0.8,
    logging: Logging = None,
    action_features: opt.ActionFeatures = None,
    statistic: opt.Statistic = "mean",
    repair: opt.Repair = opt.RepairChoice.AUTO,
    level: opt.Level = 0.95,
    seed: opt.Seed = 0,
    limit: TimeLimit = None,
    json: opt.Json = False,
) -> None:
    """Say how many decisions it takes to tell a target from the logging policy."""
    with clear_errors(), time_limit(limit):
        with progress(f"reading {named.source}") as told:
            read = named.read()
            policy = targets_of([target], read.table)
            from kwis.evaluation.plan import plan as planned

            options: dict[str, Any] = {
                "action_features": action_features,
                "statistic": statistic,
                "repair": repair.value,
                "level": level,
                "rng": seed,
                "progress": told,
            }
            other = None if logging is None else targets_of([logging], read.table)
            found = planned(
                read,
                policy,
                difference=difference,
                power=power,
                logging=other[0] if isinstance(other, list) else other,
                **options,
            )
        print_answer(_json(found) if json else repr(found))


def _json(found: object) -> str:
    import json

    from kwis._text import escaped_in_json
    from kwis.result.output import plain

    return escaped_in_json(
        json.dumps({"schema": SCHEMA, "plan": plain(found)}, indent=2, ensure_ascii=False, allow_nan=False)
    )
