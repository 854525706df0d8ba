"""How far a run has come, on one line that rewrites itself in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

_EVERY = 0.2  # seconds between updates in a terminal
_EVERY_PLAIN = 30.0  # and in a file or pipe, where lines pile up
_WIDTH = 28


class Progress:
    """Counts finished cells and says how fast they come and how long the rest will take."""

    def __init__(
        self, total: int, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total = total
        self._stream = stream or sys.stderr
        self._clock = clock
        self._start = self._last = clock()
        self._done = 0
        self._live = self._stream.isatty()

    def advance(self, cells: int, label: str) -> None:
        """Count finished cells and show it, now and then."""
        self._done += cells
        now = self._clock()
        if now - self._last >= (_EVERY if self._live else _EVERY_PLAIN) or self._done >= self._total:
            self._last = now
            self._write(self._line(now, label))

    def close(self) -> None:
        """Leave the last state on a line of its own."""
        if self._live and self._done:
            self._stream.write("\n")

    def _line(self, now: float, label: str) -> str:
        passed = max(now - self._start, 1e-9)
        rate = self._done / passed
        left = (self._total - self._done) / rate if rate else 0.0
        filled = round(_WIDTH * self._done / max(self._total, 1))
        bar = "#" * filled + "." * (_WIDTH - filled)
        return f"[{bar}] {self._done:,}/{self._total:,} cells  {rate:.1f}/s  {_duration(left)} left  {label}"

    def _write(self, line: str) -> None:
        self._stream.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        self._stream.flush()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
