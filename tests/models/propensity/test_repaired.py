"""Propensities of a log repaired on its own rows: held out, described before and after, attached
with a note.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kwis.checks.propensity import propensity_report
from kwis.data.log import LoggedBandit
from kwis.data.read.read_log import read_log
from kwis.data.sample_log import sample_log
from kwis.errors import InputError
from kwis.models.propensity.repaired import repair_propensities
from tests.models.propensity.test_repair import drawn, gap, logger, softmax


def whole_log(
    n: int = 1_500, k: int = 4, seed: int = 0, power: float = 1.0, **columns: np.ndarray
) -> tuple[LoggedBandit, np.ndarray]:
    """A log that holds the whole distribution to the given power, and the true distribution."""
    features, action, truth = logger(n, k, seed)
    given = softmax(power * np.log(truth))
    table = {"x": features, "action": action, "reward": np.zeros(n), "p": given, **columns}
    roles = {name: name for name in columns}
    return read_log(table, context="x", propensity="p", actions=list(range(k)), **roles), truth


def test_right_propensities_are_kept() -> None:
    log, _ = whole_log()
    found = repair_propensities(log)
    assert found.kept
    assert found.attach(log) is log
    assert found.folds.size == 0
    assert found.log_loss_before == found.log_loss_after
    np.testing.assert_array_equal(found.logged, log.propensity)


def test_wrong_ones_are_repaired_and_shown_before_and_after() -> None:
    log, truth = whole_log(power=0.4)
    found = repair_propensities(log)
    assert not found.kept
    assert found.distribution is not None
    assert log.behaviour is not None
    assert gap(found.distribution, truth) < 0.3 * gap(log.behaviour, truth)
    assert found.log_loss_after < found.log_loss_before
    ideal = float((1 / (4 * truth[np.arange(log.n), log.action])).mean())
    assert abs(found.inverse_after - ideal) < 0.2 * abs(found.inverse_before - ideal)
    assert found.reliability_before is not None
    assert found.reliability_after is not None
    assert (
        found.reliability_after.expected_calibration_error
        < 0.5 * found.reliability_before.expected_calibration_error
    )
    np.testing.assert_allclose(found.distribution.sum(axis=1), 1)


def test_the_log_says_that_its_propensities_were_repaired() -> None:
    log, _ = whole_log(power=0.4)
    found = repair_propensities(log)
    made = found.attach(log)
    assert made.propensity_origin == "repaired"
    assert made.notes[-1] == found.note
    assert found.note.startswith("propensities were repaired from the logged actions by their scale")
    np.testing.assert_array_equal(made.propensity, found.logged)


def test_no_row_is_repaired_by_a_model_that_saw_it() -> None:
    log, _ = whole_log(n=300, power=0.4)
    found = repair_propensities(log, rng=1)
    held = np.flatnonzero(found.folds == found.folds[0])
    # Another action in a held-out row must change the others and leave the row itself as it was.
    row = int(held[0])
    action = log.action.copy()
    action[row] = (action[row] + 1) % 4
    table = {name: log.table.column(name).values for name in log.table.columns} | {"action": action}
    again = repair_propensities(
        read_log(
            table,
            context=list(log.context_columns),
            propensity=[f"p_{k}" for k in range(4)],
            actions=list(range(4)),
        ),
        rng=1,
    )
    assert found.distribution is not None
    assert again.distribution is not None
    np.testing.assert_array_equal(found.folds, again.folds)
    np.testing.assert_allclose(found.distribution[row], again.distribution[row], atol=1e-6)
    assert np.abs(found.distribution - again.distribution).max() > 1e-6


@pytest.mark.parametrize("whole", [True, False])
def test_refits_say_of_all_rows_what_each_model_says(whole: bool) -> None:
    log, _ = whole_log(power=0.4, n=600)
    log = log if whole else replace(log, behaviour=None)
    found = repair_propensities(log, when="always")
    assert found.refits.shape == (600, 5)
    np.testing.assert_array_equal(found.refits[np.arange(600), found.folds], found.logged)
    assert (found.refits.std(axis=1) > 0).all()
    assert found.refits.std(axis=1).mean() < 0.1 * found.refits.mean()  # a fifth of the rows changes little
    assert repair_propensities(whole_log()[0]).refits.shape == (1_500, 0)


def test_whole_groups_share_a_fold() -> None:
    group = np.arange(1_500) // 10
    log, _ = whole_log(power=0.4, group=group)
    folds = repair_propensities(log).folds
    assert all(len(np.unique(folds[group == user])) == 1 for user in range(150))


def test_a_shop_with_wrong_propensities_in_brazil_passes_its_tests_after_repair() -> None:
    log = sample_log(8_000, rng=2).read().without_context(["p_new", "p_bold"])
    assert propensity_report(log).regions == ("country = BR",)
    found = repair_propensities(log)
    assert found.distribution is None
    assert found.terms == ("inverse",)
    assert not propensity_report(found.attach(log)).wrong
    right = sample_log(8_000, rng=2, right_propensities=True).read().without_context(["p_new", "p_bold"])
    assert repair_propensities(right).kept


def test_actions_that_are_not_always_on_offer_are_no_fault() -> None:
    rng = np.random.default_rng(3)
    x, offered = rng.normal(size=3_000), rng.random(3_000) < 0.5
    truth = softmax(np.column_stack([x, np.zeros(3_000), np.where(offered, 0.5 - x, -np.inf)]))
    action = drawn(truth, rng)
    table = {"x": x, "action": action, "reward": x, "propensity": truth[np.arange(3_000), action]}
    assert repair_propensities(read_log(table, context="x", propensity="propensity")).kept


def test_where_others_have_called_them_wrong_a_gain_is_enough() -> None:
    log = sample_log(1_000, rng=2).read().without_context(["p_new", "p_bold"])
    assert repair_propensities(log).kept
    assert not repair_propensities(log, when="helpful").kept
    assert not repair_propensities(log, when="always").kept


def test_uniform_propensities_are_a_whole_distribution() -> None:
    features, action, _ = logger(1_000, 3, 4)
    table = {"x": features, "action": action, "reward": np.zeros(1_000), "propensity": np.full(1_000, 1 / 3)}
    found = repair_propensities(read_log(table, context="x", propensity="propensity"))
    assert found.distribution is not None
    assert "context" in found.terms


def test_terms_can_be_left_out() -> None:
    log, _ = whole_log(power=0.4)
    assert repair_propensities(log, terms="scale").terms == ("scale",)


def test_nonsense_is_refused() -> None:
    log, _ = whole_log(n=100)
    with pytest.raises(InputError, match=r"^`when` must be one of convincing, helpful, always, got 'often'$"):
        repair_propensities(log, when="often")  # type: ignore[arg-type]
    without = read_log(
        {"x": np.arange(40.0), "action": np.arange(40) % 2, "reward": np.ones(40)}, context="x"
    )
    with pytest.raises(InputError, match=r"^`log` must have propensities to be repaired"):
        repair_propensities(without)
