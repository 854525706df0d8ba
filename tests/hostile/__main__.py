"""``python -m tests.hostile`` counts how the cases of the corpus end, door by door, and exits with 1 if any
ends otherwise than it should.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.hostile.cases import every
from tests.hostile.doors import DOORS, OTHER, REFUSED, RIGHT, TRACEBACK, UNFORESEEN, WRONG, expected


def count() -> int:
    """Print a line for every door, and return how many cases did not end as expected."""
    failed, ends = 0, (RIGHT, REFUSED, WRONG, TRACEBACK, UNFORESEEN, OTHER)
    print("door      cases  " + "  ".join(ends))
    for door, through in DOORS.items():
        found: Counter[str] = Counter()
        for case in every():
            with tempfile.TemporaryDirectory() as folder:
                outcome = through(case, Path(folder))
            found[outcome.partition(":")[0]] += 1
            if outcome != expected(case):
                failed += 1
                print(f"{door}, {case.name}: {outcome}", file=sys.stderr)
        counts = "  ".join(f"{found[end]:{len(end)}}" for end in ends)
        print(f"{door:8}  {found.total():5}  {counts}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(1 if count() else 0)
