"""Commands of ``kwis paper`` that make something from results: tables, figures, pages, compact files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kwis.cli.terminal import GATE_FAILED, clear_errors, say
from kwis_paper.options import formats_of

if TYPE_CHECKING:
    from kwis_paper.results import Results

STORE = Path("kwis-paper.sqlite")
RESULTS = Path("results")

Source = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="PATH",
        show_default=False,
        help=f"A store, or a folder of committed results. Default: {STORE} if it is there, else {RESULTS}.",
    ),
]


def tables(
    source: Source = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write them.")] = Path(
        "paper-tables"
    ),
    format: Annotated[  # noqa: A002 - the name of the option
        str, typer.Option("--format", metavar="csv,md,tex", help="Formats, separated by commas.")
    ] = "csv,md,tex",
) -> None:
    """Write every table, each number beside the published one, as CSV, Markdown and LaTeX."""
    with clear_errors():
        from kwis_paper.beyond.summary import past_the_paper
        from kwis_paper.beyond.tables import further_tables
        from kwis_paper.tables import WRITERS, all_tables, write_all

        formats = formats_of(format, tuple(WRITERS))
        results = _results(source)
        made = [*all_tables(results), *further_tables(past_the_paper(results))]
        written = write_all(made, out, formats)
    print(f"{len(written)} files in {out}")


def figures(
    source: Source = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write them.")] = Path(
        "paper-figures"
    ),
    format: Annotated[  # noqa: A002 - the name of the option
        str,
        typer.Option(
            "--format",
            metavar="svg,pdf,png",
            help="Formats, separated by commas; pdf and png need Chromium or Chrome on the PATH.",
        ),
    ] = "svg",
) -> None:
    """Write every figure as SVG, PDF or PNG, drawn from stored results only."""
    with clear_errors():
        from kwis_paper.beyond.figures import further_figures
        from kwis_paper.beyond.summary import past_the_paper
        from kwis_paper.figures import all_figures, write_all
        from kwis_paper.figures.browser import FORMATS

        formats = formats_of(format, ("svg", *FORMATS))
        results = _results(source)
        made = [*all_figures(results), *further_figures(past_the_paper(results))]
        written = write_all(made, out, formats)
    for figure in made:
        if not figure.panels:
            say(
                f"warning: no results for the figure {figure.key}: {figure.notes[-1] if figure.notes else ''}"
            )
    print(f"{len(written)} files in {out}")


def report(
    source: Source = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page, one self-contained HTML file.")
    ] = Path("paper.html"),
    expected: Annotated[
        Path | None,
        typer.Option(
            "--expected",
            metavar="FILE",
            show_default=False,
            help="Also the short text on the expected truth, as Markdown.",
        ),
    ] = None,
) -> None:
    """Write the page with every table and figure, and a summary of how far they agree with the paper."""
    with clear_errors():
        from kwis_paper.expected import as_page
        from kwis_paper.page import write_page

        results = _results(source)
        write_page(results, out)
        if expected is not None:
            expected.write_text(as_page(results), encoding="utf-8")
    print(out if expected is None else f"{out}\n{expected}")


def beyond(
    source: Source = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", show_default=False, help="Also the whole story, as Markdown."
        ),
    ] = None,
) -> None:
    """Say what was aimed for past the paper and what the stored results show. Exits with 1 if a goal was
    missed, not for a question.
    """
    with clear_errors():
        from kwis_paper.beyond.checks import REPORTED, goals
        from kwis_paper.beyond.page import as_page
        from kwis_paper.beyond.summary import past_the_paper

        results = past_the_paper(_results(source))
        found = goals(results)
        if out is not None:
            out.write_text(as_page(results), encoding="utf-8")
    for goal in found:
        missed = "no" if goal.number == REPORTED else "NO"
        word = {True: "yes", False: missed, None: "–"}[goal.met]
        print(f"{goal.number:<3} {word:<4} {goal.name}: {goal.figures}")
    if any(goal.met is False and goal.number != REPORTED for goal in found):
        raise typer.Exit(GATE_FAILED)


def setups(
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            "-d",
            metavar="NAME",
            show_default=False,
            help="One of the four; repeat for several, with --out beside. Default: all four.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write what each gave, as CSV.")
    ] = RESULTS / "setups.csv",
) -> None:
    """Try ways to train the IW and SNIW policies on the oracle experiments of four datasets; minutes."""
    with clear_errors():
        from kwis import InputError
        from kwis_paper.setups import CHOSEN_ON, trials, write_trials

        unknown = [name for name in dataset or () if name not in CHOSEN_ON]
        if unknown:
            raise InputError(f"`dataset` must be among {', '.join(CHOSEN_ON)}, got {unknown[0]!r}")
        write_trials(trials(dataset or CHOSEN_ON), out)
    print(out)


def pages(
    source: Annotated[
        Path, typer.Option("--from", metavar="FOLDER", help="A folder of committed results.")
    ] = RESULTS,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The checkout to write docs of.")
    ] = Path(),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if any of them would change.")
    ] = False,
) -> None:
    """Make the pages of docs that come from committed results, and the tables in docs/paper.md."""
    with clear_errors():
        from kwis_paper import archive, checkout

        changed = checkout.write(archive.read(source), out, check=check)
    for path in changed:
        print(f"{'would change' if check else 'written'}: {path}")
    if check and changed:
        raise typer.Exit(GATE_FAILED)


def rebuild(
    source: Annotated[
        Path, typer.Option("--from", metavar="FOLDER", help="A folder of committed results.")
    ] = RESULTS,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write tables, figures and page.")
    ] = Path("paper-rebuilt"),
    format: Annotated[  # noqa: A002 - the name of the option
        str, typer.Option("--format", metavar="svg,pdf,png", help="Formats of the figures.")
    ] = "svg",
    checkout: Annotated[
        Path, typer.Option("--checkout", metavar="FOLDER", help="The checkout to write docs of.")
    ] = Path(),
) -> None:
    """Make everything that comes from committed results, to the same bytes each time: tables, figures, the
    page of them all, and the pages of docs.
    """
    tables(source, out / "tables", "csv,md,tex")
    figures(source, out / "figures", format)
    report(source, out / "paper.html", out / "expected.md")
    pages(source, checkout, check=False)


def export(
    store: Annotated[
        list[Path] | None,
        typer.Option(
            "--store",
            metavar="PATH",
            show_default=False,
            help=(
                f"A store; repeat for several, where later ones replace earlier datasets and settings. "
                f"Default: {STORE}."
            ),
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write them.")
    ] = RESULTS,
    earlier: Annotated[
        Path | None,
        typer.Option(
            "--earlier",
            metavar="FOLDER",
            show_default=False,
            help="Earlier results: what they have of the very same experiments with per-feature bandwidths "
            "is kept.",
        ),
    ] = None,
    made_by: Annotated[
        str, typer.Option("--made-by", metavar="COMMAND", help="Command that made the store.")
    ] = "kwis paper run",
) -> None:
    """Write compact results, fit to be committed, from which tables, figures and page can be made without the
    store.
    """
    with clear_errors():
        from importlib import metadata

        from kwis_paper import archive
        from kwis_paper.earlier import with_earlier
        from kwis_paper.reading import read_store
        from kwis_paper.results import Provenance

        results = archive.merge([read_store(path) for path in store or [STORE]])
        if earlier is not None:
            results = with_earlier(results, archive.read(earlier))
        archive.write(
            replace(results, provenance=Provenance(command=made_by, version=metadata.version("kwis"))), out
        )
    size = sum(path.stat().st_size for path in out.iterdir() if path.is_file())
    print(f"{len(results.cells):,} experiments in {out}, {size / 1e6:.1f} MB")


def _results(source: Path | None) -> Results:
    from kwis import InputError
    from kwis_paper import archive

    chosen = source or next((path for path in (STORE, RESULTS) if path.exists()), None)
    if chosen is None:
        raise InputError(
            f"`from` must name a store or a folder of results, as there is neither {STORE} nor {RESULTS} here"
        )
    return archive.load(chosen)


COMMANDS = (tables, figures, report, beyond, setups, pages, rebuild, export)
