"""kwis.evaluate gives the numbers of the core, whatever the shape of the question."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import kwis
from kwis.estimators.difference import Difference, PairedSample
from kwis.evaluation import LOGGING_POLICY
from kwis.policy.discrete import weigh
from kwis.policy.target import resolve_target

WEIGHTED = (
    "vis",
    "truncated-vis",
    "wis",
    "state-wis",
    "normalised-state-wis",
    "kernel-wis",
    "normalised-kernel-wis",
)
MODELLED = ("direct-method", "doubly-robust", "doubly-robust-wis", "doubly-robust-normalised-kernel-wis")
FAST = {
    "interval": kwis.InfluenceInterval(),
    "estimators": ["vis", "wis", kwis.KernelWIS(1.5, normalised=True)],
}


def _row(evaluation, target, estimator, reward="click"):
    (found,) = [
        row
        for row in evaluation.rows
        if (row.target, row.estimator, row.reward) == (target, estimator, reward)
    ]
    return found


def _change(evaluation, target, estimator, reward="click", baseline=LOGGING_POLICY):
    wanted = (target, estimator, reward, baseline)
    (found,) = [
        one for one in evaluation.changes if (one.target, one.estimator, one.reward, one.baseline) == wanted
    ]
    return found


def test_there_is_a_row_for_every_policy_estimator_and_reward(evaluation):
    got = {(row.target, row.estimator, row.reward) for row in evaluation.rows}
    expected = {
        (target, name, reward)
        for target in ("p_new", "p_bold")
        for name in WEIGHTED + MODELLED
        for reward in ("click", "revenue")
    }
    expected |= {(LOGGING_POLICY, "mean of the log", reward) for reward in ("click", "revenue")}
    assert got == expected
    assert len(got) == len(evaluation.rows)
    assert evaluation.targets == ("p_new", "p_bold")


def test_the_logging_policy_is_the_mean_of_the_log(evaluation, log):
    row = _row(evaluation, LOGGING_POLICY, "mean of the log", "revenue")
    assert row.estimate.value == pytest.approx(log.reward[:, 1].mean(), rel=1e-12)
    assert row.verdict.level == "trust"


def test_estimates_and_intervals_are_those_of_the_core(evaluation, log):
    context = log.without_context(["p_new"])
    sample = weigh(context, resolve_target(context, "p_new"), "click")
    bandwidth = kwis.KernelWIS().estimate(sample).bandwidth
    for estimator in (
        kwis.VIS(),
        kwis.WIS(),
        kwis.StateWIS(),
        kwis.KernelWIS(bandwidth),
        kwis.KernelWIS(bandwidth, normalised=True),
    ):
        row = _row(evaluation, "p_new", estimator.name)
        alone, interval = (
            estimator.estimate(sample),
            kwis.Bootstrap(200).interval(estimator, sample, 0.95, rng=0),
        )
        assert row.estimate.value == pytest.approx(alone.value, rel=1e-11)
        assert row.estimate.std_error == pytest.approx(alone.std_error, rel=1e-8)
        assert (row.interval.low, row.interval.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert _row(evaluation, "p_new", "kernel-wis").estimate.choice.value == bandwidth


def test_changes_are_paired(evaluation, log):
    context = log.without_context(["p_new", "p_bold"])
    new, bold = (weigh(context, resolve_target(context, name), "click") for name in ("p_new", "p_bold"))
    logging = kwis.WeightedSample(
        context=context.context, weight=np.ones(log.n), reward=log.reward[:, 0], group=log.group
    )
    alone = kwis.Bootstrap(200).interval(
        Difference(kwis.WIS(), kwis.WIS()), PairedSample(new, logging), 0.95, rng=0
    )
    change = _change(evaluation, "p_new", "wis").interval
    assert (change.low, change.value, change.high) == pytest.approx(
        (alone.low, alone.value, alone.high), rel=1e-9
    )
    between = kwis.difference(kwis.WIS(), new, bold, kwis.Bootstrap(200), rng=0)
    change = _change(evaluation, "p_new", "wis", baseline="p_bold").interval
    assert (change.low, change.high) == pytest.approx((between.low, between.high), rel=1e-9)


def test_simultaneous_intervals_contain_the_single_ones(evaluation):
    for change in evaluation.changes:
        assert change.simultaneous.low <= change.interval.low + 1e-15
        assert change.simultaneous.high >= change.interval.high - 1e-15


def test_one_estimate_per_target_and_reward_is_recommended(evaluation):
    assert set(evaluation.recommended) == {"p_new", "p_bold"}
    for found in evaluation.recommendations:
        rows = [
            row
            for row in evaluation.rows
            if (row.target, row.reward) == (found.target, found.reward) and row.recommended
        ]
        assert rows == [found.row]
        assert found.change.recommended
        assert found.change.estimator == found.row.estimator
        assert found.why
        assert found.runner_up is not None
        assert found.runner_up.estimator != found.row.estimator


def test_several_rewards_equal_one_at_a_time(sample):
    options = {
        "interval": kwis.Bootstrap(50),
        "estimators": ["wis", "kernel-wis", "normalised-kernel-wis", "doubly-robust-wis"],
    }
    both = kwis.evaluate(sample.read(), "p_new", **options)
    for reward in ("click", "revenue"):
        alone = kwis.evaluate(sample.read(reward=reward), "p_new", **options)
        for row in alone.rows:
            same = _row(both, row.target, row.estimator, reward)
            assert same.estimate.value == pytest.approx(row.estimate.value, rel=1e-11)
            assert (same.interval.low, same.interval.high) == pytest.approx(
                (row.interval.low, row.interval.high), rel=1e-9
            )


def test_every_format_gives_the_same_numbers(sample, tmp_path: Path):
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    values = []
    for source in (
        sample.table,
        pandas.DataFrame(sample.table),
        polars.DataFrame(dict(sample.table)),
        sample.write(tmp_path / "log.parquet"),
    ):
        log = kwis.read_log(source, **sample.arguments)
        found = kwis.evaluate(
            log, "p_new", interval=kwis.InfluenceInterval(), estimators=["wis", "kernel-wis", "doubly-robust"]
        )
        values.append([(row.estimate.value, row.interval.low, row.interval.high) for row in found.rows])
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], rtol=1e-12)


def test_equal_rewards_leave_nothing_to_estimate(sample):
    table = {**sample.table, "same": np.full(400, 2.5)}
    log = kwis.read_log(table, **{**sample.arguments, "reward": "same"})
    found = kwis.evaluate(log, "p_new", interval=kwis.Bootstrap(50))
    for name in (
        "wis",
        "normalised-state-wis",
        "normalised-kernel-wis",
        "doubly-robust-wis",
        "doubly-robust-normalised-kernel-wis",
    ):
        row = _row(found, "p_new", name, "same")
        assert (row.interval.low, row.estimate.value, row.interval.high) == pytest.approx(
            (2.5, 2.5, 2.5), rel=1e-9
        )
    assert "2.5" in str(found.table())
    assert "not told apart" in repr(found)


def test_a_row_weight_of_two_equals_the_row_twice(sample):
    twice = np.arange(400) % 3 == 0
    weighted = {**sample.table, "stands_for": np.where(twice, 2.0, 1.0)}
    repeated = {name: np.concatenate([column, column[twice]]) for name, column in sample.table.items()}
    arguments = {**sample.arguments, "group": None, "reward": "click", "context": ["country", "member"]}
    one = kwis.evaluate(kwis.read_log(weighted, **arguments, row_weight="stands_for"), "p_new", **FAST)
    other = kwis.evaluate(kwis.read_log(repeated, **arguments), "p_new", **FAST)
    for a, b in zip(one.rows, other.rows, strict=True):
        assert a.estimate.value == pytest.approx(b.estimate.value, rel=1e-11)


def test_groups_widen_the_interval_of_rows_that_repeat_each_other(sample):
    copies = {name: np.repeat(column, 4) for name, column in sample.table.items()}
    arguments = {**sample.arguments, "reward": "click"}
    copies["visit"] = np.repeat(np.arange(400), 4)
    single = kwis.evaluate(
        kwis.read_log(sample.table, **{**arguments, "group": None}), "p_new", repair="never", **FAST
    )
    grouped = kwis.evaluate(
        kwis.read_log(copies, **{**arguments, "group": "visit"}), "p_new", repair="never", **FAST
    )
    noticed = kwis.evaluate(
        kwis.read_log(copies, **{**arguments, "group": None}), "p_new", repair="never", **FAST
    )
    widths = [_row(found, "p_new", "wis").interval.width for found in (single, grouped, noticed)]
    assert widths[1] == pytest.approx(widths[0], rel=1e-2)
    assert widths[2] == pytest.approx(
        widths[0], rel=1e-2
    )  # copies are one decision, whether somebody says so or not


def test_the_same_seed_gives_the_same_answer_and_a_generator_is_written_down(log):
    first = kwis.evaluate(
        log, "p_new", estimators=["wis"], interval=kwis.Bootstrap(50), rng=np.random.default_rng(4)
    )
    again = kwis.evaluate(
        log, "p_new", estimators=["wis"], interval=kwis.Bootstrap(50), rng=first.settings.seed
    )
    assert [row.interval.low for row in first.rows] == [row.interval.low for row in again.rows]


def test_absent_propensities_are_estimated_and_the_result_says_so(sample):
    log = sample.read(propensity=False, reward="click")
    found = kwis.evaluate(log, "p_new", propensity_model=LogisticRegression(max_iter=500), **FAST)
    assert any("propensities were estimated" in note and "LogisticRegression" in note for note in found.notes)
    assert found.propensity.estimated
    assert found.recommended["p_new"].row.estimator == "normalised-kernel-wis"
    assert found.recommended["p_new"].row.verdict.level != "trust"


def test_a_logger_that_left_nothing_to_chance_is_refused(sample):
    table = {**sample.table, "propensity": np.ones(400)}
    with pytest.raises(kwis.UnsupportedError, match="left nothing to chance"):
        kwis.evaluate(kwis.read_log(table, **sample.arguments), "p_new", **FAST)


@pytest.mark.parametrize("wrong", ["bootstrapped", kwis.Bootstrap, 0.9])
def test_what_is_no_interval_method_is_refused(sample, wrong):
    rule = r"(an interval method such as kwis.Bootstrap\(\)|one of .*)"
    with pytest.raises(kwis.InputError, match=rf"^`interval` must be {rule}, got "):
        kwis.evaluate(sample.read(reward="click"), "p_new", interval=wrong)


def test_a_target_known_at_logged_actions_only_has_no_reward_model(sample):
    log = sample.read(reward="click")
    found = kwis.evaluate(log, {"half": kwis.probability("p_new_email")}, interval=kwis.InfluenceInterval())
    assert {row.estimator for row in found.rows if row.target == "half"} == set(WEIGHTED)
    assert any("probability of every action" in note for note in found.notes)
    with pytest.raises(kwis.UnsupportedError, match="probability for every action"):
        kwis.evaluate(log, {"half": kwis.probability("p_new_email")}, estimators="doubly-robust")


def test_an_outcome_in_the_context_is_asked_about():
    rng = np.random.default_rng(0)
    n = 300
    reward = rng.normal(size=n)
    table = {
        "paid": 3 * reward + 1,
        "x": rng.normal(size=n),
        "action": rng.integers(2, size=n),
        "reward": reward,
        "p": np.full(n, 0.5),
    }
    question = "is something decided after the action, such as another outcome, part of the context?"
    for context, asked in ((["x", "paid"], True), (["x"], False)):
        log = kwis.read_log(table, propensity="p", context=context)
        found = kwis.evaluate(log, np.tile([0.7, 0.3], (n, 1)), repair="never")
        rows = [row for row in found.rows if row.target != LOGGING_POLICY]
        assert len(rows) > 5
        assert all(any(question in reason for reason in row.verdict.reasons) == asked for row in rows)
        assert not asked or {row.verdict.level for row in rows} <= {"with care", "do not trust"}


def test_a_target_that_never_agrees_with_the_log_is_refused(log):
    with pytest.raises(kwis.UnsupportedError, match="never has probability 0 in every row"):
        kwis.evaluate(log, {"never": np.zeros(log.n)}, estimators="wis")


def test_a_custom_estimator_takes_part(log):
    class Median:
        name = "median"

        def estimate(self, sample):
            return kwis.Estimate(name=self.name, value=float(np.median(sample.reward)), n=sample.n)

    found = kwis.evaluate(
        log, "p_new", estimators=["wis", Median()], interval=kwis.Bootstrap(20, method="percentile")
    )
    row = _row(found, "p_new", "median", "revenue")
    assert row.estimate.value == np.median(log.reward[:, 1])
    assert math.isnan(_change(found, "p_new", "median", "revenue").p_value)


def test_an_interval_method_that_does_not_apply_is_replaced_and_noted(log):
    found = kwis.evaluate(
        log, "p_new", estimators=["vis", "wis"], interval=kwis.EmpiricalBernstein(bound=1000)
    )
    assert any("EmpiricalBernstein does not apply to wis" in note for note in found.notes)
    assert _row(found, "p_new", "wis").interval.method == "influence"
    assert set(found.settings.intervals.values()) == {
        "influence function"
    }  # rows are grouped, which it does not know


def test_few_rows_are_allowed_with_a_warning(sample):
    table = {name: column[:20] for name, column in sample.table.items()}
    with pytest.warns(kwis.KwisWarning, match="only 20 rows"):
        found = kwis.evaluate(kwis.read_log(table, **sample.arguments), "p_new", **FAST)
    assert any("only 20 rows" in note for note in found.notes)


def test_progress_is_told_from_start_to_end(log):
    told = []
    kwis.evaluate(log, "p_new", progress=lambda *step: told.append(step), **FAST)
    done, total, what = zip(*told, strict=True)
    assert done[0] == 0
    assert list(done) == sorted(done)
    assert (done[-1], what[-1]) == (total[-1], "done")
    assert any("p_new" in step for step in what)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"estimators": "kernel-wiss"}, "did you mean 'kernel-wis'"),
        ({"estimators": []}, "at least one estimator"),
        ({"estimators": ["wis", "wis"]}, "different names or settings"),
        ({"estimators": [3]}, "names or estimators"),
        ({"level": 1.0}, "`level` must be between 0 and 1"),
        ({"by": "contry"}, "did you mean 'country'"),
        ({"by": ["time"], "rng": -1}, "`rng` must be"),
        ({"target": {"logging policy": "p_new"}}, "must not be called"),
        ({"log": "log.csv"}, "'log.csv' does not exist"),
        (
            {"log": 3},
            "`log` must be a path, a data frame, an Arrow table or a dictionary of arrays, got builtins.int",
        ),
    ],
)
def test_bad_arguments_get_one_sentence(log, arguments, sentence):
    with pytest.raises(kwis.InputError, match=sentence):
        kwis.evaluate(arguments.pop("log", log), arguments.pop("target", "p_new"), **arguments)


@pytest.mark.filterwarnings("ignore:the log has only 4 rows")
def test_an_interval_beyond_all_numbers_is_refused_in_a_sentence():
    table = {
        "action": [0, 1, 0, 1],
        "reward": [1e100, -1e100, 1e100, 0.0],
        "propensity": [6e-209, 0.5, 0.5, 0.5],
        "p_new": [0.9] * 4,
    }
    log = kwis.read_log(table, propensity="propensity")
    with pytest.raises(
        kwis.InputError,
        match=(
            r"^`reward` must not be so large that an interval overflows, got .* around .*: use a larger "
            r"unit$"
        ),
    ):
        kwis.evaluate(log, "p_new", estimators=["vis"])
