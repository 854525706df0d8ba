"""What somebody without kwis would run on the logs of :mod:`benchmarks.everyday`: a doubly robust estimate
with scikit-learn and a few lines of numpy, the same by Open Bandit Pipeline where it is installed, and WIS by
a query.

None of them looks for wrong propensities, chooses an estimator or says whether to trust the answer.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.everyday import ACTIONS, Case

FOLDS = 2
REPLICATES = 1_000


def by_hand(case: Case, table: Mapping[str, np.ndarray]) -> list[tuple[float, float]]:
    """Value and standard error of every target: cross-fitted boosted trees with the action as a feature."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    context, action, reward = _arrays(case, table)
    design = np.column_stack([context, np.eye(ACTIONS)[action]])
    predicted = np.empty((len(reward), ACTIONS))
    for fold in range(FOLDS):
        held = np.arange(len(reward)) % FOLDS == fold
        model = HistGradientBoostingClassifier(random_state=0).fit(design[~held], reward[~held])
        for other in range(ACTIONS):
            asked = np.column_stack([context[held], np.tile(np.eye(ACTIONS)[other], (held.sum(), 1))])
            predicted[held, other] = model.predict_proba(asked)[:, 1]
    rows = np.arange(len(reward))
    found = []
    for target in _targets(case, table):
        weight = target[rows, action] / table["propensity"]
        terms = (target * predicted).sum(axis=1) + weight * (reward - predicted[rows, action])
        found.append((float(terms.mean()), float(terms.std(ddof=1) / math.sqrt(len(terms)))))
    return found


def has_open_bandit_pipeline() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("obp") is not None


def by_open_bandit_pipeline(case: Case, table: Mapping[str, np.ndarray]) -> list[tuple[float, float]]:
    """Value and half a bootstrap interval of every target."""
    from obp.ope import DoublyRobust, OffPolicyEvaluation, RegressionModel
    from sklearn.ensemble import HistGradientBoostingClassifier

    context, action, reward = _arrays(case, table)
    feedback = {
        "n_rounds": len(reward),
        "n_actions": ACTIONS,
        "context": context,
        "action": action,
        "reward": reward,
        "pscore": table["propensity"],
        "position": None,
    }
    model = RegressionModel(n_actions=ACTIONS, base_model=HistGradientBoostingClassifier(random_state=0))
    predicted = model.fit_predict(
        context=context,
        action=action,
        reward=reward,
        pscore=table["propensity"],
        n_folds=FOLDS,
        random_state=0,
    )
    evaluation = OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=[DoublyRobust()])
    found = []
    for target in _targets(case, table):
        ends = evaluation.estimate_intervals(
            action_dist=target[:, :, None],
            estimated_rewards_by_reg_model=predicted,
            n_bootstrap_samples=REPLICATES,
            random_state=0,
        )["dr"]
        found.append((ends["mean"], (ends["95.0% CI (upper)"] - ends["95.0% CI (lower)"]) / 2))
    return found


def by_query(folder: Path) -> tuple[float, float]:
    """Value and standard error of WIS for the first target of a scanned folder."""
    import duckdb

    cases = " ".join(f"WHEN {action} THEN new0_{action}" for action in range(ACTIONS))
    with duckdb.connect() as connection:
        n, w, wr, ww, wwr, wwrr = connection.execute(
            f"WITH rows AS (SELECT reward, CASE action {cases} END / propensity AS w "
            f"FROM '{folder}/*.parquet') "
            "SELECT count(*), sum(w), sum(w * reward), sum(w * w), sum(w * w * reward), "
            "sum(w * w * reward * reward) FROM rows"
        ).fetchone()
    value = wr / w
    return value, math.sqrt((wwrr - 2 * value * wwr + value**2 * ww) * n / (n - 1)) / w


def _arrays(case: Case, table: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    context = np.column_stack([table[f"x{j}"] for j in range(case.columns)])
    return context, table["action"], table["reward"]


def _targets(case: Case, table: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    return [
        np.column_stack([table[f"new{k}_{action}"] for action in range(ACTIONS)]) for k in range(case.targets)
    ]
