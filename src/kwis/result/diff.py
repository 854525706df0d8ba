"""Two evaluations compared, last week's and today's: what changed, and whether chance explains it.

Logs that share rows share their luck. With ``s`` shared rows of ``n`` and ``m``, two estimates of the same
policy correlate by about ``s / sqrt(n m)``, and the variance of their difference is smaller by that.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from kwis._text import visible
from kwis.errors import InputError
from kwis.result.words import decimals, number, signed

if TYPE_CHECKING:
    from kwis.result.evaluation import Evaluation

SKETCH = 512
"""How many numbers tell which rows a log has."""
_SETTINGS = ("version", "level", "estimators", "context", "repair", "seed")
_SURE = 0.05
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The recommended estimate of one policy and reward in two evaluations.

    Attributes
    ----------
    std_error
        Of the change from the first to the second, given the rows that they share.
    p_value
        Of no change but by chance in the rows.
    verdicts, estimators
        Before and after.
    """

    target: str
    reward: str
    before: float
    after: float
    std_error: float
    p_value: float
    verdicts: tuple[str, str]
    estimators: tuple[str, str]

    @property
    def words(self) -> str:
        """The same in a sentence."""
        digits = decimals([4 * self.std_error] if self.std_error > 0 else [abs(self.after - self.before)])
        change = self.after - self.before
        values = f"{number(self.before, digits)} to {number(self.after, digits)}"
        if abs(change) <= _ROUNDING * max(abs(self.before), abs(self.after)):
            size = "the same"
        elif self.std_error == 0:
            size = f"{signed(change, digits)}, on the same rows: not chance but other settings or policies"
        else:
            sure = "more than chance" if self.p_value < _SURE else "no more than chance"
            size = f"{signed(change, digits)}, {sure} (p = {self.p_value:.2g})"
        parts = [f"{self.target}, {self.reward}: {values} ({size})"]
        for what, (old, new) in (("verdict", self.verdicts), ("estimator", self.estimators)):
            parts += [f"{what} {old} before, {new} now"] if old != new else []
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Difference:
    """What changed from one evaluation to the next.

    Attributes
    ----------
    rows
        Rows of each.
    shared
        About how many rows both have; None where that cannot be told.
    settings
        What was set differently, in sentences.
    appeared, gone
        Policies and rewards that only one of the two has.
    """

    rows: tuple[int, int]
    shared: int | None
    moved: tuple[Moved, ...]
    settings: tuple[str, ...]
    appeared: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __repr__(self) -> str:
        before, after = self.rows
        about = "about " if max(self.rows) > SKETCH else ""
        same = (
            "which rows they share is not known"
            if self.shared is None
            else f"{about}{self.shared:,} rows in both"
        )
        if self.shared == 0:
            same += " (the same row is one with the same value in every column; with `key`, in that one)"
        lines = [f"{before:,} rows before, {after:,} now, {same}", *(one.words for one in self.moved)]
        lines += [f"only before: {name}" for name in self.gone]
        lines += [f"only now: {name}" for name in self.appeared]
        return visible("\n".join([*lines, *self.settings]))


def diff(last: Evaluation | str | PathLike[str], this: Evaluation | str | PathLike[str]) -> Difference:
    """Compare two evaluations, or files that ``evaluation.to_json`` or ``evaluation.save`` wrote of them.

    Parameters
    ----------
    last, this
        The earlier and the later evaluation, or paths of their files.

    Returns
    -------
    Difference
        For every policy and reward, what the recommended estimate moved by and whether that is more than
        chance; what was set differently. It prints as sentences.

    See Also
    --------
    kwis.load : reads a saved evaluation.
    kwis.Evaluation.to_json : writes a file to compare.
    kwis.watch : for a log that is looked at again and again.

    Examples
    --------
    >>> frame = kwis.sample_log(300, rng=1)
    >>> evaluation = kwis.evaluate(frame.read(), "p_new", estimators=["wis"], repair="never")
    >>> _ = evaluation.to_json("monday.json"), evaluation.to_json("tuesday.json")
    >>> print(str(kwis.diff("monday.json", "tuesday.json")).splitlines()[-1])
    p_new, revenue: 5.2130 to 5.2130 (the same)
    """
    return difference_of(_read(last), _read(this))


