"""What a watched log comes to so far: sums over rows, small enough to be stored and exact enough to go on
with.

Beside the confidence sequences stand tests of the propensities that hold at every look too. Weights have
mean 1 if propensities are right, those of every target and those of "always this action" alike; bets against
that win only if they are wrong. An action is bet on from the file after the one that it first came with, so
that no bet is placed on rows already seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from kwis._validation import read_only
from kwis.intervals.centred import Centred
from kwis.intervals.sequence import BettingSequence, SequenceState
from kwis.intervals.wealth import Wealth
from kwis.typing import Floats

Bets = TypeVar("Bets", Wealth, Wealth | Centred)
_NO_ROWS = Wealth.of(np.empty(0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally:
    """Sums over the rows of all files counted.

    Attributes
    ----------
    rows
        Rows counted.
    values, changes
        Confidence sequence of each target's value, and of its difference to the logging policy.
    logging
        That of the logging policy's value.
    weights, actions
        Bets against a mean weight of 1, for each target and for each action.
    """

    rows: int
    logging: SequenceState
    values: Mapping[str, SequenceState]
    changes: Mapping[str, SequenceState]
    weights: Mapping[str, Wealth]
    actions: Mapping[str, Wealth]

    @classmethod
    def start(cls, how: BettingSequence, targets: Sequence[str]) -> Tally:
        """Before the first row."""
        return cls(
            rows=0,
            logging=_unweighted(how).start(),
            values={name: how.start() for name in targets},
            changes={name: how.start(difference=True) for name in targets},
            weights=dict.fromkeys(targets, _NO_ROWS),
            actions={},
        )

    def add(self, weights: Mapping[str, Floats], reward: Floats, inverse: Mapping[str, Floats]) -> Tally:
        """After the rows of one more file: weights of each target, and of each action's own policy."""
        n = len(reward)
        bets = {
            name: old + Wealth.of(inverse[name] if name in inverse else np.zeros(n))
            for name, old in self.actions.items()
        }
        fresh = {name: _NO_ROWS for name in inverse if name not in bets}
        return replace(
            self,
            rows=self.rows + n,
            logging=self.logging.add(np.ones(n), reward),
            values={name: old.add(weights[name], reward) for name, old in self.values.items()},
            changes={name: old.add(weights[name], reward) for name, old in self.changes.items()},
            weights={name: old + Wealth.of(weights[name]) for name, old in self.weights.items()},
            actions={**bets, **fresh},
        )

    def against_propensities(self) -> float:
        """Capital, from a stake of 1, of bets against the propensities; with right ones it ever exceeds c
        with probability ``1 / c`` at most.
        """
        stakes = [0.5 / len(self.weights)] * len(self.weights)
        stakes += [0.5 / (place * (place + 1)) for place in range(1, len(self.actions) + 1)]
        bets = [*self.weights.values(), *self.actions.values()]
        most = 700.0  # exp of more is no number, and far beyond any doubt
        return float(
            sum(
                stake * math.exp(min(bet.log_capital(1.0), most))
                for stake, bet in zip(stakes, bets, strict=True)
            )
        )

    def plain(self) -> dict[str, Any]:
        """Everything as plain JSON; :meth:`of_plain` makes the same sums of it, to the last bit."""
        return {
            "rows": self.rows,
            "logging": _plain_state(self.logging),
            "values": {name: _plain_state(one) for name, one in self.values.items()},
            "changes": {name: _plain_state(one) for name, one in self.changes.items()},
            "weights": {name: _plain_bets(one) for name, one in self.weights.items()},
            "actions": {name: _plain_bets(one) for name, one in self.actions.items()},
        }

    @classmethod
    def of_plain(cls, how: BettingSequence, found: Mapping[str, Any]) -> Tally:
        """The tally that :meth:`plain` wrote."""
        start, difference = how.start(), how.start(difference=True)
        return cls(
            rows=int(found["rows"]),
            logging=_state(_unweighted(how).start(), found["logging"]),
            values={name: _state(start, one) for name, one in found["values"].items()},
            changes={name: _state(difference, one) for name, one in found["changes"].items()},
            weights={name: _bets(_NO_ROWS, one) for name, one in found["weights"].items()},
            actions={name: _bets(_NO_ROWS, one) for name, one in found["actions"].items()},
        )


def _unweighted(how: BettingSequence) -> BettingSequence:
    """The same for the logging policy, whose weights are 1."""
    return replace(how, largest_weight=1.0)


def _plain_state(state: SequenceState) -> dict[str, Any]:
    plain = {"total": state.total, "gains": _plain_bets(state.gains), "losses": _plain_bets(state.losses)}
    return plain if state.rewards is None else {**plain, "rewards": _plain_state(state.rewards)}


def _plain_bets(bets: Wealth | Centred) -> dict[str, Any]:
    return {"n": bets.n, "logs": bets.logs.tolist()}


def _state(start: SequenceState, found: Mapping[str, Any]) -> SequenceState:
    return replace(
        start,
        total=float(found["total"]),
        gains=_bets(start.gains, found["gains"]),
        losses=_bets(start.losses, found["losses"]),
        rewards=None if start.rewards is None else _state(start.rewards, found["rewards"]),
    )


def _bets(start: Bets, found: Mapping[str, Any]) -> Bets:
    logs = np.array(found["logs"], dtype=np.float64)
    if logs.shape != start.logs.shape:
        raise ValueError("another number of bets")
    return replace(start, n=int(found["n"]), logs=read_only(logs))
