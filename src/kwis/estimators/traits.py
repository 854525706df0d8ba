"""What an estimator may say about itself beside its ``name``, and what is assumed of one that says nothing.

An estimator needs ``name`` and ``estimate(sample)``. Every function here reads one optional member of the
same name:

- ``aliases``: other names of it in the field, by which it can be asked for;
- ``doubly_robust_aliases``: the same of the doubly robust estimator that weights residuals so;
- ``sentence``: what it is, for the glossary of the report;
- ``caveats(circumstances)``: verdicts that speak against its estimate;
- ``settings``: what tells it apart from another estimator of the same name (by default the fields of a
  dataclass);
- ``normalised``: a weighted mean of the rewards, which cannot leave their range;
- ``mostly_within_rewards``: not bound to the range of the rewards, but seldom outside of it;
- ``normalised_over``: which rows share a normaliser, as far as the recommendation asks (``NEIGHBOURS`` or
  ``ALL_ROWS``);
- ``mean_of_terms``: the mean of weight times reward, which bounds for independent terms apply to;
- ``needs_predictions``: works on a :class:`kwis.PredictedSample` only;
- ``weighting``: the estimator that weights what is left of the rewards, in one that adds it to a model's
  predictions;
- ``family``: equal for estimators that apply the same weights and can be worked out together
  (:mod:`kwis.estimators.together`);
- ``bias_reference()``: the same without what may bias it (local normalisers, shrunken weights), which the
  interval compares it with;
- ``shrinks``: biased on purpose, by as much as chance hides; its interval allows for that much;
- ``choose_each(samples)``: the bandwidths of samples that differ in nothing but weights and rewards, where
  that is quicker than ``choose`` for each;
- ``with_exact(exact)``: the same with kernel sums from all pairs or from sampled neighbours, where it does
  not say it itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kwis.results import BandwidthChoice, Estimate, Verdict

NEIGHBOURS, ALL_ROWS = "neighbours", "all rows"
MEAN_P_VALUE = 0.01


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a caveat may depend on.

    Attributes
    ----------
    mean_weight, mean_p_value
        Mean of the importance weights, and the p-value of a mean of 1.
    lone
        Share of the rows whose context no other row has.
    """

    estimate: Estimate
    mean_weight: float
    mean_p_value: float
    lone: float

    def undivided(self) -> Iterable[Verdict]:
        """The caveat of estimators that do not divide by the mean weight."""
        if self.mean_p_value < MEAN_P_VALUE:
            yield careful(
                f"{self.estimate.name} does not divide by the mean weight, which is {self.mean_weight:.3g} "
                f"instead of 1"
            )


def careful(reason: str) -> Verdict:
    return Verdict(level="with care", reasons=(reason,))


def aliases(estimator: object) -> tuple[str, ...]:
    return tuple(getattr(estimator, "aliases", ()))


def doubly_robust_aliases(estimator: object) -> tuple[str, ...]:
    return tuple(getattr(estimator, "doubly_robust_aliases", ()))


def sentence(estimator: object) -> str:
    return str(getattr(estimator, "sentence", ""))


def caveats(estimator: object, circumstances: Circumstances) -> Iterable[Verdict]:
    return _called(estimator, "caveats", circumstances) or ()


def settings(estimator: object) -> Mapping[str, Any]:
    if hasattr(estimator, "settings"):
        return dict(estimator.settings)
    if not dataclasses.is_dataclass(estimator) or isinstance(estimator, type):
        return {}
    return {field.name: getattr(estimator, field.name) for field in dataclasses.fields(estimator)}


def normalised(estimator: object) -> bool:
    return bool(getattr(estimator, "normalised", False))


def mostly_within_rewards(estimator: object) -> bool:
    return bool(getattr(estimator, "mostly_within_rewards", False))


def normalised_over(estimator: object) -> str | None:
    return getattr(estimator, "normalised_over", None)


def tail_edge(estimator: object, sample: object) -> float | None:
    """Where the tail begins whose mean the estimate is."""
    return _called(estimator, "edge", sample)


def mean_of_terms(estimator: object) -> bool:
    return bool(getattr(estimator, "mean_of_terms", False))


def needs_predictions(estimator: object) -> bool:
    return bool(getattr(estimator, "needs_predictions", False))


def weighting(estimator: object) -> Any:
    return getattr(estimator, "weighting", estimator)


def family(estimator: object) -> Any:
    return getattr(estimator, "family", None)


def bias_reference(estimator: object) -> Any:
    return _called(estimator, "bias_reference")


def shrinks(estimator: object) -> bool:
    return bool(getattr(estimator, "shrinks", False))


def with_exact(estimator: object, exact: bool | None) -> Any:
    return _called(estimator, "with_exact", exact) or estimator


def choices(estimator: Any, samples: Sequence[Any]) -> list[BandwidthChoice]:
    together = _called(estimator, "choose_each", samples)
    return [estimator.choose(sample) for sample in samples] if together is None else list(together)


def _called(estimator: object, member: str, *arguments: Any) -> Any:
    method = getattr(estimator, member, None)
    return None if method is None else method(*arguments)
