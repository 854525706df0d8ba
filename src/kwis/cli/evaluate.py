"""``kwis evaluate``: what target policies would have brought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwis.cli import gate as gates
from kwis.cli import options as opt
from kwis.cli import scheduler as dask
from kwis.cli.reading import LogOptions, targets_of
from kwis.cli.terminal import clear_errors, console, progress, say
from kwis.errors import InputError

if TYPE_CHECKING:
    from kwis.evaluation import Evaluation
    from kwis.logged import LoggedBandit
    from kwis.streaming.scan import ScannedLog

EXAMPLES = (
    "kwis evaluate log.parquet --context age,country --target p_new --report report.html",
    "kwis evaluate log.csv --reward click --context age,country --target p_new --by country",
    "kwis evaluate shop.db --query 'SELECT * FROM log' --context age --target A=p_new --target B=chosen:pick",
    "kwis evaluate logs/ --stream --context age,country --target p_new",
    "kwis evaluate /shared/logs/ --context age,country --target p_new --scheduler tcp://head:8786",
    "kwis evaluate 'logs/*.parquet' --context age --target p_new --fail-below 0.12 --using low && ./deploy",
)


def evaluate(
    log: opt.Log,
    target: opt.Target,
    action: opt.Action = None,
    reward: opt.Reward = None,
    propensity: opt.Propensity = None,
    propensity_source: opt.PropensityFrom = None,
    estimate_propensity: opt.NoPropensity = False,
    context: opt.Context = None,
    categorical: opt.Categorical = None,
    actions: opt.Actions = None,
    row_weight: opt.RowWeight = None,
    group: opt.Group = None,
    time: opt.Time = None,
    logger: opt.Logger = None,
    query: opt.Query = None,
    format: opt.Format = None,  # noqa: A002 - the name of the option
    by: opt.By = None,
    estimator: opt.Estimator = None,
    repair: opt.Repair = opt.RepairChoice.AUTO,
    level: opt.Level = 0.95,
    seed: opt.Seed = 0,
    stream: opt.Stream = None,
    scheduler: dask.Scheduler = None,
    tls_ca: dask.TlsCa = None,
    tls_cert: dask.TlsCert = None,
    tls_key: dask.TlsKey = None,
    exact: opt.Exact = None,
    report: opt.Report = None,
    json: opt.Json = False,
    json_file: opt.JsonFile = None,
    table: opt.Table = True,
    fail_below: gates.FailBelow = None,
    using: gates.UsingOption = gates.Using.LOW,
    of: gates.OfOption = gates.Of.POLICY,
    require: gates.Require = None,
) -> None:
    """Estimate what target policies would have brought, and say whether to trust it.

    Every target is compared with the logging policy on the same rows. Columns called action, reward and propensity need not be named.
    """
    with clear_errors():
        named = LogOptions(
            source=log,
            action=action,
            reward=reward,
            propensity=propensity,
            propensity_source=propensity_source,
            estimate_propensity=estimate_propensity,
            context=context,
            categorical=categorical,
            actions=actions,
            row_weight=row_weight,
            group=group,
            time=time,
            logger=logger,
            query=query,
            format=format,
        )
        gate = gates.Gate(below=fail_below, using=using, of=of, require=require)
        gate.check()
        output = Output(report=report, json=json, json_file=json_file, table=table)
        output.check()
        cluster = dask.SchedulerOptions(address=scheduler, ca=tls_ca, cert=tls_cert, key=tls_key)
        cluster.check()
        if scheduler is not None and stream is False:
            raise InputError("`scheduler` must go without --no-stream: its workers read the log in batches")
        scanned = named.scanned(True if scheduler is not None else stream)
        found: LoggedBandit | ScannedLog
        if scanned is not None:
            if repair is opt.RepairChoice.ALWAYS:
                raise InputError("`repair` must not be always for files that are read in batches; --no-stream reads them into memory")
            found, answer = scanned, scan(scanned, target, cluster, by=by, estimator=estimator, level=level, seed=seed, exact=exact)
        else:
            found, answer = work(named, target, by=by, estimator=estimator, repair=repair, level=level, seed=seed, exact=exact)
        output.write(found, answer, log)
        gate.enforce(answer)


def work(
    named: LogOptions,
    target: list[str],
    *,
    by: list[str] | None,
    estimator: list[str] | None,
    repair: opt.RepairChoice,
    level: float,
    seed: int,
    exact: bool | None = None,
) -> tuple[LoggedBandit, Evaluation]:
    """Read and evaluate, with a bar on a terminal."""
    from kwis._validation import level as checked

    checked(level)
    with progress(f"reading {named.source}") as told:
        from kwis.evaluation.evaluate import evaluate as run

        found = named.read()
        targets = targets_of(target, found.table)
        segments = opt.listed(by, found.table) or ()
        chosen = opt.listed(estimator)
        how: dict[str, Any] = {"by": segments, "repair": repair.value, "level": level, "rng": seed, "exact": exact}
        answer = run(found, targets, estimators=chosen, progress=told, **how)
    return found, answer


def scan(
    log: ScannedLog,
    target: list[str],
    cluster: dask.SchedulerOptions,
    *,
    by: list[str] | None,
    estimator: list[str] | None,
    level: float,
    seed: int,
    exact: bool | None,
) -> Evaluation:
    """Evaluate a log in batches, with a bar on a terminal."""
    from kwis.evaluation.evaluate import evaluate as run

    rows = "" if log.n is None else f" {log.n:,} rows"
    say(f"reading{rows} in batches; --no-stream reads them into memory, where more can be estimated")
    names = log.source.types
    with progress("reading in batches") as told, cluster.client() as client:
        targets, segments = targets_of(target, names), opt.listed(by, names) or ()
        return run(
            log,
            targets,
            estimators=opt.listed(estimator),
            by=segments,
            level=level,
            rng=seed,
            exact=exact,
            client=client,
            progress=told,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where an answer goes."""

    report: str | None = None
    json: bool = False
    json_file: str | None = None
    table: bool = True

    def check(self) -> None:
        """Refuse files that cannot be written, before the work is done."""
        from kwis._files import writable

        if self.report is not None:
            writable(self.report, "report")
        if self.json_file is not None:
            writable(self.json_file, "json-file")

    def write_files(self, answer: Evaluation) -> None:
        """Report and JSON, each whole or not at all."""
        from kwis._files import write_whole

        if self.json_file is not None:
            write_whole(self.json_file, f"{answer.to_json()}\n".encode(), "json-file")
        if self.report is not None:
            answer.to_html(self.report)

    def write(self, log: LoggedBandit | ScannedLog, answer: Evaluation, source: str) -> None:
        """Files first, then stdout."""
        self.write_files(answer)
        if self.json:
            print(answer.to_json())
        else:
            self._print(log, answer, source)

    def _print(self, log: LoggedBandit | ScannedLog, answer: Evaluation, source: str) -> None:
        from kwis.cli import show

        out = console()
        show.show_log(out, log, source)
        show.show_answer(out, answer)
        if self.table:
            show.show_estimates(out, answer)
        for segments in answer.segments:
            show.show_segments(out, segments, answer.settings.level)
        if self.report is not None:
            out.print(f"\nReport: {self.report}", soft_wrap=True)
