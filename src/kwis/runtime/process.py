"""What all threads of a process share, and how kwis leaves it as it was.

``warnings.filters`` belongs to the whole process, and ``warnings.catch_warnings`` restores it wrongly if two
threads overlap: one of them puts back what the other had set for a moment. kwis itself never changes it.
scikit-learn, in almost every call, and numba, while it compiles, do; so one thread at a time enters them.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kwis.errors import KwisWarning

one_at_a_time = threading.RLock()
"""Held by the thread that is inside scikit-learn, or inside numba's compiler."""


class Compilation:
    """What this process compiles, rather than reading it from the cache: on a first run it takes seconds."""

    functions = 0
    """Begun so far."""


compilation = Compilation()

if hasattr(os, "register_at_fork"):  # a child has no thread that would ever release it
    os.register_at_fork(
        before=one_at_a_time.acquire,
        after_in_parent=one_at_a_time.release,
        after_in_child=one_at_a_time.release,
    )

_muted: ContextVar[bool] = ContextVar("kwis_muted", default=False)


@contextmanager
def muted() -> Iterator[None]:
    """Leave out warnings of kwis, in this thread only."""
    token = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(token)


def warn(message: str, stacklevel: int) -> None:
    """Warn, unless warnings are muted here; ``stacklevel`` counts as in :func:`warnings.warn`, from the
    caller.
    """
    if not _muted.get():
        warnings.warn(message, KwisWarning, stacklevel=stacklevel + 1)
