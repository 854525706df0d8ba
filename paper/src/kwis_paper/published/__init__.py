"""The paper's published tables, as facts to compare with.

They are the numbers of the tables in the paper that introduces Kernel-WIS, one CSV file per table; a value
printed as "a ± b" is split into a column and its ``_std``. Columns of text stay text, ``n_obs`` is whole, and
what the paper prints as nan is ``nan``.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from kwis import InputError

CAPTIONS = {
    "overall": "Mean absolute error of every estimator",
    "percentiles": "75th and 100th percentile predictions",
    "oracle": "WIS and Kernel-WIS, oracle behaviour policies",
    "oracle_coverage": "Coverage of bootstrapped intervals, oracle behaviour policies",
    "non_oracle": "WIS and Kernel-WIS, non-oracle behaviour policies",
    "non_oracle_coverage": "Coverage of bootstrapped intervals, non-oracle behaviour policies",
    "continuous": "Single-action and continuous rewards, oracle behaviour policies",
    "bandwidth_sensitivity": "Shared and per-feature bandwidths",
    "learnt_oracle": "Learnt logging policies, oracle behaviour policies",
    "learnt_non_oracle": "Learnt logging policies, non-oracle behaviour policies",
}
_TEXT = {"reward", "behaviour", "dataset", "policy_type", "abs_diff_bucket"}
_WHOLE = {"n_obs"}

Value = str | float | int


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of the paper, row by row in its order."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def column(self, name: str) -> tuple[Value, ...]:
        """All values of a column."""
        if name not in self.columns:
            raise InputError(f"`column` must be one of {', '.join(self.columns)}, got {name!r}")
        index = self.columns.index(name)
        return tuple(row[index] for row in self.rows)

    def value(self, column: str, **where: str) -> Value | None:
        """Value of a column in the one row that has the given text in the given columns, or None."""
        chosen = [self.column(name) for name in where]
        wanted = tuple(where.values())
        for number, found in enumerate(zip(*chosen, strict=True)):
            if found == wanted:
                return self.column(column)[number]
        return None


@cache
def table(name: str) -> PublishedTable:
    """Read a published table by the name of its file."""
    if name not in CAPTIONS:
        raise InputError(f"`name` must be one of {', '.join(CAPTIONS)}, got {name!r}")
    text = (files(__package__) / f"{name}.csv").read_text(encoding="utf-8")
    header, *body = csv.reader(text.splitlines())
    rows = tuple(
        tuple(_parse(column, text) for column, text in zip(header, row, strict=True)) for row in body
    )
    return PublishedTable(name, CAPTIONS[name], tuple(header), rows)


def _parse(column: str, text: str) -> Value:
    if column in _TEXT:
        return text
    return int(text) if column in _WHOLE else float(text)
