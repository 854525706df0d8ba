"""Logs with everything that a door can get wrong: gaps, yes/no, dates, many levels, users, thinning, several
rewards and policies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

ACTIONS = ("banner", "email", "push")
CONTEXT = ["age", "country", "city", "member", "signup", "hour"]


def shop(n: int = 300, seed: int = 5) -> Any:
    """A shop that chooses between three messages: propensities right in ``propensity`` and ``logged_*``,
    wrong in ``told``.
    """
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 12, n).round(1)
    hour = rng.integers(0, 24, n)
    country = rng.integers(0, 4, n)
    member = rng.random(n) < 0.4
    logits = np.stack([0.03 * (age - 40), 0.4 * (country - 1.5), 0.5 * member], axis=1)
    chance = 0.7 * np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) + 0.1
    action = _drawn(chance, rng)
    told = chance.copy()
    told[country == 2] = np.array([0.6, 0.3, 0.1])
    new = 0.8 * rng.dirichlet((2, 2, 2), n) + 0.2 / 3
    rows = np.arange(n)
    value = 0.2 + 0.15 * action + 0.1 * member + 0.004 * (age - 40)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.07, np.nan, age),
            "country": np.array(["BR", "DE", "FR", None], dtype=object)[country],
            "city": np.array([f"city {code}" for code in range(70)], dtype=object)[rng.integers(0, 70, n)],
            "member": pd.array(np.where(rng.random(n) < 0.05, None, member.astype(object)), dtype="boolean"),
            "signup": pd.to_datetime("2022-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
            "hour": hour,
            "action": np.array(ACTIONS, dtype=object)[action],
            "click": (rng.random(n) < value).astype(int),
            "spend": (rng.gamma(2, 5, n) * value).round(3),
            "propensity": chance[rows, action],
            "told": told[rows, action],
            **{f"logged_{name}": chance[:, j] for j, name in enumerate(ACTIONS)},
            "p_new": new[rows, action],
            **{f"p_new_{name}": new[:, j] for j, name in enumerate(ACTIONS)},
            "pick": np.array(ACTIONS, dtype=object)[np.where(age > 40, 2, country % 2)],
            "user": rng.integers(0, n // 4, n),
            "thinned": rng.choice([1.0, 2.0, 5.0], n),
            "day": np.sort(rng.integers(0, 60, n)),
            "system": np.array(["old", "new"], dtype=object)[(rows > n // 2).astype(int)],
            "mark": [f"row-{number}" for number in rng.permutation(n)],
        }
    )


def described(n: int = 300, seed: int = 5) -> Any:
    """The shop's log with a column that says what kind of message was sent."""
    found = shop(n, seed)
    return found.assign(kind=found["action"].map({"banner": "site", "email": "phone", "push": "phone"}))


def two_loggers(n: int = 300, seed: int = 6) -> Any:
    """Two policies took turns, and each one's probability of the action taken is known."""
    rng = np.random.default_rng(seed)
    x, late = rng.normal(size=n), rng.random(n) < 0.4
    chances = np.column_stack([1 / (1 + np.exp(-x)) * 0.5 + 0.1, 1 / (1 + np.exp(2 * x)) * 0.8 + 0.1])
    action = (rng.random(n) < chances[np.arange(n), late.astype(int)]).astype(int)
    taken = np.where(action[:, None] == 1, chances, 1 - chances)
    return pd.DataFrame(
        {
            "x": x,
            "system": np.array(["old", "new"], dtype=object)[late.astype(int)],
            "action": action,
            "p_old": taken[:, 0],
            "p_new": taken[:, 1],
            "reward": rng.gamma(1 + action, 1),
        }
    )


def switch(n: int = 300, seed: int = 3, numbers: bool = False) -> Any:
    """Yes/no decisions; the choice of the policy is yes/no, or the numbers 0 and 1."""
    rng = np.random.default_rng(seed)
    x, risk = rng.normal(size=n), rng.random(n) < 0.5
    chance = 1 / (1 + np.exp(-x)) * 0.8 + 0.1
    action = rng.random(n) < chance
    choice = (x > 0) | risk
    return pd.DataFrame(
        {
            "x": x,
            "risk": risk,
            "action": action,
            "reward": rng.normal(x * action + 0.5 * action, 1),
            "propensity": np.where(action, chance, 1 - chance),
            "choice": choice.astype(int) if numbers else choice,
        }
    )


def recommender(n: int = 300, seed: int = 9) -> Any:
    """Two to four of five items to choose from in each row, as text with probabilities beside them, and as
    one yes/no column per item.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    sets = [np.sort(rng.permutation(5)[: rng.integers(2, 5)]) for _ in range(n)]
    chance = [rng.dirichlet(np.full(len(one), 3.0)).round(6) for one in sets]
    chance = [np.append(one[:-1], 1 - one[:-1].sum()) for one in chance]
    new = [np.exp(one * 0.3) / np.exp(one * 0.3).sum() for one in sets]
    place = [int(rng.choice(len(one), p=one)) for one in chance]
    action = np.array([one[spot] for one, spot in zip(sets, place, strict=True)])
    return pd.DataFrame(
        {
            "x": x,
            "action": [f"item {code}" for code in action],
            "reward": rng.normal(0.3 * action + 0.2 * x, 1),
            "offered": ["|".join(f"item {code}" for code in one) for one in sets],
            "chances": ["|".join(f"{share:.6f}" for share in one) for one in chance],
            "fresh": ["|".join(f"{share:.9f}" for share in one) for one in new],
            **{f"can_{code}": [code in one for one in sets] for code in range(5)},
        }
    )


def many_levels(n: int = 1300, seed: int = 2) -> Any:
    """More labels than are told apart, and labels most of which look like dates."""
    rng = np.random.default_rng(seed)
    action = rng.integers(0, 3, n)
    words = np.array([f"2024-01-{1 + number % 28:02}" for number in range(n)], dtype=object)
    words[-3:] = "never"
    return pd.DataFrame(
        {
            "article": [
                f"article {code}"
                for code in np.concatenate([np.arange(1100), rng.integers(0, 1100, n - 1100)])
            ],
            "seen": words,
            "x": rng.normal(size=n),
            "action": np.array(["a", "b", "c"], dtype=object)[action],
            "reward": rng.normal(action, 1),
            "propensity": np.full(n, 1 / 3),
            "p_new": rng.uniform(0.1, 0.6, n),
        }
    )


def _drawn(chance: Any, rng: np.random.Generator) -> Any:
    return (rng.random(len(chance))[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
