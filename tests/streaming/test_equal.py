"""A scan gives the numbers of the same log in memory, however its rows are cut, ordered and merged."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kwis
from kwis.checks.bound import has_bounded_weights
from kwis.checks.weight import weight_diagnostics as in_memory
from kwis.large.runner import Threads
from kwis.models.propensity.support import support
from kwis.policy.discrete import weigh
from kwis.policy.target import resolve_targets
from kwis.streaming import evaluate_scanned, merged, scan_log
from kwis.streaming.counts import counts_of, row_keys
from kwis.streaming.evaluate import planned
from kwis.streaming.source import Batch, ParquetFiles
from tests.reference import streaming as twin
from tests.streaming.logs import ACTIONS, columns, table, write

ROLES: dict[str, Any] = {
    "propensity": "propensity",
    "context": ["age", "country"],
    "reward": ["reward", "cost"],
    "row_weight": "thinned",
}
TARGETS = {"new": kwis.probability("p_new"), "pick": kwis.chosen("pick"), "whole": kwis.distribution("p_new")}
ESTIMATORS = {
    "vis": kwis.VIS(),
    "truncated-vis": kwis.TruncatedVIS(),
    "wis": kwis.WIS(),
    "state-wis": kwis.StateWIS(),
    "normalised-state-wis": kwis.StateWIS(normalised=True),
}


@pytest.fixture(scope="module")
def found() -> kwis.Evaluation:
    return evaluate_scanned(scan_log(table(), **ROLES), TARGETS, estimators=list(ESTIMATORS), replicates=40)


@pytest.fixture(scope="module")
def log() -> kwis.LoggedBandit:
    return kwis.read_log(columns(), **ROLES)


def samples(log: kwis.LoggedBandit) -> dict[tuple[str, str], kwis.WeightedSample]:
    return {
        (target.name, reward): weigh(log, target, reward)
        for target in resolve_targets(log, TARGETS)
        for reward in ("reward", "cost")
    }


def test_values_errors_and_effective_sizes_are_those_of_the_log_in_memory(
    found: kwis.Evaluation, log: kwis.LoggedBandit
) -> None:
    inside = samples(log)
    rows = [row for row in found.rows if row.target in TARGETS]
    assert len(rows) == len(TARGETS) * 2 * len(ESTIMATORS)
    for row in rows:
        expected = ESTIMATORS[row.estimator].estimate(inside[row.target, row.reward])
        assert row.estimate.value == pytest.approx(expected.value, rel=1e-12)
        assert row.estimate.std_error == pytest.approx(expected.std_error, rel=1e-11)
        assert row.estimate.effective_n == pytest.approx(expected.effective_n, rel=1e-12)
        assert row.estimate.n == 3000
    logged = next(row for row in found.rows if row.target == "logging policy" and row.reward == "cost")
    assert logged.estimate.value == pytest.approx(
        np.average(columns()["cost"], weights=columns()["thinned"]), rel=1e-13
    )


def test_differences_have_the_standard_errors_of_the_log_in_memory(
    found: kwis.Evaluation, log: kwis.LoggedBandit
) -> None:
    inside = samples(log)
    ones = {
        reward: kwis.WeightedSample(
            context=log.context, weight=np.ones(3000), reward=log.reward[:, k], mass=log.row_weight
        )
        for k, reward in enumerate(("reward", "cost"))
    }
    compared = 0
    for change in found.changes:
        if change.baseline == "logging policy":
            baseline = kwis.WIS().estimate(ones[change.reward]).influence
        elif "state" in change.estimator:
            continue  # what two state estimates share beyond their linear parts is not kept
        else:
            baseline = ESTIMATORS[change.estimator].estimate(inside[change.baseline, change.reward]).influence
        ahead = ESTIMATORS[change.estimator].estimate(inside[change.target, change.reward]).influence
        gap = ahead - baseline
        # Two policies that are the same differ by nothing, of which vectors know half the digits.
        assert change.std_error == pytest.approx(np.sqrt((gap @ gap) / (3000 * 2999)), rel=1e-6, abs=1e-6)
        compared += 1
    assert compared == 30 + 18


def test_weight_diagnostics_are_those_of_the_log_in_memory(
    found: kwis.Evaluation, log: kwis.LoggedBandit
) -> None:
    bounded = {target.name: has_bounded_weights(log, target) for target in resolve_targets(log, TARGETS)}
    for (name, reward), sample in samples(log).items():
        if reward != "reward":
            continue
        expected, scanned = in_memory(sample, bounded=bounded[name]), found.diagnostics[name].weights
        for field in (
            "n",
            "effective_n",
            "largest_share",
            "zero_share",
            "mean",
            "std_error",
            "p_value",
            "pareto_k",
        ):
            assert getattr(scanned, field) == pytest.approx(getattr(expected, field), rel=1e-10), field
        assert scanned.quantiles == pytest.approx(expected.quantiles, rel=2e-3)
        assert (scanned.quantiles[0], scanned.quantiles[-1]) == (
            expected.quantiles[0],
            expected.quantiles[-1],
        )
        assert [row.row for row in scanned.influential[:3]] == [row.row for row in expected.influential[:3]]
        assert scanned.influential[0].effect == pytest.approx(expected.influential[0].effect, rel=1e-10)


def plan_of(whole: Any, **options: Any) -> Any:
    scanned = scan_log(whole, **{**ROLES, **options})
    return planned(scanned, Threads(), TARGETS, replicates=20, seed=5, states=True)[0]


def batches(whole: Any, cuts: list[int]) -> list[Batch]:
    edges = [0, *cuts, whole.num_rows]
    return [
        Batch(table=whole.slice(a, b - a), identity="", place="", start=a, offset=a)
        for a, b in itertools.pairwise(edges)
    ]


def finished(found: Any) -> list[np.ndarray]:
    sums = found.sums.finished()
    states = np.concatenate(list(found.states.chunks()))
    largest = [np.stack([one.finished().number, one.finished().mass]) for one in found.largest]
    return [
        sums.total.rounded,
        sums.products.rounded,
        sums.resampled.rounded,
        states[np.lexsort(states.T)],
        *largest,
    ]


def test_cuts_order_and_grouping_of_merges_change_nothing() -> None:
    whole = table()
    plan = plan_of(whole)
    reference = finished(plan.accumulated(batches(whole, [])))
    parts = batches(whole, [1, 2, 500, 1400, 1400, 2900])
    orders = {
        "left to right": lambda: merged([plan.accumulated([part]) for part in parts]),
        "right to left": lambda: merged([plan.accumulated([part]) for part in reversed(parts)]),
        "pairs first": lambda: merged(
            [merged([plan.accumulated([part]) for part in half]) for half in (parts[:3], parts[3:])]
        ),
        "one accumulator": lambda: plan.accumulated(parts),
        "through other processes": lambda: merged(
            [pickle.loads(pickle.dumps(plan.accumulated([part]))) for part in parts]
        ),
    }
    for name, order in orders.items():
        found = order()
        for expected, got in zip(reference, finished(found), strict=True):
            # Moments of states are plain sums of both signs; everything else is to the last bit or so.
            tolerance = 1e-12 if expected is reference[3] else 1e-15
            assert got == pytest.approx(expected, rel=tolerance, abs=1e-300), name
        assert found.subset.finished().num_rows == min(3000, plan.subset)
    assert plan.start().sums.cap == 0


def test_the_resamples_of_sums_are_the_same_to_the_last_bit() -> None:
    whole = table()
    plan = plan_of(whole)
    one = plan.accumulated(batches(whole, [])).sums.finished().resampled.rounded
    other = (
        merged([plan.accumulated([part]) for part in batches(whole, [17, 801, 2500])[::-1]])
        .sums.finished()
        .resampled.rounded
    )
    assert (one == other).all()


def test_rows_above_the_cap_are_held_aside_until_it_has_passed_them() -> None:
    whole = table()
    plan = plan_of(whole)
    early = plan.accumulated(batches(whole.slice(0, 60), []))
    assert early.sums.above.n == (early.sums.above.weight > early.sums.cap).any(axis=1).sum()
    late = plan.accumulated(batches(whole, []))
    assert 0 < late.sums.above.n < 10
    assert late.sums.cap == pytest.approx(np.sqrt(columns()["thinned"].sum()))


def test_intervals_are_percentiles_of_the_poisson_resamples_of_the_twin() -> None:
    data = columns(400)
    answer = evaluate_scanned(
        scan_log(pa.table(data), context=["age"]), "p_new", estimators=["vis", "wis"], replicates=30, rng=9
    )
    counts = counts_of(row_keys("", 0, 400), 9, 30)
    weight = data["p_new"] / data["propensity"]
    for name, bottom in (("vis", np.ones(400)), ("wis", weight)):
        values = [twin.resampled_ratio(weight * data["reward"], bottom, counts[:, b]) for b in range(30)]
        row = next(row for row in answer.rows if row.estimator == name)
        assert row.interval.distribution == pytest.approx(values, rel=1e-12)
        assert (row.interval.low, row.interval.high) == pytest.approx(
            twin.percentiles(values, 0.95), rel=1e-12
        )


def test_a_folder_gives_the_same_intervals_wherever_it_is_and_a_key_whatever_its_files(
    tmp_path: Path,
) -> None:
    whole = table(1500)
    options: dict[str, Any] = {"estimators": ["wis"], "replicates": 20}

    def ends(folder: Path, **roles: Any) -> tuple[float, float, float]:
        row = evaluate_scanned(scan_log(folder, context=["age"], **roles), "p_new", **options).rows[-1]
        return row.estimate.value, row.interval.low, row.interval.high

    a = write(tmp_path / "a", whole, [400, 900])
    b = write(tmp_path / "b", whole, [400, 900])
    recut = write(tmp_path / "c", whole.take(np.random.default_rng(0).permutation(1500)), [10, 10, 700])
    assert ends(a) == ends(b)
    assert ends(a)[1:] != ends(recut)[1:]
    assert ends(a, key="id") == pytest.approx(ends(recut, key="id"), rel=1e-14)


def test_files_of_the_same_name_in_different_folders_are_told_apart_in_resamples(tmp_path: Path) -> None:
    whole = table(60)
    for number in range(12):
        write(tmp_path / f"day={number:02}", whole.slice(5 * number, 5), [])
    folders = sorted(tmp_path.iterdir())
    expected = keys_of(tmp_path)
    assert expected.size == np.unique(expected).size == 60
    for source in (
        str(tmp_path / "*" / "part-0.parquet"),
        folders,
        [folder / "part-0.parquet" for folder in folders],
    ):
        np.testing.assert_array_equal(keys_of(source), expected)


def test_files_of_one_folder_are_known_by_their_names_however_they_are_listed(tmp_path: Path) -> None:
    folder = write(tmp_path / "log", table(30), [10, 20])
    expected = np.concatenate([row_keys(f"part-{number}.parquet", 0, 10) for number in range(3)])
    for source in (folder, [folder], str(folder / "*.parquet"), sorted(folder.iterdir())):
        np.testing.assert_array_equal(keys_of(source), expected)
    np.testing.assert_array_equal(keys_of(folder / "part-1.parquet"), expected[10:20])


def keys_of(source: Any) -> Any:
    found = ParquetFiles.of(source)
    return np.concatenate(
        [batch.keys() for part in found.parts(Threads()) for batch in found.read(part, ["reward"])]
    )


def test_with_every_reward_equal_the_interval_of_wis_has_no_width() -> None:
    data = columns(500) | {"reward": np.full(500, 0.3)}
    answer = evaluate_scanned(
        scan_log(pa.table(data), context=["age"]), "p_new", estimators=["wis"], replicates=50
    )
    row = answer.rows[-1]
    assert (row.estimate.value, row.interval.low, row.interval.high) == pytest.approx(
        (0.3, 0.3, 0.3), rel=1e-15
    )
    assert row.estimate.std_error < 1e-16


def test_rewards_far_from_zero_keep_their_spread() -> None:
    data = columns(2000)
    shifted = data | {"reward": data["reward"] + 1e7}
    near, far = (
        evaluate_scanned(
            scan_log(pa.table(one), context=["age", "country"]),
            "p_new",
            estimators=list(ESTIMATORS),
            replicates=0,
        )
        for one in (data, shifted)
    )
    errors = {row.estimator: row.estimate.std_error for row in near.rows}
    for row in far.rows:
        if row.estimator in ("wis", "normalised-state-wis", "mean of the log"):
            assert row.estimate.std_error == pytest.approx(errors[row.estimator], rel=1e-7)


def test_groups_are_drawn_whole_and_give_the_errors_of_groups() -> None:
    data = columns(4000)
    user = np.repeat(np.arange(400), 10)
    data |= {
        "user": user,
        "propensity": data["propensity"].clip(min=0.1),
        "reward": data["reward"] + 6 * np.random.default_rng(1).normal(size=400)[user],
    }
    answer = evaluate_scanned(
        scan_log(pa.table(data), context=["age"], group="user"),
        "p_new",
        estimators=["vis", "wis", "state-wis"],
        replicates=400,
    )
    log = kwis.read_log(data, propensity="propensity", context=["age"], group="user")
    sample = weigh(log, resolve_targets(log, "p_new")[0])
    row = next(row for row in answer.rows if row.estimator == "wis")
    expected = kwis.WIS().estimate(sample)
    assert row.estimate.value == pytest.approx(expected.value, rel=1e-12)
    assert row.estimate.std_error == pytest.approx(
        expected.std_error, rel=0.15
    )  # 400 resamples know it to 3.5 %, four times that
    assert not [row for row in answer.rows if row.estimator == "state-wis"]
    assert any("no state-wis" in note for note in answer.notes)
    ungrouped = evaluate_scanned(
        scan_log(pa.table(data), context=["age"]), "p_new", estimators=["wis"], replicates=2
    ).rows[-1]
    assert row.estimate.std_error > 1.3 * ungrouped.estimate.std_error


def test_groups_have_their_errors_where_intervals_are_not_percentiles() -> None:
    grouped = scan_log(table(800), context=["age"], group="user")
    usual = kwis.evaluate(grouped, "p_new", estimators=["vis", "wis"])
    normal = kwis.evaluate(grouped, "p_new", estimators=["vis", "wis"], interval=kwis.InfluenceInterval())
    for row, expected in zip(normal.rows, usual.rows, strict=True):
        assert row.estimate.std_error == expected.estimate.std_error
        assert row.interval.width == pytest.approx(2 * 1.959964 * expected.estimate.std_error, rel=1e-6)
        assert row.interval.method == "poisson-normal"
    assert [change.std_error for change in normal.changes] == [change.std_error for change in usual.changes]
    assert normal.diagnostics["p_new"].weights.std_error == usual.diagnostics["p_new"].weights.std_error
    assert any(
        note.startswith("standard errors are those of a Poisson bootstrap with 200 resamples")
        for note in normal.notes
    )


def test_support_is_that_of_the_log_in_memory_with_masses_and_with_actions_barred_in_some_rows(
    tmp_path: Path,
) -> None:
    n, names = 1000, [*ACTIONS, "up"]
    rng, data = np.random.default_rng(4), columns(1000)
    logger = rng.dirichlet(np.ones(4), n)
    logger[:, 3] = 0
    logger[np.arange(n), rng.integers(0, 3, n)] *= rng.uniform(size=n) < 0.5
    logger /= logger.sum(axis=1, keepdims=True)
    action = (logger.cumsum(axis=1) < rng.uniform(1e-9, 1 - 1e-9, (n, 1))).sum(axis=1)
    pick = rng.choice(4, n, p=[0.33, 0.33, 0.33, 0.01])
    target = rng.dirichlet(np.ones(4), n)
    data |= {
        "action": np.array(names, dtype=object)[action],
        "pick": np.array(names, dtype=object)[pick],
        "thinned": np.where(pick == 3, 100.0, 1.0),
        **{f"logger_{name}": logger[:, j] for j, name in enumerate(names)},
        **{f"whole_{name}": target[:, j] for j, name in enumerate(names)},
    }
    roles: dict[str, Any] = {
        "context": ["age"],
        "actions": names,
        "row_weight": "thinned",
        "propensity": "logger",
    }
    wanted = {"pick": kwis.chosen("pick"), "whole": kwis.distribution("whole")}
    source = write(tmp_path / "log", pa.table(data), [300, 301])
    scanned = evaluate_scanned(scan_log(source, **roles), wanted, estimators=["wis"], replicates=0)
    log = kwis.read_log(data, **roles)
    for policy in resolve_targets(log, wanted):
        found, expected = scanned.diagnostics[policy.name].support, support(log, policy)
        assert found.beyond == pytest.approx(expected.beyond, rel=1e-12)
        assert found.never_logged == expected.never_logged == ("up",)
        assert found.rows == (expected.rows if policy.name == "pick" else 0)
        assert expected.rows > 0


def test_the_tail_of_an_epsilon_greedy_log_is_bounded_in_a_scan_too() -> None:
    rng = np.random.default_rng(0)
    n, k = 2_000, 4
    chances = np.full((n, k), 0.02)
    chances[np.arange(n), rng.integers(0, k, n)] += 0.92
    action = (chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1)
    new = rng.dirichlet(np.full(k, 0.3), n)
    whole = {"x": rng.integers(0, 5, n), "action": action, "reward": rng.random(n)}
    whole |= {f"p_{j}": chances[:, j] for j in range(k)} | {f"q_{j}": new[:, j] for j in range(k)}
    roles: dict[str, Any] = {
        "propensity": [f"p_{j}" for j in range(k)],
        "context": ["x"],
        "actions": list(range(k)),
    }
    target = {"new": kwis.distribution([f"q_{j}" for j in range(k)])}
    scanned = evaluate_scanned(scan_log(pa.table(whole), **roles), target, estimators=["wis"], replicates=20)
    inside = kwis.read_log(whole, **roles)
    (policy,) = resolve_targets(inside, target)
    expected = in_memory(weigh(inside, policy), bounded=has_bounded_weights(inside, policy))
    assert in_memory(weigh(inside, policy)).pareto_k > expected.pareto_k
    assert scanned.diagnostics["new"].weights.pareto_k == pytest.approx(expected.pareto_k, rel=1e-10)
