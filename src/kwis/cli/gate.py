"""Gates: conditions on an answer that decide the exit code, so that a deployment can wait for them.

No number of an estimate that is not to be trusted passes a gate, unless the user says so. A gate on changes
looks at the interval that the printed claim follows: with several targets the one that holds for all of them
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kwis.cli.terminal import GATE_FAILED, say
from kwis.errors import InputError

if TYPE_CHECKING:
    from kwis.evaluation import Evaluation
    from kwis.results import Interval

_PANEL = "Gates (exit code 1 if one fails)"


class Using(StrEnum):
    """Which number of an interval is compared."""

    LOW = "low"
    VALUE = "value"
    HIGH = "high"


class Of(StrEnum):
    """Whether the value of a policy is meant, or its difference to the logging policy."""

    POLICY = "policy"
    CHANGE = "change"


class Trust(StrEnum):
    """Verdicts that a gate can ask for."""

    TRUST = "trust"
    CARE = "care"
    ANY = "any"


FailBelow = Annotated[
    float | None,
    typer.Option(
        "--fail-below",
        metavar="NUMBER",
        rich_help_panel=_PANEL,
        show_default=False,
        help="Fail if any target is below it in the first reward.",
    ),
]
FailAbove = Annotated[
    float | None,
    typer.Option(
        "--fail-above",
        metavar="NUMBER",
        rich_help_panel=_PANEL,
        show_default=False,
        help="Fail if any target is above it in the first reward, for costs.",
    ),
]
UsingOption = Annotated[
    Using | None,
    typer.Option(
        "--using",
        rich_help_panel=_PANEL,
        show_default=False,
        help="Which end of the recommended interval is compared. Default: the worse one.",
    ),
]
OfOption = Annotated[
    Of,
    typer.Option(
        "--of",
        rich_help_panel=_PANEL,
        help="Compare the policy's value, or its change against the logging policy.",
    ),
]
Require = Annotated[
    Trust | None,
    typer.Option(
        "--require",
        rich_help_panel=_PANEL,
        show_default=False,
        help=(
            "Fail if a verdict is worse than trust, or than with care; any accepts all. Default: care "
            "beside another gate."
        ),
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The conditions that were asked for."""

    below: float | None = None
    above: float | None = None
    using: Using | None = None
    of: Of = Of.POLICY
    require: Trust | None = None

    def check(self) -> None:
        """Refuse a limit that nothing can be compared with."""
        for name, limit in (("fail-below", self.below), ("fail-above", self.above)):
            if limit is not None and limit != limit:
                raise InputError(f"`{name}` must be a number, got nan")

    def enforce(self, evaluation: Evaluation) -> None:
        """Say which conditions fail, and end with exit code 1 if any does."""
        fail_on([*self._values(evaluation), *self._verdicts(evaluation)])

    def _values(self, evaluation: Evaluation) -> list[str]:
        failures = []
        for target, found in evaluation.recommended.items():
            interval: Interval = found.change.claim if self.of is Of.CHANGE else found.row.interval
            for limit, worse, side in ((self.below, Using.LOW, "below"), (self.above, Using.HIGH, "above")):
                using = self.using or worse
                number = getattr(interval, using.value)
                if limit is None or (number >= limit if side == "below" else number <= limit):
                    continue  # what is no number fails
                what = "change of" if self.of is Of.CHANGE else "value of"
                end = "" if using is Using.VALUE else f"{using.value} end of the "
                failures.append(f"{end}{what} {target} is {number:.6g}, {side} {limit:g}")
        return failures

    def _verdicts(self, evaluation: Evaluation) -> list[str]:
        verdicts = [
            (f"verdict on {target}", found.row.verdict.level)
            for target, found in evaluation.recommended.items()
        ]
        return verdict_failures(
            verdicts, required(self.require, gated=self.below is not None or self.above is not None)
        )


def fail_on(failures: Sequence[str]) -> None:
    """Say what failed, and end with exit code 1 if anything did."""
    for failure in failures:
        say(f"gate failed: {failure}")
    if failures:
        raise typer.Exit(GATE_FAILED)


def required(asked: Trust | None, *, gated: bool) -> Trust:
    """The verdict that a gate asks for: the one named, or else beside another gate at least with care."""
    return asked or (Trust.CARE if gated else Trust.ANY)


def verdict_failures(verdicts: Sequence[tuple[str, str]], require: Trust) -> list[str]:
    """What is wrong with verdicts that have to be at least as good as required."""
    allowed = {
        Trust.ANY: ("trust", "with care", "do not trust"),
        Trust.CARE: ("trust", "with care"),
        Trust.TRUST: ("trust",),
    }[require]
    return [f"{what} is {level!r}" for what, level in verdicts if level not in allowed]
