"""``kwis demo``: the main job on a log whose true answers are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kwis.cli.options import MOST_SEGMENTS
from kwis.cli.progress import progress
from kwis.cli.terminal import clear_errors, console, print_answer

if TYPE_CHECKING:
    from kwis.data.sample_log import SampleLog
    from kwis.evaluation import Evaluation

EXAMPLES = (
    "kwis demo",
    "kwis demo --save-log sample.parquet",
    (
        "kwis evaluate sample.parquet --reward click --context country,device,age,member,signup,hour "
        "--target "
        "p_new --group user"
    ),
)

Rows = Annotated[int, typer.Option("--rows", min=100, metavar="NUMBER", help="Decisions in the sample log.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, metavar="NUMBER", help="Everything random follows from it.")
]
Report = Annotated[str, typer.Option("--report", metavar="FILE.html", help="Where the report goes.")]
SaveLog = Annotated[
    str | None,
    typer.Option(
        "--save-log",
        metavar="FILE",
        help="Write the sample log, .csv or .parquet, and stop.",
        show_default=False,
    ),
]


def demo(
    rows: Rows = 4000, seed: Seed = 0, report: Report = "kwis-demo.html", save_log: SaveLog = None
) -> None:
    """Evaluate two policies on a sample log: a shop that chooses between a banner, an email and a push
    message.

    Its propensities are wrong in Brazil, and its true answers are known: the demo shows both beside what it
    finds.
    """
    with clear_errors():
        if save_log is not None:
            _save(rows, seed, save_log)
            return
        from kwis.runtime.writing import writable

        writable(report, "report")
        with progress("generating a log") as told:
            from kwis.data.sample_log import TARGETS, sample_log
            from kwis.evaluation.run import evaluate

            sample = sample_log(rows, rng=seed)
            answer = evaluate(
                sample.read(reward="click"), list(TARGETS), by=["country"], rng=seed, progress=told
            )
            told(1, 1, "writing the report")
            answer.to_html(report)
        _show(sample, answer, report)


def _save(rows: int, seed: int, path: str) -> None:
    from kwis._text import visible
    from kwis.data.sample_log import CONTEXT, sample_log

    sample_log(rows, rng=seed).write(path, "save-log")
    columns = f"--reward click --context {','.join(CONTEXT)}"
    next_commands = (
        f"  kwis check {path} {columns}",
        f"  kwis evaluate {path} {columns} --group user --target p_new --report report.html",
    )
    print_answer(visible("\n".join([f"{path}: {rows:,} decisions. Next:", *next_commands])))


def _show(sample: SampleLog, answer: Evaluation, report: str) -> None:
    from kwis.cli import show
    from kwis.result.records import LOGGING_POLICY

    out = console()
    out.print(
        "A shop chooses between a banner, an email and a push message, and logs with which probability it "
        "chose."
    )
    out.print(
        "In Brazil it sent more push messages than the log says. Would one of two other policies get more "
        "clicks?\n"
    )
    show.show_answer(out, answer)
    show.show_estimates(out, answer)
    for segments in answer.segments:
        show.show_segments(out, segments, answer.settings, MOST_SEGMENTS)
    out.print("\nThe truth, known here because the log was made up:")
    for name, key in ((LOGGING_POLICY, "logger"), *((target, target) for target in answer.targets)):
        row = next(row for row in answer.rows if row.target == name and row.recommended)
        value = sample.truth[key]["click"]
        hit = "inside" if row.interval.low <= value <= row.interval.high else "outside"
        out.print(
            f"  {name:15} {value:.4f}, {hit} the interval {row.interval.low:.4f} to {row.interval.high:.4f} "
            f"({row.estimator})"
        )
    out.print(f"\nReport: {report}", soft_wrap=True)
