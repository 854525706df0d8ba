"""A reader of HTML that notices what a browser would forgive."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "link", "col"}
SHAPES = {"circle", "line", "path", "rect", "polyline", "polygon"}  # may close themselves, or be closed


class Checked(HTMLParser):
    """Elements of a page with their attributes and texts; raises where tags do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[int] = []
        self.names: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.texts: list[str] = []
        self.parents: list[int | None] = []
        self.feed(page)
        self.close()
        assert not self.open, f"left open: {[self.names[i] for i in self.open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in <{tag}>: {attrs}"
        self.parents.append(self.open[-1] if self.open else None)
        self.names.append(tag)
        self.attributes.append(dict(attrs))
        self.texts.append("")
        if tag not in VOID:
            self.open.append(len(self.names) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SHAPES, f"<{tag}/> is no empty element"
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        expected = self.names[self.open.pop()]
        assert tag == expected, f"</{tag}> where </{expected}> was due"

    def handle_data(self, data: str) -> None:
        for place in self.open:
            self.texts[place] += data

    def places(self, name: str) -> list[int]:
        return [place for place, found in enumerate(self.names) if found == name]

    def text_of(self, name: str) -> list[str]:
        return [self.texts[place] for place in self.places(name)]

    def ids(self) -> Counter[str]:
        return Counter(str(found["id"]) for found in self.attributes if "id" in found)
