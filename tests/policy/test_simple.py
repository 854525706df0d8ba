"""Policies that need no column, and those whose meaning somebody states."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kwis
from kwis.data.log import LoggedBandit
from kwis.data.read.predictions import read_predictions
from kwis.errors import InputError
from kwis.policy.discrete import TargetPolicy
from kwis.policy.target import resolve_target, resolve_targets

N = 60
RNG = np.random.default_rng(3)
ACTIONS = ("A", "B", "C")


def three(**more: Any) -> LoggedBandit:
    """Three actions; `pick` is a deterministic policy, `q_...` a stochastic one, `p_old` known in part."""
    action = RNG.integers(3, size=N)
    shares = RNG.dirichlet(np.ones(3), N)
    table = {
        "action": np.array(ACTIONS)[action],
        "reward": RNG.random(N),
        "propensity": np.full(N, 1 / 3),
        "age": RNG.random(N),
        "pick": np.array(ACTIONS)[RNG.integers(3, size=N)],
        "p_old": RNG.random(N),
        **{f"q_{label}": shares[:, k] for k, label in enumerate(ACTIONS)},
    }
    return kwis.read_log(table, context="age", **more)


def two() -> LoggedBandit:
    """Actions 0 and 1, whose labels are probabilities too."""
    table = {"action": RNG.integers(2, size=N), "reward": RNG.random(N), "age": RNG.random(N)}
    return kwis.read_log(table, propensity=0.5, context="age")


LOG = three()


def whole(target: Any, log: LoggedBandit = LOG) -> TargetPolicy:
    policy = resolve_target(log, target)
    assert policy.distribution is not None
    np.testing.assert_allclose(policy.distribution.sum(axis=1), 1)
    np.testing.assert_allclose(policy.logged, policy.distribution[np.arange(log.n), log.action])
    return policy


def test_always_takes_one_action() -> None:
    policy = whole(kwis.always("B"))
    assert policy.name == "always B"
    np.testing.assert_array_equal(policy.logged, LOG["action"] == "B")
    with pytest.raises(InputError, match=r"^`target` must know only actions of the log, got 'D'"):
        whole(kwis.always("D"))
    with pytest.raises(InputError, match=r"got 'b', which no row took; did you mean 'B'\?"):
        whole(kwis.always("b"))
    with pytest.raises(InputError, match=r"the log has 'A', 'B', 'C'; if it exists"):
        whole({"control": 1.0})


def test_a_file_without_a_column_named_says_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("key,policy\n1,A\n")
    with pytest.raises(InputError, match=r"must name a column of '.*new.csv', got none; it has key, policy$"):
        whole(kwis.joined(path, key="key"))


def test_scores_of_the_actions_at_hand_ask_for_candidates() -> None:
    frame = {
        "x": [1, 2] * 30,
        "action": ["A", "B", "C"] * 20,
        "reward": [0, 1] * 30,
        "propensity": [0.4] * 60,
    }
    log = kwis.read_log(pd.DataFrame({**frame, "new": [[0.5, 0.5]] * 60}), context="x")
    with pytest.raises(InputError, match=r"got 2 for 3 actions; if these .* name those with candidates="):
        resolve_target(log, "new")


def test_uniform_gives_every_action_the_same() -> None:
    np.testing.assert_allclose(whole(kwis.uniform()).logged, 1 / 3)


def test_epsilon_greedy_takes_the_best_and_explores() -> None:
    best = LOG["pick"] == LOG["action"]
    np.testing.assert_allclose(whole(kwis.epsilon_greedy("pick", 0.3)).logged, 0.7 * best + 0.1)
    shares = np.column_stack([LOG[f"q_{label}"] for label in ACTIONS])
    likes_best = shares.argmax(axis=1) == LOG.action
    np.testing.assert_allclose(whole(kwis.epsilon_greedy("q", 0.0)).logged, likes_best)
    tied = kwis.epsilon_greedy(kwis.uniform(), 0.0)
    np.testing.assert_allclose(whole(tied).logged, 1 / 3)
    with pytest.raises(InputError, match="must know the probability of every action to be greedy"):
        resolve_target(LOG, kwis.epsilon_greedy("p_old", 0.1))


def test_a_mixture_follows_the_second_policy_in_its_share() -> None:
    mixed = resolve_target(LOG, kwis.mix("p_old", kwis.always("A"), 0.25))
    np.testing.assert_allclose(mixed.logged, 0.75 * LOG["p_old"] + 0.25 * (LOG["action"] == "A"))
    assert mixed.distribution is None  # of `p_old` only the logged action is known
    assert mixed.columns == ("p_old",)
    assert mixed.name == "0.75 p_old + 0.25 always A"
    nested = whole(kwis.mix(kwis.uniform(), kwis.epsilon_greedy("q", 0.1), 0.5))
    assert nested.columns == ("q_A", "q_B", "q_C")


@pytest.mark.parametrize("make", [lambda: kwis.mix("a", "b", 1.5), lambda: kwis.epsilon_greedy("a", -0.1)])
def test_shares_outside_their_range_are_refused(make: Any) -> None:
    with pytest.raises(InputError, match=r"must be in \[0, 1\]"):
        make()


def test_a_dictionary_of_probabilities_is_one_policy_and_may_leave_out_actions() -> None:
    (policy,) = resolve_targets(LOG, {"A": 0.2, "B": 0.8})
    expected = np.select([LOG["action"] == "A", LOG["action"] == "B"], [0.2, 0.8], 0.0)
    np.testing.assert_allclose(policy.logged, expected)
    (named,) = resolve_targets(LOG, {"mostly B": {"A": 0.2, "B": 0.8}})
    assert named.name == "mostly B"
    with pytest.raises(InputError, match=r"^`target` must sum to 1 over the actions, got 0.7$"):
        resolve_targets(LOG, {"A": 0.2, "B": 0.5})
    with pytest.raises(InputError, match=r"got 'D', which no row took"):
        resolve_targets(LOG, {"A": 0.5, "D": 0.5})


def test_a_mapping_from_actions_to_columns_has_the_name_that_the_user_gives() -> None:
    columns = {"A": "q_A", "B": "q_B", "C": "q_C"}
    assert resolve_targets(LOG, {"new": columns})[0].name == "new"
    assert resolve_targets(LOG, kwis.distribution(columns, name="new"))[0].name == "new"
    assert resolve_target(LOG, kwis.chosen("pick", name="picky")).name == "picky"


def test_treat_all_works_as_a_function_and_as_an_array() -> None:
    log = two()
    for target in (
        lambda log: np.ones(len(log), int),
        np.ones(N, int),
        kwis.chosen(lambda log: np.ones(len(log), int)),
        kwis.chosen(np.ones(N, int)),
        kwis.always(1),
        kwis.always("1"),
    ):
        np.testing.assert_array_equal(whole(target, log).logged, log.action == 1)


def test_values_that_are_actions_and_probabilities_are_settled_as_the_error_advises() -> None:
    log, rule = two(), lambda log: (log["age"] > 0.5).astype(int)
    with pytest.raises(InputError, match=r"kwis.chosen\(function\) or kwis.probability\(function\)$"):
        resolve_target(log, rule)
    with pytest.raises(InputError, match=r"kwis.chosen\(array\) or kwis.probability\(array\)$"):
        resolve_target(log, rule(log))
    np.testing.assert_array_equal(whole(kwis.chosen(rule), log).logged, rule(log) == log.action)
    np.testing.assert_array_equal(resolve_target(log, kwis.probability(rule)).logged, rule(log))
    shares = np.column_stack([rule(log), 1 - rule(log)])
    for target in (kwis.distribution(shares), kwis.distribution(lambda log: shares)):
        np.testing.assert_array_equal(whole(target, log).logged, shares[np.arange(N), log.action])


def test_a_policy_in_another_file_is_joined_by_its_key(tmp_path: Path) -> None:
    keys = [f"k{i}" for i in range(N)]
    order = np.random.default_rng(0).permutation(N)
    picks = [ACTIONS[i % 3] for i in range(N)]
    path = tmp_path / "predictions.csv"
    path.write_text("id,policy,age\n" + "".join(f"{keys[i]},{picks[i]},9\n" for i in order))
    table = {name: LOG[name] for name in ("action", "reward", "propensity", "age")} | {"id": keys}
    log = kwis.read_log(table, context="age", key="id")
    policy = whole(kwis.joined(path, "policy"), log)
    np.testing.assert_array_equal(policy.logged, [p == a for p, a in zip(picks, LOG["action"], strict=True)])
    assert policy.columns == ()  # its columns are not those of the log
    same = kwis.joined({"id": keys, "p": policy.logged}, kwis.probability("p"), key="id")
    np.testing.assert_array_equal(resolve_target(log, same).logged, policy.logged)
    path.write_text("id,policy\n" + "".join(f"{keys[i]},{picks[i]}\n" for i in range(N - 2)))
    with pytest.raises(InputError, match=r"got 'k58' at row 58, which is not there, nor are 1 more$"):
        resolve_target(log, kwis.joined(path, "policy"))
    path.write_text("id,policy\n" + "".join(f"k1,{pick}\n" for pick in picks))
    with pytest.raises(InputError, match=r"must identify the rows of .*, got 'k1' more than once$"):
        resolve_target(log, kwis.joined(path, "policy"))


@pytest.mark.parametrize(
    ("line", "tagged"),
    [
        (lambda row: ",".join(f"{k}:{row[k]}" for k in np.argsort(-row)), False),
        (lambda row: " ".join(map(str, row)), False),
        (lambda row: ",".join(f"{k}:{row[k]}" for k in np.argsort(-row)), True),
    ],
    ids=["adf", "explore", "tags"],
)
def test_prediction_files_of_vowpal_wabbit_are_policies(line: Any, tagged: bool, tmp_path: Path) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(3), N)
    order = np.arange(N)[::-1] if tagged else np.arange(N)
    path = tmp_path / "new.pred"
    path.write_text("".join(f"{line(shares[i])}{f' d{i}' if tagged else ''}\n\n" for i in order))
    table = {"action": LOG.action + 1, "reward": LOG["reward"], "id": [f"d{i}" for i in range(N)]}
    log = kwis.read_log(table, propensity=1 / 3, context=[], key="id" if tagged else None)
    policy = whole(kwis.joined(path), log)
    assert policy.name == "new"
    by = "by id" if tagged else "in their order"
    assert policy.note == f"lines of new.pred were matched with rows of the log {by}; its first action is 1"
    np.testing.assert_allclose(policy.logged, shares[np.arange(N), LOG.action])


def test_predictions_without_tags_have_no_key(tmp_path: Path) -> None:
    table = {"action": LOG.action + 1, "reward": LOG["reward"], "id": list(range(N))}
    path = tmp_path / "new.pred"
    path.write_text("2 7\n" + "2\n" * (N - 1))  # one line has a tag
    said = r"must have a tag on every line to be joined by `id` \(key\); without a key, its lines are matched"
    keyed = kwis.read_log(table, propensity=1 / 3, context=[], key="id")
    plain = kwis.read_log(table, propensity=1 / 3, context=["id"])
    for log, policy in ((keyed, kwis.joined(path)), (plain, kwis.joined(path, key="id"))):
        with pytest.raises(InputError, match=said):
            resolve_target(log, policy)


def test_actions_predicted_by_vowpal_wabbit_count_from_one_and_scores_are_refused(tmp_path: Path) -> None:
    log = kwis.read_log({"action": LOG.action + 1, "reward": LOG["reward"]}, propensity=1 / 3, context=[])
    path = tmp_path / "cb.txt"
    path.write_text("2\n" * N)
    np.testing.assert_array_equal(whole(kwis.joined(path), log).logged, LOG.action == 1)
    path.write_text("0:-1.2,1:0.7,2:0.9\n" * N)
    with pytest.raises(InputError, match=r"must hold probabilities that sum to 1, got .*--cb_explore_adf"):
        resolve_target(log, kwis.joined(path))
    path.write_text("0:1\n" * (N - 1))
    with pytest.raises(InputError, match=r"must have one prediction per row of the log, got 59 for 60 rows"):
        resolve_target(log, kwis.joined(path))


@pytest.mark.parametrize(
    ("text", "shares", "tags"),
    [
        ("2 17\n1 18\n", [[0.0, 1.0], [1.0, 0.0]], ("17", "18")),  # a tag may be a number
        ("0:0.0,1:1.0\n", [[0.0, 1.0]], ()),
    ],
)
def test_a_prediction_may_be_sure(text: str, shares: Any, tags: Any, tmp_path: Path) -> None:
    path = tmp_path / "predictions.txt"
    path.write_text(text)
    found = read_predictions(str(path))
    assert (found.shares.tolist(), found.tags) == (shares, tags)


def test_predictions_of_many_actions_sum_to_one_but_for_six_digits(tmp_path: Path) -> None:
    share = 1 / 700
    path = tmp_path / "many.txt"
    path.write_text(",".join(f"{place}:{share:.6f}" for place in range(700)) + "\n\n")
    assert abs(sum(round(share, 6) for _ in range(700)) - 1) > 1e-4
    found = read_predictions(str(path))
    assert found.shares == pytest.approx(np.full((1, 700), share))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("999999999:1", r"must have at most 10,000 actions, got number 999999999 at line 1$"),
        ("1e300", r"must have at most 10,000 actions, got number 1e\+300 at line 1$"),
        ("9" * 5000 + ":1", r"must name a column of '.*p.txt', got none$"),
        ("0:1," * 300_000 + "1:0", r"must have lines of at most 1,000,000 bytes, and line 1 is longer$"),
    ],
    ids=["position", "action", "digits", "line"],
)
def test_predictions_that_would_fill_the_memory_are_refused(line: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text(f"{line}\n" * 2)
    with pytest.raises(InputError, match=sentence):
        resolve_target(LOG, kwis.joined(path))


def test_damaged_and_exploding_gzips_of_predictions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.txt.gz"
    path.write_bytes(gzip.compress(b"0:0.5,1:0.5\n" * N)[:-9])
    with pytest.raises(InputError, match=r"cannot read '.*p\.txt\.gz': it is damaged, or no gzip"):
        resolve_target(LOG, kwis.joined(path))
    monkeypatch.setattr("kwis.data.read.limits.FREE_BYTES", 1_000)
    path.write_bytes(gzip.compress(b"1\n" * 1_000_000))
    with pytest.raises(InputError, match="must not expand to over 50 times its size"):
        resolve_target(LOG, kwis.joined(path))
