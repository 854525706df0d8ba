"""Seeded logs of a few thousand rows, in memory and as Parquet files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import kwis


def sample(
    n: int,
    d: int = 3,
    *,
    categorical: tuple[int, ...] = (),
    mass: bool = False,
    scale: float = 1.0,
    seed: int = 0,
):
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(n, d))
    for column in categorical:
        context[:, column] = rng.integers(0, 3, n)
    weight = rng.gamma(0.5, 2, n) * np.exp(0.4 * context[:, 0])
    weight[::9] = 0
    reward = scale * rng.normal(1 + context[:, -1], 1)
    return kwis.WeightedSample(
        context=context,
        weight=weight,
        reward=reward,
        categorical=categorical,
        mass=rng.integers(1, 4, n) if mass else None,
    )


def table(n: int, seed: int = 0) -> pa.Table:
    """A log of two actions whose logger and target depend on the context, which has numbers, labels and a
    yes/no column.
    """
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40, 12, n), rng.exponential(2.0, n)
    country = rng.choice(["BR", "DE", "FR"], n, p=[0.2, 0.5, 0.3])
    member = rng.random(n) < 0.4
    chance = 1 / (1 + np.exp(-(age - 40) / 20 - 0.3 * member))
    action = (rng.random(n) < chance).astype(int)
    propensity = np.where(action == 1, chance, 1 - chance)
    target = np.where(action == 1, 0.7, 0.3)
    reward = (rng.random(n) < 0.2 + 0.3 * action + 0.1 * (country == "DE")).astype(float)
    return pa.table(
        {
            "age": age,
            "income": income,
            "country": country,
            "member": member,
            "action": action,
            "reward": reward,
            "propensity": propensity,
            "p_new": target,
        }
    )


def write(folder: Path, whole: pa.Table, files: int = 3, row_group: int = 700) -> Path:
    """The rows in several files of several row groups."""
    folder.mkdir(exist_ok=True)
    step = -(-whole.num_rows // files)
    for number in range(files):
        parquet.write_table(
            whole.slice(number * step, step), folder / f"part-{number}.parquet", row_group_size=row_group
        )
    return folder
