"""What a watched log says at one look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kwis.data.read.arrivals import Waiting
from kwis.results import Interval

Standing = Literal["passed", "failed", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a watched log says at one look.

    Attributes
    ----------
    rows, files, fresh
        Rows and files counted so far, and the names of the files counted at this look.
    waiting
        Files that are not whole yet, and why.
    repeated
        From files that hold the same bytes as another to the other, which was counted.
    logging
        Interval of the logging policy's value.
    values, changes
        From each target to the interval of its value, and of its difference to the logging policy. Those of
        all targets hold together, at this and every other look.
    level
        Probability with which they do.
    propensities_wrong
        Whether weights are too large on average for the propensities to be right: called so by mistake with
        a probability of 5 % at most, over all looks.

    See Also
    --------
    kwis.watch : makes it.
    kwis.BettingSequence : its intervals.

    Examples
    --------
    >>> context = ["country", "device", "age", "member", "signup", "hour"]
    >>> path = kwis.sample_log(200).write("day-1.csv")
    >>> look = kwis.watch(".", "p_new", reward="click", context=context, settle=0)
    >>> isinstance(look, kwis.Look), look.rows, look.fresh
    (True, 200, ('day-1.csv',))
    """

    rows: int
    files: int
    fresh: tuple[str, ...]
    waiting: tuple[Waiting, ...]
    repeated: Mapping[str, str]
    level: float
    logging: Interval
    values: Mapping[str, Interval]
    changes: Mapping[str, Interval]
    propensities_wrong: bool

    def standing(
        self, *, below: float | None = None, above: float | None = None, change: bool = False
    ) -> Standing:
        """Whether every target is known not to be below, or above, a limit.

        ``"passed"``: the intervals of all targets are on the right side; ``"failed"``: one is on the wrong
        side, or propensities are wrong; ``"open"``: neither yet.
        """
        if self.propensities_wrong:
            return "failed"
        found = [*(self.changes if change else self.values).values()]
        if any(
            (below is not None and one.high < below) or (above is not None and one.low > above)
            for one in found
        ):
            return "failed"
        passed = all(
            (below is None or one.low >= below) and (above is None or one.high <= above) for one in found
        )
        return "passed" if passed and self.rows else "open"

    def __repr__(self) -> str:
        lines = [f"{_count(self.rows, 'decision')} in {_count(self.files, 'file')}, {len(self.fresh)} new"]
        if self.rows:
            lines.append(f"  logging policy  {_shown(self.logging)}")
            for name, value in self.values.items():
                lines.append(f"  {name}  {_shown(value)}; change {_shown(self.changes[name], sign=True)}")
            together = f", for all {len(self.values)} targets together" if len(self.values) > 1 else ""
            lines.append(f"  intervals hold at every look with {self.level:.4g}{together}")
        if self.propensities_wrong:
            lines.append("  do not trust: propensities are wrong, as weights are too large on average")
        lines += [f"  waiting for {one.name}: {one.reason}" for one in self.waiting]
        lines += [f"  {name} is a copy of {other}, counted once" for name, other in self.repeated.items()]
        return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _shown(one: Interval, *, sign: bool = False) -> str:
    form = "+.4g" if sign else ".4g"
    return f"{one.value:{form}}, {one.low:{form}} to {one.high:{form}}"
