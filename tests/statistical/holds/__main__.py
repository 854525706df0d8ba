"""How well does it hold? Evaluates logs whose truth is known, and says how that went.

run --set tuning|test [--only PATTERN ...] [--logs 200] [--out FILE.jsonl] [--jobs 1] [--alarms] [--largest
ROWS] summary FILE ... [--baseline FILE] [--only PATTERN ...] [--estimators] page FILE ... [--out
docs/how-well-it-holds.md] list [--only PATTERN ...]
"""

import argparse
import sys
from pathlib import Path

from tests.statistical.holds import run as runner
from tests.statistical.holds.summary import estimators_table, lines_of, table

PAGE = Path(__file__).parents[3] / "docs" / "how-well-it-holds.md"


def parser():
    whole = argparse.ArgumentParser(
        prog="python -m tests.statistical.holds",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parts = whole.add_subparsers(dest="command", required=True)
    run = parts.add_parser("run", help="draw and evaluate logs")
    run.add_argument(
        "--set",
        dest="variant",
        choices=("tuning", "test"),
        required=True,
        help="designs to make rules with, or to test them",
    )
    run.add_argument(
        "--logs", type=int, default=200, help="of each regime; a fifth of that where logs are large"
    )
    run.add_argument("--first", type=int, default=0, help="first seed")
    run.add_argument("--out", help="JSON lines, appended; holds-SET.jsonl unless given")
    run.add_argument("--jobs", type=int, default=1, help="processes")
    run.add_argument(
        "--alarms", action="store_true", help="only the tests of the propensities, which are quick"
    )
    run.add_argument("--largest", type=int, default=10**9, help="leave out regimes of more rows")
    summary = parts.add_parser("summary", help="a table of files of records")
    summary.add_argument("--baseline", help="records of another version, shown below each line")
    summary.add_argument("--estimators", action="store_true", help="also the coverage of each estimator")
    page = parts.add_parser("page", help="write the page of the guide")
    page.add_argument("--out", default=str(PAGE))
    for part in (run, summary, parts.add_parser("list", help="names of the regimes")):
        part.add_argument(
            "--only", nargs="*", default=[], help="regimes whose name matches any of these patterns"
        )
    for part in (summary, page):
        part.add_argument("files", nargs="+")
    return whole


def records_in(files, patterns=()):
    names = {regime.name for regime in runner.chosen(patterns, 10**9)}
    return [record for file in files for record in runner.read(file) if record["regime"] in names]


def main(arguments=None):
    given = parser().parse_args(arguments)
    if given.command == "list":
        for regime in runner.chosen(given.only, 10**9):
            print(f"{regime.name:45s} {regime.kind:10s} n {regime.n}")
        return 0
    if given.command == "run":
        out = given.out or f"holds-{given.variant}.jsonl"
        made = {
            "patterns": given.only,
            "logs": given.logs,
            "first": given.first,
            "out": out,
            "jobs": given.jobs,
        }
        return int(runner.run(given.variant, **made, alarms=given.alarms, largest=given.largest) > 0)
    if given.command == "page":
        from tests.statistical.holds.page import written

        lines = lines_of(records_in(given.files))
        page = Path(given.out)
        page.write_text(written(lines, page.read_text() if page.exists() else ""))
        return int(any(line.failed for line in lines))
    lines = lines_of(records_in(given.files, given.only))
    print(table(lines, lines_of(records_in([given.baseline], given.only)) if given.baseline else ()))
    if given.estimators:
        print("\n" + estimators_table(lines))
    return int(any(line.failed for line in lines))


if __name__ == "__main__":
    sys.exit(main())
