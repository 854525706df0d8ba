"""Classifiers used as policies, in plain numpy: they are small, and a framework would dwarf the package.

The paper leaves open how its classifiers were trained. Here, for all datasets alike, they minimise the
cross-entropy of the labels by Adam with a step of 1e-4, which on optdigits comes near the paper's own example
(linear model: 55 % accuracy at epoch 6, at best 97 %), in batches, on the training rows less a validation
share of 0.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kwis.typing import Floats, Ints
from kwis_paper.optimise import Adam, Parameters, one_blas_thread

CLASSIFIER_EPOCHS = 150
CLASSIFIER_STEP = 1e-4
VALIDATION_SHARE = 0.2
HIDDEN_LAYERS = {"linear": 0, "one-layer": 1, "two-layer": 2}
_ACCURACY_GRID = 0.05
_EARLY_GAP = 0.4
_LEAST_ACCURACY = 0.1
_BATCH = {"micro-mass": 12, "soybean": 12}
_WIDTH = {"page-blocks": 32}


def softmax(scores: Floats) -> Floats:
    """Rowwise softmax."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainedClassifier:
    """A classifier at the two epochs the paper's rule selects.

    Attributes
    ----------
    accuracy
        ``(epochs,)`` on the validation rows.
    early_epoch, late_epoch
        Counted from 1.
    early, late
        ``(n, n_actions)`` probabilities on all rows at those epochs.
    levels
        The same at the first epoch to reach each level of accuracy, in steps of 0.05, up to the late one.
    parameters
        Those of the late epoch.
    """

    accuracy: Floats
    early_epoch: int
    late_epoch: int
    early: Floats
    late: Floats
    levels: Mapping[int, Floats]
    parameters: Parameters

    def at(self, context: Floats) -> Floats:
        """Probabilities of the late policy in other contexts."""
        return softmax(_scores(self.parameters, context))

    def behind(self, accuracy: float) -> Floats:
        """Probabilities of the policy as it was when its accuracy was at least so much lower than late; the
        first one if it never was.
        """
        late = max(self.levels)
        older = [level for level in self.levels if level <= late - round(accuracy / _ACCURACY_GRID)]
        return self.levels[max(older, default=min(self.levels))]


@one_blas_thread
def train_classifier(
    dataset: str, architecture: str, context: Floats, label: Ints, rows: Ints, rng: np.random.Generator
) -> TrainedClassifier:
    """Train on ``rows`` by the settings of the paper's appendix D and keep the policies of its two epochs."""
    n_actions = int(label.max()) + 1
    order = rng.permutation(rows)
    held_out = round(VALIDATION_SHARE * rows.size)
    valid, train = order[:held_out], order[held_out:]
    hidden = (_WIDTH.get(dataset, 64),) * HIDDEN_LAYERS[architecture]
    parameters = Parameters.of(_layer_shapes(context.shape[1], hidden, n_actions), rng)
    optimiser = Adam(parameters, CLASSIFIER_STEP)
    accuracy = np.empty(CLASSIFIER_EPOCHS)
    first_at: dict[int, Floats] = {}
    for epoch in range(CLASSIFIER_EPOCHS):
        for batch in _batches(rng.permutation(train), _BATCH.get(dataset, 32)):
            optimiser.step(_gradient(parameters, context[batch], label[batch]))
        accuracy[epoch] = np.mean(_scores(parameters, context[valid]).argmax(axis=1) == label[valid])
        first_at.setdefault(_grid_level(accuracy[epoch]), parameters.flat.copy())
    early, late = selected_epochs(accuracy)

    levels = {
        level: softmax(_scores(parameters.like(kept), context))
        for level, kept in sorted(first_at.items())
        if level <= _grid_level(accuracy[late - 1])
    }
    # Both epochs are the first to reach their level of the grid, so their parameters were kept.
    chosen = {epoch: levels[_grid_level(accuracy[epoch - 1])] for epoch in (early, late)}
    return TrainedClassifier(
        accuracy=accuracy,
        early_epoch=early,
        late_epoch=late,
        early=chosen[early],
        late=chosen[late],
        levels=levels,
        parameters=parameters.like(first_at[_grid_level(accuracy[late - 1])]),
    )


def selected_epochs(accuracy: Floats) -> tuple[int, int]:
    """Early and late epoch, counted from 1, by the paper's rule.

    Late: the first to reach the best accuracy rounded down to a multiple of 0.05. Early: the first to reach
    0.4 less than that, or 0.1 where the best accuracy is below 0.5. (The paper says "rounded to the nearest";
    its example, 0.97 to 0.95, is rounded down, and a level rounded up would never be reached.)
    """
    best = _grid_level(float(accuracy.max()))
    low = best - round(_EARLY_GAP / _ACCURACY_GRID)
    if accuracy.max() < 0.5:
        low = round(_LEAST_ACCURACY / _ACCURACY_GRID)
    levels = np.array([_grid_level(value) for value in accuracy])
    return int(np.argmax(levels >= low)) + 1, int(np.argmax(levels >= best)) + 1


def _grid_level(accuracy: float) -> int:
    return int(np.floor(accuracy / _ACCURACY_GRID + 1e-9))


def _layer_shapes(d: int, hidden: tuple[int, ...], n_actions: int) -> list[tuple[int, int]]:
    return list(pairwise((d, *hidden, n_actions)))


def _batches(rows: Ints, size: int) -> Iterator[Ints]:
    for start in range(0, rows.size, size):
        yield rows[start : start + size]


def _scores(parameters: Parameters, context: Floats) -> Floats:
    activation = context
    for weight, bias in parameters.layers[:-1]:
        activation = np.maximum(activation @ weight + bias, 0.0)
    weight, bias = parameters.layers[-1]
    return activation @ weight + bias


def _gradient(parameters: Parameters, context: Floats, label: Ints) -> Floats:
    """Gradient of the mean cross-entropy, laid out like the parameters."""
    inputs = [context]
    for weight, bias in parameters.layers[:-1]:
        inputs.append(np.maximum(inputs[-1] @ weight + bias, 0.0))
    weight, bias = parameters.layers[-1]
    error = softmax(inputs[-1] @ weight + bias)
    error[np.arange(label.size), label] -= 1.0
    error /= label.size
    parts: list[Floats] = []
    for layer in reversed(range(len(inputs))):
        parts = [(inputs[layer].T @ error).ravel(), error.sum(axis=0), *parts]
        if layer:
            error = (error @ parameters.layers[layer][0].T) * (inputs[layer] > 0)
    return np.concatenate(parts)
