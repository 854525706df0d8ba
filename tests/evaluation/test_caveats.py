"""What speaks against every estimate of a log: rewards that hardly vary, change over time, copies, a context
nobody named.
"""

from __future__ import annotations

import numpy as np
import pytest

import kwis
from kwis.data.copies import copies
from kwis.evaluation.caveats import rare
from kwis.models.propensity.check import propensity_signs

N = 600


def table(n=N, seed=1, **columns):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=n),
        "action": np.array(["a", "b"])[rng.integers(0, 2, n)],
        "reward": rng.normal(size=n),
        "p": np.full(n, 0.5),
        "q": rng.uniform(0.3, 0.7, n),
        "t": np.arange(n, dtype=float),
    } | columns


def evaluated(columns, **roles):
    log = kwis.read_log(columns, **{"reward": "reward", "propensity": "p", "context": ["x"]} | roles)
    return kwis.evaluate(log, "q", estimators=["wis"])


def verdict_of(columns, **roles):
    return evaluated(columns, **roles).recommendation().row.verdict


def reasons(verdict):
    return " ".join(verdict.reasons)


def test_an_ordinary_log_has_none_of_them():
    assert verdict_of(table(), time="t").level == "trust"


def test_rewards_all_the_same_tell_nothing():
    verdict = verdict_of(table(reward=np.zeros(N)))
    assert verdict.level == "do not trust"
    assert "every logged reward is 0, so policies cannot be compared" in reasons(verdict)


@pytest.mark.parametrize(("events", "level"), [(2, "do not trust"), (40, "with care"), (300, "trust")])
def test_a_handful_of_events_asks_for_care(events, level):
    verdict = verdict_of(
        table(reward=np.random.default_rng(1).permutation((np.arange(N) < events).astype(float)))
    )
    assert verdict.level == level
    assert ("rewards other than 0 are worth only" in reasons(verdict)) == (level != "trust")


def test_a_few_large_amounts_among_zeros_are_not_to_be_trusted():
    rng = np.random.default_rng(6)
    reward = (rng.random(N) < 0.1) * rng.lognormal(0, 1.5, N)
    verdict = verdict_of(table(reward=reward))
    assert verdict.level == "do not trust"
    assert "as a few large ones may outweigh" in reasons(verdict)


@pytest.mark.parametrize("groups", [None, 7])
@pytest.mark.parametrize("thinned", [False, True])
def test_the_worth_of_rare_rewards_is_their_effective_number(groups, thinned):
    rng = np.random.default_rng(2)
    reward, weight = (rng.random(80) < 0.2) * 3.0, rng.lognormal(size=80)
    mass = rng.uniform(1, 9, 80) if thinned else None
    group = None if groups is None else rng.permutation(np.arange(80) % groups)
    sample = kwis.WeightedSample(
        context=np.zeros((80, 1)), weight=weight, reward=reward, mass=mass, group=group
    )
    loads = reward * weight * (1.0 if mass is None else mass)
    sums = loads if group is None else np.array([loads[group == label].sum() for label in range(groups)])
    (found,) = rare(sample)
    assert f"worth only {sums.sum() ** 2 / (sums**2).sum():.0f} equal ones" in found.reasons[0]


def test_rewards_that_change_while_actions_do_not_ask_for_care_and_are_printed():
    evaluation = evaluated(
        table(reward=np.random.default_rng(2).normal(size=N) + (np.arange(N) > N / 2)), time="t"
    )
    verdict = evaluation.recommendation().row.verdict
    assert verdict.level == "with care"
    assert "mean reward changed over time" in reasons(verdict)
    assert any(note.startswith("mean reward was") for note in evaluation.notes)
    assert "mean reward was" in str(evaluation)


def test_rewards_that_change_with_the_actions_are_told_only():
    late = np.arange(N) >= N / 2
    chance = np.where(late, 0.9, 0.1)
    taken = np.random.default_rng(3).random(N) < chance
    changed = table(
        action=np.where(taken, "b", "a"), reward=taken + np.random.default_rng(4).normal(0, 0.3, N)
    )
    changed["p"] = np.where(taken, chance, 1 - chance)
    evaluation = evaluated(changed, time="t")
    assert "changed over time" not in reasons(evaluation.recommendation().row.verdict)
    assert any("of the actions" in note for note in evaluation.notes)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            np.tile(np.arange(N), 2),
            f"{N:,} of the {2 * N:,} rows are copies of others (rows occur 2 times each)",
        ),
        (
            np.append(np.arange(N), np.arange(0, N, 5)),
            "120 of the 720 rows are copies of others (rows occur up to 2 times)",
        ),
    ],
)
def test_a_log_put_together_from_copies_is_noticed(rows, told):
    verdict = verdict_of({name: values[rows] for name, values in table().items()})
    assert verdict.level == "with care"
    assert told in reasons(verdict)
    apart = {name: values[rows] for name, values in table().items()} | {"user": rows}
    assert verdict_of(apart, group="user").level == "trust"


