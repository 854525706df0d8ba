"""Student's method for many differences of the same estimates.

What belongs to one estimate is worked out once: its sums over groups, and the estimate that its bias is
measured by. Each difference then takes a few passes over the rows, and quantiles and p-values are found for
all differences together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kwis._validation import read_only
from kwis.estimators import traits
from kwis.estimators.joint import Contrast, model_error
from kwis.intervals.student import StudentInterval, of_left_out, student_ends, student_p_values
from kwis.runtime.threads import each_block, row_blocks
from kwis.stats import long
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Ints

Pair = tuple[int, int]
"""Places of the two estimates of a difference, the first minus the second."""

_EPSILON = float(np.finfo(np.float64).eps)
_BLOCK = 16  # pairs that a thread takes at a time
_MANY = 100  # pairs from which compiled code is worth loading


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Differences:
    """Differences as Student's method sees them, one number each.

    Attributes
    ----------
    value, std_error
        And its standard error, that of a model of the propensities included.
    error, freedom
        Standard error from leaving each row out in turn, and its degrees of freedom.
    bias
        Largest bias to allow for.
    method
        Name of the intervals.
    """

    value: Floats
    std_error: Floats
    error: Floats
    freedom: Floats
    bias: Floats
    method: str = "student"

    @classmethod
    def of(cls, method: StudentInterval, sides: Sequence[Contrast], pairs: Sequence[Pair]) -> Differences:
        """Of pairs of estimates that all have influence."""
        group = sides[0].group
        lone = _lone_share(sides[0].sample.n, group)
        known = [_Side.of(side, method.bias_aware, lone) for side in sides]
        quick = len(pairs) >= _MANY

        def block(part: slice) -> list[tuple[float, ...]]:
            return [_sums(known[a], known[b], lone, group, quick) for a, b in pairs[part]]

        found = each_block(block, row_blocks(len(pairs), _BLOCK))
        std_error, error, freedom, chance = np.array([one for part in found for one in part]).T
        value = np.array([sides[a].value - sides[b].value for a, b in pairs])
        model = np.array([_model_error(sides[a].refitted, sides[b].refitted) for a, b in pairs])
        return cls(
            value=value,
            std_error=np.hypot(std_error, model),
            error=np.hypot(error, np.hypot(method.model_error, model)),
            freedom=freedom,
            bias=_biases(known, pairs, chance),
        )

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the intervals."""
        return student_ends(self.value, self.error, self.freedom, level, bias=self.bias)

    def p_values(self) -> Floats:
        """Two-sided, of no difference."""
        return student_p_values(self.value, self.error, self.freedom, self.bias)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Side:
    """What differences need of one estimate.

    ``apart`` and ``shift`` are influence and value less those of the estimate that its bias is measured by,
    the former as each draw left out moves it; None and 0 where there is none.
    """

    rows: int
    draws: Floats
    leverage: Floats | None
    effective_n: float
    apart: Floats | None
    shift: float
    shrinks: bool

    @classmethod
    def of(cls, contrast: Contrast, bias_aware: bool, lone: Floats | float) -> _Side:
        estimate, group = contrast.estimate, contrast.group
        assert estimate.influence is not None
        apart, shift = None, 0.0
        other = traits.bias_reference(contrast.estimator) if bias_aware else None
        if other is not None:
            whole = other.estimate(contrast.sample)
            apart = _fixed(draw_sums(estimate.influence - whole.influence, group) / (1 - lone))
            shift = estimate.value - whole.value
        return cls(
            rows=estimate.influence.size,
            draws=_fixed(draw_sums(estimate.influence, group)),
            leverage=None if estimate.leverage is None else _fixed(estimate.leverage),
            effective_n=estimate.effective_n,
            apart=apart,
            shift=shift,
            shrinks=traits.shrinks(contrast.estimator),
        )


def _fixed(vector: Floats) -> Floats:
    """The same as read-only numbers of an ordinary array: compiled once for all. One number that stands for
    all rows stays one.
    """
    if long.is_constant(vector):
        return vector
    return read_only(np.ascontiguousarray(vector).view(np.ndarray))


def _lone_share(n: int, group: Ints | None) -> Floats | float:
    """Share of each draw in all rows, below 1."""
    return 1 / n if group is None else np.minimum(draw_sums(np.full(n, 1 / n), group), 1 - _EPSILON)


