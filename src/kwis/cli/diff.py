"""``kwis diff``: what changed from one evaluation to the next."""

from __future__ import annotations

from typing import Annotated

import typer

from kwis.cli import options as opt
from kwis.cli.terminal import clear_errors, print_answer

SCHEMA = "kwis-diff/1"
"""Name and version of the JSON printed."""
EXAMPLES = ("kwis diff last.json this.json",)
Last = Annotated[str, typer.Argument(metavar="LAST", show_default=False, help="The evaluation before.")]
This = Annotated[
    str,
    typer.Argument(
        metavar="THIS",
        show_default=False,
        help="The evaluation now: both as kwis evaluate --json-file or evaluation.save wrote them.",
    ),
]


def diff(last: Last, this: This, json: opt.Json = False) -> None:
    """Say what changed from one evaluation to the next, and whether it is more than chance, given which rows
    they share.
    """
    with clear_errors():
        from kwis.result.diff import diff as compared

        found = compared(last, this)
        print_answer(_json(found) if json else repr(found))


def _json(found: object) -> str:
    import json

    from kwis._text import escaped_in_json
    from kwis.result.output import plain

    return escaped_in_json(
        json.dumps({"schema": SCHEMA, "diff": plain(found)}, indent=2, ensure_ascii=False, allow_nan=False)
    )
