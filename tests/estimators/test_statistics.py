"""Quantiles, tails, shares and whole distributions of the reward under a policy."""

import json

import numpy as np
import pytest

import kwis
from kwis.cli.main import main
from kwis.estimators.quantile import Ordered
from kwis.estimators.resampling import resamples_by_taking
from tests.estimators.catalogue import some_sample
from tests.reference import statistics as twin
from tests.reference.estimators import numerical_influence, standard_error

STATISTICS = [kwis.Quantile(0.3), kwis.Quantile(0.9), kwis.TailMean(0.8), kwis.TailMean(0.2, upper=False)]
every_statistic = pytest.mark.parametrize("estimator", STATISTICS, ids=lambda one: one.name)


def by_twin(estimator, sample, mass):
    lists = sample.weight.tolist(), sample.reward.tolist(), mass, estimator.share
    if isinstance(estimator, kwis.Quantile):
        return twin.quantile(*lists)
    return twin.tail_mean(*lists, estimator.upper)


@every_statistic
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
def test_the_value_is_that_of_the_twin(estimator, mass):
    for seed in range(5):
        sample = some_sample(40, seed, mass=mass)
        masses = [1.0] * 40 if sample.mass is None else sample.mass.tolist()
        assert estimator.estimate(sample).value == pytest.approx(
            by_twin(estimator, sample, masses), rel=1e-12
        )


