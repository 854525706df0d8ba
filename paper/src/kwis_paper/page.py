"""The reproduction as one self-contained HTML page: a summary, then every table and figure, then ours."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template

from kwis import InputError
from kwis.report.markup import Markup, element, joined
from kwis_paper import expected, layout
from kwis_paper.agreement import best_and_weakest, checks, incomplete
from kwis_paper.beyond import page as story
from kwis_paper.beyond.summary import past_the_paper, settings_of
from kwis_paper.catalogue import PAPER
from kwis_paper.contents import Item, contents
from kwis_paper.counting import Check
from kwis_paper.figures import Figure, all_figures
from kwis_paper.figures.style import sheet
from kwis_paper.further import FURTHER
from kwis_paper.grid import SETTINGS
from kwis_paper.results import TRUTHS, Results
from kwis_paper.summaries import notes_of
from kwis_paper.tables import Table, all_tables

_SECTIONS = (
    ("datasets-section", "Datasets and overall errors", ("datasets", "overall-", "percentiles")),
    ("oracle", "Oracle behaviour policies", ("oracle-", "performance-oracle", "coverage-oracle")),
    (
        "non-oracle",
        "Non-oracle behaviour policies",
        ("non-oracle-", "performance-non-oracle", "coverage-non-oracle"),
    ),
    ("continuous", "Continuous rewards", ("continuous-", "digits", "autoencoder")),
    ("bandwidths", "Shared and per-feature bandwidths", ("bandwidth", "kernel-average")),
    ("learnt", "Learnt logging policies", ("learnt-", "performance-learnt")),
    ("open", "What the paper leaves open", ("setups", "coverage-fit")),
    ("theory", "Assumptions and claims", ("assumptions", "claims")),
    ("times", "Times measured", ("timings",)),
)


def write_page(results: Results, path: Path | str) -> Path:
    """Write the page, whole or not at all."""
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(
            f"`path` must be in a folder that exists, got {str(path)!r} and there is no "
            f"{str(target.parent)!r}"
        )
    part = target.with_name(f".{target.name}.part")
    part.write_text(render(results), encoding="utf-8")
    os.replace(part, target)
    return target


def render(results: Results) -> str:
    """The page as HTML; its policy of content lets nothing be fetched and only its own script run."""
    style, script = sheet(), _script()
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        f"form-action 'none'"
    )
    template = files("kwis.report").joinpath("assets", "page.html").read_text(encoding="utf-8")
    title = element("title", "The Kernel-WIS paper, reproduced").text
    return Template(template).substitute(
        policy=policy, title=title, style=style, script=script, body=_body(results).text
    )


@cache
def _script() -> str:
    report = files("kwis.report").joinpath("assets", "page.js").read_text(encoding="utf-8")
    return f"{report}\n{files('kwis_paper').joinpath('assets', 'paper.js').read_text(encoding='utf-8')}"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _body(results: Results) -> Markup:
    tables, figures = all_tables(results), all_figures(results)
    made = checks(results)
    past = past_the_paper(results)
    titles = {table.key: table.title for table in tables} | {figure.key: figure.title for figure in figures}
    sections = [
        _summary(results, made, tables),
        _list(contents(tables, figures), titles),
        layout.filters(_datasets(tables), [*SETTINGS, *_further(past)], TRUTHS),
        *(_section(key, title, starts, tables, figures) for key, title, starts in _SECTIONS),
        _expected(results),
        *([_beyond(past)] if settings_of(past) else []),
    ]
    return joined((_header(results, made), element("main", *sections), _footer(results)))


def _header(results: Results, made: Sequence[Check]) -> Markup:
    links = [
        ("summary", "Summary"),
        ("contents", "Contents"),
        *((key, title) for key, title, _ in _SECTIONS),
        ("expected-truth", "Expected truth"),
        *([("past-the-paper", "Past the paper")] if settings_of(past_the_paper(results)) else []),
    ]
    return element(
        "header",
        element("p", "The Kernel-WIS paper, reproduced", class_="kicker"),
        element("h1", _headline(made)),
        element("p", f"The paper: {PAPER}.", class_="support minor"),
        element("p", _scope(results), class_="support"),
        *(element("p", note, class_="support minor") for note in notes_of(_ran(results))),
        element(
            "nav",
            element("div", *(element("a", title, href=f"#{key}") for key, title in links)),
            aria_label="Sections",
        ),
    )


def _ran(results: Results) -> list[str]:
    """Datasets that have results."""
    return list(dict.fromkeys(facts.dataset for facts in results.cells.values()))


def _headline(made: Sequence[Check]) -> str:
    """The best and the weakest of the published tables, and what needs no training to reproduce."""
    ends = best_and_weakest(made)
    if ends is None:
        return "No published row has results yet"
    best, weakest = ends
    return f"From {_share(best)} to {_share(weakest)}: how far every table of the paper is reproduced"


def _share(check: Check) -> str:
    return f"{check.agreeing} of {check.of} ({check.short[0].lower()}{check.short[1:]})"


def _scope(results: Results) -> str:
    published = sum(facts.published for facts in results.cells.values())
    own = len(results.cells) - published
    minutes = sum(results.shared_seconds().values()) / 60
    failed = len({failure.key for failure in results.failures})
    return (
        f"{published:,} of the paper's 10,340 experiments{f' and {own:,} of ours' if own else ''}, "
        f"{results.design.test_sets} test sets "
        f"each, {minutes:.1f} minutes with shared bandwidths; {failed or 'none'} failed. Counts are against "
        f"the published truth and without arrhythmia."
    )


def _summary(results: Results, made: Sequence[Check], tables: Sequence[Table]) -> Markup:
    shown = [next(one for one in tables if one.key == key) for key in ("headline", "agreement")]
    tiles = [layout.tile(check.short, f"{check.agreeing} of {check.of}", _goal(check)) for check in made]
    origin = results.provenance
    made_by = f"Made by “{origin.command}” with kwis {origin.version}." if origin.command else ""
    lacking = incomplete(results)
    missing = [f"Fewer experiments than the paper's grid: {', '.join(lacking)}."] if lacking else []
    missing += sorted(
        {
            note
            for one in tables
            for note in one.notes
            if note.startswith(("No bootstrap", "Plain starts", "Warm start"))
        }
    )
    return element(
        "section",
        element("h2", "Summary"),
        element("p", f"How far the numbers agree with the published ones. {made_by}", class_="lead"),
        element("dl", *tiles, class_="tiles"),
        *(element("p", note, class_="note alert") for note in missing),
        *(layout.table_block(table) for table in shown),
        id="summary",
    )


def _goal(check: Check) -> str:
    if check.met is None:
        return "shown whatever it is" if check.of else "no results yet"
    return f"goal {check.goal:.0%}: {'reached' if check.met else 'missed'}" + (
        f"; {check.missing} without results" if check.missing else ""
    )


def _list(items: Iterable[Item], titles: Mapping[str, str]) -> Markup:
    lines = [
        element(
            "li",
            f"{item.name}: {item.title} – ",
            *(
                joined((" · " if place else None, element("a", titles[key], href=f"#{key}")))
                for place, key in enumerate(item.keys)
            ),
            " (no results yet)" if item.empty else None,
        )
        for item in items
    ]
    lead = "Every table and figure of the paper, and where it is on this page."
    return element(
        "section",
        element("h2", "Contents"),
        element("p", lead, class_="lead"),
        element("ul", *lines),
        id="contents",
    )


def _datasets(tables: Iterable[Table]) -> list[str]:
    return sorted({line.dataset for table in tables for line in table.lines if line.dataset})


def _further(results: Results) -> list[str]:
    """Settings past the paper that have results."""
    return [setting for setting in FURTHER if results.chosen(setting)]


def _section(
    key: str, title: str, starts: tuple[str, ...], tables: Sequence[Table], figures: Sequence[Figure]
) -> Markup:
    shown = [layout.figure_block(figure) for figure in figures if figure.key.startswith(starts)]
    listed = [layout.table_block(table) for table in tables if table.key.startswith(starts)]
    return element("section", element("h2", title), *shown, *listed, id=key)


def _prose(title: str, paragraphs: Iterable[str]) -> Markup:
    return element(
        "div", element("h3", title), *(element("p", words) for words in paragraphs), class_="block"
    )


def _expected(results: Results) -> Markup:
    nodes: list[Markup] = []
    for part in expected.parts(results):
        nodes.append(_prose(part.title, part.paragraphs))
        nodes += [layout.table_block(table) for table in part.tables]
    lead = element("p", expected.INTRODUCTION, class_="lead")
    return element("section", element("h2", "The expected truth"), lead, *nodes, id="expected-truth")


def _beyond(results: Results) -> Markup:
    nodes: list[Markup] = []
    for part in story.chapters(results):
        nodes.append(_prose(part.title, part.paragraphs))
        nodes += [layout.table_block(table) for table in part.tables]
        nodes += [layout.figure_block(figure) for figure in part.figures]
    lead = element("p", story.introduction(results), class_="lead")
    return element("section", element("h2", "Past the paper"), lead, *nodes, id="past-the-paper")


def _footer(results: Results) -> Markup:
    replicates = f"bootstrap of {results.replicates} resamples" if results.replicates else "no bootstrap"
    design = results.design
    words = (
        f"Test share {design.test_share}, {design.test_sets} test sets, {design.folds} folds, continuous "
        f"rewards by {design.rule} with "
        f"noise “{design.noise}”, {replicates}."
    )
    return element("footer", element("p", words))
