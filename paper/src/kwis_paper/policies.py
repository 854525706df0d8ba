"""Policies by name: what they are called, and the Gibbs policies, which follow from the labels alone.

Three kinds appear in the paper: Gibbs measures around the right action, policies learnt by ascending an
estimate of their value (IW and SNIW), and classifiers used to log and to behave. The latter two are trained
in :mod:`kwis_paper.training`. The further settings add deterministic policies, classifiers that explore, and
what a log may wrongly say of the policy that made it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kwis.typing import Floats, Ints

TEMPERATURES = (0.3, 0.5)


@dataclass(frozen=True, slots=True)
class Gibbs:
    """Softmax around the right action, or the one after it where the right action is ``faulty``.

    ``p(a|s)`` is proportional to ``exp(1[a = greedy(s)] / temperature)``.
    """

    kind: ClassVar[str] = "Gibbs"
    faulty: tuple[int, ...]
    temperature: float

    @property
    def name(self) -> str:
        return f"gibbs[{','.join(map(str, self.faulty))}]@{self.temperature:g}"

    def greedy(self, label: Ints, n_actions: int) -> Ints:
        """The deterministic policy: the right action, or the next one (the first after the last) where that
        is faulty.
        """
        return np.where(np.isin(label, self.faulty), (label + 1) % n_actions, label)

    def probabilities(self, label: Ints, n_actions: int) -> Floats:
        """``(n, n_actions)`` probabilities of every action."""
        # Divided by exp(1/temperature), so that a low temperature cannot overflow.
        other = math.exp(-1 / self.temperature)
        chosen = self.greedy(label, n_actions)[:, None] == np.arange(n_actions)
        return np.where(chosen, 1.0, other) / (1.0 + (n_actions - 1) * other)


@dataclass(frozen=True, slots=True)
class Greedy:
    """Always the right action, or the one after it where the right action is ``faulty``: a Gibbs policy at
    temperature 0.
    """

    kind: ClassVar[str] = "Deterministic"
    faulty: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"greedy[{','.join(map(str, self.faulty))}]"

    def probabilities(self, label: Ints, n_actions: int) -> Floats:
        """``(n, n_actions)``: 1 for the action taken, 0 for the others."""
        chosen = Gibbs(self.faulty, 1.0).greedy(label, n_actions)
        return (chosen[:, None] == np.arange(n_actions)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Ascent:
    """Linear softmax policy that maximises an estimate of its own value: VIS for ``IW``, WIS for ``SNIW``."""

    kind: str
    temperature: float

    @property
    def name(self) -> str:
        return f"{self.kind.lower()}@{self.temperature:g}"


@dataclass(frozen=True, slots=True)
class Trained:
    """An IW or SNIW policy trained on what ``logging`` logged, with the propensities of ``behaviour``."""

    ascent: Ascent
    logging: Policy
    behaviour: Policy

    @property
    def kind(self) -> str:
        return self.ascent.kind

    @property
    def name(self) -> str:
        return f"{self.ascent.name}({self.logging.name}, {self.behaviour.name})"


@dataclass(frozen=True, slots=True)
class Classifier:
    """Softmax of a trained classifier: ``linear``, ``one-layer`` or ``two-layer``, taken ``early`` or
    ``late`` in its training.
    """

    kind: ClassVar[str] = "Learnt"
    architecture: str
    stage: str

    @property
    def name(self) -> str:
        return f"{self.architecture}/{self.stage}"


@dataclass(frozen=True, slots=True)
class Explorer:
    """A classifier late in its training that takes a ``share`` of its actions at random: it looks at the
    context, never at the label.
    """

    kind: ClassVar[str] = "Explorer"
    architecture: str
    share: float

    @property
    def name(self) -> str:
        return f"explorer[{self.architecture}]@{self.share:g}"


@dataclass(frozen=True, slots=True)
class Misreported:
    """What a log says of the policy that made it, ``how`` it is wrong and to which ``degree``: see
    :mod:`kwis_paper.misreports`.
    """

    kind: ClassVar[str] = "Misreported"
    how: str
    degree: float
    of: Gibbs | Explorer

    @property
    def name(self) -> str:
        return f"{self.how}={self.degree:g}({self.of.name})"


Policy = Gibbs | Greedy | Ascent | Trained | Classifier | Explorer | Misreported

ASCENTS = tuple(Ascent(kind, temperature) for kind in ("IW", "SNIW") for temperature in TEMPERATURES)
CLASSIFIERS = tuple(
    Classifier(architecture, stage) for architecture in ("linear", "one-layer") for stage in ("early", "late")
)


def sample_actions(probabilities: Floats, uniform: Floats) -> Ints:
    """One action per row, drawn by inverting the cumulative probabilities at ``uniform`` in [0, 1)."""
    steps = np.cumsum(probabilities, axis=1)
    # Rounding may leave the last step below 1, and a draw above it without an action.
    return np.minimum((steps <= uniform[:, None]).sum(axis=1), probabilities.shape[1] - 1)


def chosen_probability(probabilities: Floats, action: Ints) -> Floats:
    """Probability of the action taken in each row."""
    return np.take_along_axis(probabilities, action[:, None], axis=1)[:, 0]