def test_few_different_rows_are_no_copies():
    columns = table(
        x=np.zeros(N), reward=np.tile([0.0, 1.0], N // 2), action=np.tile(["a", "a", "b", "b"], N // 4)
    )
    assert copies(kwis.read_log(columns, reward="reward", propensity="p", context=["x"])) is None


def test_an_action_that_its_propensity_rules_out_is_a_sign():
    columns = table(1500)
    columns["p"][[7, 300]] = 1e-7
    found = propensity_signs(kwis.read_log(columns, reward="reward", propensity="p", context=["x"]))
    sentence = next(finding.sentence for finding in found.findings if finding.kind == "unlikely")
    assert sentence == (
        "2 rows, the first of them row 7, took an action of propensity 1e-07 or less, which would happen "
        "in one log of 6,667"
    )
    assert all(finding.serious for finding in found.findings if finding.kind == "unlikely")
    right = kwis.read_log(table(1500), reward="reward", propensity="p", context=["x"])
    assert all(finding.kind != "unlikely" for finding in propensity_signs(right).findings)


def test_rows_that_stand_for_others_and_countless_actions_are_not_against_all_odds():
    standing = table(
        420, p=np.where(np.arange(420) < 20, 1e-5, 1 - 1e-5), m=np.where(np.arange(420) < 20, 1.0, 5000.0)
    )
    items = table(500, action=[f"item {i}" for i in range(500)], p=np.full(500, 1e-6))
    logs = [
        kwis.read_log(standing, reward="reward", propensity="p", context=["x"], row_weight="m"),
        kwis.read_log(items, reward="reward", propensity="p", context=["x"]),
    ]
    for log in logs:
        assert all(finding.kind != "unlikely" for finding in propensity_signs(log).findings)


def test_every_reward_has_its_own_history():
    columns = table(late=np.random.default_rng(2).normal(size=N) + (np.arange(N) > N / 2))
    found = evaluated(columns, reward=["reward", "late"], time="t")
    assert "changed over time" not in reasons(found.recommendation(reward="reward").row.verdict)
    assert "mean late changed over time" in reasons(found.recommendation(reward="late").row.verdict)


def test_segments_know_what_speaks_against_their_rewards():
    columns = table(reward=np.tile([0.0, 1.0], N // 2), device=np.tile(["phone", "laptop"], N // 2))
    log = kwis.read_log(columns, reward="reward", propensity="p", context=["x"])
    (segments,) = kwis.evaluate(log, "q", estimators=["wis"], by="device").segments
    for segment in segments.segments:
        verdict = next(row.verdict for row in segment.rows if row.target == "q")
        assert verdict.level == "do not trust"
        assert "every logged reward is" in reasons(verdict)


def test_a_target_that_rests_on_one_row_is_not_told_apart():
    decided = 0
    for seed in range(30):
        q = np.zeros(200)
        q[11] = 0.5
        log = kwis.read_log(table(200, seed, q=q), reward="reward", propensity="p", context=["x"])
        decided += kwis.evaluate(log, "q", estimators=["wis"], repair="never").recommendation().change.decided
    assert decided == 0


def test_a_log_without_any_context_needs_none_named():
    columns = {name: values for name, values in table(3000).items() if name in ("action", "reward", "p")}
    columns["p"] = np.where(columns["action"] == "a", 0.8, 0.2)
    log = kwis.read_log(columns, reward="reward", propensity="p")
    evaluation = kwis.evaluate(log, lambda rows: np.full((rows.n, 2), 0.5), estimators="wis")
    assert not evaluation.repair.kept
    assert "no context was named" not in reasons(evaluation.recommendation().row.verdict)


def test_rows_that_differ_in_a_column_nobody_uses_are_no_copies():
    columns = {name: np.tile(values, 2) for name, values in table().items()}
    log = kwis.read_log(columns | {"order": np.arange(2 * N)}, reward="reward", propensity="p", context=["x"])
    assert copies(log) is None


def test_right_propensities_are_rarely_called_unlikely():
    rng = np.random.default_rng(0)
    alarms = 0
    for seed in range(300):
        small = rng.uniform(0, 0.02, 200)
        taken = rng.random(200) < small
        columns = table(200, seed, action=np.where(taken, "b", "a"), p=np.where(taken, small, 1 - small))
        found = propensity_signs(
            kwis.read_log(columns, reward="reward", propensity="p", context=["x"], actions=["a", "b"])
        )
        alarms += any(finding.kind == "unlikely" for finding in found.findings)
    assert alarms <= 2


def test_a_repair_from_columns_that_nobody_called_context_is_not_to_be_trusted():
    sample = kwis.sample_log(1500, rng=1)
    columns = dict(sample.table)
    roles = {"reward": "click", "propensity": "propensity", "group": "user"}
    named = kwis.evaluate(
        kwis.read_log(columns, context=["country", "device", "age", "member", "hour"], **roles),
        "p_new",
        estimators="wis",
    )
    unnamed = kwis.evaluate(kwis.read_log(columns, **roles), "p_new", estimators="wis")
    assert not named.repair.kept
    assert not unnamed.repair.kept
    assert "no context was named" not in reasons(named.recommendation().row.verdict)
    assert unnamed.recommendation().row.verdict.level == "do not trust"
    assert "no context was named" in reasons(unnamed.recommendation().row.verdict)


def test_propensities_that_fail_and_stay_are_said_to():
    log = kwis.read_log(table(2000, p=np.full(2000, 0.62)), reward="reward", propensity="p", context=["x"])
    evaluation = kwis.evaluate(log, "q", estimators=["wis"])
    kept = evaluation.repair.kept and evaluation.propensity.wrong
    assert ("Propensities fail their tests and were not repaired" in str(evaluation)) == kept
    assert kept or not evaluation.repair.kept


def test_weights_that_do_not_depend_on_the_context_are_normalised_together_and_said_to_be():
    log = kwis.read_log(table(q=np.full(N, 0.5)), reward="reward", propensity="p", context=["x"])
    found = kwis.evaluate(log, "q", estimators=["wis", "normalised-kernel-wis"]).recommendation()
    assert found.row.estimator == "normalised-kernel-wis"
    assert np.isinf(found.row.estimate.bandwidth)
    assert any("weights do not depend on the context" in reason for reason in found.why)


def test_a_function_for_one_row_is_refused_with_what_it_did():
    log = kwis.read_log(table(), reward="reward", propensity="p", context=["x"])

    def by_row(row):
        return "a" if row["x"] > 0 else "b"

    said = "`target` .* whole log, .* an action for every row .*: by_row ended in ValueError"
    with pytest.raises(kwis.InputError, match=said):
        kwis.evaluate(log, by_row)


def test_segments_print_as_a_table():
    columns = table(device=np.tile(["phone", "laptop"], N // 2))
    log = kwis.read_log(columns, reward="reward", propensity="p", context=["x"])
    evaluation = kwis.evaluate(log, "q", estimators=["wis"], by="device")
    printed = str(evaluation)
    assert "by device" in printed
    assert printed.count("logging policy  reward") == 2
    row = next(row for row in evaluation.segments[0].segments[1].rows if row.target == "q")
    line = next(line for line in str(evaluation.segments[0]).splitlines()[5:] if " q " in line)
    assert f"{row.estimate.value:.2f}" in line


@pytest.mark.parametrize(
    ("seen", "level", "plain", "normalised"),
    [(60, "do not trust", 0.75, 1), (19, "with care", 0.95, 1)],
)
def test_states_without_the_actions_of_a_target_are_named(seen, level, plain, normalised):
    """In some states the target's action was never taken: they count as 0."""
    n = 400
    x = np.arange(n) // 4
    action = np.where(np.arange(n) % 2 == 0, "a", "b")
    never = x >= 100 - 25 if seen == 60 else x >= 100 - 5
    action[never] = "b"
    log = {"x": x, "action": action, "reward": 1 + 0.01 * np.arange(n) / n, "p": np.full(n, 0.5)}
    read = kwis.read_log(log, reward="reward", propensity="p", context=["x"])
    found = kwis.evaluate(
        read, kwis.always("a"), estimators=["state-wis", "normalised-state-wis"], repair="never"
    )
    one, other = (row for row in found.rows if row.target != "logging policy")
    assert one.estimate.value == pytest.approx(plain, abs=0.01)
    assert other.estimate.value == pytest.approx(normalised, abs=0.01)
    assert one.verdict.level == level
    share = f"{1 - plain:.0%}"
    assert f"state-wis counts as 0 {share} of the rows: no row with the same" in reasons(one.verdict)
    assert f"normalised-state-wis leaves out {share} of the rows" in reasons(other.verdict)
