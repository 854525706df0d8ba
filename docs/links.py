"""Check a built site: every link inside it leads somewhere, and no page loads anything from elsewhere.

Usage: python -m docs.links FOLDER
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, where it links to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.anchors.update(value for name, value in found.items() if name in ("id", "name"))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "source", "iframe") and "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon") and "href" in found:
            self.loaded.append(found["href"])


def faults(folder: Path) -> list[str]:
    """A sentence for each link that leads nowhere, and for each thing that is loaded from elsewhere."""
    made = (
        path for path in folder.rglob("*.html") if "_static" not in path.parts
    )  # the theme's are templates
    pages = {path.resolve(): Page(path) for path in made}
    told: list[str] = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        told += [f"{name} loads {address}" for address in page.loaded if urlsplit(address).netloc]
        for address in [*page.links, *page.loaded]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not goal.exists():
                told.append(f"{name} links to {address}, which is not there")
            elif parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].anchors:
                told.append(f"{name} links to {address}, and the page has no such part")
    return sorted(set(told))


if __name__ == "__main__":
    found = faults(Path(sys.argv[1]))
    print("\n".join(found) or "every link inside the site leads somewhere")
    sys.exit(bool(found))
