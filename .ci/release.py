"""Say what files still lack that docs/releasing.md asks for, and exit with 1 if they lack anything."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ADDRESSES = ("Source", "Documentation", "Issues", "Changelog")


def missing(root: Path) -> Iterator[str]:
    """A sentence for everything that stands in the way."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    urls = project.get("urls", {})
    for name in ADDRESSES:
        if not str(urls.get(name, "")).startswith("https://"):
            yield f"pyproject.toml: [project.urls] needs {name} = 'https://...'"
    if not re.search(r"^repository-code: +\W?https://", _text(root / "CITATION.cff"), re.MULTILINE):
        yield "CITATION.cff: repository-code needs 'https://...'"
    version = re.escape(project["version"])
    first = re.search(r"^## .*$", _text(root / "CHANGELOG.md"), re.MULTILINE)
    if first is None or not re.fullmatch(rf"## {version} - \d{{4}}-\d{{2}}-\d{{2}}", first[0]):
        heading = "nothing" if first is None else f"'{first[0]}'"
        yield f"CHANGELOG.md: begins with {heading}, which must be '## {project['version']} - YYYY-MM-DD'"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    found = list(missing(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
    for sentence in found:
        print(f"not ready: {sentence}", file=sys.stderr)
    sys.exit(1 if found else 0)
