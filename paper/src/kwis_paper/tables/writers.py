"""Tables as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from kwis_paper.tables.record import Entry, Line, Table

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "–": "--",
        "−": r"$-$",
        "×": r"$\times$",
        "≤": r"$\leq$",
        "→": r"$\to$",
        "|": r"\textbar{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
)


def as_csv(table: Table) -> str:
    """Numbers in full, words as they are; headings with the group before the name."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings(table))
    for line in table.lines:
        writer.writerow([entry.words if entry.value is None else repr(entry.value) for entry in line.entries])
    return text.getvalue()


def as_markdown(table: Table) -> str:
    """A pipe table with its caption above and its notes below."""
    rows = [
        headings(table),
        ["---"] * len(table.columns),
        *([_markdown(entry) for entry in line.entries] for line in table.lines),
    ]
    body = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    notes = "".join(f"\n\n{note}" for note in table.notes)
    return f"## {table.title}\n\n{table.caption}\n\n{body}{notes}\n"


def as_latex(table: Table) -> str:
    """A ``longtable`` with ``booktabs`` rules; needs those two packages."""
    columns = "l" * len(table.columns)
    head = [] if not any(table.groups) else [_latex_groups(table.groups)]
    names = " & ".join(_latex(name) for name in table.columns) + r" \\"
    lines = [
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{{_latex(table.caption)}}}\label{{tbl:{table.key}}} \\",
        r"\toprule",
        *head,
        names,
        r"\midrule",
        r"\endhead",
        *_latex_body(table.lines),
        r"\bottomrule",
        *(
            rf"\multicolumn{{{len(table.columns)}}}{{l}}{{\footnotesize {_latex(note)}}} \\"
            for note in table.notes
        ),
        r"\end{longtable}",
    ]
    return "\n".join(lines) + "\n"


WRITERS: dict[str, Callable[[Table], str]] = {"csv": as_csv, "md": as_markdown, "tex": as_latex}


def write_all(tables: Iterable[Table], folder: Path, formats: Sequence[str] = tuple(WRITERS)) -> list[Path]:
    """Write every table in every format, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for ending in formats:
            path = folder / f"{table.key}.{ending}"
            path.write_text(WRITERS[ending](table), encoding="utf-8")
            written.append(path)
    return written


def headings(table: Table) -> list[str]:
    """Headings on one line: the group, then the name."""
    groups = table.groups or ("",) * len(table.columns)
    return [f"{group} {name}".strip() for group, name in zip(groups, table.columns, strict=True)]


def _markdown(entry: Entry) -> str:
    words = entry.words.replace("|", "\\|")
    return f"**{words}**" if entry.bold else words


def _latex_body(lines: Sequence[Line]) -> list[str]:
    """Rows with a rule between datasets, as in the paper."""
    blocks = [list(block) for _, block in groupby(lines, key=lambda line: line.dataset)]
    spaced = any(len(block) > 1 for block in blocks)
    rows: list[str] = []
    for place, block in enumerate(blocks):
        rows += [r"\midrule"] if spaced and place else []
        rows += [" & ".join(_latex_entry(entry) for entry in line.entries) + r" \\" for line in block]
    return rows


def _latex_entry(entry: Entry) -> str:
    shown = _latex(entry.words)
    return rf"\textbf{{{shown}}}" if entry.bold else shown


def _latex_groups(groups: Sequence[str]) -> str:
    parts = [(name, len(list(members))) for name, members in groupby(groups)]
    return (
        " & ".join(
            rf"\multicolumn{{{width}}}{{c}}{{{_latex(name)}}}" if name else " & ".join([""] * width)
            for name, width in parts
        )
        + r" \\"
    )


def _latex(words: str) -> str:
    return words.translate(_LATEX)
