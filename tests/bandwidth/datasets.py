"""Seeded samples on which bandwidths are selected."""

import numpy as np


def signal(x, strength=1.0):
    return strength * np.sin(2 * x)


def dataset(kind, n=60, seed=0):
    """Context, weight and categorical columns."""
    rng = np.random.default_rng([seed, n])
    context, categorical = rng.standard_normal((n, 3)), ()
    if kind == "line":
        context = context[:, :1]
    elif kind == "heavy tails":
        context = rng.standard_t(2, (n, 3))
    elif kind == "clusters":
        context = context + 20 * rng.integers(0, 3, (n, 1))
    elif kind == "ties":
        context = np.round(2 * context) / 2
    elif kind == "mixed":
        context[:, 0], categorical = rng.integers(0, 3, n), (0,)
    elif kind == "codes":
        context, categorical = rng.integers(0, 3, (n, 3)).astype(float), (0, 1, 2)
    noise = {"noise": 1.0, "steep": 0.05}.get(kind, 0.4)
    strength = {"noise": 0.0, "steep": 2.0}.get(kind, 1.0)
    weight = np.exp(signal(context[:, -1], strength) + noise * rng.standard_normal(n))
    return context, weight, categorical


KINDS = ("plain", "line", "heavy tails", "clusters", "ties", "mixed", "codes", "noise", "steep")
