"""An evaluation made by hand: every record the report reads, with names of the caller's choice and seeded
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kwis.checks.findings import (
    Balance,
    Drift,
    InfluentialRow,
    LocalMeanWeight,
    MeanTest,
    Period,
    PropensityReport,
    TargetDiagnostics,
    WeightDiagnostics,
)
from kwis.evaluation import (
    LOGGING_POLICY,
    Change,
    Evaluation,
    Path,
    Place,
    Ranking,
    Recommendation,
    Row,
    Segment,
    Segments,
    Settings,
)
from kwis.models.propensity.check import Finding, PropensityCheck
from kwis.models.propensity.reliability import Reliability
from kwis.models.propensity.support import Support
from kwis.results import Estimate, Interval, Verdict

ESTIMATORS = ("vis", "truncated-vis", "wis", "state-wis", "normalised-kernel-wis")
CHOSEN = "normalised-kernel-wis"
CARE = Verdict(
    level="with care",
    reasons=(
        "propensities are wrong; country = BR: mean weight of p_new 1.42, 95% 1.21 to 1.63, 412 rows",
        "one row carries 6% of the weight",
    ),
)
N = 4000
LEVEL = 0.95


def interval(value: float, half: float) -> Interval:
    return Interval(low=value - half, high=value + half, level=LEVEL, value=value, method="bootstrap")


def evaluation_of(
    targets: Sequence[str] = ("p_new", "p_bold"),
    rewards: Sequence[str] = ("click",),
    *,
    gains: Sequence[float] = (0.021, 0.034),
    half: float = 0.013,
    verdicts: Sequence[Verdict] = (CARE, Verdict(level="trust")),
    column: str = "country",
    actions: Sequence[str] = ("banner", "email", "push"),
    now: float = 0.1214,
    notes: Sequence[str] = ("6 rows without a device were kept, as a category of their own",),
) -> Evaluation:
    """An evaluation of the targets; the i-th gains ``gains[i]``, give or take ``half``, with the i-th
    verdict.
    """
    rows: list[Row] = []
    changes: list[Change] = []
    for reward in rewards:
        rows.append(_row(LOGGING_POLICY, reward, "mean", now, 0.01, Verdict(level="trust"), recommended=True))
        for estimator in ESTIMATORS:
            for target, gain, verdict in zip(targets, gains, verdicts, strict=False):
                shift, scale = {
                    "vis": (0.06, 9.0),
                    "truncated-vis": (-0.004, 1.4),
                    "state-wis": (0.003, 1.9),
                }.get(estimator, (0.0, 1.0))
                value, mine = gain + shift * half / 0.013, estimator == CHOSEN
                rows.append(
                    _row(
                        target, reward, estimator, now + value, 1.3 * half * scale, verdict, recommended=mine
                    )
                )
                changes.append(
                    _change(target, LOGGING_POLICY, reward, estimator, value, half * scale, recommended=mine)
                )
    return Evaluation(
        rows=tuple(rows),
        changes=tuple(changes),
        recommendations=tuple(
            _recommendation(target, reward, rows, changes) for reward in rewards for target in targets
        ),
        diagnostics={
            name: _diagnostics(name, column, verdict)
            for name, verdict in zip(targets, verdicts, strict=False)
        },
        propensity=_propensity(targets[0], column, actions),
        rankings=tuple(_ranking(targets, reward, rows, gains, half) for reward in rewards),
        paths=tuple(
            _path(target, rewards[0], now + gain, half) for target, gain in zip(targets, gains, strict=False)
        ),
        segments=(_segments(targets, rewards[0], column, gains, half, rows),),
        drift=_drift(rewards[0], actions, now),
        weights={name: np.random.default_rng(7).lognormal(-0.4, 0.9, N) for name in targets},
        notes=tuple(notes),
        settings=Settings(
            version="0.1.0",
            n=N,
            level=LEVEL,
            seed=0,
            rewards=tuple(rewards),
            targets={name: f"column {name!r}" for name in targets},
            estimators=ESTIMATORS,
            intervals=dict.fromkeys(ESTIMATORS, "bootstrap, 1,000 resamples"),
            bandwidths=dict.fromkeys(targets, 0.8),
            selection_rows=N,
            path_rows=2000,
            context=(column, "age", "hour"),
        ),
    )


def _row(
    target: str,
    reward: str,
    estimator: str,
    value: float,
    half: float,
    verdict: Verdict,
    *,
    recommended: bool,
) -> Row:
    estimate = Estimate(name=estimator, value=value, n=N, std_error=half / 2, effective_n=1234.5)
    return Row(
        target=target,
        reward=reward,
        estimate=estimate,
        interval=interval(value, half),
        verdict=verdict,
        recommended=recommended,
    )


def _change(
    target: str, baseline: str, reward: str, estimator: str, value: float, half: float, *, recommended: bool
) -> Change:
    return Change(
        target=target,
        baseline=baseline,
        reward=reward,
        estimator=estimator,
        interval=interval(value, half),
        simultaneous=interval(value, 1.2 * half),
        std_error=half / 2,
        p_value=0.01,
        recommended=recommended,
    )


def _recommendation(
    target: str, reward: str, rows: Sequence[Row], changes: Sequence[Change]
) -> Recommendation:
    mine = {row.estimator: row for row in rows if (row.target, row.reward) == (target, reward)}
    change = next(
        each for each in changes if (each.target, each.reward, each.estimator) == (target, reward, CHOSEN)
    )
    why = (
        "the propensities fail their tests (country = BR; p = 0.0004)",
        "so weights are normalised around each context (Kernel-WIS)",
    )
    disagreement = "the two differ by less than their intervals"
    return Recommendation(
        target=target,
        reward=reward,
        row=mine[CHOSEN],
        change=change,
        why=why,
        runner_up=mine["wis"],
        disagreement=disagreement,
    )


def _test(
    region: str, column: str | None, target: str, mean: float, half: float, n: int, p_value: float
) -> MeanTest:
    return MeanTest(
        kind="weight",
        subject=target,
        region=region,
        column=column,
        n=n,
        mean=mean,
        low=mean - half,
        high=mean + half,
        z=(mean - 1) / half * 2,
        p_value=p_value,
    )


def _tests(target: str, column: str) -> tuple[MeanTest, ...]:
    ages = [
        _test(f"age from {low} to {low + 12}", "age", target, 1 + 0.004 * (low - 40), 0.12, 1000, 0.9)
        for low in (18, 31, 44, 57)
    ]
    levels = [
        _test(f"{column} = {name}", column, target, 0.97, 0.1, 800, 0.8) for name in ("DE", "FR", "IN", "US")
    ]
    everywhere = _test("everywhere", None, target, 1.05, 0.05, N, 0.2)
    return (everywhere, _test(f"{column} = BR", column, target, 1.42, 0.21, 412, 0.0004), *levels, *ages)


def _diagnostics(target: str, column: str, verdict: Verdict) -> TargetDiagnostics:
    rng = np.random.default_rng(3)
    mean = 1 + 0.12 * rng.standard_normal(500) + 0.35 * (rng.random(500) < 0.1)
    features = ("age", f"{column} = BR", f"{column} = DE", "hour", "member = yes")
    return TargetDiagnostics(
        target=target,
        weights=WeightDiagnostics(
            n=N,
            effective_n=1834.0,
            largest_share=0.0061,
            zero_share=0.0,
            mean=1.049,
            std_error=0.02,
            p_value=0.014,
            probabilities=np.array([0.0, 0.05, 0.5, 0.95, 1.0]),
            quantiles=np.array([0.02, 0.15, 0.7, 2.9, 17.3]),
            pareto_k=0.41,
            influential=tuple(
                InfluentialRow(row=100 * k, weight=17.3 / k, reward=1.0, share=0.006 / k, effect=0.002 / k)
                for k in (1, 2, 3)
            ),
        ),
        local=LocalMeanWeight(
            target=target,
            bandwidth=0.8,
            rows=np.arange(500),
            mean=mean,
            low=mean - 0.25,
            high=mean + 0.25,
            outside=0.13,
            p_value=0.0004,
            tests=_tests(target, column),
        ),
        balance=Balance(
            features=features,
            before=np.array([0.31, -0.22, 0.05, 0.12, -0.4]),
            after=np.array([0.02, -0.15, 0.01, 0.03, -0.04]),
            weighted=np.array([0.01, 0.2, 0.0, 0.0, 0.03]),
            effective_n=900.0,
        ),
        support=Support(never_logged=(), beyond=0.0, rows=0),
        verdict=verdict,
    )


def _propensity(target: str, column: str, actions: Sequence[str]) -> PropensityReport:
    tests = _tests(target, column)
    predicted = np.linspace(0.08, 0.72, 10)
    return PropensityReport(
        verdict=Verdict(level="with care", reasons=(f"propensities are wrong; {tests[1].words}",)),
        p_value=0.0004,
        level=0.05,
        failures=(tests[1],),
        tests=tests,
        check=PropensityCheck(
            findings=(
                Finding(kind="rounded", serious=False, sentence="propensities are rounded to 3 digits"),
            ),
            reliability=Reliability(
                predicted=predicted,
                observed=predicted
                + np.array([0.002, -0.004, 0.01, 0.003, -0.01, 0.004, 0.05, -0.01, 0.01, -0.02]),
                std_error=np.full(10, 0.012),
                count=np.full(10, 1200),
                expected_calibration_error=0.0123,
                expected_by_chance=0.0096,
            ),
            fit_p_value=0.2,
        ),
        estimated=False,
        notes=(f"actions with few rows were left out: {actions[0]}",),
    )


def _ranking(
    targets: Sequence[str], reward: str, rows: Sequence[Row], gains: Sequence[float], half: float
) -> Ranking:
    row_of = {row.target: row for row in rows if row.reward == reward and row.recommended}
    standing = sorted(
        [*zip(targets, gains, strict=False), (LOGGING_POLICY, 0.0)], key=lambda entry: -entry[1]
    )
    pairs = [(one, two) for place, one in enumerate(standing) for two in standing[place + 1 :]]
    differences = [
        _change(one[0], two[0], reward, CHOSEN, one[1] - two[1], half, recommended=True) for one, two in pairs
    ]
    places = [Place(target=name, best=1, worst=len(standing), row=row_of[name]) for name, _ in standing]
    words = (
        (
            f"{' and '.join(name for name, _ in standing)} cannot be told apart (all comparisons together at "
            f"95%)"
        ),
    )
    return Ranking(reward=reward, places=tuple(places), differences=tuple(differences), words=words)


def _path(target: str, reward: str, value: float, half: float) -> Path:
    bandwidths = np.array([0.0, *np.geomspace(0.05, 20, 17), math.inf])
    chosen = float(bandwidths[9])
    values = value + half * np.linspace(0.8, -0.3, bandwidths.size) ** 3
    return Path(
        target=target,
        reward=reward,
        bandwidths=bandwidths,
        values=values,
        lows=values - half * np.linspace(2, 1, bandwidths.size),
        highs=values + half * np.linspace(2, 1, bandwidths.size),
        chosen=chosen,
        level=LEVEL,
        rows=2000,
    )


def _segments(
    targets: Sequence[str], reward: str, column: str, gains: Sequence[float], half: float, rows: Sequence[Row]
) -> Segments:
    found = []
    for place, name in enumerate(("BR", "DE", "FR", "IN", "US")):
        changes = tuple(
            _change(
                target, LOGGING_POLICY, reward, CHOSEN, gain * (0.3 + 0.4 * place), 2 * half, recommended=True
            )
            for target, gain in zip(targets, gains, strict=False)
        )
        found.append(Segment(columns=(column,), values=(name,), n=800, rows=tuple(rows[:1]), changes=changes))
    return Segments(columns=(column,), segments=tuple(found))


def _drift(reward: str, actions: Sequence[str], now: float) -> Drift:
    shares = np.full(len(actions), 1 / len(actions))
    periods = tuple(
        Period(
            label=f"2024-03-{4 + 7 * k:02d} to 2024-03-{10 + 7 * k:02d}",
            n=1000,
            reward=now * (1 + 0.05 * k),
            std_error=0.01,
            actions=shares,
        )
        for k in range(4)
    )
    return Drift(
        by="time",
        reward_name=reward,
        action_names=tuple(actions),
        periods=periods,
        reward_p_value=0.3,
        action_p_value=0.5,
        context_p_value=math.nan,
        findings=(),
    )
