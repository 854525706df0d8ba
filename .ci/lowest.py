"""Print constraints that pin every requirement of both packages to the lowest version it allows.

All but those of the extra ``dev``: what reads the sources only is run in its newest version.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^]]*\])?>=(?P<lowest>[0-9.]+)")


def lowest() -> dict[str, str]:
    """Lowest version by name; a requirement in any other form is an error."""
    found: dict[str, str] = {}
    for path in (ROOT / "pyproject.toml", ROOT / "paper" / "pyproject.toml"):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        extras = project.get("optional-dependencies", {})
        needed = [each for name, extra in extras.items() if name != "dev" for each in extra]
        for requirement in [*project["dependencies"], *needed]:
            match = REQUIREMENT.fullmatch(requirement)
            if match is not None:
                if found.setdefault(match["name"], match["lowest"]) != match["lowest"]:
                    sys.exit(f"{match['name']} has two lowest versions")
            elif not requirement.startswith("kwis"):
                sys.exit(f"{requirement!r} in {path} has no lowest version")
    return found


if __name__ == "__main__":
    print(*(f"{name}=={version}" for name, version in sorted(lowest().items())), sep="\n")
