"""A weighted sample that also knows what rewards a model predicts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from kwis import _validation as check
from kwis.errors import InputError
from kwis.sample import WeightedSample
from kwis.typing import ArrayLike, Floats


@dataclass(frozen=True, slots=True, init=False, eq=False)
class PredictedSample(WeightedSample):
    """A sample with predicted rewards; every estimator takes it, the direct method and doubly robust ones
    need it.

    Predictions belong to their row: resampling takes them along, and fits no model anew.

    Parameters
    ----------
    sample
        The interactions, weighted for a policy.
    predicted
        ``(n,)`` predicted reward of the logged action, ``q(s, a)``.
    predicted_value
        ``(n,)`` mean predicted reward of the policy's actions, ``sum_a pi(a|s) q(s, a)``.

    See Also
    --------
    kwis.predict_rewards : predictions for a log.
    kwis.WeightedSample : a sample without predictions.
    kwis.DoublyRobust : the estimator that needs them.

    Examples
    --------
    >>> sample = kwis.WeightedSample(
    ...     context=[[0.0], [0.0], [1.0]], weight=[2.0, 1.0, 0.5], reward=[1.0, 0.0, 1.0]
    ... )
    >>> predicted = kwis.PredictedSample(sample, predicted=[0.5] * 3, predicted_value=[0.6] * 3)
    >>> round(kwis.DirectMethod().estimate(predicted).value, 3)
    0.6
    """

    predicted: Floats
    predicted_value: Floats

    def __init__(self, sample: WeightedSample, *, predicted: ArrayLike, predicted_value: ArrayLike) -> None:
        self._store(
            **_fields(sample),
            predicted=check.column(predicted, "predicted", sample.n),
            predicted_value=check.column(predicted_value, "predicted_value", sample.n),
        )

    def take(self, rows: ArrayLike, *, group: ArrayLike | None = None) -> PredictedSample:
        """Sample of the given rows with their predictions."""
        picked = check.row_numbers(rows, self.n)
        new = object.__new__(PredictedSample)
        new._store(
            **_fields(WeightedSample.take(self, rows, group=group)),
            predicted=check.read_only(self.predicted[picked]),
            predicted_value=check.read_only(self.predicted_value[picked]),
        )
        return new


def _fields(sample: WeightedSample) -> dict[str, Any]:
    return {entry.name: getattr(sample, entry.name) for entry in fields(WeightedSample)}


def with_predictions(sample: WeightedSample, name: str) -> PredictedSample:
    """The sample, refused in one sentence if it has no predicted rewards for the estimator ``name``."""
    if isinstance(sample, PredictedSample):
        return sample
    raise InputError(
        f"`sample` must be a PredictedSample for {name}, got one without predicted rewards; "
        f"kwis.predict_rewards supplies them"
    )
