"""A drawing area and the few strokes every figure is made of.

Colours, fonts and dashes are classes of the page's style sheet, so that one drawing serves light, dark and
print. Marks carry their words as a ``title`` element, which browsers show on hover and the page's script
turns into a tooltip.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kwis.report.charts.axes import Scale
from kwis.report.markup import Markup, Node, clean, coordinate, element, joined

LETTER = 0.61  # width of a common letter or digit in the widest of the usual fonts, in font sizes
BOLD = 1.13  # how much wider bold letters are
_SLIM, _BROAD = frozenset(" .,:;'|!()[]-ijltfr/"), frozenset("mwMW@%…—")
FONT = 13.0
SMALL = 12.0
_TICKS = 5  # of a vertical axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """Rectangle of pixels in which ``x`` and ``y`` are drawn, within a picture of ``width`` by ``height``."""

    width: float
    height: float
    x: Scale
    y: Scale
    left: float = 48.0
    right: float = 12.0
    top: float = 12.0
    bottom: float = 44.0

    def across(self, value: float) -> float:
        return self.left + self.x.share(value) * (self.width - self.left - self.right)

    def down(self, value: float) -> float:
        return self.height - self.bottom - self.y.share(value) * (self.height - self.top - self.bottom)

    @property
    def floor(self) -> float:
        return self.height - self.bottom

    @property
    def end(self) -> float:
        return self.width - self.right


def picture(
    key: str, width: float, height: float, title: str, description: str, nodes: Iterable[Node]
) -> Markup:
    """A complete drawing with its accessible name and description; ``key`` must be unique on the page."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", description, id=f"{key}-desc"),
        *nodes,
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
        viewbox=f"0 0 {coordinate(width)} {coordinate(height)}",
        width=width,
        height=height,
    )


def text(
    x: float, y: float, words: str, *, anchor: str = "start", look: str = "label", full: str | None = None
) -> Markup:
    """Words at a place; ``full`` is shown on hover where ``words`` had to be cut."""
    hint = element("title", full) if full is not None and full != words else None
    return element(
        "text", hint, words, x=x, y=y, text_anchor=None if anchor == "start" else anchor, class_=f"k-{look}"
    )


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=f"k-{look}")


def path(points: Sequence[tuple[float, float]], look: str) -> Markup:
    return element("path", d=_through(points), class_=f"k-{look}")


def band(xs: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> Markup:
    """Area between two curves, in pixels."""
    outline = [*zip(xs, highs, strict=True), *zip(reversed(xs), reversed(lows), strict=True)]
    return element("path", d=f"{_through(outline)}Z", class_="k-band")


def bar(x: float, y: float, width: float, height: float, look: str) -> Markup:
    return element("rect", x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), class_=f"k-{look}")


def dot(x: float, y: float, look: str = "dot", radius: float = 4.0) -> Markup:
    return element("circle", cx=x, cy=y, r=radius, class_=f"k-{look}")


def hover(hint: str, nodes: Iterable[Node], x: float, y: float, width: float, height: float) -> Markup:
    """Marks with a hint, shown anywhere over a rectangle large enough for a finger."""
    return element("g", element("title", hint), bar(x, y, width, height, "hit"), *nodes, class_="k-mark")


def horizontal_axis(canvas: Canvas, label: str, *, grid: bool = True) -> Markup:
    """Ticks along the bottom, thin lines upwards, and the name of the axis below."""
    room = canvas.end - canvas.left
    nodes: list[Node] = []
    for value, shown in canvas.x.tick_labels(max(4, int(room // 90))):
        x = canvas.across(value)
        if grid:
            nodes.append(line(x, canvas.top, x, canvas.floor, "grid"))
        nodes.append(text(x, canvas.floor + 18, shown, anchor="middle", look="tick"))
    nodes.append(below_axis(canvas, label))
    return joined(nodes)


def below_axis(canvas: Canvas, label: str) -> Markup:
    """Name of the horizontal axis, under its middle as far as the picture allows."""
    shown = shortened(label, canvas.width, SMALL)
    half = wide(shown, SMALL) / 2
    middle = min(max((canvas.left + canvas.end) / 2, half), canvas.width - half)
    return text(middle, canvas.floor + 37, shown, anchor="middle", look="axis", full=label)


def vertical_axis(canvas: Canvas, label: str, *, most: int = _TICKS) -> Markup:
    """Ticks to the left, thin lines across, and the name of the axis above them, where it can be read without
    turning.
    """
    nodes: list[Node] = []
    for value, shown in canvas.y.tick_labels(most):
        y = canvas.down(value)
        nodes += [
            line(canvas.left, y, canvas.end, y, "grid"),
            text(canvas.left - 8, y + 4, shown, anchor="end", look="tick"),
        ]
    nodes.append(text(0, 11, shortened(label, canvas.width, SMALL), look="axis", full=label))
    return joined(nodes)


def tick_room(scale: Scale) -> float:
    """Pixels that the labels of a vertical axis need."""
    return 14.0 + max((wide(shown, SMALL) for _, shown in scale.tick_labels(_TICKS)), default=0.0)


def wide(words: str, size: float = FONT) -> float:
    """About how many pixels words take."""
    return size * LETTER * sum(_columns(letter) for letter in words)


def shortened(words: str, room: float, size: float = FONT) -> str:
    """Words cut in the middle, so that names that differ at their end still differ."""
    words = clean(" ".join(words.split()))
    if wide(words, size) <= room + 1:
        return words
    keep = len(words)
    while keep > 2 and wide(_cut(words, keep), size) > room:
        keep -= max(1, (keep - 2) // 12)
    return _cut(words, keep)


def _cut(words: str, keep: int) -> str:
    tail = keep // 3
    return f"{words[: keep - tail].rstrip()}…{words[len(words) - tail :].lstrip() if tail else ''}"


def _columns(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.75
    return 0.62 if letter in _SLIM else 1.5 if letter in _BROAD else 1.14 if letter.isupper() else 1.0


def _through(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
