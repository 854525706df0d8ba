"""Options that say how rewards are called and counted, and which way is better."""

# Options are read from the annotations, which must not be text.
from collections.abc import Container
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from kwis.cli.options import OUTPUT, WORK, listed
from kwis.errors import InputError

Unit = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        metavar="[REWARD=]TEXT",
        help="Unit of a reward, such as €.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
Per = Annotated[
    float,
    typer.Option(
        "--per", metavar="NUMBER", help="Show values over so many decisions.", rich_help_panel=OUTPUT
    ),
]
RewardLabel = Annotated[
    list[str] | None,
    typer.Option(
        "--reward-label",
        metavar="[REWARD=]TEXT",
        help="What a reward is called in words and charts.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
Minimise = Annotated[
    bool,
    typer.Option(
        "--minimise", help="Less of every reward is better: costs, latencies.", rich_help_panel=WORK
    ),
]
LowerIsBetter = Annotated[
    list[str] | None,
    typer.Option(
        "--lower-is-better",
        metavar="A,B,...",
        help="Rewards of which less is better, where it does not hold for all.",
        rich_help_panel=WORK,
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """How rewards are called and counted, as typed: every field is an option."""

    unit: Unit = None
    per: Per = 1.0
    reward_label: RewardLabel = None
    minimise: Minimise = False
    lower_is_better: LowerIsBetter = None

    def arguments(self, columns: Container[str]) -> dict[str, Any]:
        """The same as arguments of :func:`kwis.evaluate`."""
        return {
            "unit": _by_reward(self.unit, "unit"),
            "per": self.per,
            "reward_label": _by_reward(self.reward_label, "reward-label"),
            "lower_is_better": lowered(self.minimise, self.lower_is_better, columns),
        }


def lowered(minimise: bool, named: list[str] | None, columns: Container[str]) -> bool | list[str]:
    """Rewards of which less is better, as the argument ``lower_is_better``."""
    lower = listed(named, columns)
    return minimise if lower is None else lower


def _by_reward(texts: list[str] | None, option: str) -> str | dict[str, str] | None:
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = [text.rpartition("=") for text in texts]
    unnamed = next((text for name, _, text in pairs if not name), None)
    if unnamed is not None:
        raise InputError(f"`{option}` must be REWARD=TEXT where it is given more than once, got {unnamed!r}")
    return {name: text for name, _, text in pairs}
