"""Checks of arguments that several public functions share; everything behind those assumes clean arrays.

Every message is one sentence: the argument, its rule, the value that broke it, and the row where there is
one.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from kwis.errors import InputError, UnsupportedError
from kwis.typing import ArrayLike, Bandwidth, Floats, Ints, Seed


def real_array(value: ArrayLike, name: str, ndim: int, columns: str = "d") -> Floats:
    """Read-only float64 copy-or-view of ``value`` with ``ndim`` axes, finite everywhere."""
    array = as_array(value, name)
    if array.dtype.kind not in "biuf":
        raise InputError(f"`{name}` must hold real numbers, got an array of type {array.dtype}")
    if array.ndim != ndim:
        shape = f"(n, {columns})" if ndim == 2 else "(n,)"
        raise InputError(f"`{name}` must have shape {shape}, got {array.shape}")
    clean = np.array(array, dtype=np.float64, order="C", copy=None)
    bad = ~np.isfinite(clean)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        column = f", column {where[1]}" if ndim == 2 else ""
        raise InputError(f"`{name}` must be finite, got {clean[where]} at row {where[0]}{column}")
    return read_only(clean)


def as_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(value)
    except ValueError:
        raise InputError(f"`{name}` must be an array, got rows of different lengths") from None


def read_only(array: Any) -> Any:
    """View of the array that cannot be written to; the caller's own array stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view


def contexts(value: ArrayLike, name: str = "context") -> Floats:
    array = real_array(value, name, 2)
    if array.shape[0] == 0:
        raise InputError(f"`{name}` must have at least one row, got 0")
    if array.shape[1] == 0:
        raise InputError(f"`{name}` must have at least one column, got 0")
    return array


def column(value: ArrayLike, name: str, n: int, *, like: str = "context") -> Floats:
    array = real_array(value, name, 1)
    same_length(array.shape[0], name, n, like)
    return array


def same_length(length: int, name: str, n: int, like: str) -> None:
    if length != n:
        of = f" of `{like}`" if like else ""
        raise InputError(f"`{name}` must have one entry per row{of}, got {length} for {n} rows")


def weights(value: ArrayLike, name: str, n: int, *, like: str = "context") -> Floats:
    return _not_negative(column(value, name, n, like=like), name)


def propensities(value: ArrayLike, name: str, n: int, *, like: str = "context") -> Floats:
    """Probabilities of actions that were taken, so none of them is 0."""
    array = column(value, name, n, like=like)
    wrong = (array <= 0) | (array > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"`{name}` must be in (0, 1], got {array[row]} at row {row}")
    return array


def masses(value: ArrayLike, n: int) -> Floats:
    array = column(value, "mass", n)
    if (array <= 0).any():
        row = int(np.argmax(array <= 0))
        raise InputError(f"`mass` must be positive, got {array[row]} at row {row}")
    return array


def weight_columns(value: ArrayLike, name: str, n: int) -> Floats:
    array = real_array(value, name, 2, columns="E")
    same_length(array.shape[0], name, n, "context")
    if array.shape[1] == 0:
        raise InputError(f"`{name}` must have at least one column, got 0")
    return _not_negative(array, name)


def _not_negative(array: Floats, name: str) -> Floats:
    if (array < 0).any():
        where = tuple(int(i) for i in np.argwhere(array < 0)[0])
        place = f"row {where[0]}" + (f", column {where[1]}" if len(where) > 1 else "")
        raise InputError(f"`{name}` must not be negative, got {array[where]} at {place}")
    return array


def labels(value: Any, name: str, n: int, *, like: str = "context") -> Ints:
    """Integer codes 0, 1, ... for one label per row; labels may be numbers or text."""
    array = np.asarray(value)
    if array.ndim != 1:
        raise InputError(f"`{name}` must have shape (n,), got {array.shape}")
    same_length(array.shape[0], name, n, like)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise InputError(f"`{name}` must have a label in every row, got {array[row]} at row {row}")
    if array.dtype.kind == "O":
        missing = [row for row, label in enumerate(array) if label is None or label != label]
        if missing:
            raise InputError(
                f"`{name}` must have a label in every row, got {array[missing[0]]} at row {missing[0]}"
            )
        array = array.astype(str)
    return read_only(np.unique(array, return_inverse=True)[1])


