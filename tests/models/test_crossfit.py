import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import kwis
from kwis.errors import InputError
from kwis.policy.target import resolve_target
from tests.checks.trained import World, log_of


@pytest.fixture(scope="module")
def log() -> kwis.LoggedBandit:
    return log_of(*World(n=400).draw(np.random.default_rng(0)))


def memory(part: kwis.LoggedBandit):
    """A policy that knows the rows it has seen: the action that was logged there, and the first one
    elsewhere.
    """
    seen = {
        tuple(row): code for row, code in zip(part.features().tolist(), part.action.tolist(), strict=True)
    }
    return lambda at: np.eye(at.n_actions)[[seen.get(tuple(row), 0) for row in at.features().tolist()]]


def test_no_row_is_decided_by_a_policy_that_has_seen_it(log):
    found = kwis.cross_fit(memory, log, folds=4)
    assert (found.distribution[:, 0] == 1).all()
    assert sorted(np.unique(found.folds)) == [0, 1, 2, 3]


def test_copies_and_groups_share_a_fold(log):
    copied = log.take(np.arange(800) % 400)
    assert (kwis.cross_fit(memory, copied).distribution[:, 0] == 1).all()
    frame = {name: log.table.column(name).natural() for name in ("x0", "x1", "action", "reward")} | {
        "user": np.arange(400) // 8
    }
    grouped = kwis.read_log(frame, context=["x0", "x1"], group="user")
    folds = kwis.cross_fit(memory, grouped).folds
    assert all(np.unique(folds[grouped.group == user]).size == 1 for user in range(50))


@pytest.mark.parametrize(
    "model", [LinearRegression(), HistGradientBoostingRegressor(max_iter=10), LogisticRegression()]
)
def test_models_become_policies_with_a_distribution(log, model):
    found = kwis.cross_fit(model, log, epsilon=0.3, rng=1)
    assert np.allclose(found.distribution.sum(axis=1), 1)
    assert np.allclose(np.sort(found.distribution, axis=1), [0.1, 0.1, 0.8])
    target = resolve_target(log, found)
    assert target.name == type(model).__name__
    assert target.source == "cross-fitted over 5 folds"


def test_the_policy_of_a_regressor_takes_the_highest_prediction(log):
    found = kwis.cross_fit(LinearRegression(), log, folds=2, rng=3)
    design = np.hstack([log.features(), np.eye(3)[log.action]])
    for fold in range(2):
        rows = found.folds != fold
        model = LinearRegression().fit(design[rows], log.reward[rows, 0])
        scores = np.stack(
            [model.predict(np.hstack([log.features(), np.tile(np.eye(3)[k], (log.n, 1))])) for k in range(3)],
            axis=1,
        )
        assert (found.distribution[~rows].argmax(axis=1) == scores[~rows].argmax(axis=1)).all()


def test_an_answer_names_the_policy_and_says_what_its_value_is(log):
    answer = kwis.evaluate(
        log, kwis.cross_fit(LinearRegression(), log, name="linear"), estimators=["wis"], repair="never"
    )
    assert answer.targets == ("linear",)
    assert (
        "linear was trained 5 times, each time without the rows it is evaluated on: its value is the mean of "
        "5 policies" in answer.notes
    )


def test_a_fitted_model_is_asked_about_until_somebody_says_where_it_was_trained(log):
    context = np.column_stack([log[name] for name in log.context_columns])
    model = LogisticRegression().fit(context, log.action)
    asked = kwis.evaluate(log, model, estimators=["wis"], repair="never").recommendation()
    assert asked.row.verdict.level == "with care"
    assert "kwis.cross_fit" in asked.row.verdict.reasons[0]
    said = kwis.evaluate(
        log, {"m": kwis.trained_elsewhere(model)}, estimators=["wis"], repair="never"
    ).recommendation()
    assert said.row.verdict.level == "trust"


def test_refusals(log):
    def refused(message, *args, **options):
        with pytest.raises(InputError, match=message):
            kwis.cross_fit(*args, **options)

    refused("`log` must be what kwis.read_log returns", LinearRegression(), "log.csv")
    refused("`estimator` must be an estimator, not a class", LinearRegression, log)
    refused("`estimator` must be a function of a log", 3, log)
    refused(r"`epsilon` must be in \[0, 1\], got 2", LinearRegression(), log, epsilon=2)
    refused("`epsilon` must be 0 with a function", memory, log, epsilon=0.1)
    refused("must take `sample_weight`", KNeighborsClassifier(), log)
    refused("`reward` must be one of", LinearRegression(), log, reward="none")
    found = kwis.cross_fit(LinearRegression(), log)
    with pytest.raises(InputError, match="`target` must be cross-fitted on the log that it is evaluated on"):
        resolve_target(log.take(np.arange(200)), found)


@pytest.mark.slow
def test_values_of_cross_fitted_policies_are_covered():
    """The interval holds the mean value of the fold's policies, which a policy judged on its own rows never
    comes near.
    """
    world, held = World(n=600, actions=3), 0
    for seed in range(100):
        data = world.draw(np.random.default_rng([9, seed]))
        log = log_of(*data)
        found = kwis.cross_fit(HistGradientBoostingRegressor(max_iter=50), log, rng=seed)
        row = kwis.evaluate(log, found, estimators=["wis"], repair="never").recommendation().row
        truth = float((found.distribution * world.value(data[0])).sum(axis=1).mean())
        held += row.interval.low <= truth <= row.interval.high
    assert held >= 89
