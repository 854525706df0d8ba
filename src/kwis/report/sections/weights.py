"""How the importance weights are spread: how many rows the answer really rests on."""

from __future__ import annotations

import math

import numpy as np

from kwis.checks.findings import WeightDiagnostics
from kwis.report.charts import Bin, Histogram, logarithmic
from kwis.report.sections.common import fold_after
from kwis.report.view import Block, Cell, Figure, PageTable, Section, Tile
from kwis.report.wording import count, number, p_value, percent, rough
from kwis.result.evaluation import Evaluation
from kwis.typing import Floats

_BINS = 28
_LEAD = (
    "A row counts for as many decisions as its weight says: the probability of its action under the policy "
    "over its propensity."
)


def weights(evaluation: Evaluation) -> Section:
    blocks = [
        _block(name, found.weights, evaluation.weights.get(name))
        for name, found in evaluation.diagnostics.items()
    ]
    return Section(key="weights", title="Weights", lead=_LEAD, blocks=fold_after(blocks))


def _block(target: str, found: WeightDiagnostics, weight: Floats | None) -> Block:
    figures = () if weight is None or not (weight > 0).any() else (_figure(target, found, weight),)
    return Block(title=target, tiles=_tiles(found), figures=figures)


def _tiles(found: WeightDiagnostics) -> tuple[Tile, ...]:
    drawn, size = _draws(found)
    share = found.effective_n / size if size else math.nan
    never = Tile("Zero weights", percent(found.zero_share, 1), "action never taken by the policy")
    return (
        Tile(f"Effective {drawn}", count(found.effective_n), f"{percent(share)} of {count(size)}"),
        Tile(
            "Largest share",
            percent(found.largest_share, 1),
            f"of all weight on one {drawn.removesuffix('s')}",
        ),
        Tile("Mean weight", number(found.mean, 3), f"should be 1, {p_value(found.p_value)}"),
        Tile("Tail index", _index(found.pareto_k), _tail(found.pareto_k)),
        *((never,) if found.zero_share > 0 else ()),
    )


def _draws(found: WeightDiagnostics) -> tuple[str, int]:
    """What was drawn at random, and how many of it."""
    return ("rows", found.n) if found.groups is None else ("groups", found.groups)


def _index(index: float) -> str:
    """The tail index; a dash where weights have too few different values for one."""
    return number(index, 2) if math.isfinite(index) else "–"


def _tail(index: float) -> str:
    if math.isnan(index):
        return "too few weights to tell"
    return "light tail" if index < 0.5 else "heavy tail" if index < 0.7 else "too heavy for the interval"


def _figure(target: str, found: WeightDiagnostics, weight: Floats) -> Figure:
    positive, (drawn, _) = weight[weight > 0], _draws(found)
    low, high = _ends(positive)
    edges = np.geomspace(low, high, _BINS + 1)
    place = np.clip(np.searchsorted(edges, positive, side="right") - 1, 0, _BINS - 1)
    rows = np.bincount(place, minlength=_BINS) / weight.size
    held = np.bincount(place, positive, minlength=_BINS) / positive.sum()
    columns = tuple(_column(edges[j], edges[j + 1], rows[j], held[j]) for j in range(_BINS))
    chart = Histogram(
        title=f"Distribution of the weights of {target}",
        description=(
            f"From {rough(float(positive.min()))} to {rough(float(positive.max()))}; "
            f"{count(found.effective_n)} effective {drawn}."
        ),
        x=logarithmic((low, high), margin=0.0),
        x_name="weight, log scale",
        names=("% of rows", "% of all weight"),
        columns=columns,
        marks=((1.0, "weight 1"),) if low < 1 < high else (),
    )
    caption = "Where the line is far above the bars, few rows decide the estimate."
    return Figure(chart=chart, caption=caption, numbers=_quantiles(target, found))


def _ends(positive: Floats) -> tuple[float, float]:
    """Range of the positive weights, at most eight powers of ten below the largest: smaller ones count for
    nothing.
    """
    high = float(positive.max())
    low = max(float(positive.min()), high * 1e-8)
    return (low / 2, high * 2) if high < low * 1.5 else (low, high)


def _column(low: float, high: float, share: float, held: float) -> Bin:
    hint = (
        f"weights {rough(low)} to {rough(high)}: {percent(share, 1)} of rows, {percent(held, 1)} of all "
        f"weight"
    )
    return Bin(low=low, high=high, share=share, second=held, hint=hint)


def _quantiles(target: str, found: WeightDiagnostics) -> PageTable:
    names = {0.0: "smallest", 0.5: "median", 1.0: "largest"}
    lines = tuple(
        (Cell(names.get(share, percent(share)), share), Cell(rough(value), value))
        for share, value in zip(found.probabilities.tolist(), found.quantiles.tolist(), strict=True)
    )
    return PageTable(
        caption=f"Quantiles of the weights of {target}",
        columns=("Quantile", "Weight"),
        rows=lines,
        folded=True,
    )
