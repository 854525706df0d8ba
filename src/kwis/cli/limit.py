"""``--time-limit``: stop after so many seconds, and say what was being done."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from kwis.cli.terminal import BAD_INPUT, say
from kwis.errors import InputError, UnsupportedError

GRACE = 10.0
"""Seconds in which what is interrupted has to end; work in a library that does not listen is then ended with
the process.
"""

TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        rich_help_panel="Estimation",
        show_default=False,
        help="Stop with exit code 2 if it takes longer.",
    ),
]


class _OutOfTime(BaseException):
    """Not an Exception, so that nobody takes it for a failure of their own."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Refuse to go on after so many seconds."""
    if seconds is None:
        yield
        return
    if not 0 < seconds < float("inf"):
        raise InputError(f"`time-limit` must be a positive number of seconds, got {seconds:g}")
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise UnsupportedError("`time-limit` needs the main thread of a system with alarms")
    sentence = (
        f"`time-limit` must be longer for this log: {seconds:g} seconds were over; fewer rows or estimators "
        f"take less"
    )

    def ring(*_: object) -> None:
        raise _OutOfTime

    def end() -> None:
        say(f"error: {sentence}")
        os._exit(BAD_INPUT)

    last = threading.Timer(seconds + GRACE, end)
    last.daemon = True
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    last.start()
    try:
        yield
    except _OutOfTime:
        raise InputError(sentence) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        last.cancel()
