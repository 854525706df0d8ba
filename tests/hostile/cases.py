"""The corpus: hostile logs, each with the outcome that every door must give it.

A case is a table or the bytes of a file, and either the number that comes out or the sentence that refuses
it. Cases are made here by rules, so that a new odd name or value is one more entry in a list. ``python -m
tests.hostile.cases FOLDER`` writes them out.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.example import columns, write_csv
from tests.hostile import values

ROWS = 60
SOUND = columns(ROWS)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One hostile log.

    Attributes
    ----------
    table
        Its columns, given to every door: as CSV, as a mapping, as Parquet.
    content, file
        Or else the bytes of a file and its name, which Python and the command line read.
    refused
        Part of the sentence that refuses it; None: its value by WIS is that of ``truth``.
    """

    name: str
    table: dict[str, list[Any]] | None = None
    content: bytes | None = None
    file: str = "log.csv"
    context: Sequence[str] = ("age", "country")
    target: str = "p_new"
    refused: str | None = None
    truth: dict[str, list[Any]] = field(default_factory=lambda: SOUND)

    @property
    def value(self) -> float:
        """WIS, by hand."""
        rows = zip(self.truth[self.target], self.truth["propensity"], self.truth["reward"], strict=True)
        terms = [(float(target) / float(propensity), float(reward)) for target, propensity, reward in rows]
        return sum(weight * reward for weight, reward in terms) / sum(weight for weight, _ in terms)

    def write(self, folder: Path) -> Path:
        if self.table is not None:
            return write_csv(folder / self.file, self.table)
        assert self.content is not None
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content)
        return path


def every() -> Iterator[Case]:
    """All cases."""
    yield from _names_of_columns()
    yield from _names_of_files()
    yield from _categories()
    yield from _actions()
    yield from _cells()
    yield from _files()
    yield from _rules_of_readers()
    yield from _odd_csv()
    yield from _odd_json()


def _replaced(name: str, row: int, value: Any) -> dict[str, list[Any]]:
    return {**SOUND, name: [value if i == row else entry for i, entry in enumerate(SOUND[name])]}


def _named(old: str, new: str) -> dict[str, list[Any]]:
    return {new if name == old else name: entries for name, entries in SOUND.items()}


def _names_of_columns() -> Iterator[Case]:
    for label, name in values.NAMES.items():
        yield Case(name=f"context called {label}", table=_named("country", name), context=("age", name))
        yield Case(
            name=f"target called {label}",
            table=_named("p_new", name),
            target=name,
            truth={**SOUND, name: SOUND["p_new"]},
        )


def _names_of_files() -> Iterator[Case]:
    content = _csv(SOUND)
    for label, name in values.FILES.items():
        yield Case(name=f"file called {label}", content=content, file=name)


