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

from kwis.estimators.joint import Contrast, model_error
from kwis.intervals.apart import EPSILON, Apart, Side, freedom_of, lone_share
from kwis.intervals.student import StudentInterval, of_left_out, student_ends, student_p_values
from kwis.runtime.threads import each_block, row_blocks
from kwis.stats import long
from kwis.stats.influence import draw_sums
from kwis.typing import Floats, Ints

Pair = tuple[int, int]
"""Places of the two estimates of a difference, the first minus the second."""

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
        lone = lone_share(sides[0].sample.n, group)
        known = [Side.of(side, method.bias_aware, lone) for side in sides]
        apart = Apart.of(known, lone, group) if len(pairs) >= _MANY else None

        def block(part: slice) -> Floats:
            return np.array([_sums(known[a], known[b], lone, group) for a, b in pairs[part]]).T

        if apart is not None:
            found = apart.sums(pairs)
        else:
            found = np.concatenate(each_block(block, row_blocks(len(pairs), _BLOCK)), axis=1)
        std_error, error, freedom, chance = found
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


def _sums(a: Side, b: Side, lone: Floats | float, group: Ints | None) -> tuple[float, ...]:
    """Standard error, that from leaving each draw out and its degrees of freedom, and what chance does to
    the bias.

    In one dimension the formulas of :mod:`kwis.intervals.student` and :mod:`kwis.stats.influence`.
    """
    made = _long_sums(a, b) if group is None else None
    if made is not None:
        return made
    count, n = a.draws.size, a.rows
    largest, total, fourth, shares, left_out = _moments(a, b, lone, group)
    moments = [np.array([one]) for one in (total, fourth, shares)]
    effective = np.array([min(a.effective_n, b.effective_n)])
    return (
        largest * math.sqrt(total * count / (count - 1)) / n,
        largest * math.sqrt(left_out * (count - 1) / count) / n,
        float(freedom_of(*moments, count=count, effective=effective)[0]),
        _length(a.apart, b.apart) * math.sqrt((count - 1) / count) / n,
    )


def _moments(
    a: Side, b: Side, lone: Floats | float, group: Ints | None
) -> tuple[float, float, float, float, float]:
    """With ``d = (a - b) / m``, ``m`` the largest entry of ``|a - b|``, and ``s`` the larger of the two
    shares in the rows: ``m`` and the sums of ``d^2``, ``d^4``, ``s^2`` and ``(d / (1 - s))^2``.
    """
    if a.leverage is None or b.leverage is None:
        shares = np.broadcast_to(lone, a.draws.shape)
    else:
        shares = draw_sums(np.maximum(a.leverage, b.leverage), group)
    draws = a.draws - b.draws
    largest = max(float(draws.max()), -float(draws.min()))
    draws /= largest or 1.0
    squares = np.square(draws)
    draws /= np.maximum(1 - shares, EPSILON)
    fourth, own, left_out = (float(np.einsum("i,i->", one, one)) for one in (squares, shares, draws))
    return largest, float(squares.sum()), fourth, own, left_out


def _long_sums(a: Side, b: Side) -> tuple[float, ...] | None:
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


def _length(a: Floats | None, b: Floats | None) -> float:
    """Of the difference of two vectors, None standing for 0."""
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


def _biases(sides: Sequence[Side], pairs: Sequence[Pair], chance: Floats) -> Floats:
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
