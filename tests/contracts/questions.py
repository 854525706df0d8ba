"""What is asked of the logs: roles, policies of every kind, intervals, models, segments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import kwis
from tests.contracts.logs import (
    ACTIONS,
    CONTEXT,
    described,
    many_levels,
    recommender,
    shop,
    switch,
    two_loggers,
)

SOME = ["wis", "normalised-kernel-wis", "doubly-robust"]
FEW = ["age", "country", "member"]


@dataclass(frozen=True)
class Question:
    """A log and what is asked about it; ``target`` makes the policies, some of which are fitted."""

    roles: Mapping[str, Any]
    target: Callable[[], Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    log: Callable[[], Any] = shop


def by_age(log: Any) -> Any:
    """A function of the log: the older, the more often the last action."""
    age = np.nan_to_num(log["age"], nan=40.0)
    last = np.clip(age / 100, 0.05, 0.9)
    return np.column_stack([(1 - last) / 2, (1 - last) / 2, last])


def classifier() -> Any:
    """A policy fitted on other rows."""
    from sklearn.linear_model import LogisticRegression

    other = shop(300, seed=77)
    return LogisticRegression(max_iter=500).fit(other[["hour", "day"]], other["pick"])


def regressor() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=3.0)


def multinomial() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500)


def every_kind() -> dict[str, Any]:
    """A column, one column per action, the action taken, a function, a fitted classifier, an array."""
    return {
        "column": "p_new",
        "columns": kwis.distribution([f"p_new_{name}" for name in ACTIONS]),
        "pick": kwis.chosen("pick"),
        "function": by_age,
        "model": kwis.trained_elsewhere(classifier()),
        "array": np.random.default_rng(8).dirichlet((3, 2, 1), len(shop())),
    }


def plain(**more: Any) -> dict[str, Any]:
    return {"reward": "click", "context": FEW, **more}


QUESTIONS: dict[str, Question] = {
    "everything": Question(
        {
            "reward": ["click", "spend"],
            "context": CONTEXT,
            "propensity": "propensity",
            "time": "day",
            "propensity_source": "randomiser",
        },
        lambda: {"column": "p_new", "pick": kwis.chosen("pick")},
        {"by": ["country", "member"], "estimators": [*SOME, "vis", "state-wis"]},
    ),
    "policies of every kind": Question(plain(), every_kind, {"estimators": ["wis", "doubly-robust"]}),
    "wrong propensities": Question(
        plain(propensity="told"), lambda: ["p_new", "pick"], {"by": "country", "estimators": SOME}
    ),
    "wrong propensities, always repaired": Question(
        plain(propensity="told"),
        lambda: "p_new",
        {"repair": "always", "estimators": ["wis", "normalised-kernel-wis"], "rng": 4},
    ),
    "propensities of every action": Question(
        plain(propensity="logged", key="mark"),
        lambda: {"new": kwis.distribution("p_new")},
        {"estimators": SOME},
    ),
    "features of the actions": Question(
        plain(propensity="logged", group="user"),
        lambda: {"new": kwis.distribution("p_new")},
        {
            "estimators": ["vis", *SOME, "doubly-robust-wis"],
            "action_features": {"banner": "site", "email": "phone", "push": "phone"},
        },
    ),
    "features of the actions in a column": Question(
        plain(propensity="logged", context=[*FEW, "kind"]),
        lambda: {"new": kwis.distribution("p_new"), "pick": kwis.chosen("pick")},
        {"estimators": SOME, "action_features": "kind", "by": "country", "interval": kwis.Bootstrap(40)},
        described,
    ),
    "several loggers": Question(
        {"logger": "system", "propensity": {"old": "p_old", "new": "p_new"}, "context": "x"},
        lambda: {"always 1": kwis.always(1)},
        {"estimators": ["vis", *SOME]},
        two_loggers,
    ),
    **{
        statistic: Question(
            plain(reward=["spend"]), lambda: ["p_new", "pick"], {"statistic": statistic, "by": "country"}
        )
        for statistic in ("quantile:0.9", "cvar:0.8", "lower-cvar:0.2", "above:3")
    },
    "heavy-weight estimators": Question(
        plain(propensity="logged"),
        lambda: {"new": kwis.distribution("p_new")},
        {
            "estimators": [
                *("empirical-likelihood", "control-variate", "clipping", "switch-mse", "shrinkage"),
                *(
                    "doubly-robust-power-mean",
                    "log-sum-exponential",
                    "doubly-robust-half-normalised-clipping",
                ),
            ]
        },
    ),
    "blocks of time": Question(
        plain(time="day"), lambda: "p_new", {"interval": "block-bootstrap:20", "estimators": ["wis"]}
    ),
    "a sequence": Question(
        plain(), lambda: "p_new", {"interval": "betting-sequence:30", "estimators": ["vis"]}
    ),
    "propensities to be estimated": Question(
        plain(propensity=False),
        lambda: "p_new",
        {"propensity_model": multinomial(), "reward_model": regressor(), "estimators": SOME},
    ),
    "users and thinning": Question(
        plain(group="user", row_weight="thinned", logger="system"),
        lambda: ["p_new", "pick"],
        {"estimators": SOME, "by": [("country", "member")]},
    ),
    "resampled by users": Question(
        plain(group="user"),
        lambda: "p_new",
        {"interval": kwis.Bootstrap(60), "estimators": ["wis", "kernel-wis"], "rng": 11},
    ),
    "resampled with thinning": Question(
        plain(row_weight="thinned", reward=["spend", "click"]),
        lambda: ["p_new", "pick"],
        {"interval": kwis.Bootstrap(60, method="percentile"), "estimators": ["vis", "wis"]},
    ),
    "influence": Question(
        plain(), lambda: "p_new", {"interval": kwis.InfluenceInterval(), "level": 0.9, "estimators": SOME}
    ),
    "a bound": Question(
        plain(),
        lambda: "p_new",
        {"interval": kwis.LogarithmicSmoothing(), "estimators": ["wis", "kernel-wis"]},
    ),
    "nothing named": Question(
        {"reward": "spend"}, lambda: "p_new", {"estimators": ["wis", "normalised-kernel-wis"]}
    ),
    "labels that are numbers, and an action never taken": Question(
        plain(context=["age", "hour"], categorical=["hour"], actions=[*ACTIONS, "call"]),
        lambda: "p_new",
        {"estimators": ["wis"]},
    ),
    "yes or no": Question({}, lambda: kwis.chosen("choice"), {"estimators": SOME}, switch),
    "yes or no, 0 or 1": Question(
        {}, lambda: kwis.chosen("choice"), {"estimators": ["wis"]}, lambda: switch(numbers=True)
    ),
    "candidate sets": Question(
        {"candidates": "offered", "propensity": "chances", "context": "x"},
        lambda: "fresh",
        {"estimators": ["wis", "doubly-robust"]},
        recommender,
    ),
    "candidates by column, propensities to be estimated": Question(
        {
            "candidates": {f"item {code}": f"can_{code}" for code in range(5)},
            "context": "x",
            "propensity": False,
        },
        kwis.uniform,
        {"estimators": ["wis"]},
        recommender,
    ),
    "more labels than are told apart": Question(
        {"categorical": ["seen"]}, lambda: "p_new", {"estimators": ["wis"]}, many_levels
    ),
}
