"""What the store keeps of a cell, as records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis import BandwidthChoice
from kwis.typing import Floats
from kwis_paper.estimates import TestSetEstimates
from kwis_paper.grid import Cell
from kwis_paper.simulate import Experiment


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredBandwidth:
    """A bandwidth as chosen: ``value`` has one entry, or one per feature."""

    key: str
    kind: str
    value: Floats
    score: float
    evaluations: int

    @classmethod
    def of(cls, key: str, kind: str, choice: BandwidthChoice) -> StoredBandwidth:
        """A choice of the library, for the cell with this key."""
        value = np.atleast_1d(choice.value)
        return cls(key=key, kind=kind, value=value, score=choice.score, evaluations=choice.evaluations)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredEstimate:
    """Estimates of one cell by one estimator; without values if it failed, and then with an error."""

    key: str
    estimator: str
    value: Floats | None
    std_error: Floats | None
    kernel_average: float | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Something measured on a cell beside its estimates: a number, words, or both."""

    name: str
    value: float
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PipelineResults:
    """What the pipelines found on one cell.

    Attributes
    ----------
    estimates
        By name.
    intervals
        Estimator, method and ends ``(levels, 2, test_sets)``.
    """

    estimates: tuple[tuple[str, TestSetEstimates], ...]
    intervals: tuple[tuple[str, str, Floats], ...] = ()
    measures: tuple[Measure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFacts:
    """What the tables need to know of a cell beside its estimates."""

    key: str
    dataset: str
    setting: str
    logging: str
    evaluation: str
    behaviour: str
    policy_type: str
    published: bool
    n_train: int
    n_test: int
    difference: float
    bucket: str
    truth_published: float
    truth_expected: float

    @classmethod
    def of(cls, cell: Cell, experiment: Experiment) -> CellFacts:
        return cls(
            key=cell.key,
            dataset=cell.dataset,
            setting=cell.setting,
            logging=cell.logging.name,
            evaluation=cell.evaluation.name,
            behaviour=cell.behaviour.name,
            policy_type=cell.policy_type,
            published=cell.published,
            n_train=experiment.train_weight.shape[0],
            n_test=experiment.weight.shape[0],
            difference=experiment.difference,
            bucket=experiment.bucket,
            truth_published=experiment.published,
            truth_expected=experiment.expected,
        )
