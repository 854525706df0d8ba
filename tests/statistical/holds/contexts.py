"""What a logging policy can see: each kind of context in two distributions, one to make rules with and one to
test them.

A draw has raw columns, as a log would hold them, and features of about unit size, which scores are made of.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Contexts:
    columns: dict[str, np.ndarray]
    features: np.ndarray

    @property
    def n(self):
        return self.features.shape[0]

    def take(self, rows):
        return Contexts({name: values[rows] for name, values in self.columns.items()}, self.features[rows])


def _numbers(values, prefix="x"):
    return {f"{prefix}{j}": values[:, j] for j in range(values.shape[1])}


def _labelled(rng, n, labels, shares):
    codes = rng.choice(len(labels), size=n, p=shares)
    indicators = (codes[:, None] == np.arange(len(labels))) - np.asarray(shares)
    return np.array(labels)[codes], indicators * 1.5


def normal(rng, n):
    """Three numbers, normal and correlated."""
    shared = rng.standard_normal((n, 1))
    values = np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.standard_normal((n, 3))
    return Contexts(_numbers(values), values)


def cube(rng, n):
    """Four numbers: two uniform, one with two humps, one skewed."""
    flat = rng.uniform(-1.7, 1.7, size=(n, 2))
    humps = rng.choice([-1.0, 1.0], size=n) + 0.4 * rng.standard_normal(n)
    skewed = rng.gamma(3.0, size=n) / np.sqrt(3.0) - np.sqrt(3.0)
    values = np.column_stack([flat, humps, skewed])
    return Contexts(_numbers(values, "z"), values)


def normal_and_colour(rng, n):
    """Two normal numbers and a category of four labels."""
    values = rng.standard_normal((n, 2))
    colour, indicators = _labelled(rng, n, ["amber", "blue", "green", "red"], [0.4, 0.3, 0.2, 0.1])
    return Contexts({**_numbers(values), "colour": colour}, np.column_stack([values, indicators]))


def age_and_device(rng, n):
    """A uniform age, an exponential spend, a device of three kinds and whether the user is new."""
    age, spend = rng.uniform(18, 70, size=n), rng.exponential(50.0, size=n)
    device, indicators = _labelled(rng, n, ["desktop", "phone", "tablet"], [0.5, 0.35, 0.15])
    fresh = rng.random(n) < 0.4
    features = np.column_stack([(age - 44) / 15, spend / 50 - 1, indicators, np.where(fresh, 1.0, -1.0)])
    return Contexts({"age": age, "spend": spend, "device": device, "fresh": fresh}, features)


def grid(rng, n):
    """Two numbers that take four values each."""
    values = np.array([-1.3, -0.4, 0.4, 1.3])[rng.integers(4, size=(n, 2))]
    return Contexts(_numbers(values), values)


def labels_only(rng, n):
    """Three categories and no number."""
    region, a = _labelled(rng, n, ["east", "north", "south"], [0.3, 0.3, 0.4])
    plan, b = _labelled(rng, n, ["basic", "plus"], [0.7, 0.3])
    hour, c = _labelled(rng, n, ["day", "evening", "night"], [0.5, 0.3, 0.2])
    return Contexts({"region": region, "plan": plan, "hour": hour}, np.column_stack([a, b, c]))


def normal_in_segments(rng, n):
    """Two normal numbers in six segments of the same size."""
    values = rng.standard_normal((n, 2))
    segment, indicators = _labelled(rng, n, [f"s{i}" for i in range(6)], [1 / 6] * 6)
    return Contexts({**_numbers(values), "segment": segment}, np.column_stack([values, indicators]))


def cube_in_segments(rng, n):
    """The cube in six segments, the first numbers of which lie apart."""
    inner = cube(rng, n)
    segment, indicators = _labelled(rng, n, [f"s{i}" for i in range(6)], [0.18, 0.17, 0.17, 0.16, 0.16, 0.16])
    return Contexts({**inner.columns, "segment": segment}, np.column_stack([inner.features, indicators]))


def long_tail(rng, n):
    """A number with an exponential tail, which a logging policy may follow to extremes, and a normal one."""
    values = np.column_stack([rng.exponential(size=n), rng.standard_normal(n)])
    return Contexts(_numbers(values), values)


def long_tail_and_label(rng, n):
    """The same with a heavier than exponential middle and a category."""
    tail = rng.exponential(size=n) * rng.choice([0.8, 1.1], size=n)
    kind, indicators = _labelled(rng, n, ["new", "old", "web"], [0.2, 0.5, 0.3])
    return Contexts({"size": tail, "kind": kind}, np.column_stack([tail, indicators]))


KINDS = {
    "tuning": {
        "numbers": normal,
        "mixed": normal_and_colour,
        "grid": grid,
        "segments": normal_in_segments,
        "tail": long_tail,
    },
    "test": {
        "numbers": cube,
        "mixed": age_and_device,
        "grid": labels_only,
        "segments": cube_in_segments,
        "tail": long_tail_and_label,
    },
}
