"""Continuous rewards, digits, bandwidths and training curves."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from kwis.report.charts import Curve, Plot, Point
from kwis.report.charts.axes import Scale, linear, logarithmic
from kwis_paper.figures.boxes import Boxes, BoxLine
from kwis_paper.figures.grids import Heatmap, Pictures
from kwis_paper.figures.record import Figure
from kwis_paper.overall import PLAIN, WARM
from kwis_paper.results import Outcome, Results
from kwis_paper.summaries import notes_of, reward_note

_NOT_RUN = "Not in these results: `kwis paper run --dataset optdigitsDist` makes it."
_NO_FEATURES = (
    "Per-feature bandwidths are not in these results: `kwis paper run --per-feature warm` adds them."
)
_KINDS = {PLAIN: "per-feature-plain", WARM: "per-feature"}


def reward_figure(results: Results) -> Figure:
    """Mean reward of every wrong action."""
    stored = results.curves.get(("optdigitsDist", "rewards"))
    panels: tuple[Heatmap, ...] = ()
    if stored is not None:
        side = math.isqrt(stored.size)
        table = stored.reshape(side, side)
        names = tuple(map(str, range(side)))
        values = tuple(
            tuple(None if i == j else float(table[i, j]) for j in range(side)) for i in range(side)
        )
        title = "Mean reward of wrong actions"
        panels = (
            Heatmap(
                title=title,
                description=title,
                rows=names,
                columns=names,
                row_name="right",
                column_name="chosen",
                values=values,
            ),
        )
    return Figure(
        key="continuous-rewards",
        title="Continuous rewards of wrong actions",
        caption=(
            "Mean reward of choosing the digit of the column where that of the row is right; the right "
            "action earns 1."
        ),
        panels=panels,
        label="fig:mean_dists_cont_reward",
        setting="continuous",
        notes=(reward_note(results.design),) if panels else (_NOT_RUN,),
    )


def digit_figure(results: Results) -> Figure:
    """Two pictures each of a 3, a 9 and a 6."""
    shown = []
    for digit in (3, 9, 6):
        stored = results.curves.get(("optdigitsDist", f"pictures/{digit}"))
        if stored is not None:
            top = float(stored.max()) or 1.0
            shown += [
                (str(digit), tuple(tuple(map(float, row)) for row in one / top))
                for one in stored.reshape(2, 8, 8)
            ]
    title = "Digits drawn at random"
    panels = (
        (Pictures(title=title, description="Two pictures each of a 3, a 9 and a 6.", pictures=tuple(shown)),)
        if shown
        else ()
    )
    return Figure(
        key="digits",
        title="Digits drawn at random from optdigits",
        caption="Two observations each of a 3, a 9 and a 6, 8 by 8 pixels.",
        panels=panels,
        label="fig:optdigit_data_examps",
        setting="continuous",
        notes=() if shown else (_NOT_RUN,),
    )


def spread_figure(results: Results) -> Figure:
    """How much the bandwidths of a cell's features differ."""
    name = _available(results)
    found = results.bandwidths.get(_KINDS[name], {}) if name else {}
    lines = []
    for dataset in results.datasets("oracle"):
        chosen = [found[facts.key] for facts in results.chosen("oracle", dataset) if facts.key in found]
        ratios = np.array([one.std / one.mean for one in chosen if not one.overflowed and one.mean > 0])
        if ratios.size:
            overflow = sum(one.overflowed for one in chosen) / len(chosen)
            lines.append(BoxLine.of(f"{dataset} ({overflow:.0%})", ratios))
    title = "Spread of per-feature bandwidths"
    panels = (
        (
            Boxes(
                title=title,
                description=title,
                x=_ratio_scale(lines),
                x_name="std over mean",
                lines=tuple(lines),
            ),
        )
        if lines
        else ()
    )
    return Figure(
        key="bandwidth-spread",
        title="Spread of per-feature bandwidths",
        caption="Standard deviation over mean of the bandwidths of one experiment's features, oracle "
        "behaviour policies; in brackets the "
        "share of experiments in which it overflowed. Box: middle half; whiskers: 5th to 95th percentile."
        + _which(name),
        panels=panels,
        label="fig:kwis_optim_unique_bw_mean_ovr_std_oracle",
        setting="oracle",
        notes=(*notes_of(["arrhythmia"]), *(() if lines else (_NO_FEATURES,))),
    )


