"""How many small faults in estimators, intervals and readers do the tests notice?

``python -m tests.mutation --out mutants.jsonl`` draws mutants by a seed, runs against each the quick
tests that reach its line in a copy of the tree, and writes a line for each. One process at a time; a mutant
that the file already has is not run again, so that a run goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.reach import Reach, Recorder, lines_of

ROOT = Path(__file__).parents[2]
PATIENCE = 5  # times the processor time that the tests of a mutant should take: beyond, it makes them hang
LEAST_PATIENCE = 60.0  # seconds of the processor, for a mutant with few tests
BUDGET = 60.0  # seconds of tests for a mutant, quickest first; a survivor can be tried again with more
WAIT = 3_600  # seconds, however busy the machine is
COPIED = ("src", "tests", "paper", "pyproject.toml", "README.md")
LEFT_OUT = ("cluster", "threads")  # they start processes and threads of their own, and add nothing here


@dataclass(frozen=True, slots=True)
class Part:
    """Files whose mutants are drawn, and the folders of tests that should notice them."""

    name: str
    folders: tuple[str, ...]
    tests: tuple[str, ...]
    sample: int


PARTS = (
    Part(
        "estimators and intervals",
        ("estimators", "intervals"),
        ("tests/estimators", "tests/intervals"),
        200,
    ),
    Part(
        "readers",
        ("data/read",),
        (
            "tests/data",
            "tests/hostile",
            "tests/everyday",
            "tests/policy/test_simple.py",
            "tests/evaluation/test_watch.py",
        ),
        100,
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the tests noticed a mutant: "killed", "survived" or "hung", and after how many seconds of the
    processor; "unreached" if no test runs its line.
    """

    mutant: Mutant
    end: str
    seconds: float

    def line(self) -> str:
        return json.dumps(
            {
                "at": _name(self.mutant),
                "before": self.mutant.before,
                "after": self.mutant.after,
                "end": self.end,
                "seconds": round(self.seconds, 1),
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--part", choices=[part.name for part in PARTS], help="only these files")
    parser.add_argument("--sample", type=int, help="how many mutants to draw in each part; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of tests for a mutant")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--only", default="", help="only mutants whose file:line:column has this in it")
    options = parser.parse_args()
    _preload()
    for part in PARTS:
        if options.part in (None, part.name):
            _run_part(part, options)


def _run_part(part: Part, options: argparse.Namespace) -> None:
    count = part.sample if options.sample is None else options.sample
    mutants = _drawn(part, count, options.seed, options.only)
    with tempfile.TemporaryDirectory(prefix="kwis-mutation-") as folder:
        tree = Path(folder)
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, tree / name)
        reach = _reach(part, tree)
        for mutant in mutants:
            if _key(mutant) not in _known(options.out):
                outcome = _run(mutant, tree, reach, options.budget)
                with options.out.open("a") as file:
                    print(outcome.line(), file=file)
    known = _known(options.out)
    ends = Counter(known[_key(mutant)] for mutant in mutants)
    noticed = ends["killed"] + ends["hung"]
    share = noticed / len(mutants)
    print(f"{part.name}: {noticed} of {len(mutants)} mutants noticed ({share:.1%}): {dict(ends)}")


def _drawn(part: Part, count: int, seed: int, only: str) -> list[Mutant]:
    every = [
        mutant
        for folder in part.folders
        for path in sorted((ROOT / "src" / "kwis" / folder).glob("*.py"))
        for mutant in mutants_of(path)
        if only in _name(mutant)
    ]
    return random.Random(seed).sample(every, min(count, len(every))) if count else every


def _name(mutant: Mutant) -> str:
    return f"{mutant.path.relative_to(ROOT).as_posix()}:{mutant.line}:{mutant.column}"


def _key(mutant: Mutant) -> tuple[str, str, str]:
    return _name(mutant), mutant.before, mutant.after


def _known(out: Path) -> dict[tuple[str, str, str], str]:
    if not out.exists():
        return {}
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    return {(line["at"], line["before"], line["after"]): line["end"] for line in lines}


def _preload() -> None:
    """Load what every run needs, so that a fork has it: all but the library itself and plug-ins of pytest."""
    import duckdb  # noqa: F401
    import numba  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import pytest  # noqa: F401
    import scipy.optimize
    import scipy.stats  # noqa: F401


def _reach(part: Part, tree: Path) -> Reach:
    """Which tests reach which line, from a run of all of them without a mutant."""
    stored = tree / "reach.json"

    def record() -> int:
        recorder = Recorder(tree / "src")
        code = recorder.run([*_arguments(), *part.tests])
        recorder.reach().save(stored)
        return code

    if _ending(_fork(tree, record)) != "survived":
        raise SystemExit(f"the tests of {part.name} fail without a mutant")
    return Reach.load(stored)


def _run(mutant: Mutant, tree: Path, reach: Reach, budget: float) -> Outcome:
    """Run the tests that reach a mutant in a fork, in the copied tree."""
    path = tree / mutant.path.relative_to(ROOT)
    original = path.read_text()
    file = path.relative_to(tree / "src").as_posix()
    tests = reach.tests(file, lines_of(original, mutant.line), budget)
    if not tests:
        return Outcome(mutant, "unreached", 0.0)
    allowed = math.ceil(max(LEAST_PATIENCE, PATIENCE * sum(reach.seconds[test] for test in tests)))

    def test() -> int:
        import pytest

        # Bytecode is of the run without a mutant: one of the same length and second would pass for another.
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed + 5))
        return int(pytest.main(["-x", *_arguments(), *tests]))

    path.write_text(mutant.source(original))
    before = _processor_time()
    try:
        end = _ending(_fork(tree, test))
    finally:
        path.write_text(original)
    return Outcome(mutant, end, _processor_time() - before)


def _arguments() -> list[str]:
    chosen = " and ".join(f"not {word}" for word in LEFT_OUT)
    return ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "-m", "not slow", "-k", chosen]


def _processor_time() -> float:
    """Of all forks that have ended; unlike the clock it does not depend on what else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _fork(tree: Path, work: Callable[[], int]) -> int:
    """Start a process in the copied tree that leaves with the code that ``work`` returns."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setsid()
        os.chdir(tree)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.environ["PYTHONPATH"] = f"{tree / 'src'}:{tree / 'paper' / 'src'}"
        sys.path[:] = [str(tree), str(tree / "src"), str(tree / "paper" / "src"), *sys.path[1:]]
        for name in [name for name in sys.modules if name.partition(".")[0] in ("kwis", "tests")]:
            del sys.modules[name]
        code = work()
    finally:
        os._exit(code)


def _ending(child: int) -> str:
    """How a fork ended; "undecided" if it still waits after an hour, which says nothing about the tests."""
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            code = os.waitstatus_to_exitcode(status)
            return "survived" if code == 0 else "hung" if code == -signal.SIGXCPU else "killed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "undecided"


if __name__ == "__main__":
    main()