def _sums(a: _Side, b: _Side, lone: Floats | float, group: Ints | None, quick: bool) -> tuple[float, ...]:
    """Standard error, that from leaving each draw out and its degrees of freedom, and what chance does to
    the bias.

    In one dimension the formulas of :mod:`kwis.intervals.student` and :mod:`kwis.stats.influence`.
    """
    made = _long_sums(a, b) if group is None else None
    if made is not None:
        return made
    count, n = a.draws.size, a.rows
    largest, total, fourth, shares, left_out = _moments(a, b, lone, group, quick)
    rows = total**2 / fourth if fourth > 0 else float(count)
    freedom = max(min(1 / shares - 1, 2 / max(1 / rows - 1 / count, _EPSILON)), 1.0)
    effective = min(a.effective_n, b.effective_n)
    if math.isfinite(effective):
        freedom = min(freedom, max(effective - 1, 1.0))
    return (
        largest * math.sqrt(total * count / (count - 1)) / n,
        largest * math.sqrt(left_out * (count - 1) / count) / n,
        freedom,
        _length(a.apart, b.apart, quick) * math.sqrt((count - 1) / count) / n,
    )


def _moments(
    a: _Side, b: _Side, lone: Floats | float, group: Ints | None, quick: bool
) -> tuple[float, float, float, float, float]:
    """What :func:`kwis.stats.fused_apart.moments_apart` says of the draws and their shares in the rows."""
    if a.leverage is None or b.leverage is None:
        share = other = _fixed(np.broadcast_to(lone, a.draws.shape).copy())
    elif group is None:
        share, other = a.leverage, b.leverage
    else:
        share = other = _fixed(draw_sums(np.maximum(a.leverage, b.leverage), group))
    if quick:
        from kwis.stats.fused_apart import moments_apart

        return moments_apart(a.draws, b.draws, share, other, _EPSILON)
    draws, shares = a.draws - b.draws, np.maximum(share, other)
    largest = max(float(draws.max()), -float(draws.min()))
    draws /= largest or 1.0
    squares = np.square(draws)
    draws /= np.maximum(1 - shares, _EPSILON)
    fourth, own, left_out = (float(np.einsum("i,i->", one, one)) for one in (squares, shares, draws))
    return largest, float(squares.sum()), fourth, own, left_out


def _long_sums(a: _Side, b: _Side) -> tuple[float, ...] | None:
    """The same for many rows in one pass; None for few, and where a bias is allowed for."""
    columns = (a.draws, b.draws, a.leverage, b.leverage)
    if a.apart is not None or b.apart is not None or not all(one is not None for one in columns):
        return None
    known = [one for one in columns if one is not None]
    if not long.is_long(*known):
        return None
    found, n = long.LeftOut.of_difference(*known), a.draws.size
    made = of_left_out(found, n)
    if made is None:
        return None
    error, freedom = made
    effective = min(a.effective_n, b.effective_n)
    if math.isfinite(effective):
        freedom = min(freedom, max(effective - 1, 1.0))
    return math.sqrt(found.squares * n / (n - 1)) / n, error, freedom, 0.0


def _length(a: Floats | None, b: Floats | None, quick: bool) -> float:
    """Of the difference of two vectors, None standing for 0."""
    if quick and a is not None and b is not None:
        from kwis.stats.fused_apart import size_apart

        largest, squares = size_apart(a, b)
        return largest * math.sqrt(squares)
    vector = _minus(a, b)
    if vector is None:
        return 0.0
    largest = max(float(vector.max()), -float(vector.min()))
    if largest == 0:
        return 0.0
    scaled = vector / largest  # squares of huge numbers would overflow
    return largest * math.sqrt(float(np.einsum("i,i->", scaled, scaled)))


def _minus(a: Floats | None, b: Floats | None) -> Floats | None:
    return a if b is None else -b if a is None else a - b


def _biases(sides: Sequence[_Side], pairs: Sequence[Pair], chance: Floats) -> Floats:
    """Largest bias to allow for: what the difference moves beyond chance without what may bias it, and with
    chance where weights are shrunk on purpose.
    """
    moved = np.abs([sides[a].shift - sides[b].shift for a, b in pairs])
    shrinks = np.array([sides[a].shrinks or sides[b].shrinks for a, b in pairs])
    beyond = np.sqrt(np.maximum(moved - chance, 0.0) * (moved + chance))
    return np.where(shrinks, np.hypot(moved, chance), beyond)


def _model_error(a: Floats | None, b: Floats | None) -> float:
    """That a model of the propensities adds to a difference."""
    refits = _minus(a, b)
    return 0.0 if refits is None else float(model_error(refits[:, None])[0])
