"""How far the work is: a bar on a terminal, and a line now and then where there is none.

Work that is done within two seconds says nothing. The time that is left is told if it is more than a minute:
what the steps done so far took, times the steps to come, so it is rough.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kwis import cli
from kwis._text import visible
from kwis.runtime.process import compilation

FIRST_SECONDS = 2.0
"""Where there is no terminal, the first line is said so long after the command began to load."""
NEXT_SECONDS = 30.0
"""And a further one every so often."""
WORTH_TELLING = 60.0
"""The time left is told if it is longer."""

_COMPILING = "compiling, first run only: "
_GLANCE = 0.5  # seconds until it is noticed that functions are compiled

Told = Callable[[int, int, str], None]


@dataclass(slots=True)
class Pace:
    """What is being done since when, and how long the rest will take.

    Functions compiled are counted from the beginning, and from that of the present step.
    """

    what: str
    started: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int = 0
    first: float | None = None
    compiled: int = field(default_factory=lambda: compilation.functions)
    compiled_before: int = field(default_factory=lambda: compilation.functions)
    said: bool = False

    def told(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if self.first is None or total != self.total or done < self.done:  # a new count of steps
            self.first = now
        self.done, self.total, self.what = done, total, what
        self.compiled_before = compilation.functions

    def left(self, now: float) -> float | None:
        """Seconds that the steps to come will take, if they take as long as those done."""
        if self.first is None or self.done < 1 or self.total <= self.done:
            return None
        return (now - self.first) / self.done * (self.total - self.done)

    def line(self) -> str:
        """What is being done, for how long, and how long the rest will take."""
        now = time.monotonic()
        return f"{self.once()}{self.what}, {in_words(now - self.started)} so far{self.remainder()}"

    def once(self) -> str:
        """Why a first run is slow, in one line only."""
        why = _COMPILING if self.has_to_say_why() else ""
        self.said = self.said or bool(why)
        return why

    def has_to_say_why(self) -> bool:
        """Whether functions are compiled and no line has said so."""
        return not self.said and compilation.functions > self.compiled

    def remainder(self) -> str:
        left = self.left(time.monotonic())
        return "" if left is None or left <= WORTH_TELLING else f", about {in_words(left)} left"


def in_words(seconds: float) -> str:
    """A length of time to the unit that matters."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(what: str) -> Iterator[Told]:
    """Something to be told ``(done, total, what)``, which shows it on stderr."""
    pace = Pace(visible(what), started=cli.began)
    with _bar(pace) if sys.stderr is not None and sys.stderr.isatty() else _lines(pace):
        yield pace.told


@contextmanager
def _lines(pace: Pace) -> Iterator[None]:
    """A line after two seconds, one when functions begin to be compiled, and further ones now and then."""
    from kwis.cli.terminal import say

    over = threading.Event()

    def tell() -> None:
        first = due = pace.started + FIRST_SECONDS
        while not over.wait(min(max(0.0, due - time.monotonic()), _GLANCE)):
            now = time.monotonic()
            if now >= due or (now >= first and pace.has_to_say_why()):
                say(f"{pace.line()} ...")
                due = now + NEXT_SECONDS

    teller = threading.Thread(target=tell, daemon=True, name="kwis-progress")
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


@contextmanager
def _bar(pace: Pace) -> Iterator[None]:
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    from kwis.cli.terminal import safe_console

    class What(ProgressColumn):
        """Reads the pace whenever the bar is drawn."""

        def render(self, task: Task) -> Text:
            bar.update(task.id, completed=pace.done, total=pace.total or None)
            compiling = _COMPILING if compilation.functions > pace.compiled_before else ""
            return Text(compiling + visible(pace.what) + pace.remainder())

    bar = Progress(
        What(),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        TextColumn(""),
        console=safe_console(stderr=True),
        transient=True,
    )
    with bar:
        bar.add_task("", total=None)
        yield