@pytest.mark.parametrize("estimator", STATISTICS[2:], ids=lambda one: one.name)
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
def test_the_influence_of_a_tail_is_the_derivative_in_the_mass(estimator, mass):
    sample = some_sample(25, mass=mass)
    masses = [1.0] * 25 if sample.mass is None else sample.mass.tolist()
    slopes = numerical_influence(lambda trial: by_twin(estimator, sample, trial), masses)
    np.testing.assert_allclose(estimator.estimate(sample).influence, slopes, atol=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(("mass", "groups"), [(False, 0), (True, 0), (True, 9)])
def test_the_influence_of_a_quantile_is_that_of_the_twin(share, mass, groups):
    for n in (17, 40):
        sample = some_sample(n, 3, mass=mass, groups=groups)
        masses = [1.0] * n if sample.mass is None else sample.mass.tolist()
        labels = list(range(n)) if sample.group is None else sample.group.tolist()
        expected = twin.quantile_influence(
            sample.weight.tolist(), sample.reward.tolist(), masses, share, labels
        )
        np.testing.assert_allclose(kwis.Quantile(share).estimate(sample).influence, expected, atol=1e-10)


@every_statistic
@pytest.mark.parametrize("mass", [False, True], ids=["", "mass"])
def test_what_else_is_said_of_a_statistic(estimator, mass):
    sample = some_sample(25, 1, mass=mass, groups=7)
    masses = np.ones(25) if sample.mass is None else sample.mass
    found = estimator.estimate(sample)
    load = sample.weight
    if isinstance(estimator, kwis.TailMean):  # the rows of the tail alone carry it
        edge = twin.quantile(load.tolist(), sample.reward.tolist(), masses.tolist(), estimator.share)
        load = np.where(sample.reward >= edge if estimator.upper else sample.reward <= edge, load, 0.0)
    assert found.leverage == pytest.approx(load * masses / (load @ masses))
    assert found.effective_n == pytest.approx((load @ masses) ** 2 / np.square(load * masses).sum())
    assert found.mean_weight == pytest.approx(np.average(sample.weight, weights=masses))
    assert found.std_error == pytest.approx(standard_error(found.influence.tolist(), sample.group.tolist()))
    assert (found.name, found.n) == (estimator.name, 25)


@pytest.mark.parametrize("n", [3, 7, 10, 49])
def test_a_share_of_whole_rows_is_reached_whatever_the_rounding(n):
    rows = kwis.WeightedSample(context=np.zeros((n, 1)), weight=np.full(n, 0.1), reward=np.arange(n))
    assert [kwis.Quantile(k / n).estimate(rows).value for k in range(1, n)] == list(range(n - 1))


@pytest.mark.parametrize("share", [0.0, 1.0, 1.5, -0.1])
def test_shares_are_between_0_and_1(share):
    for statistic in (kwis.Quantile, kwis.TailMean):
        with pytest.raises(kwis.InputError, match="`share` must be"):
            statistic(share)


@every_statistic
@pytest.mark.parametrize("groups", [0, 6], ids=["", "groups"])
def test_counting_rows_and_taking_them_give_the_same(estimator, groups):
    sample = some_sample(30, mass=True, groups=groups)
    codes = np.arange(30) if sample.group is None else sample.group
    units = int(codes.max()) + 1
    counts = (
        np.random.default_rng(0).multinomial(units, np.full(units, 1 / units), size=8).T.astype(float)[codes]
    )
    fast = estimator.resampled(sample, counts, influence=True)
    slow = resamples_by_taking(estimator, sample, counts, influence=True)
    np.testing.assert_allclose(fast.values, slow.values, rtol=1e-12)
    np.testing.assert_allclose(fast.influence, slow.influence, rtol=1e-9, atol=1e-9)


@every_statistic
def test_every_reward_the_same_is_that_reward(estimator):
    sample = kwis.WeightedSample(context=np.zeros((9, 1)), weight=np.arange(9.0), reward=np.full(9, 2.5))
    interval = kwis.StudentInterval().interval(estimator, sample)
    assert (interval.low, interval.value, interval.high) == (2.5, 2.5, 2.5)


@every_statistic
def test_no_weight_at_all_is_refused(estimator):
    sample = kwis.WeightedSample(context=[[0.0], [1.0]], weight=[0, 0], reward=[1, 2])
    with pytest.raises(kwis.InputError, match="`weight` must be positive in at least one row"):
        estimator.estimate(sample)


def skewed_log(n, rng):
    """Lognormal rewards whose median depends on the action; the target takes each with known chances."""
    logging, target = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    action = rng.choice(3, size=n, p=logging)
    reward = np.exp(0.4 * action + 0.5 * rng.normal(size=n))
    return action, (target / logging)[action], reward


def truth_of(estimator):
    rng = np.random.default_rng(99)
    action = rng.choice(3, size=400_000, p=[0.2, 0.3, 0.5])
    reward = np.exp(0.4 * action + 0.5 * rng.normal(size=400_000))
    edge = np.quantile(reward, estimator.share)
    if isinstance(estimator, kwis.Quantile):
        return edge
    return reward[reward >= edge].mean() if estimator.upper else reward[reward <= edge].mean()


@pytest.mark.parametrize(
    "estimator", [kwis.Quantile(0.5), kwis.Quantile(0.95), kwis.TailMean(0.9)], ids=lambda one: one.name
)
def test_intervals_cover(estimator):
    rng, truth = np.random.default_rng(1), truth_of(estimator)
    held = []
    for _ in range(200):
        _, weight, reward = skewed_log(600, rng)
        sample = kwis.WeightedSample(context=np.zeros((600, 1)), weight=weight, reward=reward)
        held.append(truth in kwis.StudentInterval().interval(estimator, sample))
    assert 0.91 <= np.mean(held) <= 0.985


@pytest.mark.slow
def test_the_band_of_the_distribution_holds_everywhere_at_once():
    rng, held = np.random.default_rng(2), []
    everyone = np.sort(
        np.exp(0.4 * rng.choice(3, size=200_000, p=[0.2, 0.3, 0.5]) + 0.5 * rng.normal(size=200_000))
    )
    for _ in range(60):
        _, weight, reward = skewed_log(400, rng)
        sample = kwis.WeightedSample(context=np.zeros((400, 1)), weight=weight, reward=reward)
        found = kwis.reward_distribution(sample)
        inner = (found.share > 0.05) & (found.share < 0.95)  # in the far tails few rows tell anything
        truth = np.searchsorted(everyone, found.reward, side="right") / everyone.size
        held.append(((found.low <= truth) & (truth <= found.high))[inner].all())
        assert (np.diff(found.share) >= 0).all()
        assert (found.low <= found.share + 1e-12).all()
        assert (found.share <= found.high + 1e-12).all()
    assert np.mean(held) >= 0.9


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    action, _, reward = skewed_log(500, rng)
    propensity = np.array([0.5, 0.3, 0.2])[action]
    return {"x": rng.normal(size=500), "action": action, "reward": reward, "propensity": propensity}


TARGET = np.tile([0.2, 0.3, 0.5], (500, 1))


def test_an_evaluation_of_a_quantile_compares_quantiles(frame):
    log = kwis.read_log(frame, context=["x"])
    found = kwis.evaluate(log, TARGET, statistic="quantile:0.9", repair="never")
    logged, row = found.rows
    assert row.reward == "quantile 0.9 of reward"
    assert logged.estimate.value == twin.quantile([1.0] * 500, frame["reward"].tolist(), [1.0] * 500, 0.9)
    weight = TARGET[0][frame["action"]] / frame["propensity"]
    assert row.estimate.value == twin.quantile(weight.tolist(), frame["reward"].tolist(), [1.0] * 500, 0.9)
    assert row.interval.low < row.estimate.value < row.interval.high
    assert found.changes[0].interval.value == row.estimate.value - logged.estimate.value
    assert found.sensitivity == ()


def test_a_share_above_a_threshold_has_all_estimators(frame):
    log = kwis.read_log(frame, context=["x"])
    share = kwis.evaluate(log, TARGET, statistic="above:2", repair="never", estimators=["wis", "vis"])
    high = kwis.read_log({**frame, "reward": (frame["reward"] > 2).astype(float)}, context=["x"])
    same = kwis.evaluate(high, TARGET, repair="never", estimators=["wis", "vis"])
    assert [row.estimate.value for row in share.rows] == [row.estimate.value for row in same.rows]
    assert {row.reward for row in share.rows} == {"share of reward above 2"}


@pytest.mark.parametrize(
    "name", ["median", "quantile", "quantile:1.5", "quantile:x", "above:inf", "mean:1", 3, None]
)
def test_other_statistics_are_refused(frame, name):
    with pytest.raises(kwis.InputError, match="`statistic` must"):
        kwis.evaluate(kwis.read_log(frame, context=["x"]), TARGET, statistic=name)


def test_quantiles_have_no_other_estimators(frame):
    with pytest.raises(kwis.UnsupportedError, match="`estimators` must be left out, or wis, for quantile"):
        kwis.evaluate(kwis.read_log(frame, context=["x"]), TARGET, statistic="quantile:0.5", estimators="vis")


def test_the_command_takes_a_statistic(frame, tmp_path, capsys):
    path = tmp_path / "log.csv"
    columns = {**frame, "new": 0.5 * np.ones(500)}
    rows = zip(*(columns[name] for name in columns), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    arguments = [
        "evaluate",
        str(path),
        "--context",
        "x",
        "--target",
        "new",
        "--statistic",
        "cvar:0.9",
        "--json",
    ]
    assert main(arguments) == 0
    assert "mean above quantile 0.9 of reward" in json.dumps(json.loads(capsys.readouterr().out))


def test_the_lowest_quantile_is_the_smallest_reward_of_a_row_with_a_weight():
    sample = kwis.WeightedSample(context=np.zeros((3, 1)), weight=[2.0, 0.0, 1.0], reward=[1.0, -5.0, 3.0])
    rewards = Ordered.of(sample, np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]))
    assert rewards.quantile(np.array([0.0, 0.0])).tolist() == [1.0, 3.0]


