"""Simulated bandits whose policies' values are known exactly."""

from dataclasses import dataclass

import numpy as np

import kwis

# Directions along which three actions like the context, for the logging policy, the evaluated one and
# another; and for the reward.
LIKES = {
    "logging": np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]),
    "evaluated": np.array([[0.0, 1.0], [1.0, -1.0], [-1.0, 0.5]]),
    "other": np.array([[0.5, 0.5], [-1.0, 0.0], [0.5, -1.0]]),
    "reward": np.array([[0.8, 0.4], [-0.2, 0.9], [-0.9, -0.3]]),
}


@dataclass(frozen=True)
class Bandit:
    """Contexts in the square, three actions, rewards of 0 or 1 that are mostly 1.

    ``sharpness`` says how far the policies are from uniform, and so how heavy the weights are. ``states``
    puts the contexts on a grid of that many points a side. ``users`` gives every so many rows the same user,
    whose rewards go up or down together.
    """

    sharpness: float = 0.7
    states: int = 0
    users: int = 0

    def policy(self, name, context):
        scores = np.exp(self.sharpness * context @ LIKES[name].T)
        return scores / scores.sum(axis=1, keepdims=True)

    def chance(self, context):
        """Probability of reward 1 for each action."""
        return 0.65 + 0.25 * np.tanh(context @ LIKES["reward"].T)

    def points(self):
        """Where contexts can be, and how likely: the grid, or a quadrature of the square."""
        nodes, weights = np.polynomial.legendre.leggauss(30)
        if self.states:
            nodes, weights = np.linspace(-1, 1, self.states), np.full(self.states, 2 / self.states)
        grid = np.array(np.meshgrid(nodes, nodes)).reshape(2, -1).T
        return grid, np.outer(weights, weights).ravel() / 4

    def value(self, name="evaluated"):
        grid, share = self.points()
        return float(share @ (self.policy(name, grid) * self.chance(grid)).sum(axis=1))

    def largest_weight(self):
        grid, _ = self.points()
        return float((self.policy("evaluated", grid) / self.policy("logging", grid)).max())

    def sample(self, n, rng, evaluated=("evaluated",)):
        """One weighted sample per policy evaluated, all of the same logged interactions."""
        context = rng.uniform(-1, 1, size=(n, 2))
        if self.states:
            context = np.linspace(-1, 1, self.states)[rng.integers(self.states, size=(n, 2))]
        logging = self.policy("logging", context)
        action = (rng.random((n, 1)) > logging.cumsum(axis=1)).sum(axis=1)
        rows = np.arange(n)
        mood = 0.0
        group = None
        if self.users:
            group = rows // self.users
            mood = rng.choice([-0.09, 0.09], size=group.max() + 1)[group]
        reward = rng.random(n) < self.chance(context)[rows, action] + mood
        return tuple(
            kwis.WeightedSample(
                context=context,
                weight=(self.policy(name, context) / logging)[rows, action],
                reward=reward.astype(float),
                group=group,
            )
            for name in evaluated
        )
