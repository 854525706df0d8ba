"""What a log may wrongly say of the policy that made it, each to a degree.

- ``rounded``: probabilities to the nearest multiple of the degree; what would be 0 is half of it.
- ``tempered``: probabilities to the power of the degree, as from a score that is overconfident.
- ``stale``: the same classifier as it was when its accuracy was lower by the degree.
- ``dropped-covariate``: the same classifier, but a share of the columns never reached it and were filled with
  their means.
- ``fitted``: logistic regression of the logged actions on the context, from the training log less a share of
  it.

Rows always sum to 1. None of them looks at a label: they start from a policy that sees the context only, or
from what it logged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kwis.models.fitting import fitting
from kwis.typing import Floats, Ints

_FOLDS = 5


def explored(probabilities: Floats, share: float) -> Floats:
    """A ``share`` of the actions at random."""
    return (1 - share) * probabilities + share / probabilities.shape[1]


def rounded(probabilities: Floats, step: float) -> Floats:
    """To the nearest multiple of ``step``, half a step at least."""
    return _normalised(np.maximum(np.round(probabilities / step), 0.5))


def tempered(probabilities: Floats, power: float) -> Floats:
    """To a power."""
    return _normalised(probabilities**power)


def without_columns(context: Floats, share: float, rng: np.random.Generator) -> Floats:
    """A share of the columns, one at least, at their mean, which is 0 in standardised contexts."""
    d = context.shape[1]
    gone = rng.permutation(d)[: max(1, round(share * d))]
    kept = context.copy()
    kept[:, gone] = 0.0
    return kept


def fitted(
    context: Floats,
    rows: tuple[Ints, Ints],
    action: Ints,
    n_actions: int,
    used: float,
    rng: np.random.Generator,
) -> Floats:
    """``(n, n_actions)`` from a share of the training log: cross-fitted on the training rows, by one fit to
    all of it elsewhere.

    Parameters
    ----------
    rows
        Training and test rows.
    action
        What was logged on the training rows.
    """
    train, test = rows
    kept = np.zeros(train.size, dtype=bool)
    kept[rng.permutation(train.size)[: max(_FOLDS, round(used * train.size))]] = True
    fold = rng.permutation(np.arange(train.size) % _FOLDS)
    found = np.empty((context.shape[0], n_actions))
    for number in range(_FOLDS):
        learn = kept & (fold != number)
        found[train[fold == number]] = _fit(
            context[train[learn]], action[learn], context[train[fold == number]], n_actions
        )
    found[test] = _fit(context[train[kept]], action[kept], context[test], n_actions)
    return found


def _fit(context: Floats, action: Ints, at: Floats, n_actions: int) -> Floats:
    from sklearn.linear_model import LogisticRegression

    found = np.zeros((at.shape[0], n_actions))
    seen = np.unique(action)
    if seen.size == 1:
        found[:, seen] = 1.0
    else:
        model: Any = LogisticRegression(max_iter=300)
        with fitting(model, action.size):
            found[:, seen] = model.fit(context, action).predict_proba(at)
    # Below one in the number of rows nothing can be told from never, and an action never seen is possible
    # still.
    return _normalised(np.maximum(found, 1 / action.size))


def _normalised(mass: Floats) -> Floats:
    return mass / mass.sum(axis=1, keepdims=True)
