"""What the figures show is what the evaluation says."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from kwis.report import page_of, render
from kwis.report.charts import Forest, Histogram, Plot, Scale
from kwis.result.reproduce import Reproduction
from tests.report.checked import Checked
from tests.report.example import CARE, CHOSEN, N, evaluation_of
from tests.report.test_answer import POOR


def charts(evaluation, kind, start):
    found = [
        shown.chart
        for section in page_of(evaluation).sections
        for block in section.blocks
        for shown in block.figures
    ]
    return [chart for chart in found if isinstance(chart, kind) and chart.title.startswith(start)]


def test_the_forest_has_every_row_and_marks_the_recommended_ones():
    evaluation = evaluation_of()
    brief, chart = charts(evaluation, Forest, "Value of each policy")
    assert [stripe.label for stripe in brief.stripes] == ["logging policy", *evaluation.targets]
    assert len(chart.stripes) == len(evaluation.rows)
    assert (chart.stripes[0].heading, chart.stripes[0].label) == ("logging policy", "mean of the log")
    strong = [stripe for stripe in chart.stripes if stripe.look == "strong"]
    wanted = [row for row in evaluation.rows if row.recommended and row.estimator == CHOSEN]
    assert [(stripe.value, stripe.low, stripe.high) for stripe in strong] == [
        (row.interval.value, row.interval.low, row.interval.high) for row in wanted
    ]
    assert chart.reference == evaluation.rows[0].interval.value


def test_both_shares_of_the_weight_histogram_add_up():
    evaluation = evaluation_of()
    chart = charts(evaluation, Histogram, "Distribution of the weights of p_new")[0]
    assert sum(column.share for column in chart.columns) == pytest.approx(1.0)
    assert sum(column.second for column in chart.columns) == pytest.approx(1.0)
    first, weight = chart.columns[10], evaluation.weights["p_new"]
    inside = (weight >= first.low) & (weight < first.high)
    assert first.share == pytest.approx(inside.mean())
    assert first.second == pytest.approx(weight[inside].sum() / weight.sum())


def test_weights_of_zero_are_rows_but_no_column():
    evaluation = evaluation_of()
    weight = np.where(np.arange(N) % 4 == 0, 0.0, evaluation.weights["p_new"])
    chart = charts(
        replace(evaluation, weights={"p_new": weight, "p_bold": np.zeros(N)}), Histogram, "Distribution"
    )
    assert [each.title for each in chart] == ["Distribution of the weights of p_new"]
    assert sum(column.share for column in chart[0].columns) == pytest.approx(0.75)


def test_equal_weights_have_a_histogram_too():
    evaluation = evaluation_of(("p",))
    (chart,) = charts(replace(evaluation, weights={"p": np.ones(N)}), Histogram, "Distribution")
    assert max(column.share for column in chart.columns) == pytest.approx(1.0)


def test_the_path_marks_the_chosen_bandwidth_between_its_two_ends():
    evaluation = evaluation_of(("p",))
    (path,) = evaluation.paths
    (chart,) = charts(evaluation, Plot, "Estimate of p along the bandwidth")
    points = chart.curves[0].points
    assert len(points) == path.bandwidths.size
    assert all(one.x < two.x for one, two in itertools.pairwise(points))
    (strong,) = [point for point in points if point.look == "strong"]
    assert strong.y == path.values[list(path.bandwidths).index(path.chosen)]
    assert chart.ticks[0][1] == "State-WIS"
    assert chart.ticks[-1][1] == "WIS"


@pytest.mark.parametrize("end", [0.0, math.inf])
def test_a_path_may_choose_either_end(end):
    evaluation = evaluation_of(("p",))
    page = page_of(replace(evaluation, paths=(replace(evaluation.paths[0], chosen=end),)))
    assert f"chosen: {'WIS' if end else 'State-WIS'}" in render(page)


def test_regions_where_propensities_fail_are_flagged_and_named():
    evaluation = evaluation_of(("p",))
    (chart,) = charts(evaluation, Forest, "Mean weight of p by region")
    assert [stripe.label for stripe in chart.stripes if stripe.look == "flag"] == ["country = BR"]
    section = next(section for section in page_of(evaluation).sections if section.key == "local-mean-weight")
    assert section.blocks[0].points == ("country = BR: mean weight 1.42, 95\u202f% 1.21 to 1.63, 412 rows.",)


def test_the_local_mean_weight_is_marked_where_its_band_leaves_one_out():
    (chart,) = charts(evaluation_of(("p",)), Plot, "Local mean weight of p")
    for point in chart.curves[0].points:
        assert (point.look == "flag") == (point.low > 1 or point.high < 1)
    assert {point.look for point in chart.curves[0].points} == {"flag", "quiet"}


def test_points_off_the_reliability_line_are_flagged():
    (chart,) = charts(evaluation_of(("p",)), Plot, "Reliability")
    assert [point.look == "flag" for point in chart.curves[0].points] == [False] * 6 + [True] + [False] * 3


def test_wide_intervals_are_cut_with_an_arrow_instead_of_squeezing_the_others():
    from kwis.report.charts.forest import cut, usual_range

    _, chart = charts(evaluation_of(("p",)), Forest, "Value of each policy")
    low, high = usual_range(chart.stripes)
    vis = next(stripe for stripe in chart.stripes if stripe.label == "vis")
    assert vis.high > high
    assert cut(chart)
    assert all(
        low <= stripe.low and stripe.high <= high for stripe in chart.stripes if stripe.look == "strong"
    )


def test_sections_without_content_are_left_out():
    bare = replace(evaluation_of(("p",)), paths=(), segments=(), drift=None, rankings=(), notes=())
    keys = [section.key for section in page_of(bare).sections]
    assert keys == ["estimates", "trust", "weights", "propensities", "local-mean-weight", "rows", "settings"]
    Checked(render(page_of(bare)))


def test_many_policies_show_one_and_fold_the_others():
    names = tuple(f"p{k}" for k in range(12))
    evaluation = evaluation_of(names, gains=tuple(0.01 * k for k in range(12)), verdicts=(CARE,) * 12)
    page = page_of(evaluation)
    weights = next(section for section in page.sections if section.key == "weights")
    assert [block.folded for block in weights.blocks] == [False] + [True] * 11
    _, chart = charts(evaluation, Forest, "Value of each policy")
    assert len(chart.stripes) == 13  # 61 rows are too many for a figure: the recommended ones and the log


def test_intervals_that_are_not_finite_leave_a_page():
    evaluation = evaluation_of(("p",))
    rows = tuple(
        replace(row, interval=replace(row.interval, low=math.nan, high=math.nan)) for row in evaluation.rows
    )
    Checked(render(page_of(replace(evaluation, rows=rows))))


def test_the_calls_that_reproduce_it_are_shown():
    evaluation = evaluation_of(("p",))
    call = Reproduction(python="import kwis", command="kwis evaluate log.csv")
    page = page_of(replace(evaluation, settings=replace(evaluation.settings, call=call)))
    codes = [block.code for block in page.sections[-1].blocks]
    assert "import kwis" in codes
    assert "kwis evaluate log.csv" in codes


def test_estimates_not_to_be_trusted_are_hollow():
    _, chart = charts(evaluation_of(("p",), verdicts=(POOR,)), Forest, "Value of each policy")
    assert "hollow" in {stripe.look for stripe in chart.stripes}


def test_nothing_is_marked_where_the_joint_test_passes():
    evaluation = evaluation_of(("p",))
    found = evaluation.diagnostics["p"]
    fine = replace(found, local=replace(found.local, p_value=0.16))
    shown = [
        *charts(replace(evaluation, diagnostics={"p": fine}), Plot, "Local mean weight"),
        *charts(replace(evaluation, propensity=replace(evaluation.propensity, failures=())), Plot, "Reliab"),
    ]
    looks = {point.look for chart in shown for curve in chart.curves for point in curve.points}
    assert len(shown) == 2
    assert "flag" not in looks


def test_a_range_within_one_power_of_ten_still_has_ticks():
    assert len(Scale(1.31, 1.64, log=True).tick_labels()) > 1
