"""Propensities that the evaluation estimates: another way is tried before our estimate is said not to fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import kwis
from kwis.checks.propensity import propensity_report
from kwis.evaluation import own_propensities as own
from kwis.models.propensity.estimate import EstimatedPropensity, estimate_propensities
from kwis.policy.target import resolve_targets

N = 800


def log_of(seed: int = 0) -> kwis.LoggedBandit:
    rng = np.random.default_rng(seed)
    crp = rng.gamma(2.0, 4.0, N)
    treated = (rng.random(N) < np.where(crp < 6, 0.15, 0.7)).astype(int)
    return kwis.read_log({"crp": crp, "action": treated, "reward": rng.random(N)}, context="crp")


def flat(log: kwis.LoggedBandit) -> EstimatedPropensity:
    """An estimate that is wrong where crp is low, as a bad model would make it."""
    from dataclasses import replace

    found = estimate_propensities(log, LogisticRegression(), folds=2)
    treated = np.where(log["crp"] < 6, 0.45, 0.7)
    whole = np.column_stack([1 - treated, treated])
    logged = whole[np.arange(log.n), log.action]
    models = {"smooth regression": 0.6, "boosted trees": 0.6}
    return replace(
        found, candidates=models, distribution=whole, logged=logged, refits=np.tile(logged[:, None], 5)
    )


def test_an_estimate_that_does_not_fit_is_called_ours() -> None:
    log = log_of()
    estimated = flat(log)
    reasons = propensity_report(estimated.attach(log), (), estimated).verdict.reasons
    assert any(
        reason.startswith("our estimate of the propensities does not fit where crp") for reason in reasons
    )
    assert not any("propensities are wrong" in reason for reason in reasons)
    given = log.with_propensity(estimated.distribution, "given", "logged")
    assert any("propensities are wrong" in reason for reason in propensity_report(given).verdict.reasons)


def test_each_model_and_a_repair_are_tried_before(monkeypatch: pytest.MonkeyPatch) -> None:
    log, asked = log_of(), []
    targets = resolve_targets(log, kwis.always(1))

    def bad(log: kwis.LoggedBandit, model: Any = None, *, rng: int = 0) -> EstimatedPropensity:
        asked.append(model)
        return flat(log)

    monkeypatch.setattr(own, "estimate_propensities", bad)
    found = own.own_propensities(log, targets, None, 0)
    assert asked == [None, "smooth regression", "boosted trees"]
    assert not found.report.contradicted
    assert "repaired from the logged actions" in found.estimated.model
    asked.clear()
    model: Any = object()
    assert own.own_propensities(
        log, targets, model, 0
    ).report.contradicted  # the user's model is used as it is
    assert asked == [model]
