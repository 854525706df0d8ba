"""Names of settings that kwis does not have: they can be imported, and say so when they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from kwis.errors import UnsupportedError
from kwis.typing import ArrayLike, Floats


def kept_elsewhere(module: str) -> Callable[[str], NoReturn]:
    """What a module of theirs that is no part of kwis says when anything is imported from it."""

    def refuse(name: str) -> NoReturn:
        if name.startswith("__"):  # what the import system asks every module for
            raise AttributeError(name)
        raise UnsupportedError(
            f"{module}.{name} is not part of kwis, which replaces obp.ope; keep the import from {module}, "
            f"whose data and policies work here"
        )

    return refuse


class _Refused:
    """Cannot be made."""

    setting = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnsupportedError(
            f"{type(self).__name__} is for {self.setting}; kwis evaluates policies over discrete actions"
        )


class _Slate(_Refused):
    setting = "slates"


class _Continuous(_Refused):
    setting = "continuous actions"


class SlateOffPolicyEvaluation(_Slate):
    """Of slates."""


class SlateRegressionModel(_Slate):
    """Of slates."""


class SlateStandardIPS(_Slate):
    """Of slates."""


class SlateIndependentIPS(_Slate):
    """Of slates."""


class SlateRewardInteractionIPS(_Slate):
    """Of slates."""


class SlateCascadeDoublyRobust(_Slate):
    """Of slates."""


class SelfNormalizedSlateRewardInteractionIPS(_Slate):
    """Of slates."""


class SelfNormalizedSlateIndependentIPS(_Slate):
    """Of slates."""


class SelfNormalizedSlateStandardIPS(_Slate):
    """Of slates."""


class ContinuousOffPolicyEvaluation(_Continuous):
    """Of continuous actions."""


class BaseContinuousOffPolicyEstimator(_Continuous):
    """Of continuous actions."""


class KernelizedInverseProbabilityWeighting(_Continuous):
    """Of continuous actions."""


class KernelizedSelfNormalizedInverseProbabilityWeighting(_Continuous):
    """Of continuous actions."""


class KernelizedDoublyRobust(_Continuous):
    """Of continuous actions."""


def triangular_kernel(u: ArrayLike) -> Floats:
    """``1 - |u|`` within 1 of 0, else 0."""
    return np.maximum(1 - np.abs(np.asarray(u, dtype=np.float64)), 0.0)


def gaussian_kernel(u: ArrayLike) -> Floats:
    """Density of the standard normal distribution."""
    return np.asarray(np.exp(-np.square(np.asarray(u, dtype=np.float64)) / 2) / np.sqrt(2 * np.pi))


def epanechnikov_kernel(u: ArrayLike) -> Floats:
    """``0.75 (1 - u^2)`` within 1 of 0, else 0."""
    return np.asarray(0.75 * np.maximum(1 - np.square(np.asarray(u, dtype=np.float64)), 0.0))


def cosine_kernel(u: ArrayLike) -> Floats:
    """``pi / 4 cos(pi u / 2)`` within 1 of 0, else 0."""
    x = np.asarray(u, dtype=np.float64)
    return np.where(np.abs(x) <= 1, np.pi / 4 * np.cos(np.pi * x / 2), 0.0)
