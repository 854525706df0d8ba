"""Adam over one flat vector of parameters, shared by the classifiers and the autoencoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from kwis.typing import Floats

_FIRST_DECAY = 0.9
_SECOND_DECAY = 0.999
_FLOOR = 1e-8

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def one_blas_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Hold BLAS at one thread: its pool slows small products down, and sums would depend on the number of
    cores.
    """

    @wraps(function)
    def held(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            return function(*args, **kwargs)

    return held


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """Weights and biases of a stack of layers: views into one vector, which an optimiser updates in place."""

    flat: Floats
    layers: tuple[tuple[Floats, Floats], ...]

    @classmethod
    def of(cls, shapes: Sequence[tuple[int, int]], rng: np.random.Generator) -> Parameters:
        """Uniform within ``1/sqrt(inputs)`` of zero, a usual start for small networks."""
        parts = [
            rng.uniform(-1.0, 1.0, (inputs + 1) * outputs) / np.sqrt(inputs) for inputs, outputs in shapes
        ]
        return cls._split(np.concatenate(parts), shapes)

    @classmethod
    def _split(cls, flat: Floats, shapes: Sequence[tuple[int, int]]) -> Parameters:
        layers = []
        start = 0
        for inputs, outputs in shapes:
            middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
            layers.append((flat[start:middle].reshape(inputs, outputs), flat[middle:end]))
            start = end
        return cls(flat, tuple(layers))

    def like(self, flat: Floats) -> Parameters:
        """The same layers with other values."""
        return self._split(flat, [(weight.shape[0], weight.shape[1]) for weight, _ in self.layers])


class Adam:
    """Kingma and Ba's update with its usual decays; moments live here, parameters where they were."""

    def __init__(self, parameters: Parameters, step: float) -> None:
        self._flat = parameters.flat
        self._step = step
        self._first = np.zeros_like(self._flat)
        self._second = np.zeros_like(self._flat)
        self._count = 0

    def step(self, gradient: Floats) -> None:
        """Move against the gradient."""
        self._count += 1
        self._first += (1 - _FIRST_DECAY) * (gradient - self._first)
        self._second += (1 - _SECOND_DECAY) * (gradient * gradient - self._second)
        scale = self._step / (1 - _FIRST_DECAY**self._count)
        spread = np.sqrt(self._second / (1 - _SECOND_DECAY**self._count)) + _FLOOR
        self._flat -= scale * self._first / spread