def _categories() -> Iterator[Case]:
    for label, value in values.TEXTS.items():
        yield Case(name=f"category {label}", table=_replaced("country", 17, value))
        yield Case(name=f"categories all {label}", table={**SOUND, "country": [value, "other"] * (ROWS // 2)})


def _actions() -> Iterator[Case]:
    for label, value in values.TEXTS.items():
        if value.strip():
            yield Case(
                name=f"action {label}",
                table={**SOUND, "action": [value if a == "push" else a for a in SOUND["action"]]},
            )


def _cells() -> Iterator[Case]:
    for column, role in (("reward", "`reward`"), ("propensity", "`propensity`"), ("p_new", "`p_new`")):
        for label, value in values.NO_NUMBERS.items():
            yield Case(name=f"{column} is {label}", table=_replaced(column, 17, value), refused=role)
    for column in ("propensity", "p_new"):
        for value in (-0.25, 1.5, 1e300):
            yield Case(name=f"{column} is {value}", table=_replaced(column, 17, value), refused=f"`{column}`")
    yield Case(name="propensity is 0", table=_replaced("propensity", 17, 0), refused="`propensity`")
    yield Case(name="reward is 1e200", table=_replaced("reward", 17, 1e200), refused="`reward`")
    for label, value in {"inf": float("inf"), "-inf": float("-inf")}.items():
        yield Case(name=f"context is {label}", table=_replaced("age", 17, value), refused="`age`")
    yield Case(
        name="one action",
        table={**SOUND, "action": ["push"] * ROWS},
        refused="at least two different actions",
    )
    yield Case(
        name="no propensity left to chance",
        table={**SOUND, "propensity": [1.0] * ROWS},
        refused="left nothing to chance",
    )
    yield Case(name="no rows", table={name: [] for name in SOUND}, refused="must have rows")


def _files() -> Iterator[Case]:
    text = _csv(SOUND)
    header, _, rest = text.partition(b"\n")
    yield Case(name="byte order mark", content=b"\xef\xbb\xbf" + text)
    yield Case(name="line feeds alone", content=text.replace(b"\r\n", b"\n"))
    yield Case(name="no line break at the end", content=text.rstrip())
    yield Case(name="compressed", content=gzip.compress(text), file="log.csv.gz")
    refused = {
        "empty": (b"", "log.csv", "is empty"),
        "a line break": (b"\n", "log.csv", "log.csv"),
        "carriage returns alone": (text.replace(b"\r\n", b"\r"), "log.csv", "carriage return"),
        "utf-16": (text.decode().encode("utf-16"), "log.csv", "log.csv"),
        "latin-1": (text.replace(b"BR", b"Espa\xf1a"), "log.csv", "UTF-8"),
        "nul bytes": (text.replace(b"BR", b"B\x00R", 1)[:400] + b"\x00" * 50, "log.csv", "log.csv"),
        "a cell too many": (text + b"1," * 30 + b"\r\n", "log.csv", "cells in every row"),
        "a cell too few": (text + b"push,1\r\n", "log.csv", "cells in every row"),
        "a column twice": (header.replace(b"country", b"age") + b"\n" + rest, "log.csv", "'age' twice"),
        "a cut gzip": (gzip.compress(text)[:-300], "log.csv.gz", "log.csv.gz"),
        "no gzip": (text, "log.csv.gz", "log.csv.gz"),
        "no parquet": (text, "log.parquet", "log.parquet"),
        "cut parquet": (b"PAR1" + b"\x00" * 500, "log.parquet", "log.parquet"),
        "parquet of two marks": (b"PAR1PAR1", "log.parquet", "log.parquet"),
        "csv as json": (text, "log.jsonl", "log.jsonl"),
        "empty json": (b"", "log.jsonl", "is empty"),
        "json of a number": (b"1\n2\n", "log.jsonl", ""),
        "json of text": (b'"a"\n"b"\n', "log.jsonl", ""),
        "json without rows": (b"[]", "log.json", ""),
        "json cut in a row": (b'{"action": 1}\n{"action": ', "log.jsonl", "log.jsonl"),
        "deep json lines": (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "log.jsonl", "log.jsonl"),
        "a deep json array": (b"[" * 100_000 + b"]" * 100_000, "log.json", "log.json"),
        "deep dsjson": (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "log.dsjson", "log.dsjson"),
        "random bytes": (bytes((37 * i * i + 11 * i) % 256 for i in range(5000)), "log.csv", "log.csv"),
        "random bytes as a database": (
            bytes((37 * i * i + 11 * i) % 256 for i in range(5000)),
            "log.duckdb",
            "log.duckdb",
        ),
        "a header of fifty thousand names": (
            b",".join(b"c%d" % i for i in range(50_000)) + b"\n",
            "log.csv",
            "log.csv",
        ),
        "a header of a million letters": (b"x" * 1_000_000 + b",action\n1,2\n", "log.csv", "log.csv"),
    }
    for name, (content, file, sentence) in refused.items():
        yield Case(name=name, content=content, file=file, refused=sentence)


def _rules_of_readers() -> Iterator[Case]:
    """Mixtures and likenesses that a reader could take for something else."""
    for label, value in {
        "unknown": "unknown",
        "decimal comma": "44,5",
        "thousands": "1,044",
        "currency": "$44",
        "a dash": "-",
        "a gap with a blank": "NA ",
        "an error of a spreadsheet": "#N/A",
        "a narrow blank": "1\u202f044",
        "a blank inside": "4 4",
        "digits of another script": "\u0663\u0664",
        "a date": "2024-01-01",
        "a fraction": "1/2",
    }.items():
        yield Case(
            name=f"{label} among numbers",
            table=_replaced("age", 17, value),
            refused=(
                f"`age` (context) must hold numbers in every row, as it does in nearly all, got "
                f"{value!r} at row 17"
            ),
        )
    table = {**SOUND, "Country": SOUND["country"]}
    yield Case(name="names that differ in case only", table=table, refused="Country")
    long = {
        "push": 9_007_199_254_740_993_001,
        "email": 9_007_199_254_740_993_002,
        "banner": 9_007_199_254_740_993_003,
    }
    table = {
        **SOUND,
        "action": [long[a] for a in SOUND["action"]],
        "user": [9_007_199_254_740_993_000 + i for i in range(ROWS)],
    }
    yield Case(name="actions of nineteen digits", table=table)


def _odd_csv() -> Iterator[Case]:
    """What programs and people do to CSV files on their way."""
    text = _csv(SOUND)
    header, _, rest = text.partition(b"\n")
    numbered = b"".join(b"%d," % i + line for i, line in enumerate(text.splitlines(keepends=True)))
    sound = {
        "gzip of two members": gzip.compress(header + b"\n") + gzip.compress(rest),
        "a comma at the end of every line": text.replace(b"\r\n", b",\r\n"),
        "names with blanks around them": header.replace(b",", b" , ") + b"\n" + rest,
        "blank lines between": text.replace(b"\r\n", b"\r\n\r\n"),
        "a column of numbers without a name": numbered.removeprefix(b"0"),
    }
    for name, content in sound.items():
        yield Case(name=name, content=content, file="log.csv.gz" if "gzip" in name else "log.csv")
    yield Case(
        name="line breaks and quotation marks in categories",
        table={**SOUND, "country": [f'{country}\n"x",1' for country in SOUND["country"]]},
    )
    refused = {
        "gzip with more behind it": (gzip.compress(text) + b"more", "damaged"),
        "the header again in the middle": (text + text, "got 'propensity' at row 60"),
        "a comment before the header": (b"# a comment\n" + text, "log.csv"),
        "the end mark of another system": (text + b"\x1a", "too few cells at row 60"),
        "a cell of two megabytes": (text.replace(b"BR", b"x" * 2_000_000, 1), "too long"),
    }
    for name, (content, sentence) in refused.items():
        file = "log.csv.gz" if "gzip" in name else "log.csv"
        yield Case(name=name, content=content, file=file, refused=sentence)


def _odd_json() -> Iterator[Case]:
    """JSON that means several things, or none."""
    rows = [dict(zip(SOUND, row, strict=True)) for row in zip(*SOUND.values(), strict=True)]
    text = "\n".join(map(json.dumps, rows))
    yield Case(
        name="objects over several lines",
        content="\n".join(json.dumps(row, indent=1) for row in rows).encode(),
        file="log.jsonl",
    )
    yield Case(
        name="a zero byte in text", content=text.replace('"BR"', '"B\\u0000R"').encode(), file="log.jsonl"
    )
    refused = {
        "a key twice": (text.replace("{", '{"reward": 7, '), "log.jsonl"),
        "a number beyond all numbers": (text.replace('"age": ', '"age": 1e400, "years": ', 1), "`age`"),
        "half a sign": (text.replace('"BR"', '"\\ud800"'), "log.jsonl"),
        "a dotted key beside a nested one": (
            text.replace("{", '{"a.b": 1, "a": {"b": 2}, '),
            "'a.b' twice",
        ),
        "a key in another case in some rows": (text.replace('"age"', '"Age"', 30), "case, got"),
        "lists of columns": (json.dumps(SOUND), "`action` holds none of these"),
        "objects of 50,000 levels": (text + "\n" + '{"a":' * 50_000 + "1" + "}" * 50_000, "127 levels"),
    }
    for name, (content, sentence) in refused.items():
        yield Case(name=name, content=content.encode(), file="log.jsonl", refused=sentence)


def _csv(table: dict[str, list[Any]]) -> bytes:
    import csv
    import io

    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


if __name__ == "__main__":
    for number, case in enumerate(every()):
        folder = Path(sys.argv[1]) / f"{number:03}"
        folder.mkdir(parents=True)
        case.write(folder)
        (folder / "expected.txt").write_text(f"{case.name}\n{case.refused or case.value}\n")
