"""Which estimators take part: those the user names or builds, or all that apply."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kwis.errors import InputError
from kwis.estimators import traits
from kwis.estimators.protocol import Estimator, Estimators, KernelEstimator
from kwis.estimators.registry import by_name, further_by_name, name_of_alias
from kwis.evaluation.recommend import HEAVY_WEIGHTS
from kwis.policy.discrete import TargetPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The estimators of an evaluation.

    Attributes
    ----------
    by_name
        Estimators by the name they have in this evaluation: their own, and their settings where several share
        it.
    all_that_apply
        Whether estimators that cannot be had for a target are left out; those the user named are refused
        instead.
    """

    by_name: Mapping[str, Estimator[Any]]
    all_that_apply: bool

    @classmethod
    def of(cls, asked: Estimators | None, seed: int, exact: bool | None = None) -> Roster:
        """Estimators from names or aliases, ready-made estimators or a mixture; None: all of them, plain and
        normalised.

        ``exact`` says whether Kernel-WIS is from all pairs of rows, where an estimator does not say it
        itself.
        """
        known = {name: traits.with_exact(estimator, exact) for name, estimator in by_name(seed).items()}
        if asked is None:
            return cls(by_name=known, all_that_apply=True)
        entries = list(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]
        if not entries:
            raise InputError("`estimators` must name at least one estimator, got none")
        estimators = [traits.with_exact(_estimator(entry, known), exact) for entry in entries]
        names = _told_apart(estimators)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"`estimators` must have different names or settings, got {twice!r} twice")
        return cls(by_name=dict(zip(names, estimators, strict=True)), all_that_apply=False)

    @property
    def estimators(self) -> tuple[Estimator[Any], ...]:
        return tuple(self.by_name.values())

    @property
    def selects_bandwidth(self) -> bool:
        return any(isinstance(one, KernelEstimator) and one.selects_bandwidth for one in self.estimators)

    def with_heavy_weights(self) -> Roster:
        """The same with the estimators for heavy weights, unless the user named the estimators."""
        if not self.all_that_apply:
            return self
        further = further_by_name()
        return replace(self, by_name={**self.by_name, **{name: further[name] for name in HEAVY_WEIGHTS}})

    def models(self, target: TargetPolicy) -> bool:
        """Whether rewards have to be predicted for this target."""
        return any(traits.needs_predictions(one) for one in self.of_target(target).values())

    def of_target(self, target: TargetPolicy) -> Mapping[str, Estimator[Any]]:
        """The estimators for one target: predicted rewards need its probability of every action."""
        if not self.all_that_apply or target.distribution is not None:
            return self.by_name
        return {name: one for name, one in self.by_name.items() if not traits.needs_predictions(one)}


def _told_apart(estimators: Sequence[Estimator[Any]]) -> list[str]:
    """The name of each; where several share one, with the settings that differ between them, ``kernel-wis (h
    = 0.5)``.
    """
    names = []
    for estimator in estimators:
        alike = [traits.settings(other) for other in estimators if other.name == estimator.name]
        own = traits.settings(estimator)
        differing = [key for key in own if any(str(other.get(key)) != str(own[key]) for other in alike)]
        added = ", ".join(f"{key} = {own[key]}" for key in differing)
        names.append(f"{estimator.name} ({added})" if added else estimator.name)
    return names


def _estimator(entry: str | Estimator[Any], known: Mapping[str, Estimator[Any]]) -> Estimator[Any]:
    if isinstance(entry, str):
        aliases = name_of_alias()
        entry = aliases.get(entry, entry)
        further = further_by_name()
        if entry in further:
            return further[entry]
        if entry not in known:
            close = difflib.get_close_matches(entry, (*known, *aliases, *further), n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(f"`estimators` must be among {', '.join(known)}, got {entry!r}{hint}")
        return known[entry]
    if isinstance(entry, type) and hasattr(entry, "estimate"):
        raise InputError(
            f"`estimators` must be names or estimators, got the class {entry.__name__}: did you mean "
            f"{entry.__name__}()?"
        )
    if not hasattr(entry, "estimate") or not isinstance(getattr(entry, "name", None), str):
        raise InputError(f"`estimators` must be names or estimators, got {type(entry).__name__}")
    return entry
