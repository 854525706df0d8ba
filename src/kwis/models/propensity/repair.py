"""Repair of given propensities from the actions that were taken.

The logged actions are drawn from the true propensities, so they tell where given ones are wrong. The repaired
distribution is a multinomial regression that starts from the given one: a free scale of its logarithm
(``scale``), any given probability taken for any action (``actions``, K by K), and the context, straight and
where it helps curved (``context``). Everything is shrunk towards the given distribution by as much as makes
held-out actions most likely, which is what lets it work with few rows.

Do no harm: the repair is used only if it makes held-out actions more likely by more than chance; see
:mod:`kwis.models.propensity.gain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kwis import _validation as check
from kwis.errors import InputError
from kwis.models.propensity.choose import Chosen, Fitted, Splits, choose
from kwis.models.propensity.material import distribution, material
from kwis.models.propensity.repair_logged import KEPT
from kwis.runtime.arrays import kept
from kwis.runtime.threads import engine
from kwis.typing import ArrayLike, Floats, Seed

TERMS = ("scale", "actions", "context")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RepairModel:
    """Propensities repaired, or found in order and kept.

    Attributes
    ----------
    kept
        True if the given propensities are left as they are.
    terms
        What the repair depends on: of ``scale``, ``actions``, ``context`` and ``curved`` those that make
        held-out actions more likely.
    p_value
        Of the given propensities being right; 1 where there are too few rows to tell.
    log_loss_before, log_loss_after
        Mean of ``-log p(logged action)`` on held-out rows, as given and as repaired.
    scale
        Factor of the given log-probabilities: below 1 they were too sure of themselves, above 1 not sure
        enough.
    note
        What was done, in a sentence.
    refits
        The same repair learnt without one part of the rows and another, if that was asked for and anything
        was repaired: how far estimates with them are apart is the error that the repair adds, see
        :func:`kwis.intervals.student.model_error`.
    """

    kept: bool
    terms: tuple[str, ...]
    p_value: float
    log_loss_before: float
    log_loss_after: float
    scale: float
    note: str
    refits: tuple[RepairModel, ...] = field(default=(), repr=False)
    _fitted: Fitted | None = field(default=None, repr=False)

    def distribution(self, features: ArrayLike, given: ArrayLike) -> Floats:
        """``(n, K)`` propensities of any rows with the features and the given distribution of the rows it was
        learnt from.
        """
        rows = check.contexts(features, "features")
        chances = distribution(given, len(rows))
        return (
            chances if self.kept or self._fitted is None else kept(self._fitted.distribution(rows, chances))
        )


def fit_repair(
    features: ArrayLike,
    action: ArrayLike,
    given: ArrayLike,
    *,
    terms: Sequence[str] = TERMS,
    mass: ArrayLike | None = None,
    group: Any = None,
    always: bool = False,
    parts: int = 0,
    rng: Seed = 0,
) -> RepairModel:
    """Learn from the logged actions how to repair given propensities, if they need it.

    Parameters
    ----------
    features
        ``(n, d)`` numbers that the logger may have looked at.
    action, given
        ``(n,)`` codes of the actions taken, and the ``(n, K)`` distribution they are said to be drawn from.
    terms
        Which of ``scale``, ``actions`` and ``context`` may take part.
    mass, group
        How many interactions each row stands for; rows to be held out together.
    always
        Whether to repair even if the given propensities pass the test.
    parts
        Learn the repair again without each of so many parts of the rows; 0: do not.
    """
    rows = material(features, action, given, mass, group)
    wanted = known_terms(terms)
    generator = check.generator(rng)
    count = check.whole(parts, "parts", 2) if parts else 0
    with engine(1):
        splits = Splits.of(rows, generator)
        chosen = None if splits is None else choose(splits, wanted, generator)
        repaired = chosen is not None and chosen.used_when("always" if always else "convincing")
        fitted = chosen.fit(rows, generator) if chosen is not None and repaired else None
        refits = fitted.without(rows, count, generator) if fitted is not None and count else ()
    model = described(chosen, repaired=fitted is not None, fitted=fitted)
    return replace(
        model, refits=tuple(replace(model, scale=one.coefficients.scale, _fitted=one) for one in refits)
    )


def known_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """The terms asked for, in the usual order."""
    asked = (terms,) if isinstance(terms, str) else tuple(terms)
    for term in asked:
        if term not in TERMS:
            raise InputError(f"`terms` must be among {', '.join(TERMS)}, got {term!r}")
    if not asked:
        raise InputError("`terms` must have at least one term, got none")
    return tuple(term for term in TERMS if term in asked)


def described(chosen: Chosen | None, *, repaired: bool, fitted: Fitted | None = None) -> RepairModel:
    """The outcome, with its sentence."""
    if chosen is None:
        note = "propensities were kept as given: the log is too small to test them"
        nothing = float("nan")
        return RepairModel(
            kept=True,
            terms=(),
            p_value=1.0,
            log_loss_before=nothing,
            log_loss_after=nothing,
            scale=1.0,
            note=note,
        )
    losses = f"held-out log loss {chosen.before:.4g} as given, {chosen.after:.4g} "
    if not repaired:
        note = f"{KEPT} ({losses}with the best repair)"
    else:
        note = (
            f"propensities were repaired from the logged actions by {_listed(chosen.used)} ({losses}as "
            f"repaired)"
        )
    return RepairModel(
        kept=not repaired,
        terms=chosen.used if repaired else (),
        p_value=chosen.p_value,
        log_loss_before=chosen.before,
        log_loss_after=chosen.after if repaired else chosen.before,
        scale=1.0 if fitted is None else fitted.coefficients.scale,
        note=note,
        _fitted=fitted,
    )


_WORDS = {
    "scale": "their scale",
    "actions": "action",
    "context": "context",
    "curved": "curves of the context",
}


def _listed(terms: tuple[str, ...]) -> str:
    words = [_WORDS[term] for term in terms]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
