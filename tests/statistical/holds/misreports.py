"""Eight ways in which logged propensities are wrong; the two sets of designs have other strengths and places.

Each takes the logging policy, the features and the actions taken, and returns the distribution that the log
reports, or, for those that only make sense for the logged action, probabilities that need not sum to 1.
"""

import numpy as np

from tests.statistical.holds.policies import softmax

STRENGTHS = {
    "tuning": {"extreme": 1.5, "timid": 0.65, "stale": 0.5, "region": 0.9, "level": 1.4, "dropped": 0},
    "test": {"extreme": 1.7, "timid": 0.55, "stale": 0.65, "region": 0.7, "level": 0.7, "dropped": 1},
}


def _normalised(values):
    return values / values.sum(axis=1, keepdims=True)


def too_extreme(world, features):
    return _normalised(world.logger(features) ** world.strength("extreme"))


def too_timid(world, features):
    return _normalised(world.logger(features) ** world.strength("timid"))


def one_digit(world, features):
    """Rounded to one digit; what would be 0 is 0.05."""
    return _normalised(np.maximum(np.round(world.logger(features), 1), 0.05))


def clipped(world, features):
    """Never below 0.15; with the logged action only they do not sum to 1."""
    return np.maximum(world.logger(features), 0.15)


def covariate_dropped(world, features):
    """What a model without one of the features would say: the average policy over its values."""
    column = world.strength("dropped")
    moved = []
    for value in np.quantile(world.reference[:, column], np.linspace(0.05, 0.95, 10)):
        replaced = features.copy()
        replaced[:, column] = value
        moved.append(world.logger(replaced))
    return np.mean(moved, axis=0)


def stale(world, features):
    """The policy before its last update: its scores have moved since."""
    return _normalised(
        world.logger(features)
        * softmax(world.strength("stale") * world.scores("before the update")(features))
    )


def wrong_region(world, features):
    """Uniform where the first feature is high, right elsewhere."""
    right = world.logger(features)
    inside = features[:, :1] > np.quantile(world.reference[:, 0], world.strength("region"))
    return np.where(inside, 1 / right.shape[1], right)


def wrong_level(world, features):
    """One action is said to be so many times as likely as it is."""
    factor = np.ones(world.n_actions)
    factor[0] = world.strength("level")
    return np.minimum(world.logger(features) * factor, 1.0)


MISREPORTS = {
    "too extreme": too_extreme,
    "too timid": too_timid,
    "one digit": one_digit,
    "clipped": clipped,
    "covariate dropped": covariate_dropped,
    "stale": stale,
    "wrong in a region": wrong_region,
    "wrong level": wrong_level,
}


def reported(world, features):
    """The distribution as the log reports it; made to sum to 1 if the whole of it is given."""
    regime = world.regime
    values = MISREPORTS[regime.misreport](world, features)
    if regime.dose != 1:
        values = np.minimum(values**regime.dose * world.logger(features) ** (1 - regime.dose), 1.0)
    return _normalised(values) if regime.given == "all" else values
