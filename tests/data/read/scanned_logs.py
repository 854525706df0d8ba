"""A log with everything a scan has to cope with, as columns, as files and as a log in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ACTIONS = ("left", "middle", "right")


def columns(n: int = 3000, seed: int = 0) -> dict[str, Any]:
    """Three actions, few distinct contexts with gaps, propensities that are right, a few huge weights."""
    rng = np.random.default_rng(seed)
    age, country = rng.integers(0, 4, n).astype(float), rng.integers(0, 3, n)
    logits = np.stack([0.4 * age, 0.5 * country, np.ones(n)], axis=1)
    chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    action = (chance.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(max=2)
    target = rng.dirichlet(np.ones(3), n)
    propensity = chance[np.arange(n), action]
    small = rng.choice(n, 4, replace=False)
    propensity[small] = [1e-3, 2e-3, 5e-3, 1e-2]
    return {
        "age": age,
        "country": np.array(["br", "de", None], dtype=object)[country],
        "action": np.array(ACTIONS, dtype=object)[action],
        "reward": (rng.uniform(size=n) < 0.2 + 0.15 * action).astype(float) + 3,
        "cost": rng.normal(5, 2, n),
        "propensity": propensity,
        "p_new": target[np.arange(n), action],
        **{f"p_new_{name}": target[:, j] for j, name in enumerate(ACTIONS)},
        "pick": np.array(ACTIONS, dtype=object)[rng.integers(0, 3, n)],
        "thinned": rng.uniform(0.5, 2, n),
        "user": rng.integers(0, n // 5 + 1, n),
        "id": rng.permutation(n),
    }


def table(n: int = 3000, seed: int = 0) -> Any:
    return pa.table(columns(n, seed))


def write(folder: Path, whole: Any, cuts: list[int]) -> Path:
    """Files that hold the rows between the cuts; two cuts that are equal make a file without rows."""
    folder.mkdir(exist_ok=True)
    for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, whole.num_rows], strict=True)):
        parquet.write_table(
            whole.slice(start, stop - start), folder / f"part-{number}.parquet", row_group_size=700
        )
    return folder
