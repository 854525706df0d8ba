"""The experiments of the paper, one cell each, enumerated lazily.

With ``F`` the faulty-action sets of a dataset and ``T`` the two temperatures: logging policies are ``F x T``;
a Gibbs policy is evaluated if its set is at most 2 longer or shorter than the logging one; a behaviour policy
that is not the logging policy is at most 1 longer or shorter. The counts of every published total follow.
Settings of ours are in :mod:`kwis_paper.further`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kwis import InputError
from kwis_paper import names
from kwis_paper.catalogue import PAPER_DATASETS, SPECS, FaultySets
from kwis_paper.further import FURTHER, further_roles
from kwis_paper.policies import ASCENTS, CLASSIFIERS, TEMPERATURES, Gibbs, Policy

SETTINGS = ("oracle", "non-oracle", "continuous", "learnt-oracle", "learnt-non-oracle")
"""Settings of the paper."""
ALL_SETTINGS = (*SETTINGS, *FURTHER)
_SETTINGS_OF = {"optdigitsDist": ("continuous",)}
_USUAL_SETTINGS = tuple(setting for setting in ALL_SETTINGS if setting != "continuous")
_LEFT_OUT = {("letter", "non-oracle"), ("kropt", "non-oracle")}
_EVALUATION_REACH = 2
_BEHAVIOUR_REACH = 1
_BUCKET = 0.2
_PRECISION = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One experiment: a dataset, a setting and the policies that log, are evaluated and are taken to have
    logged.
    """

    dataset: str
    setting: str
    logging: Policy
    evaluation: Policy
    behaviour: Policy

    @property
    def names(self) -> tuple[str, ...]:
        """The names that count: they decide the key and the seed."""
        return (self.dataset, self.setting, self.logging.name, self.evaluation.name, self.behaviour.name)

    @property
    def key(self) -> str:
        return names.content_key("cell", *self.names)

    @property
    def seed(self) -> int:
        return names.seed("cell", *self.names)

    @property
    def policy_type(self) -> str:
        """How the paper's tables call the evaluation policy: Gibbs, IW or SNIW."""
        return self.evaluation.kind

    @property
    def reward(self) -> str:
        return "Continuous" if self.setting == "continuous" else "Single action"

    @property
    def oracle(self) -> bool:
        return self.behaviour == self.logging

    @property
    def left_out(self) -> bool:
        """Whether the paper left this experiment out for its cost."""
        return (self.dataset, self.setting) in _LEFT_OUT

    @property
    def published(self) -> bool:
        """Whether the paper has results for this experiment; the others are ours."""
        return self.dataset in PAPER_DATASETS and self.setting in SETTINGS and not self.left_out


def settings_of(dataset: str) -> tuple[str, ...]:
    """Settings in which a dataset is used."""
    return _SETTINGS_OF.get(dataset, _USUAL_SETTINGS)


def cells(datasets: Iterable[str] = PAPER_DATASETS, settings: Iterable[str] = SETTINGS) -> Iterator[Cell]:
    """Cells of the given datasets of the catalogue and settings, in a fixed order."""
    wanted = tuple(settings)
    for name in datasets:
        if name not in SPECS:
            raise InputError(f"`dataset` must be one of {', '.join(SPECS)}, got {name!r}")
        yield from dataset_cells(name, SPECS[name].faulty, wanted)


def dataset_cells(dataset: str, faulty: FaultySets, settings: Iterable[str] = SETTINGS) -> Iterator[Cell]:
    """Cells of one dataset, which need not be one of the paper."""
    for setting in settings:
        if setting not in ALL_SETTINGS:
            raise InputError(f"`setting` must be one of {', '.join(ALL_SETTINGS)}, got {setting!r}")
        if setting not in settings_of(dataset):
            continue
        if setting in FURTHER:
            for roles in further_roles(faulty, setting):
                yield Cell(dataset=dataset, setting=setting, **roles._asdict())
            continue
        for logging in _logging(faulty, setting):
            for behaviour in _behaviours(logging, faulty, setting):
                for evaluation in _evaluations(logging, faulty):
                    yield Cell(
                        dataset=dataset,
                        setting=setting,
                        logging=logging,
                        evaluation=evaluation,
                        behaviour=behaviour,
                    )


def gibbs_policies(faulty: FaultySets) -> tuple[Gibbs, ...]:
    """All Gibbs policies of a dataset."""
    return tuple(Gibbs(actions, temperature) for actions in faulty for temperature in TEMPERATURES)


def bucket(difference: float) -> str:
    """Bucket of ``|V(evaluation) - V(logging)|``: right-closed, of width 0.2; equal values fall into ``(-0.2,
    0.0]``.
    """
    # Equal values may differ by rounding, and an edge such as 0.4 is not a multiple of 0.2 in binary.
    clean = round(abs(difference), _PRECISION)
    number = 0
    while clean > round(number * _BUCKET, _PRECISION):
        number += 1
    return f"({(number - 1) * _BUCKET:.1f}, {number * _BUCKET:.1f}]"


def _logging(faulty: FaultySets, setting: str) -> tuple[Policy, ...]:
    return CLASSIFIERS if setting.startswith("learnt") else gibbs_policies(faulty)


def _behaviours(logging: Policy, faulty: FaultySets, setting: str) -> tuple[Policy, ...]:
    if not setting.endswith("non-oracle"):
        return (logging,)
    return tuple(
        policy
        for policy in _logging(faulty, setting)
        if policy != logging and _within(policy, logging, _BEHAVIOUR_REACH)
    )


def _evaluations(logging: Policy, faulty: FaultySets) -> tuple[Policy, ...]:
    near = tuple(
        policy
        for policy in gibbs_policies(faulty)
        if isinstance(logging, Gibbs) and _within(policy, logging, _EVALUATION_REACH)
    )
    return near + ASCENTS


def _within(policy: Policy, other: Policy, reach: int) -> bool:
    if isinstance(policy, Gibbs) and isinstance(other, Gibbs):
        return abs(len(policy.faulty) - len(other.faulty)) <= reach
    return True
