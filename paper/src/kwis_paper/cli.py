"""``kwis paper``: run the paper's experiments, and make tables, figures and the page from their results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kwis.cli.terminal import GATE_FAILED, clear_errors, console, say
from kwis_paper.options import design_of, formats_of, kind_of, parts_of, task_of

if TYPE_CHECKING:
    from kwis_paper.results import Results
    from kwis_paper.runner import Summary, Task
    from kwis_paper.simulate import Design

STORE = Path("kwis-paper.sqlite")
RESULTS = Path("results")

app = typer.Typer(
    help="Reproduce the paper: run its experiments, then make its tables, figures and page.",
    no_args_is_help=True,
)

Datasets = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset",
        "-d",
        metavar="NAME",
        show_default=False,
        help=(
            "A dataset of the paper, digits, or the path of a table with --label. Repeat for several. "
            "Default: all of the paper."
        ),
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--setting",
        metavar="SETTING",
        show_default=False,
        help="oracle, non-oracle, continuous, learnt-oracle, learnt-non-oracle; or, past the paper, "
        "deterministic, neural, fitted, "
        "rounded, stale, tempered, dropped-covariate, kernels. Repeat for several. Default: all of the "
        "paper.",
    ),
]
StorePath = Annotated[
    Path, typer.Option("--store", metavar="PATH", help="File that keeps the results; a run resumes from it.")
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", metavar="COLUMN", show_default=False, help="Class column of a table of one's own."
    ),
]
LeftOut = Annotated[
    bool,
    typer.Option(
        "--left-out", help="Also the non-oracle experiments of letter and kropt, which the paper left out."
    ),
]
Source = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="PATH",
        show_default=False,
        help=f"A store, or a folder of committed results. Default: {STORE} if it is there, else {RESULTS}.",
    ),
]


@app.command()
def run(
    dataset: Datasets = None,
    setting: Settings = None,
    bootstrap: Annotated[
        int,
        typer.Option("--bootstrap", metavar="N", min=0, help="Resamples of bootstrap intervals; 0 for none."),
    ] = 0,
    per_feature: Annotated[
        str | None,
        typer.Option(
            "--per-feature",
            metavar="warm|plain",
            show_default=False,
            help="Per-feature bandwidths instead of shared ones.",
        ),
    ] = None,
    sample: Annotated[
        int,
        typer.Option(
            "--sample", metavar="N", min=0, help="Experiments per row for --per-feature plain; 0 for all."
        ),
    ] = 20,
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            "--estimator",
            metavar="MODULE:NAME",
            show_default=False,
            help="An estimator of one's own, as a further column.",
        ),
    ] = None,
    pipelines: Annotated[
        str | None,
        typer.Option(
            "--pipelines",
            metavar="PARTS",
            show_default=False,
            help="Then also repair, reward models and recommendation (main), parts of the repair (ablation), "
            "other bandwidths "
            "(bandwidths), an average over them (averages), bounds for any sample size (bounds), other "
            "kernels (kernels), separated by "
            "commas; or all.",
        ),
    ] = None,
    pairs: Annotated[
        int,
        typer.Option(
            "--pairs",
            metavar="N",
            min=0,
            help="Pairs of logging and behaviour policy per dataset and setting; 0 for all.",
        ),
    ] = 0,
    training: Annotated[
        str | None,
        typer.Option(
            "--training",
            metavar="per-log|once",
            show_default=False,
            help="IW and SNIW policies trained on the log of every pair of logging and behaviour policy, "
            "or once per dataset. Default: per-log.",
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--rule",
            metavar="distance|closeness",
            show_default=False,
            help="Continuous rewards: a wrong action earns its distance, as printed, or one minus it, as in "
            "the paper's heatmap. Default: distance.",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            metavar="flip|lost",
            show_default=False,
            help="Continuous rewards: one logged reward in ten is flipped, as printed, or lost. "
            "Default: flip.",
        ),
    ] = None,
    test_share: Annotated[
        float | None,
        typer.Option(
            "--test-share",
            metavar="SHARE",
            show_default=False,
            help="Share of the rows that estimates are made on. Default: 0.25.",
        ),
    ] = None,
    label: Label = None,
    left_out: LeftOut = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, show_default=False, help="Threads. Default: all cores."),
    ] = None,
    store: StorePath = STORE,
) -> None:
    """Run experiments that have no results yet; started again, it goes on where it was.

    Exits with 1 if any experiment failed; failed ones are tried again by the next run.
    """
    with clear_errors():
        parts = parts_of(pipelines)
        design = design_of(training=training, rule=rule, noise=noise, test_share=test_share)
        task = replace(
            task_of(
                dataset,
                setting,
                label,
                left_out,
                bootstrap,
                kind_of(per_feature),
                sample,
                estimator or [],
                jobs,
            ),
            pairs=pairs,
        )
        summary = _run(task, parts, store, design)
    counts = (
        f"{summary.finished:,} experiments run, {summary.skipped:,} already there, {summary.failed:,} failed"
    )
    elsewhere = f", {summary.elsewhere:,} left to another run" if summary.elsewhere else ""
    print(f"{counts}{elsewhere}; {summary.seconds:.1f} s; {store}")
    if summary.failed:
        say(f"error: {summary.failed} experiments failed; kwis paper status --store {store} says why")
        raise typer.Exit(GATE_FAILED)


@app.command()
def status(
    dataset: Datasets = None,
    setting: Settings = None,
    label: Label = None,
    left_out: LeftOut = False,
    store: StorePath = STORE,
) -> None:
    """Say how far a run has come. Exits with 1 if any experiment failed."""
    with clear_errors():
        failed = _show_status(task_of(dataset, setting, label, left_out, 0, None, 0, [], None), store)
    if failed:
        raise typer.Exit(GATE_FAILED)


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
def setups(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write what each gave, as CSV.")
    ] = RESULTS / "setups.csv",
) -> None:
    """Try ways to train the IW and SNIW policies on the oracle experiments of four datasets; minutes."""
    with clear_errors():
        from kwis_paper.setups import trials, write_trials

        write_trials(trials(), out)
    print(out)


@app.command()
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


@app.command()
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


@app.command()
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
        from kwis_paper.reading import read_store
        from kwis_paper.results import Provenance

        results = archive.merge([read_store(path) for path in store or [STORE]])
        if earlier is not None:
            results = archive.with_earlier(results, archive.read(earlier))
        archive.write(
            replace(results, provenance=Provenance(command=made_by, version=metadata.version("kwis"))), out
        )
    size = sum(path.stat().st_size for path in out.iterdir() if path.is_file())
    print(f"{len(results.cells):,} experiments in {out}, {size / 1e6:.1f} MB")


def _run(task: Task, parts: tuple[str, ...], store: Path, design: Design | None) -> Summary:
    from kwis_paper.runner import run as run_task
    from kwis_paper.store import Store

    with Store(store, design) as opened:
        plain = run_task(opened, task)
        if not parts:
            return plain
        from kwis_paper.beyond.runner import run_pipelines

        return plain.plus(run_pipelines(opened, task, parts))


def _show_status(task: Task, store: Path) -> int:
    from rich.table import Table

    from kwis import InputError
    from kwis_paper.status import status as state_of
    from kwis_paper.store import Store

    if not store.is_file():
        raise InputError(f"`store` must be a file with results, got {str(store)!r} and there is none")
    with Store(store) as opened:
        found, failures = state_of(opened, task), opened.failures()
    grid = Table("dataset", "setting", box=None)
    for name in ("finished", "of", "failed"):
        grid.add_column(name, justify="right")
    for one in found:
        grid.add_row(one.dataset, one.setting, f"{one.finished:,}", f"{one.total:,}", f"{one.failed:,}")
    total, failed = sum(one.total for one in found), sum(one.failed for one in found)
    grid.add_row("all", "", f"{sum(one.finished for one in found):,}", f"{total:,}", f"{failed:,}")
    console().print(grid)
    for key, estimator, error in failures[:10]:
        say(f"failed: {key} {estimator}: {error}")
    return failed


def _results(source: Path | None) -> Results:
    from kwis import InputError
    from kwis_paper import archive

    chosen = source or next((path for path in (STORE, RESULTS) if path.exists()), None)
    if chosen is None:
        raise InputError(
            f"`from` must name a store or a folder of results, as there is neither {STORE} nor {RESULTS} here"
        )
    return archive.load(chosen)
