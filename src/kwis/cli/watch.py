"""``kwis watch``: a folder in which files of a log arrive, with intervals that hold at every look."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwis.cli import gate as gates
from kwis.cli import options as opt
from kwis.cli.reading import LogOptions, takes_log
from kwis.cli.targets import targets_of
from kwis.cli.terminal import clear_errors, print_answer, say
from kwis.errors import InputError

if TYPE_CHECKING:
    from kwis.evaluation.look import Look

SCHEMA = "kwis-look/1"
"""Name and version of the JSON printed."""
EXAMPLES = (
    "kwis watch logs/ --context age,country --target p_new --largest-weight 20",
    "kwis watch logs/ --context age --target p_new --fail-below 0.12 && ./deploy",
    "kwis watch logs/ --context age --target p_new --fail-below 0 --of change --once",
)
Bounds = Annotated[
    str,
    typer.Option(
        "--bounds",
        metavar="LOW,HIGH",
        help="Range of the rewards, known beforehand.",
        rich_help_panel=opt.WORK,
    ),
]
LargestWeight = Annotated[
    float | None,
    typer.Option(
        "--largest-weight",
        metavar="NUMBER",
        show_default=False,
        rich_help_panel=opt.WORK,
        help="What no weight can exceed: 1 over the smallest propensity. Makes intervals narrower.",
    ),
]
State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="FILE",
        show_default=False,
        rich_help_panel=opt.OUTPUT,
        help="Where to keep what was counted. Default: .kwis-watch.json in the folder.",
    ),
]
Settle = Annotated[
    float,
    typer.Option(
        "--settle", metavar="SECONDS", min=0.0, help="Time without a change after which a file may be whole."
    ),
]
Every = Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.1, help="Time between two looks.")]
Once = Annotated[
    bool, typer.Option("--once", help="Look once and stop, for cron and CI; the gate has to be passed.")
]


@takes_log(leave_out=("estimate_propensity", "row_weight", "group", "query"))
def watch(
    named: LogOptions,
    target: opt.Target,
    bounds: Bounds = "0,1",
    largest_weight: LargestWeight = None,
    action_features: opt.ActionFeatures = None,
    level: opt.Level = 0.95,
    state: State = None,
    settle: Settle = 2.0,
    every: Every = 10.0,
    once: Once = False,
    json: opt.Json = False,
    fail_below: gates.FailBelow = None,
    fail_above: gates.FailAbove = None,
    of: gates.OfOption = gates.Of.POLICY,
) -> None:
    """Evaluate as files arrive in a folder, with intervals that hold at every look together.

    With a gate, it ends as soon as the gate is decided: 0 if it is passed, 1 if it failed. Stopped and
    started again it goes on where it was.
    """
    with clear_errors():
        gate = gates.Gate(below=fail_below, above=fail_above, of=of)
        gate.check()
        options = {
            "bounds": _pair(bounds),
            "largest_weight": largest_weight,
            "action_features": action_features,
            "level": level,
            "state": state,
            "settle": settle,
        }
        first = True
        while True:
            look = _looked(named, target, options)
            if first or look.fresh:
                print_answer(_json(look, gate) if json else repr(look))
            _end_if_decided(look, gate, once=once)
            if once:
                return
            first = False
            time.sleep(every)


def _looked(named: LogOptions, target: list[str], options: dict[str, Any]) -> Look:
    from kwis.data.read.arrivals import arrived
    from kwis.evaluation.watch import watch as looked

    files = arrived(named.source)
    said = named.said_of(files[0].path) if files else {}
    columns = said.pop("columns", ())
    return looked(named.source, targets_of(target, columns), **options, **said)


def _end_if_decided(look: Look, gate: gates.Gate, *, once: bool) -> None:
    if gate.below is None and gate.above is None:
        if look.propensities_wrong and once:
            gates.fail_on(["propensities are wrong"])
        return
    standing = look.standing(below=gate.below, above=gate.above, change=gate.of is gates.Of.CHANGE)
    if standing == "passed":
        say("gate passed")
        raise typer.Exit
    if standing == "failed":
        gates.fail_on(["propensities are wrong" if look.propensities_wrong else "the limit is out of reach"])
    if once:
        gates.fail_on(["it is not decided yet"])


def _pair(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"`bounds` must be LOW,HIGH, got {text!r}") from None
    return low, high


def _json(look: Look, gate: gates.Gate) -> str:
    import json

    from kwis._text import escaped_in_json
    from kwis.result.output import plain

    content = {
        "schema": SCHEMA,
        "look": plain(look),
        "gate": look.standing(below=gate.below, above=gate.above, change=gate.of is gates.Of.CHANGE),
    }
    return escaped_in_json(json.dumps(content, ensure_ascii=False, allow_nan=False))
