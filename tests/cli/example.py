"""A small log as the command line meets it, and a way to run a command."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kwis.cli.main import main

ACTIONS = ("banner", "email", "push")


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


def run_with(capsys: Any) -> Run:
    def run(*arguments: object) -> Ended:
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    return run


def columns(n: int = 240, seed: int = 0) -> dict[str, list[Any]]:
    """Right propensities, two policies in the usual forms, a deterministic one, users and days."""
    rng = np.random.default_rng(seed)
    age, country = rng.integers(18, 70, n), rng.choice(["BR", "DE", "US"], n)
    logits = np.column_stack([0.02 * (age - 44), (country == "DE") * 0.8, np.zeros(n)])
    behaviour = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    action = (rng.random(n)[:, None] > behaviour.cumsum(axis=1)[:, :-1]).sum(axis=1)
    target = 0.7 * np.eye(3)[2] + 0.1
    reward = (rng.random(n) < 0.2 + 0.2 * action).astype(int)
    rows = np.arange(n)
    return {
        "action": [ACTIONS[a] for a in action],
        "reward": reward.tolist(),
        "propensity": behaviour[rows, action].tolist(),
        "age": age.tolist(),
        "country": country.tolist(),
        "p_new": target[action].tolist(),
        **{f"q_{label}": [float(target[j])] * n for j, label in enumerate(ACTIONS)},
        **{f"b_{label}": behaviour[:, j].tolist() for j, label in enumerate(ACTIONS)},
        "pick": ["push" if c != "BR" else "email" for c in country],
        "user": (rows // 2).tolist(),
        "day": (rows // 20).tolist(),
        "weight": np.where(reward > 0, 1.0, 2.0).tolist(),
    }


def write_csv(path: Path, table: Mapping[str, Sequence[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


def write_parquet(path: Path, table: Mapping[str, Sequence[Any]]) -> Path:
    import duckdb

    source = write_csv(path.with_suffix(".csv"), table)
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM read_csv('{source}')) TO '{path}' (FORMAT parquet)")
    source.unlink()
    return path
