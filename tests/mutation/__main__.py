"""How many small faults in estimators and intervals do their tests notice?

``python -m tests.mutation --sample 200 --out mutants.jsonl`` draws mutants at random, runs the quick tests of
estimators and intervals against each in a copy of the tree, and writes a line for each. One process at a
time; a mutant that the file already has is not run again, so that a run goes on where it was stopped.
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
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
FOLDERS = ("estimators", "intervals")
PATIENCE = 5  # times the processor time of the tests without a mutant: beyond, one makes them hang
WAIT = 3_600  # seconds, however busy the machine is
COPIED = ("src", "tests", "paper", "pyproject.toml")
TESTS = {
    "estimators": ["tests/estimators", "tests/intervals", "tests/evaluation/test_sharing.py"],
    "intervals": ["tests/intervals", "tests/estimators", "tests/evaluation/test_sharing.py"],
}
LEFT_OUT = ("cluster", "threads")  # they start processes and threads of their own, and add nothing here


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the tests noticed a mutant: "killed", "survived" or "hung", and after how many seconds of the
    processor.
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
    parser.add_argument("--sample", type=int, default=200, help="how many mutants to draw; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--only", default="", help="only mutants whose file:line:column has this in it")
    options = parser.parse_args()
    mutants = _drawn(options.sample, options.seed, options.only)
    known = _known(options.out)
    os.nice(10)
    _preload()
    with tempfile.TemporaryDirectory(prefix="kwis-mutation-") as folder:
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, Path(folder, name))
        allowed = PATIENCE * _seconds_without(mutants, Path(folder))
        for mutant in mutants:
            if _key(mutant) not in known:
                with options.out.open("a") as file:
                    print(_run(mutant, Path(folder), allowed).line(), file=file)
    ends = Counter(_known(options.out)[_key(mutant)] for mutant in mutants)
    noticed = ends["killed"] + ends["hung"]
    print(f"{noticed} of {len(mutants)} mutants noticed ({noticed / len(mutants):.1%}): {dict(ends)}")


def _seconds_without(mutants: list[Mutant], tree: Path) -> float:
    """Processor time of the tests without a mutant; if they fail, every mutant would count as noticed."""
    longest = 0.0
    for folder in {mutant.path.parent.name for mutant in mutants}:
        path = next(mutant.path for mutant in mutants if mutant.path.parent.name == folder)
        unchanged = Mutant(path, 0, 0, "", "", path.read_text(encoding="utf-8"))
        outcome = _run(unchanged, tree, WAIT)
        if outcome.end != "survived":
            raise SystemExit(f"the tests of {folder} fail without a mutant")
        longest = max(longest, outcome.seconds)
    return longest


def _drawn(count: int, seed: int, only: str) -> list[Mutant]:
    every = [
        mutant
        for folder in FOLDERS
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
    import numba  # noqa: F401
    import pytest  # noqa: F401
    import scipy.optimize
    import scipy.stats  # noqa: F401


def _run(mutant: Mutant, tree: Path, allowed: float) -> Outcome:
    """Run the tests against a mutant in a fork, in the copied tree, for so many seconds of the processor."""
    path = tree / mutant.path.relative_to(ROOT)
    original = path.read_text()
    path.write_text(mutant.source)
    before = _processor_time()
    try:
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(allowed), math.ceil(allowed) + 5))
            _test(mutant, tree)
        end = _ending(child)
    finally:
        path.write_text(original)
    return Outcome(mutant, end, _processor_time() - before)


def _processor_time() -> float:
    """Of all forks that have ended; unlike the clock it does not depend on what else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _test(mutant: Mutant, tree: Path) -> None:
    """In the fork: leave with 0 if every test passes. Never returns."""
    import pytest

    os.setsid()
    os.chdir(tree)
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    sys.dont_write_bytecode = True  # a mutant of the same length and second would pass for the one before
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["PYTHONPATH"] = f"{tree / 'src'}:{tree / 'paper' / 'src'}"
    sys.path[:] = [str(tree), str(tree / "src"), str(tree / "paper" / "src"), *sys.path[1:]]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("kwis", "tests")]:
        del sys.modules[name]
    chosen = " and ".join(f"not {word}" for word in LEFT_OUT)
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", "-k", chosen]
    code = 1
    try:
        code = pytest.main([*arguments, *TESTS[mutant.path.parent.name]])
    finally:
        os._exit(int(code))


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
