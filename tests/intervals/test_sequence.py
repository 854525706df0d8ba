"""Confidence sequences, Clopper and Pearson, Efron-Stein, blocks: against twins, and how often they hold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import kwis
from kwis.intervals import wealth
from kwis.intervals.centred import SIZES, Centred, log_part, mirrored
from kwis.intervals.draws import count_chunks
from kwis.intervals.efron_stein import _simulated, _weights, variance_proxy
from kwis.intervals.wealth import SCALES, Wealth, log_mean_exp, refuted_below
from tests.reference import intervals as twin

LOGGING, TARGET, SUCCESS = np.array([0.4, 0.35, 0.25]), np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.4, 0.55])
TRUTH = float(TARGET @ SUCCESS)


def drawn(n, rng, success=SUCCESS, logging=LOGGING):
    action = rng.choice(3, size=n, p=logging)
    return action, (TARGET / logging)[action], (rng.random(n) < success[action]).astype(float)


def sample_of(weight, reward):
    return kwis.WeightedSample(context=np.zeros((len(weight), 1)), weight=weight, reward=reward)


class TestSequence:
    def test_the_ends_are_those_of_the_twin(self):
        _, weight, reward = drawn(40, np.random.default_rng(0))
        found = kwis.BettingSequence().interval(kwis.VIS(), sample_of(weight, reward))
        for terms, end in ((weight * reward, found.low), (weight * (1 - reward), 1 - found.high)):
            expected = twin.mixture_lower_bound(terms.tolist(), SCALES.tolist(), 0.025, 4_000)
            assert end == pytest.approx(expected, abs=2e-3)

    @pytest.mark.parametrize("largest", [1.0, 2.0, 7.0])
    @pytest.mark.parametrize("mean", [0.06, 0.45, 0.9])
    def test_the_ends_with_a_known_largest_weight_are_those_of_the_twin(self, largest, mean):
        rng = np.random.default_rng(0)
        weight = rng.choice([0.0, 1.0, 2.0], 80) if largest > 1 else np.ones(80)
        share = rng.beta(5 * mean, 5 * (1 - mean), 80)
        how = kwis.BettingSequence(bounds=(-1, 3), largest_weight=largest)
        found = how.interval(kwis.VIS(), sample_of(weight, 4 * share - 1), level=0.8)
        expected = twin.centred_ends(weight.tolist(), share.tolist(), largest, 0.2)
        assert expected[0] > 0 or expected[1] < 1  # or nothing would have been compared
        np.testing.assert_allclose([(found.low + 1) / 4, (found.high + 1) / 4], expected, atol=1 / 2_000)

    def test_a_known_largest_weight_makes_intervals_narrower(self):
        """Rewards between 0.4 and 0.6 say less with few rows where nothing is known of the weights."""
        rng = np.random.default_rng(8)
        weight, reward = rng.choice([0.0, 2.0], 1000), rng.uniform(0.4, 0.6, 1000)
        sample = sample_of(weight, reward)
        widths = [
            kwis.BettingSequence(largest_weight=largest).interval(kwis.VIS(), sample).width
            for largest in (None, 50.0, 2.0)
        ]
        assert widths[1] < 1.1 * widths[0]  # what bets may stake is little with large weights
        assert widths[2] < 0.5 * widths[0]

    @pytest.mark.parametrize("largest", [None, 1.5, 3.0, 12.0])
    @pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 3.0)])
    @pytest.mark.parametrize("mean", [0.1, 0.6])
    def test_the_ends_of_a_difference_to_the_log_are_those_of_the_twin(self, largest, bounds, mean):
        rng = np.random.default_rng(6)
        weight = rng.choice([0.5, 1.5], 60)
        share = (rng.random(60) < mean).astype(float)
        low, high = bounds
        span = high - low
        reward = low + span * share
        state = kwis.BettingSequence(bounds, largest).start(difference=True).add(weight, reward)
        found = state.interval(0.9)
        if largest is None:
            below, above = (
                twin.plain_end((weight * part + 1 - part).tolist(), 0.1, 500, 2.0)
                for part in (share, 1 - share)
            )
            expected = below - 1, 1 - above
        else:
            expected = twin.difference_ends(weight.tolist(), share.tolist(), largest, 0.1, 500)
        assert expected[0] > -1 or expected[1] < 1  # or nothing would have been compared
        np.testing.assert_allclose([found.low / span, found.high / span], expected, atol=2 / 500)
        assert found.value == pytest.approx(float(np.mean((weight - 1) * reward)))
        for value in (found.low - 1e-6, found.high + 1e-6):
            assert not -span < value < span or state.refutes(value, 0.9)
        for value in (found.low + 1e-6, found.high - 1e-6):
            assert not state.refutes(value, 0.9)

    def test_rows_in_parts_and_in_any_order_make_the_same(self):
        _, weight, reward = drawn(300, np.random.default_rng(1))
        start = kwis.BettingSequence(largest_weight=3.0).start()
        whole = start.add(weight, reward)
        parts = start.add(weight[200:], reward[200:]) + start.add(weight[:200], reward[:200])
        assert parts.n == whole.n == 300
        assert parts.interval().low == pytest.approx(whole.interval().low, abs=1e-12)
        assert parts.interval().high == pytest.approx(whole.interval().high, abs=1e-12)

    def test_one_look_is_logarithmic_smoothing(self):
        sample = sample_of(*drawn(200, np.random.default_rng(2))[1:])
        one, other = (
            method.interval(kwis.VIS(), sample)
            for method in (kwis.BettingSequence(), kwis.LogarithmicSmoothing())
        )
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-12)

    def test_thirty_looks_seldom_leave_the_truth_out(self):
        rng, looks = np.random.default_rng(3), np.unique(np.geomspace(10, 400, 30).astype(int))
        ever, widths = 0, []
        for repetition in range(60):
            _, weight, reward = drawn(400, rng)
            state, before, out = kwis.BettingSequence(largest_weight=2.0).start(), 0, False
            for look in looks:
                state, before = state.add(weight[before:look], reward[before:look]), look
                out = out or state.refutes(TRUTH)
            ever += out
            if repetition < 10:
                fixed = kwis.StudentInterval().interval(kwis.WIS(), sample_of(weight, reward))
                widths.append(state.interval().width / fixed.width)
        assert ever <= 60 * 0.05
        assert np.mean(widths) < 2.0

    @pytest.mark.slow
    @pytest.mark.parametrize("rates", [SUCCESS, SUCCESS / 20], ids=["usual", "rare"])
    def test_at_most_one_log_in_twenty_ever_leaves_the_truth_out(self, rates):
        rng, looks = np.random.default_rng(5), np.unique(np.geomspace(20, 2000, 50).astype(int))
        truth, ever = float(TARGET @ rates), 0
        for _ in range(1000):
            _, weight, reward = drawn(2000, rng, rates)
            state, before, out = kwis.BettingSequence(largest_weight=2.0).start(), 0, False
            for look in looks:
                state, before = state.add(weight[before:look], reward[before:look]), look
                out = out or state.refutes(truth)
            ever += out
        assert ever <= 50

    def test_refuting_is_leaving_out(self):
        state = kwis.BettingSequence().start().add(*drawn(400, np.random.default_rng(4))[1:])
        interval = state.interval(0.9)
        for value in (interval.low - 1e-6, interval.high + 1e-6):
            assert state.refutes(value, 0.9)
        for value in (interval.low + 1e-6, interval.high - 1e-6):
            assert not state.refutes(value, 0.9)

    def test_nothing_is_known_before_the_first_row(self):
        interval = kwis.BettingSequence(bounds=(-1.0, 3.0)).start().interval()
        assert (interval.low, interval.high) == (-1.0, 3.0)
        assert math.isnan(interval.value)

    def test_the_policy_of_the_log_differs_by_nothing(self):
        rewards = np.random.default_rng(2).random(2_000)
        found = kwis.BettingSequence(largest_weight=1.0).start(difference=True).add(np.ones(2_000), rewards)
        assert found.interval().value == 0.0
        assert -0.2 < found.interval().low < 0 < found.interval().high < 0.2

    def test_no_weight_above_1_would_leave_a_mean_below_1(self):
        with pytest.raises(kwis.InputError, match=r"`largest_weight` must be at least 1, .* got 0\.5"):
            kwis.BettingSequence(largest_weight=0.5)

    def test_what_does_not_fit_is_refused(self):
        start = kwis.BettingSequence(largest_weight=2.0).start()
        with pytest.raises(kwis.InputError, match=r"must hold for every `weight`, got 3.0 above 2 at row 1$"):
            start.add([1.0, 3.0], [0.0, 1.0])
        with pytest.raises(kwis.InputError, match="must be the same in both"):
            _ = start + kwis.BettingSequence().start()
        with pytest.raises(kwis.UnsupportedError, match="must be VIS for a betting sequence"):
            kwis.BettingSequence().interval(kwis.WIS(), sample_of(np.ones(3), np.ones(3)))


def test_bets_are_of_all_sizes():
    assert SCALES.tolist() == [2.0**k for k in range(-14, 3)]
    assert SIZES.tolist() == [2.0**k for k in range(-14, 6)]


@given(
    largest=st.floats(1.0, 1e6),
    share=st.sampled_from([0.0, 1.0]),
    heavy=st.booleans(),
    difference=st.booleans(),
)
def test_no_row_takes_more_than_its_bet_staked(largest, share, heavy, difference):
    """Rows at the corners of what can be are the worst."""
    row = np.array([largest if heavy else 0.0]), np.array([share])
    assert Centred.of(*row, largest, difference=difference).logs.min() >= math.log(0.02) - 1e-6


@given(
    largest=st.floats(1.0, 60.0), shares=st.tuples(st.floats(0, 1), st.floats(0, 1)), difference=st.booleans()
)
def test_bets_are_fair(largest, shares, difference):
    """With weights of mean 1 the capital at the true mean is the stake, on average over all that can be."""
    chance, (heavy, light) = 1 / largest, shares  # of the largest weight; others are 0
    value = heavy
    mean = 1 + value - (chance * heavy + (1 - chance) * light) if difference else value
    for guess in range(9):
        capital = [
            math.exp(Centred.of(*row, largest, difference=difference).log_capital(mean, guess))
            for row in ((np.array([largest]), np.array([heavy])), (np.zeros(1), np.array([light])))
        ]
        assert chance * capital[0] + (1 - chance) * capital[1] == pytest.approx(1.0, rel=1e-6)


def test_stakes_on_more_and_on_less_are_one_stake():
    for guess in range(9):
        parts = log_part(guess), log_part(mirrored(guess))
        assert sum(math.exp(part) for part in parts) == pytest.approx(1.0)


def test_the_number_of_rows_added_up_at_once_does_not_matter(monkeypatch):
    terms = np.random.default_rng(0).exponential(size=23)
    whole = Wealth.of(terms)
    monkeypatch.setattr(wealth, "_ROWS_AT_ONCE", 5)
    parts = Wealth.of(terms)
    assert whole.logs == pytest.approx([sum(math.log1p(scale * x) for x in terms) for scale in SCALES])
    assert (parts.n, parts.logs) == (23, pytest.approx(whole.logs))


def test_a_value_is_refuted_once_its_bets_have_won_enough():
    assert refuted_below(lambda v: 3.0 - 4 * v, 1.0) == pytest.approx(0.5, abs=1e-12)
    assert refuted_below(lambda v: 3.0 - 4 * v, 3.0) == 0.0
    assert refuted_below(lambda v: 9.0, 1.0, 2.0) == pytest.approx(2.0)
    assert log_mean_exp(np.log([2.0, 6.0])) == pytest.approx(math.log(4))


class TestClopperPearson:
    @pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
    @pytest.mark.parametrize("scale", [1.0, 0.1])  # the latter with less than one success
    def test_it_is_the_quantile_of_a_beta_distribution(self, level, scale):
        rng = np.random.default_rng(4)
        weight, reward = rng.uniform(0, 3, 17), scale * rng.random(17)
        found = kwis.ClopperPearson(3.0).interval(kwis.VIS(), sample_of(weight, reward), level)
        successes, tail = float(weight @ reward) / 3, (1 - level) / 2
        low = stats.beta.ppf(tail, successes, 17 - successes + 1)
        high = stats.beta.ppf(1 - tail, successes + 1, 17 - successes)
        assert (found.low, found.high) == pytest.approx((3 * low, 3 * high), rel=1e-9)
        assert found.value == pytest.approx(float(np.mean(weight * reward)))

    def test_nothing_but_successes_still_has_a_lower_end(self):
        found = kwis.ClopperPearson(2.0).interval(kwis.VIS(), sample_of(np.full(10, 2.0), np.ones(10)))
        assert found.low == pytest.approx(2 * 0.025 ** (1 / 10))
        assert (found.value, found.high) == (2.0, 2.0)

    def test_losses_are_refused(self):
        with pytest.raises(kwis.InputError, match=r"got -0.5 outside \[0, 2\] at row 0"):
            kwis.ClopperPearson(2.0).interval(kwis.VIS(), sample_of([0.5, 1.0], [-1.0, 1.0]))

    def test_equal_weights_have_the_textbook_interval(self):
        # 2 of 20: 1.2 % to 31.7 %, Clopper and Pearson (1934).
        found = kwis.ClopperPearson(1.0).interval(kwis.VIS(), sample_of(np.ones(20), np.arange(20) < 2))
        assert (found.low, found.high) == pytest.approx((0.0123, 0.3170), abs=1e-4)
        assert found.value == pytest.approx(2 / 20)

    def test_no_success_still_has_an_upper_end(self):
        found = kwis.ClopperPearson(2.0).interval(kwis.VIS(), sample_of(np.full(100, 1.5), np.zeros(100)))
        assert found.low == 0.0
        assert found.high == pytest.approx(2 * (1 - 0.025 ** (1 / 100)))

    def test_rare_successes_are_covered(self):
        rng, rates = np.random.default_rng(0), SUCCESS / 30
        method, truth = kwis.ClopperPearson(2.0), float(TARGET @ rates)
        held = [
            truth in method.interval(kwis.VIS(), sample_of(*drawn(300, rng, rates)[1:])) for _ in range(300)
        ]
        assert np.mean(held) >= 0.95

    def test_terms_beyond_the_bound_are_refused(self):
        with pytest.raises(kwis.InputError, match=r"got 3.0 outside \[0, 2\] at row 1"):
            kwis.ClopperPearson(2.0).interval(kwis.VIS(), sample_of([1.0, 3.0], [1.0, 1.0]))


class TestEfronStein:
    def test_the_proxy_is_that_of_the_twin(self):
        rng = np.random.default_rng(0)
        weight, fresh = rng.exponential(size=12) * (rng.random(12) < 0.7), rng.exponential(size=12)
        expected = twin.efron_stein_proxy(weight.tolist(), fresh.tolist())
        assert variance_proxy(weight, fresh) == pytest.approx(expected, rel=1e-12)

    def test_rows_without_any_weight_add_nothing_to_the_proxy(self):
        nothing, one = np.zeros(2), np.array([0.0, 1.0])
        assert variance_proxy(nothing, nothing) == 0.0
        assert variance_proxy(one, one) == pytest.approx(twin.efron_stein_proxy([0.0, 1.0], [0.0, 1.0]))

    def test_actions_that_are_never_logged_need_no_weight(self):
        sure = [[1.0, 0.0]] * 200
        found = kwis.efron_stein_bound(sure, sure, [0] * 200, [1.0] * 200, draws=2)
        assert (found.value, found.high) == (1.0, 1.0)
        assert 0.3 < found.low < 1.0

    def test_the_bound_is_that_of_the_twin(self):
        rng, n = np.random.default_rng(3), 200
        logging = rng.dirichlet([4.0, 4.0, 4.0], n)
        target = 0.5 * logging + 0.5 * rng.dirichlet([4.0, 4.0, 4.0], n)
        action = (rng.random(n)[:, None] > logging.cumsum(axis=1)[:, :-1]).sum(axis=1)
        reward = 1 - 0.2 * rng.random(n)
        expected = twin.efron_stein_bound(
            target.tolist(),
            logging.tolist(),
            action.tolist(),
            reward.tolist(),
            0.9,
            3,
            np.random.default_rng(7),
        )
        found = kwis.efron_stein_bound(target, logging, action, reward, level=0.9, draws=3, rng=7)
        assert 0.05 < expected < found.value
        assert found.low == pytest.approx(expected, rel=1e-10)

    def test_the_bound_is_below_the_truth(self):
        rng, n = np.random.default_rng(1), 1000
        tables = np.tile(TARGET, (n, 1)), np.tile(LOGGING, (n, 1))
        lows = []
        for seed in range(40):
            action, _, reward = drawn(n, rng)
            lows.append(kwis.efron_stein_bound(*tables, action, reward, draws=20, rng=seed).low)
        assert max(lows) < TRUTH
        assert np.mean(lows) > 0.08  # it says something

    def test_a_log_that_the_target_never_follows_tells_nothing(self):
        found = kwis.efron_stein_bound([[1.0, 0.0]] * 4, [[0.5, 0.5]] * 4, [1, 1, 1, 1], [1, 1, 1, 1])
        assert (found.low, found.high) == (0.0, 1.0)

    def test_weights_that_are_too_large_do_not_raise_the_bound(self):
        ratio, cumulative = np.full((5, 2), 2.0), np.tile([0.5, 1.0], (5, 1))
        *proxies, shrink = _simulated(np.full(5, 2.0), ratio, cumulative, 2, np.random.default_rng(0))
        assert shrink == 1.0
        assert proxies == pytest.approx([5 * 0.4**2] * 2)  # each row has a fifth, before and after

    def test_actions_are_drawn_from_the_logging_policy(self):
        ratio = np.array([[10.0, 20.0, 30.0], [1.0, 2.0, 3.0]])
        logging = np.array([[0.5, 0.0, 0.5], [0.2, 0.3, 0.5]])
        rng = np.random.default_rng(0)
        drawn = np.array([_weights(ratio, logging.cumsum(axis=1), rng) for _ in range(4_000)])
        for row in range(2):
            shares = [np.mean(drawn[:, row] == value) for value in ratio[row]]
            assert shares == pytest.approx(logging[row].tolist(), abs=0.04)

    def test_actions_are_drawn_200_times_at_level_095_with_seed_0_unless_told_otherwise(self):
        half, target = [[0.5, 0.5]] * 300, [[0.4, 0.6]] * 300
        data = target, half, [0, 1] * 150, [1.0, 0.9, 1.0] * 100
        plain = kwis.efron_stein_bound(*data)
        said = {"bounds": (0.0, 1.0), "level": 0.95, "draws": 200, "rng": 0}
        assert 0 < plain.low == kwis.efron_stein_bound(*data, **said).low
        for other in ({"level": 0.9}, {"draws": 201}, {"rng": 1}):
            assert plain.low != kwis.efron_stein_bound(*data, **{**said, **other}).low
        assert kwis.efron_stein_bound(*data, draws=2).low > 0
        with pytest.raises(kwis.InputError, match="`draws` must be a whole number of at least 2, got 1"):
            kwis.efron_stein_bound(*data, draws=1)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"target": [[1.5, -0.5]] * 3}, "`target` must be probabilities that sum to 1, got 1 at row 0"),
            ({"logging": [[0.5, 0.5], [0.5, 0.5], [0.5, 0.6]]}, "got 1.1 at row 2"),
            ({"target": [[0.5, 0.5]] * 2}, "`target`"),
            ({"action": [0, 1]}, "`action` must be 3 whole numbers from 0 to 1"),
            ({"action": [0, -1, 1]}, "`action` must be 3 whole numbers"),
            ({"action": [0.0, 1.0, 1.0]}, "got float64 of shape"),
            ({"reward": [0, 1.2, 0]}, "`bounds` must hold for every `reward`"),
            ({"reward": [0, -0.2, 0]}, "`bounds` must hold for every `reward`"),
            ({"logging": [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]], "action": [0, 0, 0]}, "got 0.0 at row 1"),
        ],
    )
    def test_each_impossible_argument_is_refused_with_its_place(self, wrong, message):
        half = [[0.5, 0.5]] * 3
        right = {"target": half, "logging": half, "action": [0, 1, 0], "reward": [0, 1, 0]}
        with pytest.raises(kwis.InputError, match=message):
            kwis.efron_stein_bound(**{**right, **wrong})

    def test_impossible_arguments_are_refused(self):
        half = [[0.5, 0.5]] * 3
        with pytest.raises(kwis.InputError, match="`target` must be probabilities that sum to 1"):
            kwis.efron_stein_bound([[0.5, 0.4]] * 3, half, [0, 1, 0], [0, 1, 0])
        with pytest.raises(kwis.InputError, match="`action` must be 3 whole numbers from 0 to 1"):
            kwis.efron_stein_bound(half, half, [0, 1, 2], [0, 1, 0])
        with pytest.raises(kwis.InputError, match="logged actions a positive probability"):
            kwis.efron_stein_bound(half, [[1.0, 0.0]] * 3, [0, 1, 0], [0, 1, 0])


class TestBlocks:
    def test_runs_of_rows_are_drawn_and_every_row_alike(self):
        counts = np.hstack(list(count_chunks(20, None, 400, np.random.default_rng(0), block=5)))
        assert (counts.sum(axis=0) == 20).all()
        assert counts.mean(axis=1) == pytest.approx(np.ones(20), abs=0.25)
        together = np.mean(counts * np.roll(counts, 1, axis=0))  # neighbours are drawn together
        assert together > 1.5

    def test_rows_that_depend_on_each_other_have_a_wider_interval(self):
        rng = np.random.default_rng(0)
        mood = np.repeat(rng.normal(size=40), 10)
        sample = sample_of(rng.uniform(0.5, 1.5, 400), mood + 0.1 * rng.normal(size=400))
        single = kwis.Bootstrap(400).interval(kwis.WIS(), sample)
        runs = kwis.Bootstrap(400, block=20).interval(kwis.WIS(), sample)
        assert runs.method == "block-bootstrap-bca"
        assert runs.width > 2 * single.width

    def test_its_length_is_checked(self):
        sample = sample_of(np.ones(10), np.arange(10.0))
        with pytest.raises(kwis.InputError, match="`block` must be below the number of rows, got 10 for 10"):
            kwis.Bootstrap(50, block=10).interval(kwis.WIS(), sample)
        with pytest.raises(kwis.InputError, match="with `block`, got 'studentised'"):
            kwis.Bootstrap(50, method="studentised", block=2)
        grouped = kwis.WeightedSample(
            context=np.zeros((4, 1)), weight=np.ones(4), reward=np.arange(4.0), group=[0, 0, 1, 1]
        )
        with pytest.raises(kwis.UnsupportedError, match="must have no `group` for a block bootstrap"):
            kwis.Bootstrap(50, block=2).interval(kwis.WIS(), grouped)
        assert kwis.Bootstrap(50, block="auto").interval(kwis.WIS(), sample).width > 0
