"""Repair of given propensities: it finds what is wrong, leaves alone what is right, and its arithmetic is
that of the formulas.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kwis.errors import InputError
from kwis.models.propensity.choose import Splits, choose
from kwis.models.propensity.gain import gain_p_value
from kwis.models.propensity.material import Material, scores
from kwis.models.propensity.multinomial import Scores, likelihood
from kwis.models.propensity.penalised import gram, inverse_of_triangle
from kwis.models.propensity.repair import TERMS, fit_repair
from kwis.stats.folds import make_folds
from tests.reference import repair_twin as twin

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def softmax(scores: np.ndarray) -> np.ndarray:
    parts = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))


def drawn(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.asarray((rng.random(len(chances))[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1))


def logger(n: int, k: int, seed: int, strength: float = 1.0, d: int = 3) -> Arrays:
    """Features, actions drawn from a softmax of them, and its true distribution."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d))
    truth = softmax(strength * features @ rng.normal(size=(d, k)))
    return features, drawn(truth, rng), truth


def gap(made: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(made - truth).mean())


def problem(
    seed: int = 0, n: int = 40, k: int = 3, d: int = 2
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n, k)),
        rng.normal(size=(n, d)),
        rng.integers(k, size=n),
        rng.uniform(0.5, 2.0, size=n),
        np.array([0.3, 1.5])[:d],
    )


def test_the_regression_finds_the_minimum_of_the_penalised_loss() -> None:
    logs, design, action, mass, spread = problem()
    found = likelihood(Scores(logs, design), action, mass).fit(spread, tolerance=1e-14)
    scale, matrix = twin.fitted(logs, design, action, mass, spread)
    assert found.scale == pytest.approx(scale, abs=1e-4)
    np.testing.assert_allclose(found.matrix, matrix, atol=1e-4)
    np.testing.assert_allclose(
        Scores(logs, design).distribution(found),
        twin.distribution(logs, design, found.scale, found.matrix),
        rtol=1e-12,
    )


def test_where_the_regression_starts_does_not_matter() -> None:
    logs, design, action, mass, spread = problem(1)
    ready = likelihood(Scores(logs, design), action, mass)
    cold = ready.fit(spread, tolerance=1e-14)
    warm = ready.fit(spread, ready.fit(3 * spread), tolerance=1e-14)
    np.testing.assert_allclose(warm.matrix, cold.matrix, atol=1e-5)


def test_many_columns_are_regressed_as_few_are() -> None:
    """More columns than rows, and so many that triangles are inverted by halves."""
    rng = np.random.default_rng(3)
    logs, design, action = rng.normal(size=(90, 3)), rng.normal(size=(90, 150)), rng.integers(3, size=90)
    mass, spread = rng.uniform(0.5, 2.0, size=90), rng.uniform(0.05, 0.3, size=150)
    found = likelihood(Scores(logs, design), action, mass).fit(spread, tolerance=1e-14)
    taken = np.eye(3)[action]
    pull = design.T @ (
        mass[:, None] * (twin.distribution(logs, design, found.scale, found.matrix) - taken)
    ) + (found.matrix / spread[:, None] ** 2)
    np.testing.assert_allclose(pull, 0.0, atol=1e-3 * np.abs(found.matrix / spread[:, None] ** 2).max())
    lower = np.tril(rng.normal(size=(150, 150)), -1) / 10 + np.diag(rng.uniform(1, 2, size=150))
    np.testing.assert_allclose(inverse_of_triangle(lower) @ lower, np.eye(150), atol=1e-10)
    np.testing.assert_allclose(gram(design, mass), (design * mass[:, None]).T @ design, atol=1e-12)


def test_a_column_without_spread_is_left_out_and_a_fixed_scale_stays() -> None:
    logs, design, action, mass, _ = problem(2)
    found = likelihood(Scores(logs, design), action, mass, free_scale=False).fit(np.array([0.0, 1.0]))
    assert found.scale == 1.0
    np.testing.assert_array_equal(found.matrix[0], 0.0)
    alone = likelihood(Scores(logs, design[:, 1:]), action, mass, free_scale=False).fit(np.array([1.0]))
    np.testing.assert_allclose(found.matrix[1:], alone.matrix, atol=1e-6)


def test_the_p_value_is_the_inverse_of_the_mean_likelihood_ratio() -> None:
    rng = np.random.default_rng(0)
    gains = [rng.normal(0.3, 0.4, size=20), rng.normal(0.2, 0.4, size=25)]
    assert gain_p_value(gains, [None, None], [None, None], 7) == pytest.approx(
        twin.averaged_ratio_p_value(gains, 7)
    )
    assert gain_p_value([-gain for gain in gains], [None, None], [None, None], 7) == 1.0


def test_right_propensities_are_kept_as_they_are() -> None:
    for seed in range(10):
        features, action, truth = logger(300, 4, seed)
        model = fit_repair(features, action, truth)
        assert model.kept
        assert model.terms == ()
        assert model.p_value >= 0.05
        np.testing.assert_array_equal(model.distribution(features, truth), truth)
        assert "kept" in model.note


