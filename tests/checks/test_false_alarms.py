"""Right propensities are called wrong about 5 % of the time, on the logs that people have: randomised,
greedy, grouped, thinned.

Small versions with enough logs to notice what was once wrong; the level itself is measured by the slow ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import kwis
from kwis.checks.propensity import propensity_report
from kwis.policy.target import resolve_targets
from tests.checks.logs import softmax


def drawn(chance, u):
    return (u[:, None] >= chance.cumsum(axis=1)[:, :-1]).sum(axis=1)


def circumstances(rng, n):
    """Two numbers, one of them skewed, and a column of five levels, one of them rare."""
    number = np.stack([rng.normal(size=n), rng.exponential(size=n)], axis=1)
    return number, rng.choice(5, n, p=(0.4, 0.25, 0.2, 0.1, 0.05))


def read(chance, action, number, level, known, **columns):
    names = [f"b_{k}" for k in range(chance.shape[1])]
    table = {
        "u": number[:, 0],
        "v": number[:, 1],
        "level": np.array(list("abcde"), dtype=object)[level],
        "action": action,
    }
    table |= {
        "reward": np.ones(len(action)),
        "p": chance[np.arange(len(action)), action],
        **dict(zip(names, chance.T, strict=True)),
    }
    roles = {role: role for role in ("group", "row_weight") if role in columns}
    whole = {"propensity": names, "actions": range(chance.shape[1])}
    return kwis.read_log(
        table | columns,
        context=["u", "v", "level"],
        **({"propensity": "p"} if known == "logged" else whole),
        **roles,
    )


def policies(rng, number, actions, kinds):
    """Deterministic (``d``) and softmax (``s``) targets."""
    for place, kind in enumerate(kinds):
        scores = number @ rng.normal(size=(2, actions)) + rng.normal(size=actions)
        yield (
            f"{kind}{place}",
            np.eye(actions)[scores.argmax(axis=1)] if kind == "d" else softmax(0.8 * scores),
        )


def alarmed(log, targets):
    report = propensity_report(log, resolve_targets(log, dict(targets)))
    return report.wrong or any(finding.serious for finding in report.check.findings)


def uniform(seed, n, actions, known, kinds="ds"):
    rng = np.random.default_rng([seed, n, actions])
    number, level = circumstances(rng, n)
    action = rng.integers(actions, size=n)
    log = read(np.full((n, actions), 1 / actions), action, number, level, known)
    return alarmed(log, policies(rng, number, log.n_actions, kinds))


def greedy(seed, n, epsilon, known, kinds="ds", actions=6):
    rng = np.random.default_rng([seed, n, actions])
    number, level = circumstances(rng, n)
    best = (number @ rng.normal(size=(2, actions)) + rng.normal(size=(5, actions))[level]).argmax(axis=1)
    chance = (1 - epsilon) * np.eye(actions)[best] + epsilon / actions
    log = read(chance, drawn(chance, rng.random(n)), number, level, known)
    return alarmed(log, policies(rng, number, log.n_actions, kinds) if log.n_actions == actions else {})


def soft(
    seed, n, known, kinds="s", actions=4, sharpness=1.5, least=0.01, users=None, sharing=0.0, thinned=False
):
    rng = np.random.default_rng([seed, n, actions])
    group = np.arange(n) if users is None else np.repeat(np.arange(users), n // users)
    number, level = (values[group] for values in circumstances(rng, n))
    scores = number @ rng.normal(size=(2, actions)) + rng.normal(size=(5, actions))[level]
    chance = least + (1 - actions * least) * softmax(sharpness * scores)
    u = np.where(rng.random(n) < sharing, rng.random(n)[group], rng.random(n))
    action, columns = drawn(chance, u), {} if users is None else {"group": group}
    targets, kept = dict(policies(rng, number, actions, kinds)), np.ones(n, dtype=bool)
    if thinned:
        click = rng.random(n) < 0.1 + 0.1 * (action == 1) + 0.1 * (level == 0)
        kept = click | (rng.random(n) < 0.1)
        columns["row_weight"] = np.where(click, 1.0, 10.0)[kept]
    log = read(chance[kept], action[kept], number[kept], level[kept], known, **columns)
    return alarmed(
        log, {name: target[kept] for name, target in targets.items()} if log.n_actions == actions else {}
    )


REGIMES = {
    "uniform 3": lambda seed: uniform(seed, 500, 3, "whole"),
    "uniform 7": lambda seed: uniform(seed, 500, 7, "whole"),
    "uniform 12": lambda seed: uniform(seed, 500, 12, "whole"),
    "uniform 40, logged only": lambda seed: uniform(seed, 200, 40, "logged"),
    "greedy": lambda seed: greedy(seed, 1000, 0.07, "whole"),
    "greedy, logged only": lambda seed: greedy(seed, 1000, 0.07, "logged"),
    "small propensities": lambda seed: soft(seed, 600, "whole"),
    "small propensities, logged only": lambda seed: soft(seed, 600, "logged"),
    "three targets": lambda seed: soft(seed, 500, "whole", "sds", actions=3),
    "three targets, logged only": lambda seed: soft(seed, 500, "logged", "sds", actions=3),
    "groups that share one draw": lambda seed: soft(seed, 600, "whole", users=60, sharing=1.0),
    "groups of independent draws": lambda seed: soft(seed, 600, "whole", users=120),
    "groups that share some draws, logged only": lambda seed: soft(
        seed, 600, "logged", users=120, sharing=0.7
    ),
    "thinned": lambda seed: soft(seed, 3000, "whole", thinned=True),
    "thinned, logged only": lambda seed: soft(seed, 3000, "logged", thinned=True),
}


@pytest.mark.parametrize("regime", REGIMES)
def test_few_of_a_few_right_logs_are_called_wrong(regime):
    assert sum(REGIMES[regime](seed) for seed in range(12)) <= binom.isf(0.001, 12, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("regime", REGIMES)
def test_right_logs_are_called_wrong_five_percent_of_the_time(regime):
    """At most 8 % beyond doubt; less than 2 % is no fault where only logged propensities are known, which are
    then given leeway.
    """
    alarms = sum(REGIMES[regime](1000 + seed) for seed in range(200))
    assert alarms <= binom.isf(0.002, 200, 0.055)
    if "logged only" not in regime:
        assert alarms >= binom.ppf(0.002, 200, 0.045)


@pytest.mark.parametrize("actions", [3, 5, 6, 7, 12])
def test_a_uniform_logger_has_no_confidence_to_be_tested(actions):
    """The score of the exponent is rounding there, and rounding over rounding is anything."""
    rng = np.random.default_rng(0)
    number, level = circumstances(rng, 300)
    log = read(np.full((300, actions), 1 / actions), rng.integers(actions, size=300), number, level, "whole")
    assert all(test.kind != "confidence" for test in propensity_report(log).tests)


def test_a_policy_equal_to_the_logger_has_no_weights_to_be_tested():
    rng = np.random.default_rng(0)
    number, level = circumstances(rng, 400)
    chance = softmax(rng.normal(size=(400, 3)))
    log = read(chance, drawn(chance, rng.random(400)), number, level, "whole")
    same = chance * (1 + 1e-15 * rng.normal(size=chance.shape))
    report = propensity_report(log, resolve_targets(log, {"same": same}))
    assert all(test.kind != "weight" for test in report.tests)


def test_regions_count_by_what_is_expected_in_them():
    """An action that is common elsewhere but has a chance of 1 % in a region is not tested there."""
    rng = np.random.default_rng(0)
    number, level = circumstances(rng, 1000)
    chance = np.where((level == 0)[:, None], [0.99, 0.01], [0.5, 0.5])
    log = read(chance, drawn(chance, rng.random(1000)), number, level, "whole")
    tested = {(test.subject, test.region) for test in propensity_report(log).tests if test.kind == "action"}
    assert (1, "level = b") in tested
    assert (1, "level = a") not in tested
