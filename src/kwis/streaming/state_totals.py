"""State-WIS of one target and reward from the records of all states; :mod:`kwis.streaming.states` has the
formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kwis.streaming.states import PAIRED, SHARED, States
from kwis.typing import Floats


@dataclass(slots=True, eq=False)
class _Running:
    """Sums over states of one target and reward; ``q`` is ``R / M``, rewards less their pivot.

    Attributes
    ----------
    mass, load, spread
        ``sum G``, ``sum G q`` and ``sum (G/M)^2 m2w2`` over the states with ``M > 0``.
    squares
        Coefficients of 1, ``-2 d`` and ``d^2`` in the sum of ``m^2 (G/M w (r - q) + q - d)^2``.
    fixed, falling
        The sums of ``m^2 (G/M w (r - q) + q - d) y`` are ``fixed - d falling`` for y = 1, r, w, w r.
    empty
        Sums of ``m^2 y`` over the states with ``M = 0``, for y = 1, r.
    """

    mass: float
    load: float
    spread: float
    squares: Floats
    fixed: Floats
    falling: Floats
    empty: Floats

    @classmethod
    def zero(cls) -> _Running:
        return cls(0.0, 0.0, 0.0, np.zeros(3), np.zeros(4), np.zeros(4), np.zeros(2))

    def add(self, mass: Floats, mass2: Floats, s: dict[str, Floats]) -> None:
        taken = s["mw"] > 0
        self.empty += [mass2[~taken].sum(), s["m2r"][~taken].sum()]
        s = {name: column[taken] for name, column in s.items()}
        mass, mass2 = mass[taken], mass2[taken]
        a, q = mass / s["mw"], s["mwr"] / s["mw"]
        own = a * (s["m2wr"] - q * s["m2w"])  # sum over the state of m^2 G/M w (r - q)
        self.mass += mass.sum()
        self.load += (mass * q).sum()
        self.spread += (a * a * s["m2w2"]).sum()
        inner = (a * a * (s["m2w2r2"] - 2 * q * s["m2w2r"] + q * q * s["m2w2"])).sum()
        self.squares += [inner + (2 * q * own + q * q * mass2).sum(), (own + q * mass2).sum(), mass2.sum()]
        self.fixed += [
            (own + q * mass2).sum(),
            (a * (s["m2wr2"] - q * s["m2wr"]) + q * s["m2r"]).sum(),
            (a * (s["m2w2r"] - q * s["m2w2"]) + q * s["m2w"]).sum(),
            (a * (s["m2w2r2"] - q * s["m2w2r"]) + q * s["m2wr"]).sum(),
        ]
        self.falling += [mass2.sum(), s["m2r"].sum(), s["m2w"].sum(), s["m2wr"].sum()]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateEstimate:
    """State-WIS, plain or normalised.

    Attributes
    ----------
    squares
        Sum of the squared influence values.
    products
        Sums of their products with the terms ``m (1, r, w, w r)`` of the rows.
    """

    value: float
    squares: float
    products: Floats
    effective_n: float


@dataclass(frozen=True, slots=True, eq=False)
class StateTotals:
    """Sums over all states, for every target and reward; ``lone`` is the share of rows whose context no other
    row has.
    """

    running: list[list[_Running]]
    pivots: Floats
    lone: float
    count: int

    @classmethod
    def of(cls, states: States, targets: int) -> StateTotals:
        rewards = states.pivots.size
        running = [[_Running.zero() for _ in range(rewards)] for _ in range(targets)]
        alone = rows = 0.0
        count = 0
        for chunk in states.chunks():
            n, mass, mass2 = chunk[:, : len(SHARED)].T
            alone, rows, count = alone + float((n == 1).sum()), rows + float(n.sum()), count + len(n)
            for t in range(targets):
                for k in range(rewards):
                    first = len(SHARED) + len(PAIRED) * (t * rewards + k)
                    running[t][k].add(
                        mass, mass2, dict(zip(PAIRED, chunk[:, first : first + len(PAIRED)].T, strict=True))
                    )
        return cls(running, states.pivots, alone / rows if rows else 0.0, count)

    def estimate(self, t: int, k: int, *, normalised: bool, mass: float, rows: int) -> StateEstimate:
        """State-WIS; ``mass`` and ``rows`` are those of the whole log."""
        s, pivot = self.running[t][k], float(self.pivots[k])
        if normalised:
            distance = s.load / s.mass
            value, share = distance + pivot, s.mass / mass
        else:
            value, share = (s.load + pivot * s.mass) / mass, 1.0
            distance = value - pivot
        squares = s.squares @ [1.0, -2 * distance, distance**2]
        products = s.fixed - distance * s.falling
        if not normalised:
            squares += s.empty[0] * value**2
            products[:2] -= value * s.empty
        products[1] += pivot * products[0]  # from rewards less the pivot to rewards
        products[3] += pivot * products[2]
        scale = rows / mass / share
        return StateEstimate(
            value=float(value),
            squares=max(float(squares), 0.0) * float(scale) ** 2,
            products=products * scale,
            effective_n=float(s.mass**2 / s.spread) if s.spread else 0.0,
        )