@pytest.mark.parametrize("power", [0.4, 2.0])
def test_tempered_propensities_get_their_scale_back(power: float) -> None:
    features, action, truth = logger(2_000, 5, 1)
    model = fit_repair(features, action, softmax(power * np.log(truth)))
    fresh, _, right = logger(2_000, 5, 1)
    assert not model.kept
    assert "scale" in model.terms
    assert model.scale == pytest.approx(1 / power, rel=0.15)
    assert gap(model.distribution(fresh, softmax(power * np.log(right))), right) < 0.015


def test_actions_taken_for_others_are_told_apart_by_the_action_term_alone() -> None:
    features, action, truth = logger(2_000, 6, 2, strength=1.5)
    given = truth[:, [1, 0, 2, 3, 4, 5]]
    made = {
        term: fit_repair(features, action, given, terms=term).distribution(features, given)
        for term in ("scale", "actions")
    }
    assert gap(made["actions"], truth) < 0.3 * gap(given, truth)
    assert gap(made["actions"], truth) < 0.5 * gap(made["scale"], truth)


def test_a_context_that_was_left_out_is_found() -> None:
    features, action, truth = logger(2_000, 4, 3)
    given = np.tile(np.bincount(action, minlength=4) / len(action), (len(action), 1))
    model = fit_repair(features, action, given, terms="context")
    assert not model.kept
    assert gap(model.distribution(features, given), truth) < 0.15 * gap(given, truth)


def test_a_curve_is_followed_where_straight_lines_do_not_reach() -> None:
    rng = np.random.default_rng(4)
    features = rng.normal(size=(3_000, 2))
    bend = np.abs(features[:, 0]) - 0.8
    truth = softmax(np.column_stack([2 * bend, np.zeros(3_000), -2 * bend]))
    given = np.full(truth.shape, 1 / 3)
    model = fit_repair(features, drawn(truth, rng), given)
    assert "curved" in model.terms
    assert gap(model.distribution(features, given), truth) < 0.2 * gap(given, truth)


def test_few_rows_and_many_actions_are_pulled_towards_the_given_propensities() -> None:
    features, action, truth = logger(150, 20, 5, strength=2.0, d=40)
    given = softmax(0.3 * np.log(truth))
    model = fit_repair(features, action, given)
    assert gap(model.distribution(features, given), truth) < 0.6 * gap(given, truth)


def test_more_features_than_rows_are_no_obstacle() -> None:
    rng = np.random.default_rng(6)
    features = rng.normal(size=(120, 500))
    truth = softmax(features[:, :3] @ rng.normal(size=(3, 3)))
    given = np.full(truth.shape, 1 / 3)
    model = fit_repair(features, drawn(truth, rng), given, always=True)
    assert gap(model.distribution(features, given), truth) <= 1.05 * gap(given, truth)


def test_impossible_actions_stay_impossible() -> None:
    features, _, truth = logger(1_500, 4, 7)
    truth = truth * (np.arange(1_500)[:, None] % 4 != np.arange(4))
    truth /= truth.sum(axis=1, keepdims=True)
    action = drawn(truth, np.random.default_rng(8))
    given = np.where(truth > 0, 1 / 3, 0.0)
    made = fit_repair(features, action, given).distribution(features, given)
    np.testing.assert_array_equal(made == 0, truth == 0)
    assert gap(made, truth) < 0.2 * gap(given, truth)


def test_a_given_zero_that_happened_is_not_believed() -> None:
    features, action, truth = logger(1_000, 3, 9)
    given = np.where(truth < 0.2, 0.0, truth)
    given /= given.sum(axis=1, keepdims=True)
    assert (given[np.arange(1_000), action] == 0).any()
    model = fit_repair(features, action, given)
    assert not model.kept
    made = model.distribution(features, given)
    assert (made > 0).all()
    assert gap(made, truth) < gap(given, truth)


def test_rows_that_stand_for_several_count_as_several() -> None:
    features, action, truth = logger(4_000, 3, 10)
    rng = np.random.default_rng(11)
    rate = np.where(action == 0, 1.0, 0.25)  # thinned by the action itself, as logs of rare clicks are
    kept = rng.random(4_000) < rate
    given = softmax(0.4 * np.log(truth))
    model = fit_repair(features[kept], action[kept], given[kept], mass=1 / rate[kept])
    assert not model.kept
    assert gap(model.distribution(features, given), truth) < 0.4 * gap(given, truth)
    right = fit_repair(features[kept], action[kept], truth[kept], mass=1 / rate[kept])
    assert right.kept


