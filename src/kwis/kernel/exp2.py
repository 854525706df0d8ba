"""``2**y`` for ``y <= 0`` as compiled code that vectorises, several times faster than the library's
exponential.

``y`` is split into its nearest integer and a remainder in [-1/2, 1/2]; the power of the remainder is a
polynomial, and the integer is added to the exponent bits. The relative error is below 6e-16 in double and
2e-7 in single precision.
"""

# ruff: noqa: ARG001, PLW0108 - numba fixes these signatures

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload
from numpy.polynomial import Polynomial

# For functions that only compiled code calls: without the way in from Python they compile in three quarters
# of the time.
UNWRAPPED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_TWIN = {
    types.float64: types.int64,
    types.float32: types.int32,
    types.int64: types.float64,
    types.int32: types.float32,
}


@intrinsic
def _same_bits(typing_context: Any, value: Any) -> Any:
    """Read the bits of a float as an integer of the same size, or back."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return _TWIN[value](value), generate


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


_D0, _D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9, _D10 = _coefficients(10)
_S0, _S1, _S2, _S3, _S4, _S5, _S6 = (np.float32(c) for c in _coefficients(6))
# Adding 1.5 * 2^52 (2^23) rounds to an integer and leaves it in the lowest bits.
_ROUND_DOUBLE, _ROUND_SINGLE = 6755399441055744.0, np.float32(12582912.0)
_FLOOR_DOUBLE, _FLOOR_SINGLE = -1000.0, np.float32(-120.0)
_ZERO_SINGLE = np.float32(0.0)


# Only contraction is allowed here: with reassociation the rounding trick would be simplified away.
@njit(fastmath={"contract"}, **UNWRAPPED)
def _exp2_double(y: float) -> float:
    bounded = max(y, _FLOOR_DOUBLE)
    rounded = bounded + _ROUND_DOUBLE
    f = bounded - (rounded - _ROUND_DOUBLE)
    # Neighbouring terms first, then their sums (Estrin): fewer steps wait for each other than in Horner's
    # order.
    f2 = f * f
    f4 = f2 * f2
    low = (_D3 * f + _D2) * f2 + (_D1 * f + _D0)
    middle = (_D7 * f + _D6) * f2 + (_D5 * f + _D4)
    high = _D10 * f2 + (_D9 * f + _D8)
    p = (high * f4 + middle) * f4 + low
    power = _same_bits(_same_bits(p) + (_same_bits(rounded) << 52))
    return power if y > _FLOOR_DOUBLE else 0.0


@njit(fastmath={"contract"}, **UNWRAPPED)
def _exp2_single(y: Any) -> Any:
    bounded = max(y, _FLOOR_SINGLE)
    rounded = bounded + _ROUND_SINGLE
    f = bounded - (rounded - _ROUND_SINGLE)
    f2 = f * f
    low = (_S3 * f + _S2) * f2 + (_S1 * f + _S0)
    high = _S6 * f2 + (_S5 * f + _S4)
    p = high * (f2 * f2) + low
    power = _same_bits(np.int32(_same_bits(p) + (_same_bits(rounded) << 23)))
    return power if y > _FLOOR_SINGLE else _ZERO_SINGLE


def exp2(y: float) -> float:
    """``2**y`` for ``y <= 0`` in the precision of ``y``; 0 below 2**-1000 (2**-120)."""
    raise TypeError("exp2 is for compiled code")


@overload(exp2)
def _exp2(y):  # type: ignore[no-untyped-def]  # numba compares the two signatures, annotations included
    if y is types.float32:
        return lambda y: _exp2_single(y)
    return lambda y: _exp2_double(y)
