"""What reproduces the evaluation: version, seed, choices, and the call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kwis.report.sections.common import names_of
from kwis.report.view import Block, Cell, PageTable, Section
from kwis.report.wording import confidence, count, rough, sentence
from kwis.result.evaluation import Evaluation
from kwis.result.records import Settings
from kwis.typing import Bandwidth

_MOST_NAMES = 40


def reproduce(evaluation: Evaluation) -> Section:
    settings = evaluation.settings
    notes = Block(
        title="Notes", points=tuple(sentence(note, names_of(evaluation)) for note in evaluation.notes)
    )
    blocks = [
        Block(code=settings.call.python),
        *_commands(settings),
        Block(title="Settings", tables=(_table(settings),), folded=True),
    ]
    if evaluation.notes:
        blocks.insert(0, notes)
    lead = "The same log, version and seed give the same numbers."
    return Section(key="settings", title="How it was made", short="Made by", lead=lead, blocks=tuple(blocks))


def _commands(settings: Settings) -> Iterable[Block]:
    call = settings.call
    if call.command is not None:
        yield Block(paragraphs=("Or on the command line:",), code=call.command)
    elif call.no_command:
        yield Block(paragraphs=(f"The command line cannot ask this: {call.no_command}.",))


def _table(settings: Settings) -> PageTable:
    lines = [
        ("Version", f"kwis {settings.version}"),
        ("Rows", count(settings.n)),
        ("Level of the intervals", confidence(settings.level)),
        ("Seed", str(settings.seed)),
        ("Rewards", _names(settings.rewards)),
        ("Context", _names(settings.context) or "none"),
        ("Propensities from", settings.propensity_source or "not said"),
        *((f"Policy {name}", words) for name, words in settings.targets.items()),
        ("Estimators", _names(settings.estimators)),
        *_alike("Intervals", settings.intervals),
        *_alike("Bandwidth", {name: _bandwidth(value) for name, value in settings.bandwidths.items()}),
        ("Rows for selecting bandwidths", count(settings.selection_rows)),
        ("Rows for the bandwidth path", count(settings.path_rows)),
    ]
    rows = tuple((Cell(name), Cell(words)) for name, words in lines)
    return PageTable(caption="Settings", columns=("Setting", "Value"), rows=rows)


def _alike(what: str, words: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """What is the same for several stands once, with those it holds for."""
    groups: dict[str, list[str]] = {}
    for name, text in words.items():
        groups.setdefault(text, []).append(name)
    for text, names in groups.items():
        yield (what if len(groups) == 1 else f"{what} of {_names(names)}", text)


def _names(names: Iterable[str]) -> str:
    every = list(names)
    more = len(every) - _MOST_NAMES
    return ", ".join(every[:_MOST_NAMES]) + (f" and {count(more)} more" if more > 0 else "")


def _bandwidth(value: Bandwidth) -> str:
    values = np.atleast_1d(np.asarray(value, dtype=np.float64)).tolist()
    return _names([rough(each) for each in values])
