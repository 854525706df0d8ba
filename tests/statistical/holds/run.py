"""Draw logs, evaluate them, and append what came of each to a file of JSON lines; what is there already is
skipped.
"""

import fnmatch
import json
import multiprocessing
import time
import traceback
from pathlib import Path

from tests.statistical.holds.record import alarms_of, records_of
from tests.statistical.holds.regimes import all_regimes
from tests.statistical.holds.world import World

FEWER = 5  # large logs are so many times as few
_worlds, _oracle = {}, {}


def chosen(patterns, largest):
    """Regimes by name: any of several patterns, a part of the name being enough."""
    regimes = all_regimes().values()
    return [
        regime
        for regime in regimes
        if regime.n <= largest
        and (not patterns or any(fnmatch.fnmatch(regime.name, f"*{pattern}*") for pattern in patterns))
    ]


def read(path):
    """The records of a file; a last line that was cut off when a run was killed does not count."""
    found = []
    for line in Path(path).read_text().splitlines() if Path(path).exists() else ():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def outcome(job):
    """The records of one log, or one that says why there are none."""
    regime, variant, seed, alarms = job
    key = (regime.name, variant)
    try:
        if key not in _worlds:
            _worlds.clear()  # the truth of one regime at a time
            _worlds[key] = World(regime, variant)
        return alarms_of(_worlds[key], seed) if alarms else records_of(_worlds[key], seed, _oracle)
    except Exception as trouble:
        said = f"{type(trouble).__name__}: {trouble}"
        return [
            {
                "regime": regime.name,
                "variant": variant,
                "seed": seed,
                "error": said,
                "traceback": traceback.format_exc(),
            }
        ]


def run(variant, *, patterns=(), logs=200, first=0, out, jobs=1, alarms=False, largest=10**9):
    """Everything that is still missing; returns how many logs failed."""
    done = {(one["regime"], one["variant"], one["seed"]) for one in read(out) if "error" not in one}
    wanted = [
        (regime, variant, seed, alarms)
        for regime in chosen(patterns, largest)
        if not (regime.given == "none" or regime.kind == "trained" if alarms else regime.tests_only)
        for seed in range(first, first + max(logs // FEWER if regime.few else logs, 1))
        if (regime.name, variant, seed) not in done
    ]
    print(f"{len(wanted)} logs to do, {len(done)} in {out}", flush=True)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    failed, started, shown = 0, time.monotonic(), 0.0
    with open(out, "ab", buffering=0) as file, _pool(jobs) as results:
        if Path(out).stat().st_size and not Path(out).read_bytes().endswith(b"\n"):
            file.write(b"\n")
        for count, (job, records) in enumerate(results(wanted), start=1):
            file.write(
                "".join(json.dumps(record) + "\n" for record in records).encode()
            )  # all of a log at once
            if "error" in records[0]:
                failed += 1
                print(f"FAILED {job[0].name}, seed {job[2]}: {records[0]['error']}", flush=True)
            spent = time.monotonic() - started
            if spent - shown > 15 or count == len(wanted):
                shown = spent
                left = spent / count * (len(wanted) - count)
                print(
                    f"{count}/{len(wanted)} {job[0].name}: {spent / 60:.1f} min, about {left / 60:.0f} min "
                    f"left, {failed} failed",
                    flush=True,
                )
    return failed


class _pool:  # noqa: N801 - a context manager
    """One process, or several, that yield jobs with their records in order."""

    def __init__(self, jobs):
        self.workers = None if jobs == 1 else multiprocessing.get_context("spawn").Pool(jobs)

    def __enter__(self):
        if self.workers is None:
            return lambda wanted: ((job, outcome(job)) for job in wanted)
        return lambda wanted: zip(wanted, self.workers.imap(outcome, wanted, chunksize=10), strict=True)

    def __exit__(self, *trouble):
        if self.workers is not None:
            self.workers.terminate()
