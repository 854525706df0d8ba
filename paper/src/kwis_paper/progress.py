"""How far a run has come, on one line that rewrites itself in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

_EVERY = 0.2  # seconds between updates in a terminal
_EVERY_PLAIN = 30.0  # and in a file or pipe, where lines pile up
_WIDTH = 28
_LEAST = 0.01  # share of the work below which no time is foretold


class Progress:
    """Counts finished cells and says how fast they come and how long the rest will take.

    Parameters
    ----------
    total
        Cells to come.
    work
        What they cost together, in any unit; time left is told by work done, as bandwidths of many cells
        come first and cells of large datasets last. Without it all cells cost the same.
    """

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        work: float = 0.0,
    ) -> None:
        self._total = total
        self._work = work or float(total)
        self._by_cell = not work
        self._stream = stream or sys.stderr
        self._clock = clock
        self._start = self._last = clock()
        self._done = 0
        self._worked = 0.0
        self._live = self._stream.isatty()

    def advance(self, cells: int, label: str, work: float = 0.0) -> None:
        """Count finished cells, or work on the way to them, and show it now and then."""
        self._done += cells
        self._worked += cells if self._by_cell else work
        now = self._clock()
        if now - self._last >= (_EVERY if self._live else _EVERY_PLAIN) or (
            cells and self._done >= self._total
        ):
            self._last = now
            self._write(self._line(now, label))

    def close(self) -> None:
        """Leave the last state on a line of its own."""
        if self._live and self._done:
            self._stream.write("\n")

    def _line(self, now: float, label: str) -> str:
        passed = max(now - self._start, 1e-9)
        done = min(self._worked / self._work, 1.0) if self._work else 1.0
        left = f"{_duration(passed * (1 - done) / done)} left" if done >= _LEAST else "time left unknown yet"
        filled = round(_WIDTH * self._done / max(self._total, 1))
        bar = "#" * filled + "." * (_WIDTH - filled)
        rate = self._done / passed
        return f"[{bar}] {self._done:,}/{self._total:,} cells  {rate:.1f}/s  {left}  {label}"

    def _write(self, line: str) -> None:
        self._stream.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        self._stream.flush()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