def kernel_figure(results: Results) -> Figure:
    """Average kernel value with shared and with per-feature bandwidths."""
    name = _available(results)
    lines = []
    for dataset in results.datasets("oracle"):
        for words, estimator, look in (("shared", "kernel-wis", "ours"), ("per feature", name, "other")):
            values = _averages(results.outcomes.get(estimator, {}) if estimator else {}, results, dataset)
            if values.size:
                lines.append(BoxLine.of(f"{dataset}, {words}", values, look))
    title = "Average kernel value"
    panels = (
        (
            Boxes(
                title=title,
                description=title,
                x=Scale(0, 1),
                x_name="mean of the kernel over pairs",
                lines=tuple(lines),
            ),
        )
        if lines
        else ()
    )
    return Figure(
        key="kernel-average",
        title="Average kernel value, shared and per feature",
        caption="Mean of the kernel over all pairs of test rows, one value per experiment, oracle behaviour "
        "policies: 1 is WIS, near 0 is "
        "State-WIS." + _which(name),
        panels=panels,
        label="fig:mean_mean_dist_by_ds_oracle",
        setting="oracle",
        notes=(*notes_of(["arrhythmia"]), *(() if name else (_NO_FEATURES,))),
    )


def autoencoder_figure(results: Results) -> Figure:
    """Losses of the autoencoder over its epochs."""
    panels = tuple(panel for part in ("train", "test") if (panel := _losses(results, part)) is not None)
    return Figure(
        key="autoencoder",
        title="Training of the variational autoencoder",
        caption=(
            "Reconstruction error and Kullback–Leibler divergence in nats per row, on training and on "
            "test rows."
        ),
        panels=panels,
        label="fig:vae_training_metrics",
        setting="continuous",
        notes=() if panels else (_NOT_RUN,),
    )


def _losses(results: Results, part: str) -> Plot | None:
    curves = []
    for name, look in (("reconstruction", "strong"), ("divergence", "flag")):
        values = results.curves.get(("optdigitsDist", f"autoencoder/{part}_{name}"))
        if values is None:
            return None
        points = tuple(
            Point(x=epoch + 1, y=float(value), hint=f"{name}, epoch {epoch + 1}: {value:.2f}", look="quiet")
            for epoch, value in enumerate(values)
        )
        curves.append(Curve(points=points, name=name, look=look))
    heights = [point.y for curve in curves for point in curve.points]
    epochs = len(curves[0].points)
    title = f"{part.capitalize()}ing rows, nats per row"
    return Plot(
        title=title,
        description=title,
        x=Scale(0, epochs + 1),
        y=linear(heights, include=(0.0,)),
        x_name="epoch",
        y_name=title,
        curves=tuple(curves),
        levels=tuple((curve.points[-1].y, f"{curve.name} {curve.points[-1].y:.1f}") for curve in curves),
    )


def _available(results: Results) -> str | None:
    """The per-feature run with the most oracle cells."""
    counts = {
        name: sum(facts.key in results.outcomes.get(name, {}) for facts in results.chosen("oracle"))
        for name in (WARM, PLAIN)
    }
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else None


def _which(name: str | None) -> str:
    return {
        None: "",
        WARM: " Per-feature bandwidths from a warm start.",
        PLAIN: " Per-feature bandwidths from plain starts, on a sample.",
    }[name]


def _averages(
    found: Mapping[str, Outcome], results: Results, dataset: str
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    keys = [facts.key for facts in results.chosen("oracle", dataset) if facts.key in found]
    return np.array(
        [average for key in keys if (average := found[key].kernel_average) is not None], dtype=np.float64
    )


def _ratio_scale(lines: list[BoxLine]) -> Scale:
    values = [value for line in lines for value in line.percentiles]
    return (
        logarithmic(values)
        if min(values) > 0 and max(values) > 30 * min(values)
        else linear(values, include=(0.0,))
    )
