"""Logs to be diagnosed, with propensities that are right or wrong in known ways."""

from __future__ import annotations

import numpy as np

from kwis.data.log import LoggedBandit
from kwis.data.read.read_log import read_log

ACTIONS = 3


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def simulated(
    n=2000, seed=0, *, known="logged", misreport=None, users=None, sharpness=1.0, **columns
) -> LoggedBandit:
    """Three actions by a softmax of a number and a colour; ``misreport(distribution, x, colour)`` is what
    gets logged.

    ``known``: the propensity of the ``logged`` action, or the ``whole`` distribution. ``users``: how many.
    """
    rng = np.random.default_rng(seed)
    x, colour = rng.normal(size=n), rng.integers(3, size=n)
    true = softmax(sharpness * np.stack([x, 0.5 * colour, -0.5 * x], axis=1))
    action = (rng.random(n)[:, None] > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
    said = true if misreport is None else misreport(true, x, colour)
    table = {
        "x": x,
        "colour": np.array(["blue", "green", "red"], dtype=object)[colour],
        "action": action,
        "reward": rng.normal(size=n),
        "p": said[np.arange(n), action],
        **{f"b_{k}": said[:, k] for k in range(ACTIONS)},
        **columns,
    }
    if users is not None:
        table["user"] = rng.integers(users, size=n)
    roles = {role: role for role in ("time", "logger", "row_weight") if role in columns}
    return read_log(
        table,
        propensity="p" if known == "logged" else [f"b_{k}" for k in range(ACTIONS)],
        context=["x", "colour"],
        group=None if users is None else "user",
        **roles,
    )


def tilted(log: LoggedBandit, seed=9):
    """``(n, 3)`` distribution of a target that differs from the logger."""
    rng = np.random.default_rng(seed)
    return softmax(log.context[:, [0]] * rng.normal(size=(1, ACTIONS)) + rng.normal(size=ACTIONS))