def difference_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """Compare two evaluations as JSON."""
    old, new = before["settings"], after["settings"]
    shared = shared_rows(old.get("sketch") or (), new.get("sketch") or (), old["n"], new["n"])
    first, second = _recommended(before), _recommended(after)
    together = 0.0 if shared is None else min(shared / math.sqrt(old["n"] * new["n"]), 1.0)
    if shared is not None and shared == old["n"] == new["n"]:
        together = 1.0
    return Difference(
        rows=(old["n"], new["n"]),
        shared=shared,
        moved=tuple(_moved(key, first[key], second[key], together) for key in first if key in second),
        settings=tuple(_settings(old, new)),
        gone=tuple(", ".join(key) for key in first if key not in second),
        appeared=tuple(", ".join(key) for key in second if key not in first),
    )


def shared_rows(one: Sequence[int], other: Sequence[int], n: int, m: int) -> int | None:
    """About how many rows two logs share, from the smallest numbers of their rows; exact for small logs."""
    if not one or not other:
        return None
    first, second = set(one), set(other)
    known = min(len(first) if n > len(one) else math.inf, len(second) if m > len(other) else math.inf)
    union = sorted(first | second)
    sample = union if math.isinf(known) else union[: int(known)]
    both = sum(value in first and value in second for value in sample) / len(sample)
    return min(round(both / (1 + both) * (n + m)), n, m)


def _recommended(stored: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(row["target"], row["reward"]): row for row in stored["rows"] if row["recommended"]}


def _moved(
    key: tuple[str, str], before: Mapping[str, Any], after: Mapping[str, Any], together: float
) -> Moved:
    old, new = before["estimate"], after["estimate"]
    first, second = (float(one["std_error"] or 0.0) for one in (old, new))
    alike = math.isclose(together, 1.0) and math.isclose(first, second, rel_tol=0.5)
    variance = first**2 + second**2 - 2 * together * first * second
    error = 0.0 if alike else math.sqrt(max(variance, 0.0))
    change = new["value"] - old["value"]
    p_value = 2 * NormalDist().cdf(-abs(change) / error) if error > 0 else float(change == 0)
    return Moved(
        target=key[0],
        reward=key[1],
        before=old["value"],
        after=new["value"],
        std_error=error,
        p_value=p_value,
        verdicts=(before["verdict"]["level"], after["verdict"]["level"]),
        estimators=(old["name"], new["name"]),
    )


def _settings(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[str]:
    for name in _SETTINGS:
        if old.get(name) != new.get(name):
            yield f"{name}: {_shown(old.get(name))} before, {_shown(new.get(name))} now"


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(path: Evaluation | str | PathLike[str]) -> Mapping[str, Any]:
    from kwis.result.output import SCHEMA

    try:
        if not isinstance(path, str | PathLike):
            found = json.loads(path.to_json())
        elif zipfile.is_zipfile(path):
            from kwis.result.keep import load

            found = json.loads(load(path).to_json())
        else:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"cannot read {str(path)!r}: {_reason(problem)}") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA or not _is_whole(found):
        raise InputError(f"{str(path)!r} must hold an evaluation, as kwis evaluate --json-file writes it")
    return found


def _is_whole(stored: Mapping[str, Any]) -> bool:
    """Whether a file has all that a comparison reads and prints."""
    try:
        repr(difference_of(stored, stored))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False
    return True


def _reason(problem: Exception) -> str:
    return problem.strerror or str(problem) if isinstance(problem, OSError) else "it is no JSON"
