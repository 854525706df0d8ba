"""Which estimators take part: those the user names or builds, or all that apply."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from kwis.errors import InputError
from kwis.estimators import VIS, WIS, KernelWIS, StateWIS, TruncatedVIS
from kwis.estimators.direct import DirectMethod
from kwis.estimators.doubly_robust import DoublyRobust


def roster(estimators: Any, seed: int) -> tuple[Any, ...]:
    """Estimators from names, ready-made estimators or a mixture; None: all of them, plain and normalised."""
    known = {one.name: one for one in (*_weighted(seed), *_modelled(seed))}
    if estimators is None:
        return tuple(known.values())
    asked = [estimators] if isinstance(estimators, str) or hasattr(estimators, "estimate") else list(estimators)
    found = [_estimator(entry, known) for entry in asked]
    names = [one.name for one in found]
    if not names:
        raise InputError("`estimators` must name at least one estimator, got none")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"`estimators` must have different names, got {twice!r} twice")
    return tuple(found)


def _weighted(seed: int) -> Iterable[Any]:
    yield from (VIS(), TruncatedVIS(), WIS(), StateWIS(), StateWIS(normalised=True))
    yield from (KernelWIS(rng=seed), KernelWIS(rng=seed, normalised=True))


def _modelled(seed: int) -> Iterable[Any]:
    yield from (DirectMethod(), DoublyRobust(), DoublyRobust(WIS()), DoublyRobust(KernelWIS(rng=seed, normalised=True)))


def needs_predictions(estimator: Any) -> bool:
    """Whether it needs predicted rewards, and so the target's probability of every action."""
    return isinstance(estimator, DirectMethod | DoublyRobust)


def _estimator(entry: Any, known: dict[str, Any]) -> Any:
    if isinstance(entry, str):
        if entry not in known:
            close = difflib.get_close_matches(entry, known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}?" if close else ""
            raise InputError(f"`estimators` must be among {', '.join(known)}, got {entry!r}; {hint}".removesuffix("; "))
        return known[entry]
    if not hasattr(entry, "estimate") or not isinstance(getattr(entry, "name", None), str):
        raise InputError(f"`estimators` must be names or estimators, got {type(entry).__name__}")
    return entry
