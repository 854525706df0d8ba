"""Which tests reach which line, and how long each takes: a mutant needs only the tests that run its line."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest


@dataclass(frozen=True, slots=True)
class Reach:
    """Attributes
    ----------
    lines
        Tests by file (from ``src``) and line.
    seconds
        Of the processor that each test took, however busy the machine was; tests that failed are absent.
    """

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    def tests(self, file: str, lines: Iterable[int], budget: float) -> list[str]:
        """Tests that run any of the lines, quickest first, as many as fit into ``budget`` seconds.

        Lines that run once, at import, and compiled code are seen in no test: then all tests, as what they
        define (a flag of a class, a constant) is read in others' lines.
        """
        known = self.lines.get(file, {})
        reached = {test for line in lines for test in known.get(line, ())} or set(self.seconds)
        chosen, total = [], 0.0
        for test in sorted(reached & self.seconds.keys(), key=lambda name: (self.seconds[name], name)):
            total += self.seconds[test]
            if total > budget and chosen:
                break
            chosen.append(test)
        return chosen

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"lines": self.lines, "seconds": self.seconds}))

    @classmethod
    def load(cls, path: Path) -> Reach:
        stored = json.loads(path.read_text())
        lines = {
            file: {int(line): tests for line, tests in known.items()}
            for file, known in stored["lines"].items()
        }
        return cls(lines, stored["seconds"])


class Recorder:
    """A plug-in of pytest that notes the lines of ``source`` that each test runs."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self._coverage = coverage.Coverage(
            data_file=None, source=[str(source)], branch=False, config_file=False, messages=False
        )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        before = sum(os.times()[:4])
        yield
        self._coverage.switch_context("")
        if item.nodeid not in self._failed:
            self.seconds[item.nodeid] = sum(os.times()[:4]) - before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._failed.add(report.nodeid)

    def run(self, arguments: list[str]) -> int:
        self._coverage.start()
        try:
            return int(pytest.main(arguments, plugins=[self]))
        finally:
            self._coverage.stop()

    def reach(self) -> Reach:
        data: Any = self._coverage.get_data()
        lines: dict[str, dict[int, list[str]]] = {}
        for file in sorted(data.measured_files()):
            found = data.contexts_by_lineno(file)
            name = Path(file).relative_to(self.source).as_posix()
            lines[name] = {line: sorted(set(tests) - {""}) for line, tests in found.items()}
        return Reach(lines, self.seconds)


def lines_of(source: str, line: int) -> range:
    """Lines from the start of the statement that has ``line`` to that line."""
    inside = [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return range(max(inside, default=line), line + 1)
