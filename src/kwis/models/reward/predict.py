"""Reward models: what each action would have brought, predicted for every row by a model that never saw it.

The design is the context (``log.features()``) beside one 0/1 column per action. By default two models are
tried, and the one that predicts held-out rewards better is kept:

- ridge regression with a slope per action, its penalty chosen by cross-validation: all that a few hundred
  rows can bear;
- boosted trees, from 500 rows on; from 2,000 on they leave the race if they are no better on two folds.

Of a large log, models are compared on 20,000 rows, and the better one learns from at most 60,000.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kwis import _validation as check
from kwis.data.copies import with_copies_grouped
from kwis.data.log import LoggedBandit
from kwis.errors import InputError, UnsupportedError
from kwis.models.reward.models import MODEL_ROWS, Candidate, Lesson, Tried, default_models
from kwis.models.reward.predicted import PredictedSample
from kwis.policy.discrete import TargetPolicy
from kwis.runtime.arrays import kept
from kwis.sample import WeightedSample
from kwis.stats.folds import make_folds
from kwis.typing import ArrayLike, Floats, Ints, Regressor, Seed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictedRewards:
    """Predicted rewards on the rows of one log.

    Attributes
    ----------
    reward
        Name of the reward.
    expected, logged
        ``(n, K)`` predicted reward of every action, 0 where it is not available, and ``(n,)`` of the logged
        one.
    model
        The regressor, in words.
    folds
        ``(n,)`` which fold each row was held out in.
    error, error_without_context
        Held-out mean squared error, and that of the mean reward.
    candidates
        Held-out mean squared error of every model that was tried.
    """

    reward: str
    expected: Floats
    logged: Floats
    model: str
    folds: Ints
    error: float
    error_without_context: float
    candidates: Mapping[str, float]

    @property
    def explained(self) -> float:
        """Share of the held-out variance that the model explains; below 0 if it does worse than the mean."""
        return 1 - self.error / self.error_without_context if self.error_without_context > 0 else 0.0

    @property
    def note(self) -> str:
        """One sentence for the result."""
        told = f"which explains {max(self.explained, 0.0):.0%} of its held-out variance"
        count = int(self.folds.max()) + 1
        most = self.folds.size - int(np.bincount(self.folds).min())
        learnt = f" on {MODEL_ROWS:,} rows each" if most > MODEL_ROWS else ""
        return f"{self.reward} was predicted by {self.model}, cross-fitted over {count} folds{learnt}, {told}"

    def attach(self, sample: WeightedSample, target: TargetPolicy) -> PredictedSample:
        """The sample of a target with its predictions; needs the target's probability of every action."""
        if target.distribution is None:
            raise UnsupportedError(
                f"`target` must have a probability for every action for predicted rewards, got that of the "
                f"logged one for {target.name}"
            )
        value = kept(np.einsum("ik,ik->i", target.distribution, self.expected))
        return PredictedSample(sample, predicted=self.logged, predicted_value=value)


def predict_rewards(
    log: LoggedBandit,
    reward: int | str = 0,
    model: Regressor | None = None,
    *,
    row_weight: ArrayLike | None = None,
    folds: int = 5,
    rng: Seed = 0,
) -> PredictedRewards:
    """Cross-fitted predictions of a reward for every action.

    Parameters
    ----------
    log
        What :func:`kwis.read_log` returns.
    reward
        Name or number of the reward.
    model
        Any scikit-learn regressor; it learns from ``log.features()`` beside one 0/1 column per action. None:
        ridge regression or boosted trees, whichever predicts held-out rewards better.
    row_weight
        How much each row counts in the fit and in the comparison of models, as from
        :func:`kwis.mrdr_weights`; None: what the log says, or all alike.
    folds
        Each row is predicted from the other folds; rows of a group share a fold.
    rng
        A seed or a generator.

    Returns
    -------
    PredictedRewards
        Predictions for every row and action, and the model's error on held-out rows.

    See Also
    --------
    kwis.DoublyRobust : uses the predictions.
    kwis.mrdr_weights : how much each row should count in the fit.
    kwis.evaluate : takes the model as ``reward_model``.

    Examples
    --------
    >>> log = kwis.sample_log(200, rng=1).read()
    >>> from sklearn.linear_model import Ridge
    >>> rewards = kwis.predict_rewards(log, "click", Ridge())
    >>> rewards.expected.shape, round(rewards.error, 4), round(rewards.error_without_context, 4)
    ((200, 3), 0.1999, 0.2002)
    """
    generator = check.generator(rng)
    index = log.reward_number(reward)
    labels = _folds(with_copies_grouped(log), check.whole(folds, "folds", 2), generator)
    features = log.features()
    candidates = {} if model is None else {_described(model): Candidate(model)}
    candidates = candidates or default_models(len(log), features.shape[1], log.n_actions)
    counts = log.row_weight if row_weight is None else _counts(row_weight, len(log))
    lesson = Lesson.of(features, log.action, log.reward[:, index], log.n_actions, counts, log.available)
    tried = Tried.of(lesson, candidates, labels, race=True)
    return PredictedRewards(
        reward=log.reward_names[index],
        expected=kept(tried.expected),
        logged=kept(lesson.taken(tried.expected)),
        model=tried.best,
        folds=kept(labels),
        error=tried.errors[tried.best],
        error_without_context=tried.plain,
        candidates=tried.errors,
    )


def _counts(row_weight: ArrayLike, n: int) -> Floats:
    counts = check.weights(row_weight, "row_weight", n)
    if not counts.any():
        raise InputError("`row_weight` must be positive in at least one row, got 0.0 in all")
    return np.asarray(counts)


def _folds(log: LoggedBandit, k: int, generator: np.random.Generator) -> Ints:
    draws = len(log) if log.group is None else len(np.unique(log.group))
    if draws < 2:
        what = "rows" if log.group is None else "groups"
        raise InputError(f"`log` must have at least 2 {what} for cross-fitted predictions, got {draws}")
    return make_folds(len(log), min(k, draws), generator, log.group)


def _described(model: Any) -> str:
    if not hasattr(model, "fit") or not hasattr(model, "predict"):
        raise InputError(
            f"`model` must be a scikit-learn regressor with `fit` and `predict`, got {type(model).__name__}"
        )
    return type(model).__name__
