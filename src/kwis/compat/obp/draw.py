"""Figures of estimates with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from kwis.errors import UnsupportedError


def draw(
    plt: Any, panels: Mapping[str, Mapping[str, Mapping[str, float]]], unit: float, path: Path | None
) -> Any:
    """One panel after the other, a point with its interval for every entry; returns the figure."""
    figure, axes = plt.subplots(1, len(panels), figsize=(6.0 * len(panels), 4.5), squeeze=False)
    for axis, (title, entries) in zip(axes[0], panels.items(), strict=True):
        for place, ends in enumerate(entries.values()):
            mean, low, high = (value / unit for value in ends.values())
            axis.errorbar(
                place, mean, yerr=[[max(mean - low, 0.0)], [max(high - mean, 0.0)]], fmt="o", capsize=6
            )
        axis.set_xticks(range(len(entries)), list(entries))
        axis.set_title(title)
        axis.set_ylabel("estimated policy value" if unit == 1.0 else "relative estimated policy value")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, bbox_inches="tight")
    plt.close(figure)
    return figure


def pyplot() -> Any:
    """Matplotlib's interface, refused in a sentence where it is missing."""
    try:
        return import_module("matplotlib.pyplot")
    except ImportError:
        raise UnsupportedError(
            "a figure needs matplotlib: pip install matplotlib (the extra `plot` of kwis); "
            "estimate_intervals has the numbers without it"
        ) from None
