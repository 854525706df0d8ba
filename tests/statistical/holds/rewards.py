"""Rewards with a known mean, from a number that says how good the action is in the context."""

import numpy as np


def _sigmoid(values):
    return 1 / (1 + np.exp(-values))


class Binary:
    """0 or 1, both common: the mean stays between 0.12 and 0.88, which leaves room for the moods of users."""

    mood = 0.1

    def mean(self, quality):
        return 0.12 + 0.76 * _sigmoid(1.1 * quality)

    def draw(self, quality, rng, mood=0.0):
        return (rng.random(quality.shape) < self.mean(quality) + self.mood * mood).astype(float)


class Gaussian:
    mood = 0.6

    def mean(self, quality):
        return 1.0 + 0.6 * quality

    def draw(self, quality, rng, mood=0.0):
        return self.mean(quality) + self.mood * mood + rng.standard_normal(quality.shape)


class Rare:
    """0 or 1, and seldom 1."""

    def __init__(self, rate):
        self.rate = rate

    def mean(self, quality):
        return np.minimum(self.rate * np.exp(0.7 * quality - 0.245), 0.6)

    def draw(self, quality, rng, mood=0.0):
        return (rng.random(quality.shape) < self.mean(quality)).astype(float)


class Revenue:
    """Nothing in 95 % of the rows, and lognormal amounts in the others."""

    def __init__(self, variant):
        self.sigma = {"tuning": 1.0, "test": 1.2}[variant]

    def chance(self, quality):
        return np.minimum(0.05 * np.exp(0.5 * quality - 0.125), 0.5)

    def typical(self, quality):
        return 20 * np.exp(0.25 * quality)

    def mean(self, quality):
        return self.chance(quality) * self.typical(quality) * np.exp(self.sigma**2 / 2)

    def draw(self, quality, rng, mood=0.0):
        bought = rng.random(quality.shape) < self.chance(quality)
        return bought * self.typical(quality) * np.exp(self.sigma * rng.standard_normal(quality.shape))


class Costs:
    """Negative: lognormal amounts that are paid for every action."""

    def __init__(self, variant):
        self.sigma = {"tuning": 0.7, "test": 0.9}[variant]

    def typical(self, quality):
        return -5 * np.exp(-0.3 * quality)

    def mean(self, quality):
        return self.typical(quality) * np.exp(self.sigma**2 / 2)

    def draw(self, quality, rng, mood=0.0):
        return self.typical(quality) * np.exp(self.sigma * rng.standard_normal(quality.shape))


def reward_of(kind, variant):
    makers = {
        "binary": Binary,
        "gaussian": Gaussian,
        "conversions": lambda: Rare(0.007),
        "clicks": lambda: Rare(0.08),
    }
    if kind in ("revenue", "costs"):
        return {"revenue": Revenue, "costs": Costs}[kind](variant)
    return makers[kind]()
