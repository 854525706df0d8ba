"""``kwis paper``: run the paper's experiments; what is made from their results is in
:mod:`kwis_paper.outputs`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kwis.cli.terminal import GATE_FAILED, clear_errors, console, say
from kwis_paper import outputs
from kwis_paper.options import design_of, kind_of, parts_of, task_of
from kwis_paper.outputs import STORE

if TYPE_CHECKING:
    from kwis_paper.runner import Summary, Task
    from kwis_paper.simulate import Design

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


for command in outputs.COMMANDS:
    app.command()(command)
