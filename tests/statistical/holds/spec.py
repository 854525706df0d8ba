"""What a regime is: a few words each for the log, its logging policy, its targets and what is wrong with it,
if anything.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SoftmaxLogger:
    sharpness: float = 0.8


@dataclass(frozen=True)
class SmallestLogger:
    """A softmax whose propensities go down to about ``smallest``."""

    smallest: float


@dataclass(frozen=True)
class OpposedLogger:
    """A softmax that leaves the first target an effective share of the rows of ``share``."""

    share: float


@dataclass(frozen=True)
class EpsilonLogger:
    epsilon: float


@dataclass(frozen=True)
class UniformLogger:
    pass


@dataclass(frozen=True)
class RulesLogger:
    """Two deterministic rules and, at times, any action: only few different propensities."""

    shares: tuple[float, float, float] = (0.5, 0.3, 0.2)


@dataclass(frozen=True)
class ThompsonLogger:
    """The best action by scores with a normal error of size ``doubt``, drawn anew for every row; with
    probability ``epsilon`` any action.
    """

    doubt: float = 1.0
    epsilon: float = 0.02


@dataclass(frozen=True)
class CoarseLogger:
    """A softmax in multiples of ``step``."""

    step: float
    sharpness: float = 0.8


@dataclass(frozen=True)
class TailLogger:
    """The first action's propensity falls off exponentially along a context that has no end: weights with a
    Pareto tail.

    Their tail index is ``1 / (1 + 1 / rate)``.
    """

    rate: float


@dataclass(frozen=True)
class TiltedTarget:
    """The logging policy tilted until its weights leave ``share`` of the rows effective."""

    share: float


@dataclass(frozen=True)
class SoftmaxTarget:
    """``near`` is how much it has of the logging policy's scores; ``step`` rounds it to multiples, if it is
    not 0.
    """

    sharpness: float
    near: float = 0.0
    step: float = 0.0


@dataclass(frozen=True)
class GreedyTarget:
    """Deterministic, or nearly: ``epsilon`` is shared by all actions; ``near`` as above."""

    epsilon: float = 0.0
    near: float = 0.0


@dataclass(frozen=True)
class ConstantTarget:
    action: int = 0


@dataclass(frozen=True)
class TrainedTarget:
    """Greedy by boosted trees that were fitted to the same log."""


@dataclass(frozen=True)
class Users:
    """Groups of rows with one context and one draw of the action; ``mood`` moves all the rewards of a user up
    or down.
    """

    count: int
    rows: int
    mood: float = 0.0
    declared: bool = True


@dataclass(frozen=True, kw_only=True)
class Regime:
    """One kind of log.

    Attributes
    ----------
    kind
        ``right``, ``misreport``, ``missing``, ``hidden`` or ``trained``: what is known or wrong about
        propensities and targets.
    family
        Regimes of one family share their world and their draws; by default the name.
    effect
        How much actions matter for the reward: 0 makes all policies equal.
    confounded
        Whether the logging policy follows the rewards.
    given
        The propensities in the log: of ``all`` actions, of the ``logged`` one, or ``none``.
    dose
        How much of the misreport there is: 1 all of it, 0 none, in between on the scale of logarithms.
    rows
        ``plain``, ``three times``, ``some twice`` or ``thinned``.
    few
        Large logs, of which fewer are drawn.
    tests_only
        Drawn only to see how often the tests of the propensities notice, not evaluated.
    truth_contexts
        How many contexts the truth is the mean over: its error is far below any standard error.
    """

    name: str
    kind: str = "right"
    family: str = ""
    n: int = 2000
    actions: int = 5
    contexts: str = "numbers"
    surface: str = "smooth"
    effect: float = 1.0
    reward: str = "binary"
    logger: Any = field(default_factory=SoftmaxLogger)
    targets: tuple[Any, ...] = (TiltedTarget(0.6),)
    confounded: bool = False
    given: str = "all"
    misreport: str = ""
    dose: float = 1.0
    rows: str = "plain"
    users: Users | None = None
    few: bool = False
    tests_only: bool = False
    truth_contexts: int = 400_000

    @property
    def segments(self):
        return self.contexts == "segments"
