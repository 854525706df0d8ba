"""Undeclared users and sessions are asked about; ages, hours and shops are not."""

from __future__ import annotations

import numpy as np
import pytest

import kwis
from kwis.evaluation.sharing import questions, shared_draws, sounds_like_a_group, with_shared_draws_grouped


def softmax(scores):
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


def log_of(
    n,
    seed,
    *,
    users=None,
    share="nothing",
    column="user",
    whole=True,
    same_context=False,
    age_in_context=False,
):
    """A log with an age, an hour and a shop, and users who share nothing, a draw, or a taste."""
    rng = np.random.default_rng([seed, n])
    user = rng.integers(0, users or n, n)
    x = rng.normal(size=(n, 2))
    if same_context:
        x = rng.normal(size=(users, 2))[user]
    age, hour, shop = rng.integers(18, 80, n), rng.integers(0, 24, n), rng.integers(0, 60, n)
    scores = x @ rng.normal(size=(2, 3)) + (
        np.outer((age - 50) / 20, [0.5, 0, -0.5]) if age_in_context else 0
    )
    chances = softmax(scores)
    uniform = rng.random((n, 1))
    if share == "draw":
        chances, uniform = softmax(rng.normal(size=(users, 3)))[user], rng.random((users, 1))[user]
        if same_context:
            first = np.unique(user, return_index=True)[1][np.unique(user, return_inverse=True)[1]]
            chances = softmax(scores)[first]
    action = (chances.cumsum(axis=1) < uniform).sum(axis=1).clip(max=2)
    taste = rng.normal(size=users)[user] if share == "taste" else 0.0
    reward = (
        x[:, 0]
        + 0.5 * action
        + np.sin((age - 18) / 15)
        + 0.02 * age
        + np.sin(hour / 4)
        + taste
        + rng.normal(size=n)
    )
    columns = {"x": x, "age": age, "hour": hour, "shop": shop, "action": action, "reward": reward}
    columns |= {f"p_{k}": chances[:, k] for k in range(3)} if whole else {"p": chances[np.arange(n), action]}
    if users is not None and column is not None:
        columns[column] = user
    context = ["x", "age"] if age_in_context else "x"
    return kwis.read_log(columns, context=context, propensity="p", actions=[0, 1, 2])


@pytest.mark.parametrize("whole", [True, False])
def test_ordinary_columns_are_not_asked_about(whole):
    for seed in range(15):
        for age_in_context in (True, False):
            log = log_of(800, seed, whole=whole, age_in_context=age_in_context)
            assert not list(shared_draws(log, 0))
            assert not questions(log)


def test_propensities_written_as_text_are_no_users():
    """The propensity of the action taken tells the action, and the same value the same action."""
    rng = np.random.default_rng(5)
    shares = np.array([0.2, 0.3, 0.5]) + 0.05 * rng.integers(-3, 4, (600, 1)) * np.array([1.0, 0.0, -1.0]) / 5
    action = (shares.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1).clip(max=2)
    p = shares[np.arange(600), action] + 1e-4 * rng.integers(0, 9, 600)
    table = {"x": rng.normal(size=600), "action": action, "reward": rng.normal(size=600), "p": p}
    table["shown"] = np.array([f"{100 * value:.2f}%" for value in p])
    log = kwis.read_log(table, context="x", propensity="p")
    assert not list(shared_draws(log, 0))
    assert with_shared_draws_grouped(log).group is None


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("n", [400, 5_000])
def test_ordinary_columns_are_hardly_ever_asked_about(n, whole):
    asked = [
        bool(list(shared_draws(log_of(n, 100 + seed, users=n // 20, whole=whole, column="cell"), 0)))
        for seed in range(150)
    ]
    assert np.mean(asked) < 0.02


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("column", ["user", "cell"])
@pytest.mark.parametrize("users", [40, 250])
def test_users_who_share_a_draw_are_asked_about(users, column, whole):
    for seed in range(4):
        (verdict,) = shared_draws(
            log_of(1_000, seed, users=users, share="draw", column=column, whole=whole), 0
        )
        assert verdict.level == "do not trust"
        (reason,) = verdict.reasons
        assert reason.startswith(
            f"rows with the same `{column}` were given the same actions more often than chance allows"
        )
        assert reason.endswith(f"name it with group='{column}'")


def test_users_whose_rewards_are_alike_are_asked_about():
    for seed in range(4):
        (verdict,) = shared_draws(log_of(1_000, seed, users=200, share="taste"), 0)
        assert verdict.level in ("with care", "do not trust")
        assert "rows with the same `user` have reward alike" in verdict.reasons[0]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("column", ["cell", None])
def test_rows_that_share_one_draw_become_a_group(column, whole):
    log = log_of(1_000, 3, users=100, share="draw", same_context=True, column=column, whole=whole)
    grouped = with_shared_draws_grouped(log)
    assert grouped.group_origin == "shared"
    pairs = np.unique(np.column_stack([grouped.group, log["x_0"]]), axis=0)
    assert (
        len(pairs) == len(np.unique(grouped.group)) == len(np.unique(log["x_0"]))
    )  # one group for every user
    (verdict,) = shared_draws(grouped, 0)
    assert verdict.level == ("do not trust" if column is None else "with care")
    what = "context" if column is None else f"`{column}`"
    assert verdict.reasons[0].startswith(
        f"rows with the same {what} nearly always have the same action, though others had a chance"
    )
    assert verdict.reasons[0] in grouped.notes


@pytest.mark.parametrize("whole", [True, False])
def test_rows_that_share_none_stay_as_they_are(whole):
    for log in (
        log_of(600, 1, whole=whole),
        log_of(600, 1, users=200, same_context=True, whole=whole),
        log_of(600, 1, users=60, share="taste"),
    ):
        assert with_shared_draws_grouped(log) is log


def test_a_declared_group_is_not_asked_about():
    log = log_of(600, 0, users=60, share="draw")
    table = {name: column.values for name, column in log.table.columns.items()}
    declared = kwis.read_log(table, context=["x_0", "x_1"], propensity="p", actions=[0, 1, 2], group="user")
    assert not list(shared_draws(declared, 0))
    assert not questions(declared)


def test_an_evaluation_takes_users_who_share_a_draw_for_groups_and_keeps_right_propensities():
    log = log_of(800, 1, users=80, share="draw")
    found = kwis.evaluate(log, lambda rows: np.full((rows.n, 3), 1 / 3), estimators=["wis"])
    verdict = found.recommendation().row.verdict
    assert verdict.level != "trust"
    assert any(
        "rows with the same `user` nearly always have the same action" in reason for reason in verdict.reasons
    )
    assert found.repair.kept
    assert next(iter(found.diagnostics.values())).weights.groups == len(np.unique(log["user"]))


def test_users_are_asked_about_by_name():
    (question,) = questions(log_of(600, 1, users=60))
    assert (
        question
        == "rows share values of `user`: if these are one user or session each, name it with group='user'"
    )


@pytest.mark.parametrize(
    "name", ["user", "user_id", "userId", "session", "customer_number", "visitor-id", "uid", "patient"]
)
def test_names_of_groups(name):
    assert sounds_like_a_group(name)


@pytest.mark.parametrize(
    "name", ["age", "hour", "users_seen", "item_id", "superuser_rights", "device", "paid"]
)
def test_names_of_other_things(name):
    assert not sounds_like_a_group(name)
