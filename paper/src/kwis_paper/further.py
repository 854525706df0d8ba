"""Settings past the paper, as policies that log, behave and are evaluated; small, so that all of them cost
minutes.

- ``deterministic``: evaluation policies that always take one action.
- ``neural``: networks of one and two hidden layers log, behave and are evaluated.
- ``fitted``, ``rounded``, ``stale``, ``tempered``, ``dropped-covariate``: wrong propensities that reveal no
  label, each to a few degrees.
- ``kernels``: at least forty experiments for every kernel, half of them with wrong propensities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kwis_paper.catalogue import FaultySets
from kwis_paper.policies import (
    ASCENTS,
    TEMPERATURES,
    Classifier,
    Explorer,
    Gibbs,
    Greedy,
    Misreported,
    Policy,
)

DEGREES: dict[str, tuple[float, ...]] = {
    "fitted": (0.0, 0.5, 0.9),
    "rounded": (0.05, 0.1, 0.2),
    "stale": (0.1, 0.2, 0.4),
    "tempered": (1.5, 2.0, 3.0),
    "dropped-covariate": (0.1, 0.25, 0.5),
}
"""Degrees of each way to be wrong; all of them are larger where the propensities are worse."""

MISREPORTS = tuple(DEGREES)
FURTHER = ("deterministic", "neural", *MISREPORTS, "kernels")
_EXPLORERS = tuple(Explorer(architecture, 0.3) for architecture in ("linear", "one-layer"))
_NETWORKS = tuple(
    Classifier(architecture, stage)
    for architecture in ("one-layer", "two-layer")
    for stage in ("early", "late")
)
_REACH = 2
_KERNEL_SETS = 4  # of faulty actions, and with right and wrong propensities of each
_KERNEL_TARGETS = 5  # three Gibbs policies, IW and SNIW
_COLD, _WARM = TEMPERATURES


class Roles(NamedTuple):
    """Who logs, who is evaluated, and whom the log takes for the one that logged."""

    logging: Policy
    evaluation: Policy
    behaviour: Policy


def further_roles(faulty: FaultySets, setting: str) -> Iterator[Roles]:
    """Roles of every experiment of a further setting, in a fixed order."""
    if setting == "deterministic":
        yield from _deterministic(faulty)
    elif setting == "neural":
        yield from (
            Roles(one, target, other) for one in _NETWORKS for other in _NETWORKS for target in _NETWORKS
        )
    elif setting == "kernels":
        yield from _kernels(faulty)
    else:
        yield from _misreported(faulty, setting)


def _deterministic(faulty: FaultySets) -> Iterator[Roles]:
    for actions in faulty:
        logging = Gibbs(actions, _WARM)
        for behaviour in (logging, Gibbs(actions, _COLD)):
            yield from (
                Roles(logging, Greedy(other), behaviour)
                for other in faulty
                if abs(len(other) - len(actions)) <= _REACH
            )


def _misreported(faulty: FaultySets, how: str) -> Iterator[Roles]:
    logging: tuple[Gibbs | Explorer, ...] = _EXPLORERS
    if how == "fitted":
        # What a Gibbs policy looks at is not in the context, so no fit of it can be right.
        logging = (*_EXPLORERS, Gibbs(faulty[len(faulty) // 2], _WARM))
    for one in logging:
        for degree in DEGREES[how]:
            yield from (Roles(one, target, Misreported(how, degree, one)) for target in _targets(faulty))


def _kernels(faulty: FaultySets) -> Iterator[Roles]:
    for actions in faulty[:_KERNEL_SETS]:
        logging = Gibbs(actions, _WARM)
        for behaviour in (logging, Gibbs(actions, _COLD)):
            yield from (Roles(logging, target, behaviour) for target in _targets(faulty)[:_KERNEL_TARGETS])


def _targets(faulty: FaultySets) -> tuple[Policy, ...]:
    """A few policies of every kind."""
    gibbs = tuple(Gibbs(actions, _COLD) for actions in faulty[:3])
    trained = tuple(Classifier(architecture, "late") for architecture in ("linear", "one-layer"))
    return (*gibbs, *(one for one in ASCENTS if one.temperature == _WARM), *trained)
