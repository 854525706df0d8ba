"""One log of 2,000 decisions, written in every way that kwis reads."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

N = 2_000
CONTEXT = ["age", "country", "member", "signup", "hour"]
ROLES: dict[str, Any] = {
    "action": "action",
    "reward": "reward",
    "propensity": "propensity",
    "context": CONTEXT,
    "group": "user",
    "time": "time",
}


def example(n: int = N) -> dict[str, np.ndarray]:
    """Columns with mixed types and gaps; action labels are numbers, as in dsjson."""
    rng = np.random.default_rng(11)
    whole = rng.dirichlet((2, 3, 4), n)
    action = (rng.random(n)[:, None] > whole.cumsum(axis=1)[:, :-1]).sum(axis=1)
    age = rng.normal(40, 12, n)
    age[rng.random(n) < 0.05] = np.nan
    country = rng.choice(np.array(["DE", "FR", "US", None], dtype=object), n)
    return {
        "action": action + 1,
        "reward": rng.normal(size=n),
        "propensity": whole[np.arange(n), action],
        "age": age,
        "country": country,
        "member": rng.random(n) < 0.4,
        "signup": (np.datetime64("2022-01-01") + rng.integers(700, size=n)).astype("datetime64[us]"),
        "hour": rng.integers(24, size=n),
        "user": rng.integers(500, size=n),
        "time": np.datetime64("2024-01-01", "us")
        + np.sort(rng.integers(10**9, size=n)) * np.timedelta64(1_000_000, "us"),
        "p_1": whole[:, 0],
        "p_2": whole[:, 1],
        "p_3": whole[:, 2],
    }


def as_pandas(table: dict[str, np.ndarray]) -> Any:
    import pandas as pd

    return pd.DataFrame(table)


def as_polars(table: dict[str, np.ndarray]) -> Any:
    import polars as pl

    columns = {
        name: pl.Series(name, values.tolist() if values.dtype == object else values)
        for name, values in table.items()
    }
    return pl.DataFrame(columns).with_columns(
        pl.col("age").fill_nan(None), pl.col("country").cast(pl.Categorical)
    )


def as_arrow(table: dict[str, np.ndarray]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(values, from_pandas=True) for name, values in table.items()})


def write_with_duckdb(table: dict[str, np.ndarray], path: Path) -> Path:
    kind = {".csv": "csv", ".parquet": "parquet", ".jsonl": "json"}[path.suffix]
    with duckdb.connect() as connection:
        connection.register("t", table)
        connection.execute(f"COPY (SELECT * FROM t) TO '{path}' (FORMAT {kind})")
    return path


def write_duckdb(table: dict[str, np.ndarray], path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.register("t", table)
        connection.execute("CREATE TABLE decisions AS SELECT * FROM t")
    return path


def write_sqlite(table: dict[str, np.ndarray], path: Path) -> Path:
    """SQLite knows neither booleans nor dates: these become 0 and 1, and text."""
    columns = [[_plain(value) for value in values.tolist()] for values in table.values()]
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE decisions ({', '.join(table)})")
        connection.executemany(
            f"INSERT INTO decisions VALUES ({', '.join('?' * len(table))})", zip(*columns, strict=True)
        )
    connection.close()
    return path


def write_dsjson(table: dict[str, np.ndarray], path: Path) -> Path:
    """Vowpal Wabbit's decisions: costs instead of rewards, the actions in the order of the draw."""
    rows = {name: [_plain(value) for value in values.tolist()] for name, values in table.items()}
    with path.open("w", encoding="utf-8") as file:
        for i in range(len(rows["action"])):
            chosen = rows["action"][i]
            order = [chosen, *(action for action in (1, 2, 3) if action != chosen)]
            line = {
                "_label_cost": -rows["reward"][i],
                "_label_probability": rows["propensity"][i],
                "_label_Action": chosen,
                "_labelIndex": chosen - 1,
                "Timestamp": rows["time"][i].replace(" ", "T") + "Z",
                "Version": "1",
                "EventId": f"event{i}",
                "a": order,
                "p": [rows[f"p_{action}"][i] for action in order],
                "c": {
                    **{name: rows[name][i] for name in CONTEXT},
                    "_user": rows["user"][i],
                    "_multi": [{"name": "one"}, {"name": "two"}, {"name": "three"}],
                },
                "VWState": {"m": "model"},
            }
            file.write(json.dumps(line) + "\n")
    return path


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if hasattr(value, "isoformat"):
        return value.isoformat(sep=" ")
    return None if value != value else value
