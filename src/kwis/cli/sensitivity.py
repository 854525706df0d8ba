"""``kwis sensitivity``: how wrong propensities may be before the decision turns."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kwis.cli import options as opt
from kwis.cli.limit import TimeLimit, time_limit
from kwis.cli.progress import progress
from kwis.cli.reading import LogOptions, takes_log
from kwis.cli.targets import targets_of
from kwis.cli.terminal import clear_errors, print_answer
from kwis.cli.wording import LowerIsBetter, Minimise, lowered
from kwis.errors import InputError, UnsupportedError

SCHEMA = "kwis-sensitivity/1"
"""Name and version of the JSON printed."""
EXAMPLES = (
    "kwis sensitivity log.parquet --context age,country --target p_new",
    "kwis sensitivity log.parquet --context age,country --target p_new --gamma 1,1.2,3",
)
Gamma = Annotated[
    list[str] | None,
    typer.Option(
        "--gamma",
        metavar="A,B,...",
        show_default=False,
        help="Factors that the odds of the propensities may be wrong by. Default: 1,1.1,1.5,2.",
    ),
]


@takes_log()
def sensitivity(
    named: LogOptions,
    target: opt.Target,
    gamma: Gamma = None,
    minimise: Minimise = False,
    lower_is_better: LowerIsBetter = None,
    action_features: opt.NoActionFeatures = None,
    repair: opt.Repair = opt.RepairChoice.AUTO,
    seed: opt.Seed = 0,
    limit: TimeLimit = None,
    json: opt.Json = False,
) -> None:
    """Say how wrong the odds of the propensities may be before a target and the logging policy change
    places.
    """
    with clear_errors(), time_limit(limit):
        factors = _factors(gamma)
        if action_features is not None:
            from kwis.evaluation.sensitivity import NO_FEATURES

            raise UnsupportedError(NO_FEATURES)
        with progress(f"reading {named.source}"):
            read = named.read()
            targets = targets_of(target, read.table)
            lower = lowered(minimise, lower_is_better, read.table)
            from kwis.evaluation.sensitivity import sensitivity as analysed

            found = analysed(read, targets, repair=repair.value, rng=seed, lower_is_better=lower, **factors)
        print_answer(_json(found) if json else repr(found))


def _factors(gamma: list[str] | None) -> dict[str, Any]:
    texts = opt.listed(gamma)
    if texts is None:
        return {}
    try:
        return {"gamma": [float(text) for text in texts]}
    except ValueError:
        raise InputError(f"`gamma` must be numbers, got {', '.join(texts)}") from None


def _json(found: object) -> str:
    import json

    from kwis._text import escaped_in_json
    from kwis.result.output import plain

    return escaped_in_json(
        json.dumps(
            {"schema": SCHEMA, "sensitivity": plain(found)}, indent=2, ensure_ascii=False, allow_nan=False
        )
    )
