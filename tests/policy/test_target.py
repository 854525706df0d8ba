"""Targets are recognised, checked and turned into one record."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from kwis.data.log import LoggedBandit
from kwis.data.read.read_log import read_log
from kwis.data.sample_log import sample_log
from kwis.errors import InputError, KwisWarning
from kwis.policy.discrete import chosen, distribution, probability, weigh
from kwis.policy.target import resolve_target, resolve_targets

ACTIONS = ("banner", "email", "push")
N = 900


@pytest.fixture(scope="module")
def log() -> LoggedBandit:
    sample = sample_log(N, rng=1)
    best = np.array(ACTIONS)[np.argmax([sample.table[f"p_new_{action}"] for action in ACTIONS], axis=0)]
    lonely = {f"q_{action}": sample.table[f"p_bold_{action}"] for action in ACTIONS}
    return read_log({**sample.table, **lonely, "best": best, "one": np.ones(N)}, **sample.arguments)


def whole(log: LoggedBandit, prefix: str = "p_new") -> np.ndarray:
    return np.column_stack([log[f"{prefix}_{action}"] for action in ACTIONS])


def refused(sentence: str, log: LoggedBandit, target: Any) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        resolve_targets(log, target)


def assert_is_p_new(policy: Any, log: LoggedBandit) -> None:
    np.testing.assert_array_equal(policy.logged, log["p_new"])
    np.testing.assert_array_equal(policy.distribution, whole(log))


@pytest.mark.parametrize(
    "target",
    [
        "p_new",
        distribution("p_new"),
        distribution([f"p_new_{action}" for action in ACTIONS]),
        {action: f"p_new_{action}" for action in ACTIONS},
        whole,
        lambda log: whole(log)[:, :, None],
        lambda log: whole(log).tolist(),
    ],
    ids=["name", "prefix", "list", "mapping", "function", "function of three axes", "function of lists"],
)
def test_a_policy_is_the_same_however_it_is_given(target: Any, log: LoggedBandit) -> None:
    assert_is_p_new(resolve_targets(log, target)[0], log)


def test_an_array_is_a_target(log: LoggedBandit) -> None:
    assert_is_p_new(resolve_target(log, whole(log)), log)
    assert_is_p_new(resolve_target(log, whole(log)[:, :, None]), log)
    np.testing.assert_array_equal(resolve_target(log, log["p_new"]).logged, log["p_new"])


@pytest.mark.parametrize(
    ("column", "factor", "reason"),
    [
        ("p_new_email", 0.5, "they are not probabilities that sum to 1 in every row"),
        ("p_new", 0.5, r"`p_new` says 0\.\d+ of the logged action at row \d+, they say 0\.\d+"),
    ],
)
def test_columns_that_contradict_a_target_are_pointed_out(column: str, factor: float, reason: str) -> None:
    sample = sample_log(50, rng=1)
    log = read_log({**sample.table, column: sample.table[column] * factor}, **sample.arguments)
    with pytest.warns(KwisWarning, match=rf"^`p_new_banner` to `p_new_push` were not used: {reason}$"):
        assert resolve_target(log, "p_new").distribution is None


def test_a_prefix_without_a_column_of_that_name_is_a_distribution(log: LoggedBandit) -> None:
    policy = resolve_target(log, "q")
    np.testing.assert_array_equal(policy.distribution, whole(log, "p_bold"))
    assert policy.columns == ("q_banner", "q_email", "q_push")


def test_a_column_of_probabilities_said_to_be_one_is_only_that(log: LoggedBandit) -> None:
    policy = resolve_target(log, probability("p_new"))
    np.testing.assert_array_equal(policy.logged, log["p_new"])
    assert policy.distribution is None
    assert policy.columns == ("p_new",)
    assert policy.source == "column `p_new`: probability of the logged action"


@pytest.mark.parametrize(
    "target", ["best", chosen("best"), lambda log: log["best"]], ids=["name", "chosen", "function"]
)
def test_a_column_of_actions_is_a_deterministic_policy(target: Any, log: LoggedBandit) -> None:
    policy = resolve_target(log, target)
    np.testing.assert_array_equal(policy.logged, (log["best"] == log["action"]).astype(float))
    np.testing.assert_array_equal(np.array(ACTIONS)[policy.distribution.argmax(axis=1)], log["best"])
    np.testing.assert_array_equal(policy.distribution.sum(axis=1), 1)


def test_a_classifier_trained_on_a_frame_is_a_target(log: LoggedBandit) -> None:
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame({"hour": log["hour"], "country": log["country"]})
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["country"]), remainder="passthrough"),
        LogisticRegression(max_iter=500),
    )
    model.fit(frame, log["best"])
    policy = resolve_target(log, model)
    np.testing.assert_allclose(policy.distribution, model.predict_proba(frame), atol=1e-12)
    assert policy.name == "Pipeline"


def test_a_classifier_trained_on_arrays_sees_the_context_as_numbers() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    table = {
        "x": rng.normal(size=80),
        "y": rng.integers(5, size=80),
        "action": np.arange(80) % 3,
        "reward": np.ones(80),
    }
    log = read_log(table, context=["x", "y"])
    inputs = np.column_stack([table["x"], table["y"]])
    model = LogisticRegression().fit(inputs, (table["action"] + 1) % 3)
    np.testing.assert_allclose(
        resolve_target(log, model).distribution, model.predict_proba(inputs), atol=1e-12
    )
    refused(
        "`target` must be trained on the 2 context columns of the log, got a classifier of 1 features; give "
        "a function of the log instead, such as lambda log: model.predict_proba(log.features())",
        log,
        LogisticRegression().fit(inputs[:, :1], table["action"]),
    )
    refused(
        "`target` must know every logged action, got a classifier that does not know 2 of row 2",
        log,
        LogisticRegression().fit(inputs, table["action"] % 2),
    )
    refused(
        "`target` must know only actions of the log, got 3, which no row took; the log has 0, 1, 2; if it "
        "exists, say so with read_log(actions=[...])",
        log,
        LogisticRegression().fit(inputs, np.arange(80) % 4),
    )
    refused(
        "`target` must be a fitted classifier with `classes_`, got a LogisticRegression without",
        log,
        LogisticRegression(),
    )
    wider = read_log(table, context=["x", "y"], actions=[0, 1, 2, 3])
    assert resolve_target(wider, LogisticRegression().fit(inputs, np.arange(80) % 4)).distribution.shape == (
        80,
        4,
    )
    assert (resolve_target(wider, model).distribution[:, 3] == 0).all()


def test_a_classifier_on_arrays_cannot_see_text(log: LoggedBandit) -> None:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=500).fit(np.zeros((N, 6)), log["action"])
    refused(
        "`target` must be trained on named columns if the context is not all numbers, and `country` holds "
        "text; "
        "train it on a data frame, or give a function of the log",
        log,
        model,
    )


def test_with_two_actions_the_probability_of_one_is_the_whole_distribution() -> None:
    table = {
        "action": np.arange(40) % 2,
        "reward": np.ones(40),
        "propensity": np.full(40, 0.3),
        "p": np.full(40, 0.9),
    }
    log = read_log(table, propensity="propensity", context=[])
    assert log.behaviour is not None
    np.testing.assert_allclose(log.behaviour[:2], [[0.3, 0.7], [0.7, 0.3]])
    np.testing.assert_allclose(resolve_target(log, "p").distribution[:2], [[0.9, 0.1], [0.1, 0.9]])


def test_a_column_that_could_be_actions_or_probabilities_must_be_explained() -> None:
    choice = (np.arange(40) // 2) % 2
    table = {"action": np.arange(40) % 2, "reward": np.ones(40), "q": choice, "count": np.arange(40)}
    log = read_log(table, context=[])
    refused(
        "`target` must say what `q` holds, whose values are actions and probabilities alike: "
        "kwis.chosen('q') or kwis.probability('q')",
        log,
        "q",
    )
    np.testing.assert_array_equal(resolve_target(log, chosen("q")).logged, choice == table["action"])
    np.testing.assert_array_equal(resolve_target(log, probability("q")).logged, choice)


def test_columns_of_actions_with_spaces_are_found_as_they_are_written_in_names() -> None:
    table = {"action": np.array(["No offer", "Sea view"] * 20), "reward": np.ones(40)}
    shares = {"new_no_offer": np.full(40, 0.3), "new_sea_view": np.full(40, 0.7)}
    log = read_log({**table, **shares, "age": np.arange(40)}, context=["age"])
    np.testing.assert_array_equal(resolve_target(log, "new_").logged, np.tile([0.3, 0.7], 20))
    np.testing.assert_array_equal(resolve_target(log, "new").logged, np.tile([0.3, 0.7], 20))
    other = read_log({**table, "new_a": shares["new_no_offer"], "new_b": shares["new_sea_view"]}, context=[])
    refused(
        "`target` must name one column per action by what all begin with, and 'new_' begins new_a, new_b, "
        "which do not end in the actions; map each action to its column: {'new': {action: column, ...}}, or "
        "new=distribution:action=column,... in a command",
        other,
        "new_",
    )


def test_a_target_of_written_shares_comes_with_the_sql_that_makes_numbers_of_it() -> None:
    shares = np.array(["31,8 %", "2,5 %"] * 20)
    log = read_log({"action": np.arange(40) % 2, "reward": np.ones(40), "P neu": shares}, context=[])
    number = """CAST(replace(replace(replace("P neu", '%', ''), ' ', ''), ',', '.') AS DOUBLE) / 100"""
    refused(
        f"`P neu` (target) must hold numbers, got '31,8 %' at row 0; a query with SELECT * REPLACE "
        f'({number} AS "P neu") makes numbers of them',
        log,
        "P neu",
    )


def test_bad_targets_are_refused(log: LoggedBandit) -> None:
    refused("`target` must name a column of the log, got 'p_nev'; did you mean 'p_new'?", log, "p_nev")
    row = int(np.argmax(log["revenue"] > 1))
    refused(f"`revenue` (target) must be in [0, 1], got {log['revenue'][row]} at row {row}", log, "revenue")
    first = log["country"][0]
    remedy = "an action that exists but was never taken must be listed in read_log(actions=[...])"
    refused(
        f"`country` (target) must hold actions of the log, got {first!r} at row 0; {remedy}", log, "country"
    )
    refused("`signup` (target) must hold numbers, got dates", log, "signup")
    refused("`target` must have one entry per row of the log, got 5 for 900 rows", log, np.ones(5) / 3)
    refused("`target` must have one column per action, got 2 for 3 actions", log, np.full((N, 2), 0.5))
    refused(
        "`target` must be a column, a classifier, a function or an array, got NoneType", log, lambda _: None
    )
    refused(
        "`target` must have a column for every action of the log, got none for 'push'",
        log,
        distribution({"banner": "one", "email": "one"}),
    )
    refused("`target` must name at least one policy, got none", log, [])


def test_a_distribution_that_does_not_sum_to_one_is_refused(log: LoggedBandit) -> None:
    bad = whole(log).copy()
    bad[17] *= 0.9
    refused("`target` must be a distribution that sums to 1 over the actions, got 0.9 at row 17", log, bad)
    bad = whole(log).copy()
    bad[17, 1] = -0.2
    refused("`target_1` (target) must be in [0, 1], got -0.2 at row 17", log, bad)
    near = whole(log) * (1 + 0.5e-4)
    np.testing.assert_array_equal(resolve_target(log, near).distribution, near)


def test_the_share_of_one_action_is_not_mistaken_for_a_policy(log: LoggedBandit) -> None:
    refused(
        "`target` must be the probability of the logged action or of every action, got `p_new_email`, by its "
        "name the probability of "
        "'email' alone; say 'p_new' for the whole policy, or kwis.probability('p_new_email')",
        log,
        "p_new_email",
    )
    names = [f"p_new_{action}" for action in ACTIONS]
    refused(
        "`target` must say whether `p_new_banner`, `p_new_email`, `p_new_push`, which sum to 1 in every row, "
        "are one policy, "
        "kwis.distribution([...]), or several, a mapping from names to columns",
        log,
        names,
    )


def test_several_targets_have_different_names(log: LoggedBandit) -> None:
    policies = resolve_targets(log, ["p_new", "p_bold", "p_new"])
    assert [policy.name for policy in policies] == ["p_new", "p_bold", "p_new (2)"]
    policies = resolve_targets(log, {"ours": "p_new", "greedy": chosen("best")})
    assert [policy.name for policy in policies] == ["ours", "greedy"]


def test_weights_are_ratios_of_probabilities(log: LoggedBandit) -> None:
    sample = weigh(log, resolve_target(log, "p_new"), "revenue")
    np.testing.assert_allclose(sample.weight, log["p_new"] / log["propensity"])
    np.testing.assert_array_equal(sample.reward, log["revenue"])
    np.testing.assert_array_equal(sample.context, log.context)
    assert sample.categorical == log.categorical
    with pytest.raises(
        InputError, match=r"^`reward` must be one of click, revenue, or its number, got 'visits'$"
    ):
        weigh(log, resolve_target(log, "p_new"), "visits")


def test_a_log_without_propensities_cannot_be_weighed() -> None:
    sample = sample_log(100)
    log = sample.read(propensity=False)
    with pytest.raises(InputError, match=r"kwis\.estimate_propensities supplies them$"):
        weigh(log, resolve_target(log, "p_new"))


def test_a_target_can_be_taken_row_by_row(log: LoggedBandit) -> None:
    rows = np.array([4, 4, 8])
    part = resolve_target(log, "p_new").take(rows)
    np.testing.assert_array_equal(part.logged, log["p_new"][rows])
    np.testing.assert_array_equal(part.distribution, whole(log)[rows])


@pytest.mark.parametrize("form", ["", "P_"])
def test_columns_named_after_the_actions_are_matched_by_name_whatever_their_order(form: str) -> None:
    rng = np.random.default_rng(4)
    actions = ["suite", "breakfast", "late", "spa"]
    shares = rng.dirichlet(np.ones(4), size=60)
    table = {"action": rng.choice(actions, 60), "reward": rng.random(60), "propensity": np.full(60, 0.25)}
    names = [f"{form}{action}" for action in actions]
    table |= {f"new_{action}": shares[:, j] for j, action in enumerate(names)}
    log = read_log(table, propensity="propensity", context=[])
    wanted = np.array([shares[i, actions.index(action)] for i, action in enumerate(table["action"])])
    for order in (names, sorted(names), names[::-1]):
        target = distribution([f"new_{name}" for name in order])
        (found,) = resolve_targets(log, [target])
        np.testing.assert_allclose(found.logged, wanted)
        assert found.name == f"new_{form}".rstrip("_")


def test_columns_that_are_not_named_after_the_actions_follow_the_order_of_the_actions() -> None:
    table: dict[str, Any] = {"action": ["a", "b"] * 20, "reward": np.arange(40.0), "propensity": [0.5] * 40}
    log = read_log(table | {"x": [0.2] * 40, "y": [0.8] * 40}, propensity="propensity", context=[])
    (found,) = resolve_targets(log, [distribution(["x", "y"])])
    np.testing.assert_allclose(found.logged, [0.2, 0.8] * 20)
