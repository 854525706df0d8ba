"""Numbers as a reader wants them: as many digits as the uncertainty supports, signs where they matter."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

MINUS, NARROW, DASH = "\u2212", "\u202f", "\u2013"
_LARGEST, _MOST_DECIMALS = 1e7, 12
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimals_for(widths: Iterable[float]) -> int:
    """Decimals that leave two significant digits of half a typical interval's width, as in the terminal."""
    finite = sorted(width for width in widths if math.isfinite(width) and width / 2 > 0)
    if not finite:
        return 3
    return min(max(1 - math.floor(math.log10(finite[(len(finite) - 1) // 2] / 2)), 0), _MOST_DECIMALS)


def number(value: float, decimals: int = 3, *, signed: bool = False) -> str:
    """``1,234.50``; powers of ten beyond ten million, a true minus, and a plus where ``signed``."""
    if math.isnan(value):
        return DASH
    sign = MINUS if value < 0 else "+" if signed and value > 0 else ""
    size = abs(value)
    if math.isinf(size):
        return f"{sign}∞"
    if size >= _LARGEST:
        return sign + _power_of_ten(size)
    shown = f"{size:,.{decimals}f}"
    # A low end just below 0 must not look as if it were above.
    return (sign if signed or float(shown.replace(",", "")) else "") + shown


def rough(value: float) -> str:
    """Number to three significant digits."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else number(value)
    if abs(value) >= _LARGEST or abs(value) < 1e-4:
        return (MINUS if value < 0 else "") + _power_of_ten(abs(value))
    shown = number(value, max(2 - math.floor(math.log10(abs(value))), 0))
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def count(value: float) -> str:
    """Whole number with separators."""
    return number(float(value), 0)


def percent(share: float, decimals: int = 0) -> str:
    """``12 %``; what is not 0 but rounds to it is ``< 1 %``."""
    if math.isnan(share):
        return DASH
    least = 10.0**-decimals
    shown = f"< {number(least, decimals)}" if 0 < 100 * share < least / 2 else number(100 * share, decimals)
    return f"{shown}{NARROW}%"


def confidence(level: float) -> str:
    """``95 %``; a level such as 0.999 keeps the decimals it needs."""
    decimals = next(
        (d for d in range(6) if math.isclose(100 * level, round(100 * level, d), abs_tol=1e-9)), 6
    )
    return percent(level, decimals)


def p_value(value: float) -> str:
    """``p = 0.03``, ``p < 0.001``."""
    if math.isnan(value):
        return f"p {DASH}"
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}" if value < 0.1 else f"p = {value:.2f}"


def span(low: float, high: float, decimals: int = 3, *, signed: bool = False) -> str:
    """``0.12 to 0.16``."""
    return f"{number(low, decimals, signed=signed)} to {number(high, decimals, signed=signed)}"


def listed(items: Iterable[str]) -> str:
    """``a, b and c``."""
    words = list(items)
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def sentence(text: str, names: Collection[str] = ()) -> str:
    """Text with a capital and a full stop; a first word among ``names``, or with capitals or signs of its
    own, stays.
    """
    bare = text.strip()
    if not bare:
        return ""
    first = bare.split()[0]
    start = bare[0].upper() if first.isalpha() and first.islower() and first not in names else bare[0]
    return f"{start}{bare[1:]}" + ("" if bare[-1] in ".!?" else ".")


def _power_of_ten(size: float) -> str:
    mantissa, exponent = f"{size:.2e}".split("e")
    power = str(int(exponent)).translate(_SUPERSCRIPT)
    return f"{mantissa.rstrip('0').rstrip('.')}{NARROW}×{NARROW}10{power}"
