"""IW and SNIW policies: linear softmax policies that climb an estimate of their own value.

The paper says that they are trained by gradient ascent for 20 epochs, and no more. Its published counts tell
that they were trained anew on the log of every logging policy, with the propensities of the behaviour policy:
no policy trained once per dataset can give them. Optimiser, step, batches and objective are inferred: see
:mod:`kwis_paper.setups` for what was tried and what each set-up gave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kwis._validation import read_only
from kwis.typing import Floats, Ints
from kwis_paper.policies import Ascent

EPOCHS = 20  # the paper's
Objective = Literal["log", "plain"]
Training = Literal["per-log", "once"]
TRAININGS: tuple[Training, ...] = ("per-log", "once")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoggedActions:
    """Logged interactions to learn a policy from."""

    context: Floats
    action: Ints
    propensity: Floats
    reward: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a policy is trained; it starts at zero parameters.

    Attributes
    ----------
    indicators
        Whether the policy sees the columns of categorical features as 0 and 1; else it sees them
        standardised, like all others.
    batch
        Rows per step; 0 for all of them.
    step
        Step size of the gradient ascent.
    objective
        The estimate itself (``plain``) or its logarithm (``log``), of every batch.
    """

    batch: int = 32
    step: float = 0.1
    objective: Objective = "log"
    indicators: bool = True

    @property
    def words(self) -> str:
        rows = f"batches of {self.batch}" if self.batch else "all rows at once"
        climbed = "the logarithm of the estimate" if self.objective == "log" else "the estimate"
        seen = "0 and 1" if self.indicators else "standardised"
        return f"{rows}, step {self.step:g}, {climbed}, categories {seen}"


SETUPS: dict[Training, Setup] = {"per-log": Setup(), "once": Setup(batch=0, step=0.1, indicators=False)}


def batch_orders(n: int, setup: Setup, rng: np.random.Generator) -> Ints:
    """``(epochs, n)`` order in which each epoch takes the rows; the same for all policies of a dataset."""
    if not setup.batch:
        return np.tile(np.arange(n), (EPOCHS, 1))
    return np.stack([rng.permutation(n) for _ in range(EPOCHS)])


def ascend(policy: Ascent, logged: LoggedActions, n_actions: int, setup: Setup, orders: Ints) -> Floats:
    """Parameters (d, n_actions) of a softmax policy that climbs its VIS (``IW``) or WIS (``SNIW``) estimate.

    Releases the interpreter lock: several policies can be trained at once.
    """
    from kwis_paper.climb import climb  # compiled, and not needed to read results

    context, inverse, reward = map(_single, (logged.context, 1.0 / logged.propensity, logged.reward))
    return climb(
        *(_fixed(values) for values in (context, logged.action, inverse, reward, orders)),
        setup.batch or logged.action.size,
        setup.step,
        policy.temperature,
        n_actions,
        policy.kind == "SNIW",
        setup.objective == "log",
    )


def _single(values: Floats) -> Floats:
    """Rounded to single precision: the last bits of what another model computed depend on the processor, and
    the ascent would magnify them.
    """
    return values.astype(np.float32).astype(np.float64)


def _fixed(values: np.ndarray) -> np.ndarray:
    """Contiguous and read-only, so that one compiled version serves all."""
    return read_only(np.ascontiguousarray(values).view())
