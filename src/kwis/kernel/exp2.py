"""``2**y`` for ``y <= 0`` as compiled code that vectorises, several times faster than the library's
exponential.

``y`` is split into its nearest integer and a remainder in [-1/2, 1/2]; the power of the remainder is a
polynomial, and the integer is added to the exponent bits. The relative error is below 6e-16 in double and
2e-7 in single precision.
"""

# ruff: noqa: ARG001 - numba fixes these signatures

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.polynomial import Polynomial

# For functions that only compiled code calls: without the way in from Python they compile in three quarters
# of the time.
UNWRAPPED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@intrinsic
def smaller(typing_context: Any, a: Any, b: Any) -> Any:
    """Minimum of two floats as the instruction that vectorises; Python's ``min`` does not."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        return builder.call(
            builder.module.declare_intrinsic("llvm.minnum", [kind], ir.FunctionType(kind, [kind, kind])),
            arguments,
        )

    return a(a, b), generate


def _coefficients(degree: int) -> list[float]:
    """Near-minimax polynomial of ``2**f`` on [-1/2, 1/2]: interpolation at Chebyshev nodes, in extended
    precision.
    """
    nodes = np.cos(np.pi * (np.arange(degree + 1, dtype=np.longdouble) + 0.5) / (degree + 1)) / 2
    divided = np.exp2(nodes)
    for order in range(1, degree + 1):
        divided[order:] = (divided[order:] - divided[order - 1 : -1]) / (nodes[order:] - nodes[:-order])
    newton = Polynomial([divided[-1]])
    for node, value in zip(nodes[-2::-1], divided[-2::-1], strict=True):
        newton = newton * Polynomial([-node, 1]) + value
    return [float(c) for c in newton.coef]


_OF_DOUBLE, _OF_SINGLE = _coefficients(10), [float(np.float32(c)) for c in _coefficients(6)]


@intrinsic
def exp2(typing_context: Any, y: Any) -> Any:
    """``2**y`` for ``y <= 0`` in the precision of ``y``; 0 below 2**-1000 (2**-120)."""
    single = y is types.float32

    # As instructions: called functions would be compiled on their own first, three of them in every caller.
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, (given,) = arguments[0].type, arguments
        whole = ir.IntType(32 if single else 64)
        # Adding 1.5 * 2^52 (2^23) rounds to an integer and leaves it in the lowest bits.
        to_round, floor = (12582912.0, -120.0) if single else (6755399441055744.0, -1000.0)
        to_round, floor, nothing = (ir.Constant(kind, value) for value in (to_round, floor, 0.0))
        rest = [ir.Constant(kind, value) for value in (_OF_SINGLE if single else _OF_DOUBLE)]

        # Flags of their own keep the caller's from these: reassociation would simplify the rounding away.
        def plus(a: Any, b: Any) -> Any:
            return builder.fadd(a, b, flags=("contract",))

        def times(a: Any, b: Any) -> Any:
            return builder.fmul(a, b, flags=("contract",))

        above = builder.fcmp_ordered(">", given, floor, flags=("contract",))
        bounded = builder.select(above, given, floor)
        rounded = plus(bounded, to_round)
        f = builder.fsub(bounded, builder.fsub(rounded, to_round, flags=("contract",)), flags=("contract",))
        # Neighbouring terms first, then their sums (Estrin): fewer steps wait for each other than in Horner's
        # order, which serves what is left.
        for _ in range(2):
            pairs = [plus(times(high, f), low) for low, high in zip(rest[::2], rest[1::2], strict=False)]
            rest = [*pairs, *rest[2 * len(pairs) :]]
            f = times(f, f)
        while len(rest) > 1:
            *rest, low, high = rest
            rest.append(plus(times(high, f), low))
        places = builder.shl(builder.bitcast(rounded, whole), ir.Constant(whole, 23 if single else 52))
        power = builder.bitcast(builder.add(builder.bitcast(rest[0], whole), places), kind)
        return builder.select(above, power, nothing)

    return y(y), generate
