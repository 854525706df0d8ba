"""``kwis evaluate``: what target policies would have brought."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwis.cli import gate as gates
from kwis.cli import options as opt
from kwis.cli import scheduler as dask
from kwis.cli.estimators import estimators_of
from kwis.cli.limit import TimeLimit, time_limit
from kwis.cli.output import Output
from kwis.cli.progress import progress
from kwis.cli.reading import LogOptions, takes_log
from kwis.cli.targets import targets_of
from kwis.cli.terminal import clear_errors
from kwis.cli.wording import Wording

if TYPE_CHECKING:
    from collections.abc import Container

    from kwis.evaluation import Evaluation
    from kwis.evaluation.opening import Opened
    from kwis.typing import Client

EXAMPLES = (
    "kwis evaluate log.parquet --context age,country --target p_new --report report.html",
    "kwis evaluate log.csv --reward click --context age,country --target p_new --by country",
    "kwis evaluate shop.db --query 'SELECT * FROM log' --context age --target A=p_new --target B=chosen:pick",
    "kwis evaluate logs/ --context age,country --target p_new",
    "kwis evaluate log.parquet --propensity p_ --target distribution:new_ --action-features items.csv:genre",
    "kwis evaluate /shared/logs/ --context age,country --target p_new --scheduler tcp://head:8786",
    "kwis evaluate 'logs/*.parquet' --context age --target p_new --fail-below 0.12 --using low && ./deploy",
)


@takes_log(Wording)
def evaluate(
    named: LogOptions,
    wording: Wording,
    target: opt.Target,
    by: opt.By = None,
    estimator: opt.Estimator = None,
    action_features: opt.ActionFeatures = None,
    statistic: opt.Statistic = "mean",
    repair: opt.Repair = opt.RepairChoice.AUTO,
    interval: opt.Interval = None,
    level: opt.Level = 0.95,
    seed: opt.Seed = 0,
    stream: opt.Stream = None,  # noqa: ARG001 - every log is read the same way now
    scheduler: dask.Scheduler = None,
    tls_ca: dask.TlsCa = None,
    tls_cert: dask.TlsCert = None,
    tls_key: dask.TlsKey = None,
    exact: opt.Exact = None,
    limit: TimeLimit = None,
    report: opt.Report = None,
    json: opt.Json = False,
    json_file: opt.JsonFile = None,
    table: opt.Table = True,
    all_estimators: opt.AllEstimators = False,
    segments: opt.Segments = opt.MOST_SEGMENTS,
    fail_below: gates.FailBelow = None,
    fail_above: gates.FailAbove = None,
    using: gates.UsingOption = None,
    of: gates.OfOption = gates.Of.POLICY,
    require: gates.Require = None,
) -> None:
    """Estimate what target policies would have brought, and say whether to trust it.

    Every target is compared with the logging policy on the same rows. Columns called action, reward and
    propensity need not be named.
    """
    with clear_errors(), time_limit(limit):
        gate = gates.Gate(below=fail_below, above=fail_above, using=using, of=of, require=require)
        gate.check()
        output = Output.of(
            report=report,
            json=json,
            json_file=json_file,
            table=table,
            segments=segments,
            every=all_estimators,
        )
        output.check(named.files())
        cluster = dask.SchedulerOptions(address=scheduler, ca=tls_ca, cert=tls_cert, key=tls_key)
        cluster.check()
        with cluster.client() as client:
            stage = Stage(
                by=by,
                estimator=estimator,
                interval=interval,
                action_features=action_features,
                statistic=statistic,
                repair=repair,
                level=level,
                seed=seed,
                exact=exact,
                client=client,
                wording=wording,
            )
            opened, answer = stage.work(named, target)
        with output.files_written(answer):
            output.print(opened, answer, named.source)
            gate.enforce(answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """How a log is to be evaluated."""

    estimator: list[str] | None
    repair: opt.RepairChoice
    level: float
    seed: int
    interval: str | None = None
    action_features: str | None = None
    statistic: str = "mean"
    by: list[str] | None = None
    exact: bool | None = None
    client: Client | None = None
    wording: Wording = field(default_factory=Wording)

    def work(self, named: LogOptions, target: list[str]) -> tuple[Opened, Evaluation]:
        """Read and evaluate, with a bar on a terminal."""
        from kwis._validation import level as checked

        checked(self.level)
        with progress(f"reading {named.source}") as told:
            opened = self._opened(named, target, told)
            from kwis.evaluation.run import evaluate as run

            log: Any = opened  # which only kwis itself hands over
            answer = run(log, **self._asked(target, opened.log.table, told))
        return opened, answer

    def _opened(self, named: LogOptions, target: list[str], told: Any) -> Opened:
        """The log; of many rows some columns, where these are enough."""
        from kwis.evaluation.opening import Opened, opened_leanly

        scanned = named.scanned(self.client)
        lean = None
        if scanned is not None:
            columns = getattr(scanned.source, "types", ())
            lean = opened_leanly(scanned, {}, self._asked(target, columns, told))
        return lean or Opened(named.opened(scanned, self.client, told))

    def _asked(self, target: list[str], columns: Container[str], told: Any) -> dict[str, Any]:
        """The arguments of :func:`kwis.evaluate`."""
        return {
            "target": targets_of(target, columns),
            "estimators": estimators_of(opt.listed(self.estimator)),
            "interval": self.interval,
            "by": opt.listed(self.by, columns) or (),
            "action_features": self.action_features,
            "statistic": self.statistic,
            "repair": self.repair.value,
            "level": self.level,
            "rng": self.seed,
            "exact": self.exact,
            "client": self.client,
            "progress": told,
            **self.wording.arguments(columns),
        }
