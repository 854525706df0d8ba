import numpy as np
import pytest

import kwis
from kwis.checks.training import TrainingCheck, training_check
from kwis.data.copies import together_of
from kwis.evaluation.caveats import about_training
from kwis.policy.target import resolve_target
from tests.checks.trained import LEARNERS, World, greedy, log_of, softmax
from tests.reference.training import training_figures


def policies(world: World, seed: int, learners=tuple(LEARNERS)):
    """A log, and policies on its rows by name: those that learnt from it, and those that did not."""
    rng = np.random.default_rng([5, seed, world.n, world.actions])
    here, there = world.draw(rng), world.draw(rng)
    guilty, innocent = {}, {}
    for name in learners:
        for found, data in ((guilty, here), (innocent, there)):
            scores = LEARNERS[name](*data[:3], world.actions)(here[0])
            found[name], found[f"softmax of {name}"] = greedy(scores), softmax(scores)
    innocent["rule"] = np.eye(world.actions)[(here[0][:, 0] > 0).astype(int)]
    innocent["softmax of the truth"] = softmax(world.value(here[0]))
    return log_of(*here), guilty, innocent


def levels(log, found, predicted):
    return {
        name: training_check(log, resolve_target(log, shares, name), 0, predicted).verdict.level
        for name, shares in found.items()
    }


def test_it_equals_its_slow_twin():
    world = World(n=60, actions=3)
    log = log_of(*world.draw(np.random.default_rng(0)))
    shares = np.random.default_rng(1).dirichlet(np.ones(3), 60)
    predicted = np.full(60, log.reward.mean())
    for one in (log, log.take(np.arange(120) % 60)):
        m = len(one) // 60
        found = training_check(one, resolve_target(one, np.tile(shares, (m, 1))), 0, np.tile(predicted, m))
        twin = training_figures(
            one.features().tolist(),
            one.action,
            one.reward[:, 0],
            np.tile(predicted, m),
            np.tile(shares, (m, 1)),
            together_of(one),
        )
        if m == 1:
            assert (found.z, found.pull) == pytest.approx(twin, rel=1e-9)
        else:  # ties between copies leave open which of them is the tenth neighbour
            assert found.z == pytest.approx(twin[0], rel=0.3)


def test_copies_of_rows_make_no_policy_guiltier():
    log, _, innocent = policies(World(n=300), 0, ("boosted",))
    shares = innocent["boosted"]
    once = training_check(log, resolve_target(log, shares))
    rows = np.arange(900) % 300
    thrice = training_check(log.take(rows), resolve_target(log.take(rows), shares[rows]))
    assert abs(thrice.z) < abs(once.z) + 1


@pytest.mark.parametrize(
    "world", [World(n=600, actions=2, binary=True), World(n=800, actions=4, greedy_logger=True)]
)
def test_a_policy_trained_on_its_own_log_is_seen_and_others_are_left_alone(world):
    log, guilty, innocent = policies(world, 1, ("boosted",))
    predicted = kwis.predict_rewards(log).logged
    for model in (predicted, None):
        assert "trust" not in levels(log, guilty, model).values()
        assert levels(log, guilty, model)["boosted"] == "do not trust"
        assert set(levels(log, innocent, model).values()) == {"trust"}


def test_a_target_known_at_logged_actions_only_is_checked_too():
    log, guilty, innocent = policies(World(n=1000), 2, ("boosted",))
    for shares, verdict in ((guilty["boosted"], "do not trust"), (innocent["boosted"], "trust")):
        logged = shares[np.arange(log.n), log.action]
        target = resolve_target(
            log, 0.98 * logged + 0.01, "p"
        )  # no choice, so that it is read as a probability
        assert target.distribution is None
        assert training_check(log, target).verdict.level == verdict


def test_nothing_is_said_where_nothing_can_be():
    log, *_ = policies(World(n=40), 3, ())
    constant = training_check(log, resolve_target(log, np.full((40, 3), 1 / 3)))
    assert (constant.z, constant.pull, constant.verdict.level) == (0.0, 0.0, "trust")
    few = log.take(np.arange(15))
    assert training_check(few, resolve_target(few, np.eye(3)[few.action])).verdict.level == "trust"


def test_a_large_log_is_judged_by_a_part_of_its_rows():
    world = World(n=12_000, actions=2)
    log = log_of(*world.draw(np.random.default_rng(4)))
    lucky = np.where(log.reward[:, 0] > np.median(log.reward), log.action, 1 - log.action)
    found = training_check(log, resolve_target(log, np.eye(2)[lucky]))
    assert found.rows == 10_000
    assert found.verdict.level == "do not trust"


@pytest.mark.parametrize(
    ("z", "pull", "level"),
    [
        (2.5, 0.5, "trust"),
        (9.0, 0.01, "trust"),
        (2.7, 0.04, "with care"),
        (5.0, 0.06, "with care"),
        (5.0, 0.09, "do not trust"),
        (14.0, 0.03, "do not trust"),
        (-9.0, -0.5, "trust"),
    ],
)
def test_both_the_test_and_the_size_count(z, pull, level):
    found = TrainingCheck(target="t", reward="r", pull=pull, z=z, rows=1000).verdict
    assert found.level == level
    assert all("kwis.cross_fit" in reason for reason in found.reasons)
    assert bool(found.reasons) == (level != "trust")


@pytest.mark.slow
def test_an_answer_about_a_policy_trained_on_its_own_log_is_not_to_be_trusted():
    log, guilty, innocent = policies(World(n=800), 5, ("boosted",))
    answer = kwis.evaluate(
        log, {"own": guilty["boosted"], "other": innocent["boosted"]}, by=["x3"], repair="never"
    )
    assert answer.recommended["own"].row.verdict.level == "do not trust"
    assert answer.recommended["other"].row.verdict.level != "do not trust"
    assert "own seems to have learnt from these very rows" in str(answer).replace("\n      ", " ")
    assert {
        row.verdict.level
        for segment in answer.segments[0].segments
        for row in segment.rows
        if row.target == "own"
    } == {"do not trust"}
    assert {one.target for one in answer.training} == {"own", "other"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        World(n=500, actions=2, binary=True),
        World(n=500, actions=3),
        World(n=1000, actions=3, skewed=True),
        World(n=2000, actions=5, greedy_logger=True),
        World(n=5000, actions=2),
    ],
)
def test_over_many_logs_own_policies_are_never_trusted_and_others_rarely_accused(world):
    logs, accused, judged = 15 if world.n > 2000 else 40, 0, 0
    for seed in range(logs):
        log, guilty, innocent = policies(world, 100 + seed)
        predicted = kwis.predict_rewards(log).logged
        assert "trust" not in levels(log, guilty, predicted).values()
        found = levels(log, innocent, predicted)
        accused, judged = accused + sum(level != "trust" for level in found.values()), judged + len(found)
    assert accused <= 0.03 * judged


def test_what_the_user_says_answers_a_doubt_but_no_clear_case():
    log, *_ = policies(World(n=40), 6, ())
    shares = np.full((40, 3), 1 / 3)
    for z, plain, said in ((3.0, "with care", "trust"), (9.0, "do not trust", "do not trust")):
        found = (TrainingCheck(target="t", reward="reward", z=z, pull=0.05, rows=40),)
        for asked, level in ((shares, plain), (kwis.trained_elsewhere(shares), said)):
            assert about_training([resolve_target(log, asked, "t")], found)["t", "reward"].level == level
