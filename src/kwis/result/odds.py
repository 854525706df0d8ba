"""What :func:`kwis.sensitivity` returns: how far wrong odds of the propensities move an estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwis._text import visible
from kwis.errors import InputError
from kwis.typing import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sensitivity:
    """Range of WIS if the odds of every propensity may be wrong by up to a factor gamma.

    Attributes
    ----------
    value, baseline
        WIS with the propensities as they are, and the mean of the logged rewards.
    gammas, lows, highs
        The range for each gamma.
    flip
        Smallest gamma at which the range reaches the baseline, so that the decision could turn; infinite if
        none does.
    words
        The same in a sentence.
    """

    target: str
    reward: str
    value: float
    baseline: float
    gammas: Floats
    lows: Floats
    highs: Floats
    flip: float
    words: str

    def __repr__(self) -> str:
        ranges = zip(self.gammas, self.lows, self.highs, strict=True)
        lines = (f"  odds wrong by up to {gamma:g}: {low:.4g} to {high:.4g}" for gamma, low, high in ranges)
        return visible("\n".join([self.words, *lines]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SensitivityAnalysis:
    """What :func:`kwis.sensitivity` returns: one result per target and reward.

    For one release it can still be unpacked and indexed as the tuple that it was; use ``results`` or ``of``.
    """

    results: tuple[Sensitivity, ...]

    def of(self, target: str | None = None, reward: str | None = None) -> Sensitivity:
        """The result for a target and a reward, the first of each unless named."""
        for one in self.results:
            if target in (None, one.target) and reward in (None, one.reward):
                return one
        raise InputError(f"`target` and `reward` must be among the results, got {target!r} and {reward!r}")

    def __iter__(self) -> Iterator[Sensitivity]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> Sensitivity:
        return self.results[place]

    def __repr__(self) -> str:
        return "\n\n".join(repr(one) for one in self.results)
