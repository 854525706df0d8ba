"""One log of a world: a table as a user would have it, how to read it, the targets on its rows, and the truth
about them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.statistical.holds import spec
from tests.statistical.holds.misreports import reported
from tests.statistical.holds.policies import one_hot

TRUTH_OF_TRAINED = (
    40_000  # contexts: a policy of its own for every log, whose bias is a hundred times this error
)
KEPT = 0.1  # of the rows without a reward, in a thinned log


@dataclass(frozen=True, eq=False)
class Log:
    """A table and its meaning.

    Attributes
    ----------
    roles
        The arguments of :func:`kwis.read_log`.
    targets
        Probabilities of all actions by target.
    true
        ``(n, K)`` the probabilities that the actions were drawn from.
    """

    table: dict[str, np.ndarray]
    roles: dict[str, Any]
    targets: dict[str, np.ndarray]
    truth: Any
    true: np.ndarray

    def with_true_propensities(self):
        """The same log as if it had reported the truth."""
        columns = (
            list(self.roles["propensity"])
            if isinstance(self.roles["propensity"], list)
            else _columns(self.true.shape[1])
        )
        table = {**self.table, **dict(zip(columns, self.true.T, strict=True))}
        return replace(self, table=table, roles={**self.roles, "propensity": columns})


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a log under way."""

    contexts: Any
    true: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    extra: dict[str, np.ndarray]

    def take(self, rows):
        extra = {name: values[rows] for name, values in self.extra.items()}
        return _Rows(self.contexts.take(rows), self.true[rows], self.action[rows], self.reward[rows], extra)


def draw(world, seed):
    """The log of a seed; regimes of one family draw the same contexts, actions and rewards."""
    rows = _rearranged(world, _drawn(world, world.stream("log", seed)), world.stream("rows", seed))
    features = rows.contexts.features
    trained = spec.TrainedTarget() in world.regime.targets
    policies = {"t0": _trained(world, rows, seed)} if trained else world.targets
    truth = world.truth_of(policies, TRUTH_OF_TRAINED) if trained else world.truth
    labels = _labels(world.n_actions)
    table = {**rows.contexts.columns, **rows.extra, "action": labels[rows.action], "reward": rows.reward}
    roles = {
        "action": "action",
        "reward": "reward",
        "context": list(rows.contexts.columns),
        "actions": labels.tolist(),
    }
    if "row_weight" in rows.extra:
        roles["row_weight"] = "row_weight"
    if world.regime.users is not None:
        roles["context"].append("moment")
        if world.regime.users.declared:
            roles["group"] = "user"
    table, roles = _with_propensities(world, rows, table, roles)
    targets = {name: world.probabilities(policy, features) for name, policy in policies.items()}
    return Log(table, roles, targets, truth, rows.true)


def _labels(count):
    return np.array([f"a{i:02d}" for i in range(count)])


def _columns(count):
    return [f"p_{label}" for label in _labels(count)]


def _drawn(world, rng):
    """Contexts, actions and rewards, of rows or of users."""
    users = world.regime.users
    contexts = world.contexts(rng, world.regime.n if users is None else users.count)
    chances = world.logger(contexts.features)
    action = (rng.random((contexts.n, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    mood, extra = 0.0, {}
    if users is not None:
        owner = np.repeat(np.arange(users.count), users.rows)
        contexts, chances, action = contexts.take(owner), chances[owner], action[owner]
        mood = users.mood * rng.choice([-1.0, 1.0], size=users.count)[owner]
        extra = {
            "user": np.array([f"u{i:04d}" for i in rng.permutation(users.count)])[owner],
            "moment": rng.uniform(0, 24, size=owner.size),
        }
    quality = world.quality(contexts.features)[np.arange(contexts.n), action]
    return _Rows(contexts, chances, action, world.reward.draw(quality, rng, mood), extra)


def _rearranged(world, rows, rng):
    """Copies of rows, rows left out, or users in any order."""
    n = rows.action.size
    match world.regime.rows:
        case "three times":
            order = np.repeat(np.arange(n), 3)
            return rows.take(order if world.variant == "tuning" else rng.permutation(order))
        case "some twice":
            order = np.concatenate([np.arange(n), rng.choice(n, size=n // 5, replace=False)])
            return rows.take(np.sort(order) if world.variant == "tuning" else rng.permutation(order))
        case "thinned":
            stays = (rows.reward != 0) | (rng.random(n) < KEPT)
            kept = rows.take(np.flatnonzero(stays))
            return replace(
                kept, extra={**kept.extra, "row_weight": np.where(kept.reward != 0, 1.0, 1 / KEPT)}
            )
    return rows.take(rng.permutation(n)) if world.regime.users is not None else rows


def _with_propensities(world, rows, table, roles):
    regime, features = world.regime, rows.contexts.features
    if regime.given == "none":
        return table, roles
    whole = regime.given == "all"
    if regime.misreport:
        shares = reported(world, features)
    elif regime.kind == "hidden":
        shares = np.mean(
            [
                world.logger(np.column_stack([features[:, :-1], np.full(len(features), u)]))
                for u in (-1.0, 1.0)
            ],
            axis=0,
        )
    else:
        shares = rows.true
    if whole:
        columns = _columns(world.n_actions)
        return {**table, **dict(zip(columns, shares.T, strict=True))}, {**roles, "propensity": columns}
    return {**table, "propensity": shares[np.arange(rows.action.size), rows.action]}, {
        **roles,
        "propensity": "propensity",
    }


def _trained(world, rows, seed):
    """The action whose reward boosted trees, one per action, predict to be highest."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    binary = world.regime.reward == "binary"
    kind = HistGradientBoostingClassifier if binary else HistGradientBoostingRegressor
    models = []
    for action in range(world.n_actions):
        own = rows.action == action
        enough = own.sum() >= 20 and np.unique(rows.reward[own]).size > 1
        models.append(
            kind(random_state=seed).fit(rows.contexts.features[own], rows.reward[own]) if enough else None
        )

    def predicted(model, features):
        if model is None:
            return np.full(features.shape[0], -np.inf)
        return model.predict_proba(features)[:, 1] if binary else model.predict(features)

    def policy(features):
        return one_hot(
            np.column_stack([predicted(model, features) for model in models]).argmax(axis=1), world.n_actions
        )

    return policy