def row_numbers(value: Any, n: int) -> Ints:
    """Row numbers to take, at least one; a mask of n booleans will do."""
    array = np.asarray(value)
    if array.dtype.kind == "b" and array.shape == (n,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise InputError(f"`rows` must be at least one row number, got {_brief(array)}")
    bad = (array < 0) | (array >= n)
    if bad.any():
        raise InputError(f"`rows` must be from 0 to {n - 1}, got {array[bad][0]}")
    return array


def two_draws(n: int, group: Ints | None) -> None:
    """An interval needs spread, and a single row (or group) has none."""
    count, what = (n, "rows") if group is None else (np.unique(group).size, "groups")
    if count < 2:
        raise UnsupportedError(f"`sample` must have at least 2 {what} for an interval, got {count}")


def same_columns(at: Floats, d: int) -> None:
    if at.shape[1] != d:
        raise InputError(f"`at` must have as many columns as `context`, got {at.shape[1]} and {d}")


def categorical_columns(value: Any, context: Floats, name: str = "context") -> tuple[int, ...]:
    """Sorted column numbers whose entries are integer codes."""
    d = context.shape[1]
    columns = list(value) if np.iterable(value) else [value]
    for entry in columns:
        if isinstance(entry, bool) or not isinstance(entry, numbers.Integral) or not 0 <= int(entry) < d:
            raise InputError(f"`categorical` must list columns from 0 to {d - 1}, got {entry!r}")
        codes = context[:, int(entry)]
        if (codes != np.rint(codes)).any():
            row = int(np.argmax(codes != np.rint(codes)))
            raise InputError(
                f"`{name}` must hold integer codes in categorical column {entry}, got {codes[row]} at row "
                f"{row}"
            )
    return tuple(sorted({int(entry) for entry in columns}))


def bandwidth(value: Any, d: int) -> Bandwidth:
    """A positive number or ``d`` of them; infinity is allowed."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise InputError(f"`bandwidth` must be a positive number or {d} of them, got {value!r}")
    if array.ndim > 1 or (array.ndim == 1 and array.shape[0] != d):
        raise InputError(f"`bandwidth` must be one number or one per feature ({d}), got shape {array.shape}")
    clean = array.astype(np.float64)
    bad = ~(clean > 0)
    if bad.any():
        place = f" for feature {int(np.argmax(bad))}" if clean.ndim else ""
        raise InputError(f"`bandwidth` must be positive, got {clean[bad].flat[0]}{place}")
    return float(clean) if clean.ndim == 0 else read_only(clean)


def starts(value: ArrayLike, d: int, per_feature: bool) -> Floats:
    """Initial bandwidths, ``(m,)`` for a shared bandwidth or ``(m, d)`` for one per feature."""
    shape = as_array(value, "starts").shape
    allowed = f"(m,) or (m, {d})" if per_feature else "(m,)"
    if (
        0 in shape
        or len(shape) not in ((1, 2) if per_feature else (1,))
        or (len(shape) == 2 and shape[1] != d)
    ):
        raise InputError(f"`starts` must have shape {allowed}, got {shape}")
    array = real_array(value, "starts", len(shape))
    if (array <= 0).any():
        raise InputError(f"`starts` must be positive, got {array[array <= 0][0]}")
    return np.repeat(array[:, None], d, axis=1) if per_feature and array.ndim == 1 else array


def fold_labels(value: Any, n: int, *, rule: str = "integer labels of shape (n,)") -> Ints:
    array = as_array(value, "folds")
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InputError(f"`folds` must be {rule}, got {_brief(array)}")
    same_length(array.shape[0], "folds", n, "context")
    codes = np.unique(array, return_inverse=True)[1]
    if codes.max() < 1:
        raise InputError("`folds` must have at least 2 different labels, got 1")
    return codes


def fold_count(value: Any, name: str, n: int) -> int:
    k = whole(value, name, 2)
    if n < k:
        raise InputError(f"`{name}` must not exceed the number of rows, got {k} folds for {n} rows")
    return k


LOWEST_LEVEL, HIGHEST_LEVEL = 0.001, 1 - 1e-9
"""Levels beyond have no meaning as intervals, and quantiles beyond no digits."""


def level(value: Any) -> float:
    if not isinstance(value, numbers.Real) or not 0 < float(value) < 1:
        raise InputError(f"`level` must be between 0 and 1, got {value!r}")
    if not LOWEST_LEVEL <= float(value) <= HIGHEST_LEVEL:
        raise InputError(f"`level` must be from {LOWEST_LEVEL} to {HIGHEST_LEVEL}, got {value!r}")
    return float(value)


def positive(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) < math.inf:
        raise InputError(f"`{name}` must be a positive number, got {value!r}")
    return float(value)


def whole(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InputError(f"`{name}` must be a whole number of at least {least}, got {value!r}")
    return int(value)


def one_of(value: Any, name: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InputError(f"`{name}` must be one of {', '.join(allowed)}, got {value!r}")
    return str(value)


def generator(rng: Seed) -> np.random.Generator:
    """A Generator from a seed or a Generator; kwis never touches the global random state."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, numbers.Integral) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise InputError(f"`rng` must be a seed of at least 0 or a numpy Generator, got {rng!r}")


def one_seed(rng: Seed | None, seed: int | None) -> Seed:
    """What everything random follows from, by either of its names; 0 if neither was used."""
    if rng is not None and seed is not None:
        raise InputError("`seed` must go without `rng`, which is another name for it")
    return rng if rng is not None else 0 if seed is None else seed


def _brief(array: np.ndarray[Any, Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"


def reward_range(value: Any, *, otherwise: str = "") -> None:
    """Refuse what is no pair of a smallest and a larger reward; ``otherwise`` says what else would do."""
    limits = np.asarray(value)
    if (
        limits.dtype.kind not in "iuf"
        or limits.shape != (2,)
        or not np.isfinite(limits).all()
        or not limits[0] < limits[1]
    ):
        raise InputError(f"`bounds` must be a pair (low, high) with low below high{otherwise}, got {value!r}")


def rewards_within(reward: Floats, low: float, high: float) -> None:
    """Refuse rewards outside the `bounds` that an interval takes for granted."""
    outside = (reward < low) | (reward > high)
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(
            f"`bounds` must hold for every `reward`, got {reward[row]} outside [{low}, {high}] at row {row}"
        )
