"""Which estimators take part: those the user names or builds, or all that apply."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kwis.errors import InputError
from kwis.estimators import VIS, WIS, DirectMethod, DoublyRobust, KernelWIS, StateWIS, TruncatedVIS
from kwis.estimators.protocol import KernelEstimator
from kwis.policies import TargetPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The estimators of an evaluation.

    Attributes
    ----------
    all_that_apply
        Whether estimators that cannot be had for a target are left out; those the user named are refused instead.
    """

    estimators: tuple[Any, ...]
    all_that_apply: bool

    @classmethod
    def of(cls, asked: Any, seed: int, exact: bool | None = None) -> Roster:
        """Estimators from names, ready-made estimators or a mixture; None: all of them, plain and normalised.

        ``exact`` says whether Kernel-WIS is from all pairs of rows, where an estimator does not say it itself.
        """
        known = {one.name: _with_exact(one, exact) for one in _all(seed)}
        if asked is None:
            return cls(estimators=tuple(known.values()), all_that_apply=True)
        entries = list(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]
        found = [_with_exact(_estimator(entry, known), exact) for entry in entries]
        names = [one.name for one in found]
        if not names:
            raise InputError("`estimators` must name at least one estimator, got none")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"`estimators` must have different names, got {twice!r} twice")
        return cls(estimators=tuple(found), all_that_apply=False)

    @property
    def selects_bandwidth(self) -> bool:
        return any(isinstance(one, KernelEstimator) and one.selects_bandwidth for one in self.estimators)

    def models(self, target: TargetPolicy) -> bool:
        """Whether rewards have to be predicted for this target."""
        return any(_needs_predictions(one) for one in self.of_target(target))

    def of_target(self, target: TargetPolicy) -> tuple[Any, ...]:
        """The estimators for one target: predicted rewards need its probability of every action."""
        if not self.all_that_apply or target.distribution is not None:
            return self.estimators
        return tuple(one for one in self.estimators if not _needs_predictions(one))


def _all(seed: int) -> Iterable[Any]:
    yield from (VIS(), TruncatedVIS(), WIS(), StateWIS(), StateWIS(normalised=True))
    yield from (KernelWIS(rng=seed), KernelWIS(rng=seed, normalised=True))
    yield from (DirectMethod(), DoublyRobust(), DoublyRobust(WIS()), DoublyRobust(KernelWIS(rng=seed, normalised=True)))


def _with_exact(estimator: Any, exact: bool | None) -> Any:
    if isinstance(estimator, DoublyRobust):
        return replace(estimator, weighting=_with_exact(estimator.weighting, exact))
    return replace(estimator, exact=exact) if isinstance(estimator, KernelWIS) and estimator.exact is None else estimator


def _needs_predictions(estimator: Any) -> bool:
    return isinstance(estimator, DirectMethod | DoublyRobust)


def _estimator(entry: Any, known: dict[str, Any]) -> Any:
    if isinstance(entry, str):
        if entry not in known:
            close = difflib.get_close_matches(entry, known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"`estimators` must be among {', '.join(known)}, got {entry!r}{hint}")
        return known[entry]
    if isinstance(entry, type) and hasattr(entry, "estimate"):
        raise InputError(f"`estimators` must be names or estimators, got the class {entry.__name__}: did you mean {entry.__name__}()?")
    if not hasattr(entry, "estimate") or not isinstance(getattr(entry, "name", None), str):
        raise InputError(f"`estimators` must be names or estimators, got {type(entry).__name__}")
    return entry