def test_a_quantile_is_the_median_unless_it_says_so():
    sample = kwis.WeightedSample(context=np.zeros((4, 1)), weight=np.ones(4), reward=[1.0, 2.0, 3.0, 4.0])
    assert kwis.Quantile().estimate(sample).value == 2.0


@every_statistic
def test_one_row_has_a_statistic_but_no_standard_error(estimator):
    found = estimator.estimate(kwis.WeightedSample(context=[[0.0]], weight=[2.0], reward=[3.0]))
    assert found.value == 3.0
    assert np.isnan(found.std_error)


@every_statistic
def test_a_resample_without_positive_weights_has_no_value(estimator):
    sample = kwis.WeightedSample(context=np.zeros((2, 1)), weight=[0.0, 1.0], reward=[1.0, 4.0])
    values = estimator.resampled(sample, np.array([[2.0, 1.0], [0.0, 1.0]]), influence=True).values
    assert np.isnan(values[0])
    assert values[1] == 4.0


def test_what_does_not_add_up_is_not_added_up(frame):
    """A quantile times the number of decisions is nothing; names are those that the caller knows."""
    log = kwis.read_log(frame, context=["x"])
    words = {"unit": "s", "reward_label": {"reward": "waiting"}, "lower_is_better": ["reward"]}
    quantile, share = (
        kwis.evaluate(log, TARGET, statistic=name, repair="never", **words)
        for name in ("quantile:0.5", "above:1")
    )
    assert "quantile 0.5 of waiting: " in repr(quantile)
    assert " s under the logging policy" in repr(quantile)
    assert "less is better" in repr(quantile)
    assert "decisions of the log" not in repr(quantile)
    assert "per decision" not in repr(quantile)
    assert "decisions of the log" in repr(share)
    assert "share of waiting above 1: " in repr(share)
    with pytest.raises(
        kwis.InputError, match="`per` must be 1 for what does not add up over decisions, got 1000"
    ):
        kwis.evaluate(log, TARGET, statistic="cvar:0.9", per=1000)


def test_a_cost_is_asked_about_by_the_name_that_it_has(frame):
    log = kwis.read_log({**frame, "latency": frame["reward"]}, reward="latency", context=["x"])
    notes = kwis.evaluate(log, TARGET, statistic="quantile:0.5", repair="never").notes
    assert any("say lower_is_better=['latency']" in note for note in notes)
