"""Four logs as people have them, written anew with a truth that is known: the value of every policy asked
about is the mean, over the very contexts of the log, of the expected reward of the actions it would take.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Table = Mapping[str, Sequence[Any]]


def write_csv(path: Path, table: Table) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


def write_sqlite(path: Path, table: Table, name: str) -> Path:
    rows = zip(*(np.asarray(values).tolist() for values in table.values()), strict=True)
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {name} ({', '.join(table)})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(table))})", rows)
    connection.close()
    return path


def draw(shares: Any, rng: np.random.Generator) -> Any:
    """One action per row of a distribution."""
    return (rng.random(len(shares))[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)


def marketing(n: int = 3000) -> tuple[Table, float]:
    """Three offers, drawn with logged probabilities; a new policy's choice in a column. Some spends are
    missing. The truth is that of the new policy.
    """
    rng = np.random.default_rng(11)
    age, country = rng.integers(18, 75, n), rng.choice(["DE", "FR", "IT"], n)
    logits = np.column_stack([np.zeros(n), 0.02 * (age - 45), 0.6 * (country == "FR")])
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    offer = draw(shares, rng)
    means = np.column_stack([np.full(n, 5.0), 4 + 0.05 * (age - 18), 4 + 3.0 * (country == "FR")])
    spend = np.round(rng.gamma(2.0, means[np.arange(n), offer] / 2), 2).astype(object)
    spend[rng.random(n) < 0.02] = ""
    new = np.where(country == "FR", 2, np.where(age > 45, 1, 0))
    names = np.array(["none", "voucher", "discount"])
    table = {
        "customer": [f"c{i}" for i in range(n)],
        "age": age,
        "country": country,
        "offer": names[offer],
        "propensity": shares[np.arange(n), offer].round(12),
        "new_offer": names[new],
        "spend": spend,
    }
    return table, float(means[np.arange(n), new].mean())


def ab_test(n: int = 4000) -> tuple[Table, float]:
    """Treatment drawn with probability one half, which nobody logged; the truth is that of treating all."""
    rng = np.random.default_rng(12)
    visits, mobile = rng.poisson(3, n), rng.random(n) < 0.6
    treated = rng.integers(2, size=n)
    chance = 0.10 + 0.01 * np.minimum(visits, 8) + treated * (0.05 + 0.05 * mobile)
    converted = (rng.random(n) < chance).astype(int)
    table = {"visits": visits, "mobile": mobile.astype(int), "treated": treated, "converted": converted}
    return table, float((0.10 + 0.01 * np.minimum(visits, 8) + 0.05 + 0.05 * mobile).mean())


def medical(n: int = 3000) -> tuple[Table, float]:
    """Doctors treat the sicker more often and nobody wrote down how often; the truth is that of drug B for
    everybody, in days to recovery.
    """
    rng = np.random.default_rng(13)
    crp, age = rng.gamma(2.0, 4.0, n).round(1), rng.integers(30, 90, n)
    b = rng.random(n) < 1 / (1 + np.exp(-(0.25 * (crp - 8) + 0.02 * (age - 60))))
    base = 6 + 0.25 * crp + 0.03 * (age - 30)
    days = base - 2.0 * b + rng.normal(0, 1.5, n)
    table = {"crp": crp, "age": age, "drug": np.where(b, "B", "A"), "days": days.round(2)}
    return table, float((base - 2.0).mean())


def web(n: int = 3000) -> tuple[Table, float]:
    """A web shop's decisions with the probability of each page; the truth is that of any page alike."""
    rng = np.random.default_rng(14)
    hour, member = rng.integers(24, size=n), rng.integers(2, size=n)
    first = 0.25 + 0.5 * (hour >= 12)
    page = (rng.random(n) >= first).astype(int)
    chance = np.column_stack([0.2 + 0.1 * member, 0.3 - 0.1 * (hour >= 12)])
    table = {
        "hour": hour,
        "member": member,
        "page": np.array(["grid", "list"])[page],
        "pscore": np.where(page == 0, first, 1 - first),
        "click": (rng.random(n) < chance[np.arange(n), page]).astype(int),
    }
    return table, float(chance.mean())