def test_the_same_seed_gives_the_same_bits() -> None:
    features, action, truth = logger(400, 3, 12)
    given = softmax(0.5 * np.log(truth))
    first, second = (
        fit_repair(features, action, given, rng=3).distribution(features, given) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_whole_groups_are_held_out_together() -> None:
    rng = np.random.default_rng(13)
    group = np.repeat(np.arange(60), 10)
    # Every user always gets one action: the features tell users apart, so rows of the same user must not
    # vouch for each other.
    features = rng.normal(size=(60, 30))[group]
    action = rng.integers(3, size=60)[group]
    given = np.full((600, 3), 1 / 3)
    assert not fit_repair(features, action, given).kept
    assert fit_repair(features, action, given, group=group).kept


def test_too_few_rows_are_left_alone() -> None:
    features, action, truth = logger(10, 3, 14)
    model = fit_repair(features, action, truth)
    assert model.kept
    assert model.p_value == 1.0
    assert "too small" in model.note


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": np.array([0, 1, 3])}, "`action` must be from 0 to 2, got 3 at row 2"),
        (
            {"action": np.array([0, 1])},
            "`action` must have one entry per row of `features`, got 2 for 3 rows",
        ),
        (
            {"action": np.array([0.0, 1.0, 2.0])},
            "`action` must be integer codes of shape \\(n,\\), got float64 of shape \\(3,\\)",
        ),
        (
            {"given": np.full((3, 3), 0.5)},
            "`given` must be a distribution that sums to 1 over the actions, got 1.5 at row 0",
        ),
        (
            {"given": np.array([[1.2, -0.2, 0.0]] * 3)},
            "`given` must not be negative, got -0.2 at row 0, column 1",
        ),
        ({"given": np.ones((3, 1))}, "`given` must have a column for each of at least 2 actions, got 1"),
        ({"terms": ("scale", "weather")}, "`terms` must be among scale, actions, context, got 'weather'"),
        ({"terms": ()}, "`terms` must have at least one term, got none"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "features": np.zeros((3, 1)),
        "action": np.arange(3),
        "given": np.full((3, 3), 1 / 3),
    }
    with pytest.raises(InputError, match=f"^{message}$"):
        fit_repair(**(arguments | change))  # type: ignore[arg-type]


def test_a_repair_learnt_without_a_part_of_the_rows_is_the_regression_on_the_others() -> None:
    features, action, truth = logger(500, 3, seed=4)
    rows = Material(features=features, action=action, given=softmax(0.4 * np.log(truth)))
    splits = Splits.of(rows, np.random.default_rng(0))
    assert splits is not None
    fitted = choose(splits, TERMS, np.random.default_rng(1)).fit(rows, np.random.default_rng(2))
    labels = make_folds(500, 4, np.random.default_rng(3))
    found = fitted.without(rows, 4, np.random.default_rng(3))
    assert len(found) == 4
    for number, one in enumerate(found):
        part = rows.take(labels != number)
        known = scores(fitted.terms, fitted.names, fitted.read, part.features, part.given, fitted.used)[0]
        alone = likelihood(known, part.action, part.weight, free_scale=fitted.free_scale).fit(
            fitted.spread, tolerance=1e-13
        )
        made, expected, whole = (
            replace(fitted, coefficients=c).distribution(features, rows.given)
            for c in (one.coefficients, alone, fitted.coefficients)
        )
        assert gap(made, expected) < 0.03 * gap(whole, expected)


def test_refits_come_with_a_repair_that_asks_for_them() -> None:
    features, action, truth = logger(600, 3, seed=5)
    given = softmax(0.4 * np.log(truth))
    model, plain = fit_repair(features, action, given, parts=5), fit_repair(features, action, given)
    np.testing.assert_array_equal(model.distribution(features, given), plain.distribution(features, given))
    assert len(model.refits) == 5
    assert plain.refits == ()
    gaps = [
        gap(one.distribution(features, given), model.distribution(features, given)) for one in model.refits
    ]
    assert min(gaps) > 0
    assert max(gaps) < 0.3 * gap(given, truth)
    assert fit_repair(features, action, truth, parts=5).refits == ()
    with pytest.raises(InputError, match=r"^`parts` must be"):
        fit_repair(features, action, given, parts=1)


def test_a_term_left_out_leaves_the_others_as_they_were_judged() -> None:
    features, action, truth = logger(400, 3, seed=7)
    rows = Material(features=features, action=action, given=truth)
    splits = Splits.of(rows, np.random.default_rng(0))
    assert splits is not None
    together, alone = (
        choose(splits, terms, np.random.default_rng(1)) for terms in (("actions", "context"), ("context",))
    )
    without = replace(together, exponents=(None, -2, None)).fit(rows, np.random.default_rng(2))
    by_itself = replace(alone, exponents=(-2, None)).fit(rows, np.random.default_rng(2))
    assert (
        without.spread.size == features.shape[1]
    )  # the shares of the actions went with the term they were in
    assert by_itself.spread.size == features.shape[1] + 1
    assert without.distribution(features, truth).shape == truth.shape


@pytest.mark.parametrize("terms", ["context", "actions"])
def test_a_repair_of_which_no_term_is_left_changes_nothing(terms: str) -> None:
    features, action, truth = logger(300, 3, seed=8)
    model = fit_repair(features, action, truth, terms=terms, always=True)
    if not model.terms:
        assert model.kept
        np.testing.assert_array_equal(model.distribution(features, truth), truth)
    splits = Splits.of(Material(features=features, action=action, given=truth), np.random.default_rng(0))
    assert splits is not None
    chosen = choose(splits, (terms,), np.random.default_rng(1))
    empty = replace(chosen, exponents=(None,) * len(chosen.exponents))
    assert empty.used == ()
    assert not empty.used_when("always")
