"""Every figure of the paper, drawn from stored results only: records first, then inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kwis_paper.figures.browser import convert, find_browser
from kwis_paper.figures.details import (
    autoencoder_figure,
    digit_figure,
    kernel_figure,
    reward_figure,
    spread_figure,
)
from kwis_paper.figures.performance import coverage_figures, performance_figures
from kwis_paper.figures.record import Figure, draw
from kwis_paper.figures.style import standalone
from kwis_paper.results import Results

__all__ = ["Figure", "all_figures", "draw", "write_all"]


def all_figures(results: Results) -> list[Figure]:
    """All figures, in the paper's order."""
    oracle, non_oracle, learnt = performance_figures(results)
    coverage_oracle, coverage_non_oracle = coverage_figures(results)
    return [
        oracle,
        coverage_oracle,
        non_oracle,
        coverage_non_oracle,
        reward_figure(results),
        digit_figure(results),
        spread_figure(results),
        kernel_figure(results),
        learnt,
        autoencoder_figure(results),
    ]


def write_all(figures: list[Figure], folder: Path, formats: Sequence[str] = ("svg",)) -> list[Path]:
    """Write every panel as a file of its own in every format; PDF and PNG need a browser."""
    browser = find_browser() if set(formats) - {"svg"} else ""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures:
        for number, panel in enumerate(figure.panels, start=1):
            name = f"{figure.key}-{number}" if len(figure.panels) > 1 else figure.key
            drawing = standalone(draw(name, panel))
            for ending in formats:
                path = folder / f"{name}.{ending}"
                if ending == "svg":
                    path.write_text(drawing, encoding="utf-8")
                else:
                    convert(drawing, path, browser)
                written.append(path)
    return written
