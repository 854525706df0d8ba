"""Large arrays that will not change any more wait in temporary files, so that memory is for work under way.

The operating system maps such a file into memory: the array looks like any other, its pages are read when
they are needed and given back when memory is short. The file has no name, so nothing is left behind however
the process ends. Files go where ``TMPDIR`` says.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from kwis.typing import Floats

LARGE = 16 << 20
"""Bytes: smaller arrays stay in memory. A column of two million numbers is as large."""

_LINE = 64  # bytes
AnyArray = TypeVar("AnyArray", bound="np.ndarray[Any, Any]")
_waiting: weakref.WeakSet[Any] = weakref.WeakSet()


class _Map(mmap.mmap):
    """A map that can be referred to weakly."""


def kept(array: AnyArray, least: int = LARGE) -> AnyArray:
    """The array, read-only; one of at least ``least`` bytes as a map of a temporary file."""
    view = array.view()
    view.flags.writeable = False
    if array.nbytes < max(least, 1) or array.dtype.hasobject or isinstance(_root(array), _Map):
        return view
    try:
        space = _written(np.ascontiguousarray(array))
    except OSError:  # no room on the disk, or no place to write: memory has to do
        return view
    give_back()
    _waiting.add(space)
    found: AnyArray = np.frombuffer(space, dtype=array.dtype).reshape(array.shape)  # type: ignore[assignment]
    return found


def _written(array: Any) -> _Map:
    with tempfile.TemporaryFile(prefix="kwis-") as file:
        file.write(memoryview(array.reshape(-1).view(np.uint8)))
        file.flush()
        return _Map(file.fileno(), array.nbytes, access=mmap.ACCESS_READ)


def aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of zeros that begins where a cache line does: compiled loops that read many arrays at once
    take up to a quarter longer where every read is of two lines.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    space = np.zeros(size + _LINE, np.uint8)
    first = -space.ctypes.data % _LINE
    return space[first : first + size].view(dtype).reshape(shape)


def room(shape: tuple[int, ...], least: int = LARGE) -> Floats:
    """An array of floats to be filled, in any order: zeros, in a temporary file if it is large."""
    size = 8 * math.prod(shape)
    if size < max(least, 1):
        return np.zeros(shape)
    try:
        with tempfile.TemporaryFile(prefix="kwis-") as file:
            os.posix_fallocate(file.fileno(), 0, size)
            space = _Map(file.fileno(), size)
    except (OSError, AttributeError):  # no room on the disk, or a system that cannot reserve it
        return np.zeros(shape)
    give_back()
    _waiting.add(space)
    return np.frombuffer(space, dtype=np.float64).reshape(shape)


class Pieces:
    """A long column that is written piece by piece, in any order and by any thread, and read when it is
    whole: in a temporary file if it is large, where writing is quicker than to a map of it.
    """

    def __init__(self, n: int, *, large: bool) -> None:
        self._n, self._array, self._file = n, None, None
        try:
            if not large or 8 * n < LARGE or not hasattr(os, "pwrite"):
                raise OSError("memory will do")
            self._file = tempfile.TemporaryFile(prefix="kwis-")  # noqa: SIM115 - closed when it is whole
            os.posix_fallocate(self._file.fileno(), 0, 8 * n)
        except (OSError, AttributeError):  # or no room on the disk
            self._array = np.empty(n)

    @classmethod
    def like(cls, column: Floats) -> Pieces:
        """For as many numbers, in a file if the other waits in one."""
        return cls(column.size, large=isinstance(_root(column), _Map))

    def put(self, rows: slice, values: Floats) -> None:
        if self._array is not None:
            self._array[rows] = values
            return
        assert self._file is not None
        whole: Any = np.ascontiguousarray(values).view(np.uint8)
        left, place = memoryview(whole), 8 * rows.start
        while left:
            done = os.pwrite(self._file.fileno(), left, place)
            left, place = left[done:], place + done

    def whole(self) -> Floats:
        """The column, read-only."""
        if self._array is None:
            assert self._file is not None
            with self._file as file:
                space = _Map(file.fileno(), 8 * self._n, access=mmap.ACCESS_READ)
            _waiting.add(space)
            return np.frombuffer(space, dtype=np.float64)
        self._array.flags.writeable = False
        return self._array


def stretches(n: int, size: int = 1 << 17) -> Iterator[slice]:
    """Consecutive rows of a long array, a stretch at a time; those passed are given back."""
    for done, start in enumerate(range(0, n, size)):
        yield slice(start, min(start + size, n))
        if done % 8 == 7:
            give_back()


def give_back() -> None:
    """Let go of the pages of all waiting arrays; they come back when they are needed."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for space in tuple(_waiting):
            space.madvise(mmap.MADV_DONTNEED)


def _root(array: Any) -> Any:
    """What an array is a view of in the end."""
    base = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return base.obj if isinstance(base, memoryview) else base
