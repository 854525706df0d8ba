"""Coverage-guided fuzzing of the readers of files; what was found to reach new lines is kept.

``python -m tests.data.read.fuzz --tries 2000`` damages files of each format again and again. A damaged file
that makes a reader run lines that no file before has run joins the corpus in ``tests/data/read/corpus``, from
which later ones are made. Anything but a log or a :class:`kwis.KwisError` is a fault, and ends the run.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tests.data.read import example as ex

CORPUS = Path(__file__).parent / "corpus"
LARGEST = 6_000  # bytes of a file in the corpus
TOKENS = (
    *(
        b",",
        b";",
        b"\t",
        b"|",
        b'"',
        b"'",
        b"\n",
        b"\r\n",
        b"\r",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"{",
        b"}",
    ),
    *(b"[", b"]", b":", b"null", b"NaN", b"inf", b"-1", b"1e999", b"0", b"00012", b"99999999999999999999"),
    *(
        b"true",
        b"unknown",
        b"1,5",
        b"$3",
        b"2024-02-31",
        b"\x1b[31m",
        b"PAR1",
        b"\\ud800",
        b"reward",
        b"action",
    ),
    *(b'"_label_cost"', b'"a"', b'"p"', b'"_p"', b'"c"', b'"_multi"'),
)
ROLES = {"action": "action", "reward": "reward", "propensity": "propensity"}
FORMATS = {".csv": ROLES, ".jsonl": ROLES, ".json": ROLES, ".parquet": ROLES, ".dsjson": {}, ".pred": {}}


def seeds(folder: Path) -> dict[str, list[bytes]]:
    """A sound file of each format."""
    table = ex.example(12)
    plain = {
        suffix: ex.write_with_duckdb(table, folder / f"log{suffix}")
        for suffix in (".csv", ".jsonl", ".parquet")
    }
    plain[".dsjson"] = ex.write_dsjson(table, folder / "log.dsjson")
    found = {suffix: [path.read_bytes()] for suffix, path in plain.items()}
    lines = found[".jsonl"][0].strip().splitlines()
    found[".json"] = [b"[" + b",".join(lines) + b"]"]
    found[".pred"] = [b"0:0.5,2:0.25,1:0.25 tag\n\n" * 36, b"0.5 0.25 0.25\n" * 36, b"3 tag\n" * 36]
    return found


def corpus() -> list[Path]:
    return sorted(path for path in CORPUS.iterdir() if path.suffix in FORMATS)


def damaged(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """The data with one to four changes: bytes changed, dropped or repeated, a token, another file's end."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        start = rng.randrange(len(data) + 1)
        stop = min(len(data), start + rng.choice([0, 1, 1, 2, 8, 64]))
        match rng.randrange(5):
            case 0:
                data = data[:start] + bytes([rng.randrange(256)]) + data[start + 1 :]
            case 1:
                data = data[:start] + data[stop:]
            case 2:
                data = data[:stop] + data[start:stop] + data[stop:]
            case 3:
                data = data[:start] + rng.choice(TOKENS) + data[rng.choice([start, stop]) :]
            case 4:
                other = rng.choice(others)
                data = data[:start] + other[rng.randrange(len(other) + 1) :]
    return data[:LARGEST] or b"\n"


@contextmanager
def lines_run(folder: str) -> Iterator[set[tuple[str, int]]]:
    """The lines of the files below ``folder`` that run within."""
    seen: set[tuple[str, int]] = set()

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        return local if folder in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield seen
    finally:
        sys.settrace(before)


def fuzz(
    suffix: str, files: list[bytes], read: Callable[..., None], folder: Path, *, tries: int, seed: int
) -> list[bytes]:
    """Files that were found to reach new lines, after so many tries."""
    rng, known, found = random.Random(f"{seed} {suffix}"), set[tuple[str, int]](), list(files)
    path = folder / f"fuzz{suffix}"

    def is_new(data: bytes) -> bool:
        path.write_bytes(data)
        with lines_run("/kwis/data/") as seen:
            try:
                read(path, **FORMATS[suffix])
            except Exception as trouble:
                kept = CORPUS / f"fault-{_name(data)}{suffix}"
                kept.write_bytes(data)
                raise AssertionError(f"{kept.name} is neither read nor refused") from trouble
        new = not seen <= known
        known.update(seen)
        return new

    for data in files:
        is_new(data)
    for _ in range(tries):
        data = damaged(rng.choice(found), found, rng)
        if is_new(data):
            found.append(data)
    return found[len(files) :]


def _name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def main() -> None:
    from tests.data.read.test_fuzz import read_or_refuse

    parser = argparse.ArgumentParser(prog="python -m tests.data.read.fuzz", description=__doc__)
    parser.add_argument("--tries", type=int, default=2_000, help="damaged files of each format")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    CORPUS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        sound = seeds(Path(folder))
        for suffix in FORMATS:
            files = sound[suffix] + [path.read_bytes() for path in corpus() if path.suffix == suffix]
            found = fuzz(suffix, files, read_or_refuse, Path(folder), tries=options.tries, seed=options.seed)
            for data in found:
                (CORPUS / f"{_name(data)}{suffix}").write_bytes(data)
            print(f"{suffix}: {len(found)} files reach lines that none before did", flush=True)


if __name__ == "__main__":
    main()
