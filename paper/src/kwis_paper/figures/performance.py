"""Share of rows won and median normalised difference, and the same of coverage, by size and by action
dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kwis.report.charts.axes import Scale, linear, logarithmic
from kwis_paper.coverage_fit import Shown, shown
from kwis_paper.figures.record import Figure
from kwis_paper.figures.scatter import Mark, Scatter, Series
from kwis_paper.results import TRUTHS, Results
from kwis_paper.scenarios import Scenario, actions_of, by_dataset, coverage_by_dataset, paper_size_of, size_of
from kwis_paper.summaries import buckets, coverage_rows, notes_of

_NAMES = {"published": "ours, published truth", "expected": "ours, expected truth"}
_LOOKS = {"published": "ours", "expected": "other"}


@dataclass(frozen=True, slots=True)
class _Horizontal:
    """What the datasets are spread along."""

    name: str
    place: Callable[[str, str], float]
    log: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """Datasets drawn alike."""

    name: str
    look: str
    found: Sequence[Scenario]


def performance_figures(results: Results) -> list[Figure]:
    """The figures of errors: oracle, non-oracle and learnt."""
    size, actions = _axes(results)
    labels = {"oracle": "fig:summary_performance_oracle", "non-oracle": "fig:summary_performance_non_oracle"}
    made = [
        Figure(
            key=f"performance-{setting}",
            title=f"Kernel-WIS against WIS, {setting} behaviour policies",
            caption=_CAPTION,
            panels=(*_error_panels(results, setting, size), *_error_panels(results, setting, actions)),
            label=label,
            parts=tuple(
                f"fig:{view}_by_{axis}_{setting.replace('-', '_')}"
                for axis in ("n_samples", "action_dim")
                for view in ("kwis_performance_no_buffer", "norm_performance")
            ),
            setting=setting,
            notes=notes_of(["arrhythmia"]),
        )
        for setting, label in labels.items()
    ]
    learnt = Figure(
        key="performance-learnt",
        title="Kernel-WIS against WIS, learnt logging policies",
        caption=f"Oracle behaviour policies first, then non-oracle ones. {_CAPTION}",
        panels=(
            *_error_panels(results, "learnt-oracle", actions),
            *_error_panels(results, "learnt-non-oracle", actions),
        ),
        label="fig:summary_performance_cont_policy",
        parts=tuple(
            f"fig:{view}_by_action_dim_{setting}_learnt_policies"
            for setting in ("oracle", "non_oracle")
            for view in ("kwis_performance_no_buffer", "norm_performance")
        ),
        setting="learnt-oracle learnt-non-oracle",
        notes=notes_of(["arrhythmia"]),
    )
    return [*made, learnt]


_CAPTION = (
    "Share of rows (policy and bucket) in which Kernel-WIS has strictly the smaller error at the printed "
    "precision, and the median over "
    "rows of (WIS − Kernel-WIS) / (WIS + Kernel-WIS): above the line Kernel-WIS is better. Hollow: computed "
    "from the published tables."
)


def _axes(results: Results) -> tuple[_Horizontal, _Horizontal]:
    def size(dataset: str, look: str) -> float:
        return paper_size_of(dataset) if look == "paper" else size_of(dataset, results)

    return _Horizontal("rows of the dataset", size, True), _Horizontal(
        "actions", lambda dataset, _: actions_of(dataset), False
    )


def _error_panels(results: Results, setting: str, axis: _Horizontal) -> list[Scatter]:
    rows = {truth: buckets(results, setting, truth) for truth in TRUTHS}
    groups = [_Group(_NAMES[truth], _LOOKS[truth], by_dataset(rows[truth], "ours")) for truth in TRUTHS]
    groups.append(_Group("paper", "paper", by_dataset(rows["published"], "paper")))
    return [
        _panel(f"{setting}: share of rows won", axis, groups, lambda one: one.won, _SHARE, 0.5),
        _panel(f"{setting}: median normalised difference", axis, groups, lambda one: one.gain, None, 0.0),
    ]


_SHARE = Scale(-0.04, 1.04)


def _panel(
    title: str,
    axis: _Horizontal,
    groups: Iterable[_Group],
    value: Callable[[Scenario], float],
    y: Scale | None,
    level: float,
) -> Scatter:
    shown = list(groups)
    series = tuple(
        Series(name=group.name, look=group.look, marks=_marks(group, axis, value), named=place == 0)
        for place, group in enumerate(shown)
    )
    everything = [mark for one in series for mark in one.marks]
    xs = [mark.x for mark in everything]
    scale = logarithmic(xs, margin=0.12) if axis.log else linear(xs, margin=0.12)
    return Scatter(
        title=title,
        description=f"{title} against {axis.name}, one point per dataset.",
        x=scale,
        y=y or linear((mark.y for mark in everything), include=(level,), margin=0.12),
        x_name=axis.name,
        y_name=title[0].upper() + title[1:],
        series=tuple(reversed(series)),
        level=level,
    )


def _marks(group: _Group, axis: _Horizontal, value: Callable[[Scenario], float]) -> tuple[Mark, ...]:
    return tuple(
        Mark(
            name=one.dataset,
            x=axis.place(one.dataset, group.look),
            y=value(one),
            hint=f"{one.dataset}, {group.name}: {value(one):+.3f} over {one.rows} rows",
        )
        for one in group.found
    )


def coverage_figures(results: Results) -> list[Figure]:
    """The figures of coverage."""
    at = shown(results)
    size, _ = _axes(results)
    caption = (
        "Share of rows in which the coverage of one estimator is strictly larger, and mean difference, "
        f"Kernel-WIS minus WIS, of {at.words}. Hollow: from the published table, whose level is not known."
    )
    return [
        Figure(
            key=f"coverage-{setting}",
            title=f"Coverage of Kernel-WIS and WIS, {setting} behaviour policies",
            caption=caption,
            panels=tuple(_coverage_panels(at, setting, size)),
            label=f"fig:both_cov_prop_{setting.replace('-', '_')}",
            parts=(f"fig:cov_diff_{setting.replace('-', '_')}",),
            setting=setting,
            notes=notes_of(["arrhythmia"]),
        )
        for setting in ("oracle", "non-oracle")
    ]


def _coverage_panels(at: Shown, setting: str, axis: _Horizontal) -> list[Scatter]:
    rows = {truth: coverage_rows(at.results, setting, truth, at.kind) for truth in TRUTHS}
    groups = [
        _Group(_NAMES[truth], _LOOKS[truth], coverage_by_dataset(rows[truth], "ours", at.level))
        for truth in TRUTHS
    ]
    groups.append(_Group("paper", "paper", coverage_by_dataset(rows["published"], "paper")))
    return [
        _panel(
            f"{setting}: share of rows, Kernel-WIS covers more",
            axis,
            groups,
            lambda one: one.won,
            _SHARE,
            0.5,
        ),
        _panel(f"{setting}: share of rows, WIS covers more", axis, groups, lambda one: one.lost, _SHARE, 0.5),
        _panel(f"{setting}: difference in coverage", axis, groups, lambda one: one.gain, None, 0.0),
    ]
