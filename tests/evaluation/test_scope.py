"""What a verdict rests on, and how wrong propensities would have to be to undo the answer."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import kwis
from kwis.evaluation.robustness import _words
from kwis.evaluation.scope import source_doubt
from kwis.evaluation.sensitivity import Box
from kwis.report.summary import page_of

CHEAP = {"estimators": ["wis"], "repair": "never"}


def log_of(n=1500, effect=0.3, seed=0, **options):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    p = 0.3 + 0.4 * x
    action = (rng.random(n) < p).astype(int)
    reward = 0.2 * x + effect * action + 0.3 * rng.standard_normal(n)
    frame = {
        "x": x,
        "action": action,
        "reward": reward,
        "propensity": np.where(action == 1, p, 1 - p),
        "new": np.where(action == 1, 0.9, 0.1),
    }
    return kwis.read_log(frame, propensity="propensity", context=["x"], **options)


def answered(**options):
    return kwis.evaluate(log_of(**options), kwis.probability("new"), **CHEAP)


def test_the_answer_asks_where_propensities_come_from():
    found = answered()
    assert found.recommendation().row.verdict.level == "trust"
    words = " ".join(str(found).split())
    assert (
        "checked: weights, overlap, propensities against actions, whether policies learnt from these rows"
        in words
    )
    assert "not checkable: causes of both action and reward that are not in the context" in words
    assert (
        "say propensity_source='randomiser' if these are the probabilities that the system drew with" in words
    )
    assert found.settings.propensity_source is None


def test_a_randomiser_is_taken_at_its_word():
    found = answered(propensity_source="randomiser")
    assert found.recommendation().row.verdict.level == "trust"
    assert found.scope.question is None
    assert "not checkable" not in str(found)
    assert json.loads(found.to_json())["settings"]["propensity_source"] == "randomiser"
    assert "from a randomiser" in repr(log_of(propensity_source="randomiser"))


def test_propensities_of_a_model_are_never_plain_trust():
    found = answered(propensity_source="model")
    verdict = found.recommendation().row.verdict
    assert verdict.level == "with care"
    assert "propensities come from a model" in verdict.reasons[0]
    later = kwis.evaluate(log_of(), kwis.probability("new"), propensity_source="model", **CHEAP)
    assert later.recommendation().row.verdict.reasons == verdict.reasons
    assert "propensity_source='model'" in str(page_of(found).sections[-1])


def test_estimated_propensities_are_a_models():
    log = log_of()
    frame = {name: log.table.column(name).natural() for name in ("x", "action", "reward", "new")}
    found = kwis.evaluate(kwis.read_log(frame, context=["x"]), kwis.probability("new"), **CHEAP)
    assert "propensities from a model" in found.scope.unchecked
    assert found.recommendation().row.verdict.level != "trust"
    assert not [*source_doubt(log)]


def test_only_two_sources_are_known():
    for make in (
        lambda: log_of(propensity_source="guess"),
        lambda: kwis.evaluate(log_of(), "new", propensity_source="guess"),
    ):
        with pytest.raises(
            kwis.InputError, match="`propensity_source` must be one of randomiser, model, got 'guess'"
        ):
            make()


def test_a_scan_keeps_what_was_said():
    pytest.importorskip("pyarrow")
    import pyarrow as pa

    table = pa.table({name: column.natural() for name, column in log_of().table.columns.items()})
    found = kwis.evaluate(
        kwis.scan_log(table, context=["x"], propensity_source="model"),
        kwis.probability("new"),
        estimators=["wis"],
    )
    assert found.settings.propensity_source == "model"
    assert found.recommendation().row.verdict.level == "with care"
    assert found.sensitivity[0].factor > 1
    assert found.scope is not None


def test_the_answer_says_how_wrong_the_odds_would_have_to_be():
    found = answered()
    one = found.sensitivity[0]
    assert one.factor > 1
    said = "holds, interval included, unless the odds of the propensities are wrong by a factor of"
    assert f"{said} {one.factor:.3g}" in " ".join(str(found).split())
    assert any("unless the odds" in line for line in page_of(found).support)
    assert json.loads(found.to_json())["sensitivity"][0]["factor"] == pytest.approx(one.factor)


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1.5, "by a factor of 1.5 or more"),
        (1.0042, "by a factor of 1.004 or more"),
        (1.0, "would not survive any"),
    ],
)
def test_a_factor_is_never_said_to_be_1(factor, said):
    assert said in _words(1, factor)


def test_the_claim_falls_at_the_factor_said():
    found, log = answered(), log_of()
    one, claim = found.sensitivity[0], found.recommendation().change.claim
    box = Box.of(log["new"], log.propensity, log.reward[:, 0], np.ones(log.n))
    value = box.range(1.0)[0]
    assert claim.low + box.range(one.factor * 1.001)[0] - value <= 0
    assert claim.low + box.range(one.factor / 1.001)[0] - value >= 0


def test_a_target_that_is_not_told_apart_needs_no_error_to_be_so():
    found = answered(effect=0.0)
    assert found.sensitivity[0].factor == 1.0
    assert "unless the odds" not in str(found)


def test_no_error_undoes_what_every_row_says():
    rng = np.random.default_rng(0)
    action = rng.integers(0, 2, 300)
    frame = {
        "x": rng.uniform(size=300),
        "action": action,
        "reward": 1.0 * action,
        "propensity": np.full(300, 0.5),
        "one": np.ones(300, int),
    }
    found = kwis.evaluate(
        kwis.read_log(frame, propensity="propensity", context=["x"]), kwis.chosen("one"), **CHEAP
    )
    assert math.isinf(found.sensitivity[0].factor)
    assert "whatever the error in the odds" in " ".join(str(found).split())


def test_a_scan_sees_a_policy_that_learnt_from_its_rows():
    pytest.importorskip("pyarrow")
    import pyarrow as pa

    log = log_of(n=800)
    columns = {name: column.natural() for name, column in log.table.columns.items()}
    reward = log.reward[:, 0]
    columns["lucky"] = np.where(reward > np.median(reward), log.action, 1 - log.action)
    for target in (kwis.chosen("lucky"), kwis.trained_elsewhere(kwis.chosen("lucky"))):
        found = kwis.evaluate(
            kwis.scan_log(pa.table(columns), context=["x"]), target, estimators=["wis"]
        ).recommendation()
        assert found.row.verdict.level == "do not trust"
        assert any("learnt from these very rows" in reason for reason in found.row.verdict.reasons)
