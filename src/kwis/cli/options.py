"""Options that several commands share, and what they mean together."""

from __future__ import annotations

from collections.abc import Container
from enum import StrEnum
from typing import Annotated

import typer

MOST_SEGMENTS = 50
"""Segments shown of each split, unless another number is asked for."""


class RepairChoice(StrEnum):
    """What ``--repair`` may be."""

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


class SourceChoice(StrEnum):
    """What ``--propensity-source`` may be."""

    RANDOMISER = "randomiser"
    MODEL = "model"


class PositionChoice(StrEnum):
    """What ``--position-in`` may be."""

    CONTEXT = "context"
    ACTION = "action"


_COLUMNS, WORK, OUTPUT = "Columns of the log", "Estimation", "Output"


def _column(flag: str, text: str) -> typer.models.OptionInfo:
    info: typer.models.OptionInfo = typer.Option(
        flag, metavar="COLUMN", help=text, rich_help_panel=_COLUMNS, show_default=False
    )
    return info


def _columns(flag: str, text: str) -> typer.models.OptionInfo:
    info: typer.models.OptionInfo = typer.Option(
        flag, metavar="A,B,...", help=text, rich_help_panel=_COLUMNS, show_default=False
    )
    return info


Log = Annotated[
    str,
    typer.Argument(
        metavar="LOG",
        show_default=False,
        help=(
            "CSV, Parquet, JSON lines or dsjson: a file, a folder or a quoted pattern; or a DuckDB or "
            "SQLite database."
        ),
    ),
]
Target = Annotated[
    list[str],
    typer.Option(
        "--target",
        "-t",
        metavar="[NAME=]POLICY",
        show_default=False,
        help="A policy to evaluate: a column with its probability of the logged action, or with the action "
        "it takes, or the prefix of "
        "one column per action. Repeat for several. chosen:COLUMN, probability:COLUMN and "
        "distribution:A,B,... settle what is meant; always:ACTION and uniform need no column; FILE:COLUMN is "
        "joined by --key.",
    ),
]
OneTarget = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="[NAME=]COLUMN",
        show_default=False,
        help="The policy, in any form that kwis evaluate knows.",
    ),
]
MaybeTarget = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        metavar="[NAME=]POLICY",
        show_default=False,
        help="A policy whose weights are tested too. Repeat for several.",
    ),
]
Action = Annotated[str | None, _column("--action", "The action taken. Default: action.")]
Reward = Annotated[list[str] | None, _columns("--reward", "What came of it, one or more. Default: reward.")]
Propensity = Annotated[
    str | None,
    _column(
        "--propensity",
        "The logger's probability of the action taken, or the prefix of one column per action or, with "
        "--logger, per logger; or a number, 0.5; or a number or column for each action or logger, "
        "A=0.9,B=0.1 or old=p1,new=p2. Default: propensity.",
    ),
]
PropensityFrom = Annotated[
    SourceChoice | None,
    typer.Option(
        "--propensity-source",
        rich_help_panel=_COLUMNS,
        show_default=False,
        help=(
            "Whether propensities are the probabilities that the system drew with, or what a model says of "
            "them. Default: not said."
        ),
    ),
]
NoPropensity = Annotated[
    bool,
    typer.Option(
        "--estimate-propensity",
        rich_help_panel=_COLUMNS,
        help="Estimate propensities even if the log has some.",
    ),
]
Context = Annotated[
    list[str] | None,
    _columns("--context", "What the logger could see. Default: every column without another role."),
]
Categorical = Annotated[
    list[str] | None, _columns("--categorical", "Context columns of numbers that are labels.")
]
Missing = Annotated[
    list[str] | None,
    _columns("--missing", "Values that stand for a gap in the context, such as unknown or -999."),
]
DropMissing = Annotated[
    bool,
    typer.Option(
        "--drop-missing", rich_help_panel=_COLUMNS, help="Leave out rows without a reward, and say how many."
    ),
]
Actions = Annotated[
    list[str] | None, _columns("--actions", "All actions there are, if some were never taken.")
]
Candidates = Annotated[
    str | None,
    _column(
        "--candidates",
        "The actions that could be taken in each row, where not all could be: a column of lists or of text "
        "such as a|b|c, or the prefix of one yes/no column per action.",
    ),
]
RowWeight = Annotated[
    str | None, _column("--row-weight", "How many interactions a row stands for, where the log was thinned.")
]
Group = Annotated[str | None, _column("--group", "User or session, whose rows are drawn together.")]
Time = Annotated[str | None, _column("--time", "Date or number by which to look for drift.")]
Logger = Annotated[str | None, _column("--logger", "Which logging policy acted, where there were several.")]
Position = Annotated[
    str | None, _column("--position", "Position or slot of a decision, part of the context or of the action.")
]
PositionIn = Annotated[
    PositionChoice | None,
    typer.Option(
        "--position-in",
        rich_help_panel=_COLUMNS,
        show_default=False,
        help="Whether the position is part of the context or of the action. Default: context.",
    ),
]
Key = Annotated[
    str | None,
    _column(
        "--key",
        "Identifies a row, whose place then does not matter; policies in other files are joined by it.",
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="SQL",
        help="SQL to run on a database, or on files, which it finds as the table log.",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, parquet, json, dsjson, duckdb or sqlite, if the name does not tell.",
    ),
]
SkipBadLines = Annotated[
    bool,
    typer.Option("--skip-bad-lines", help="Leave out lines that are no JSON, and say how many."),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="A,B,...",
        help="Columns whose values make segments. Repeat or list several.",
        rich_help_panel=WORK,
        show_default=False,
    ),
]
Estimator = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        "-e",
        metavar="NAME",
        rich_help_panel=WORK,
        show_default=False,
        help="vis, truncated-vis, wis, state-wis, kernel-wis, normalised-kernel-wis, direct-method, "
        "doubly-robust, empirical-likelihood, switch, doubly-robust-shrinkage, ..., "
        "ips, snips, dm, dr or sndr, or one of your own as package.module:object. Repeat or list several. "
        "Default: all that apply.",
    ),
]
Statistic = Annotated[
    str,
    typer.Option(
        "--statistic",
        metavar="NAME",
        rich_help_panel=WORK,
        help="What of the reward to estimate: mean, quantile:0.95, cvar:0.95 (mean of the highest 5 %), "
        "lower-cvar:0.05 (mean of the lowest 5 %) or above:10 (share above 10).",
    ),
]
ActionFeatures = Annotated[
    str | None,
    typer.Option(
        "--action-features",
        metavar="COLUMNS|FILE[:COLUMNS]",
        rich_help_panel=WORK,
        show_default=False,
        help="What describes the actions, for weights over that instead of over many actions: columns of the "
        "log, or a file with a row per action.",
    ),
]
NoActionFeatures = Annotated[str | None, typer.Option("--action-features", hidden=True)]
Repair = Annotated[
    RepairChoice,
    typer.Option(
        "--repair",
        rich_help_panel=WORK,
        help="Repair logged propensities from the actions taken: where their tests fail, never, or always.",
    ),
]
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        hidden=True,
        help="Without effect, for scripts that have it: every log is read the same way.",
    ),
]
Exact = Annotated[
    bool | None,
    typer.Option(
        "--exact/--approximate",
        rich_help_panel=WORK,
        show_default=False,
        help="Kernel-WIS from all pairs of rows, or from sampled neighbours. Default: by the number of rows.",
    ),
]
Interval = Annotated[
    str | None,
    typer.Option(
        "--interval",
        metavar="NAME",
        rich_help_panel=WORK,
        show_default=False,
        help="student, bootstrap, influence, empirical-likelihood, block-bootstrap, block-bootstrap:ROWS "
        "(runs of rows in the order of time), logarithmic-smoothing, betting-sequence, "
        "betting-sequence:LARGEST (weight), "
        "clopper-pearson:BOUND or empirical-bernstein:BOUND (of weight times reward). Default: student.",
    ),
]
Level = Annotated[
    float, typer.Option("--level", metavar="NUMBER", help="Level of the intervals.", rich_help_panel=WORK)
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="NUMBER", min=0, help="Everything random follows from it.", rich_help_panel=WORK
    ),
]
Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write the report, one self-contained page.",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print everything as JSON instead of the answer in words.", rich_help_panel=OUTPUT
    ),
]
JsonFile = Annotated[
    str | None,
    typer.Option(
        "--json-file",
        metavar="FILE",
        help="Write the same JSON to a file; - is stdout.",
        rich_help_panel=OUTPUT,
    ),
]
Segments = Annotated[
    int,
    typer.Option(
        "--segments",
        metavar="NUMBER",
        min=1,
        help="Segments shown of each split, the largest; JSON has all.",
        rich_help_panel=OUTPUT,
    ),
]
Table = Annotated[
    bool, typer.Option("--table/--no-table", help="Show a table of estimates.", rich_help_panel=OUTPUT)
]
AllEstimators = Annotated[
    bool,
    typer.Option(
        "--all-estimators",
        help="Show every estimator in the table, not only the one to use and its runner-up.",
        rich_help_panel=OUTPUT,
    ),
]


def listed(values: list[str] | None, known: Container[str] = ()) -> list[str] | None:
    """Names given as repeated options, separated by commas, or both; one that is ``known`` may have commas
    itself.
    """
    names: list[str] = []
    for value in values or ():
        names += [value] if value in known else [name.strip() for name in value.split(",") if name.strip()]
    return names or None
