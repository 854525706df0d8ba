"""``kwis compare``: which of several policies is best, as far as the log can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kwis.cli import gate as gates
from kwis.cli import options as opt
from kwis.cli.evaluate import Stage
from kwis.cli.limit import TimeLimit, time_limit
from kwis.cli.output import Output
from kwis.cli.reading import LogOptions, takes_log
from kwis.cli.terminal import clear_errors, console, print_answer
from kwis.cli.wording import Wording
from kwis.errors import InputError

if TYPE_CHECKING:
    from kwis.evaluation import Evaluation

EXAMPLES = (
    "kwis compare log.parquet --context age,country --target p_new --target p_bold",
    (
        "kwis compare log.parquet --context age,country -t A=p_new -t B=p_bold --group user --require-best B "
        "&& "
        "./deploy"
    ),
)

RequireBest = Annotated[
    str | None,
    typer.Option(
        "--require-best",
        metavar="NAME",
        show_default=False,
        help=(
            "Exit code 1 unless this target is surely better than every other policy, the logging policy "
            "included."
        ),
    ),
]


@takes_log(Wording)
def compare(
    named: LogOptions,
    wording: Wording,
    target: opt.Target,
    estimator: opt.Estimator = None,
    action_features: opt.ActionFeatures = None,
    statistic: opt.Statistic = "mean",
    repair: opt.Repair = opt.RepairChoice.AUTO,
    interval: opt.Interval = None,
    level: opt.Level = 0.95,
    seed: opt.Seed = 0,
    limit: TimeLimit = None,
    report: opt.Report = None,
    json: opt.Json = False,
    json_file: opt.JsonFile = None,
    require_best: RequireBest = None,
    require: gates.Require = None,
) -> None:
    """Rank policies, the logging policy among them, by differences on the same rows."""
    with clear_errors(), time_limit(limit):
        output = Output.of(report=report, json=json, json_file=json_file)
        output.check(named.files())
        stage = Stage(
            estimator=estimator,
            action_features=action_features,
            statistic=statistic,
            interval=interval,
            repair=repair,
            level=level,
            seed=seed,
            wording=wording,
        )
        _, answer = stage.work(named, target)
        if require_best is not None and require_best not in answer.targets:
            raise InputError(
                f"`require-best` must be one of {', '.join(answer.targets)}, got {require_best!r}"
            )
        with output.files_written(answer):
            if output.json:
                print_answer(answer.to_json())
            else:
                _show(answer)
            _enforce(answer, require_best, require)


def _show(answer: Evaluation) -> None:
    from kwis.cli import show
    from kwis.result.presentation import shown

    out = console()
    answer = shown(answer)
    for ranking in answer.rankings:
        show.show_ranking(out, ranking, answer.settings.level)
        show.show_differences(
            out, f"{ranking.reward}, every pair", ranking.differences, answer.settings.level
        )
    show.show_trust(out, answer)


def _enforce(answer: Evaluation, best: str | None, require: gates.Trust | None) -> None:
    judged = [target for target in answer.targets if best in (None, target)]
    verdicts = [(f"verdict on {target}", answer.recommended[target].row.verdict.level) for target in judged]
    failures = gates.verdict_failures(verdicts, gates.required(require, gated=best is not None))
    place = next((place for place in answer.ranking.places if place.target == best), None)
    if place is not None and place.worst > 1:
        failures.insert(
            0, f"{best} is not surely the best: its place is {place.words} of {len(answer.ranking.places)}"
        )
    gates.fail_on(failures)
