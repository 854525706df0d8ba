"""Numbers in words, and ticks on axes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwis.report.charts.axes import Scale, linear, logarithmic
from kwis.report.charts.canvas import shortened, wide
from kwis.report.wording import confidence, decimals_for, listed, number, p_value, percent, rough, sentence

FINITE = st.floats(-1e12, 1e12, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "decimals", "signed", "words"),
    [
        (0.1416, 3, False, "0.142"),
        (-0.0213, 3, True, "\u22120.021"),
        (0.0213, 3, True, "+0.021"),
        (-0.0001, 3, True, "\u22120.000"),
        (-0.0001, 3, False, "0.000"),
        (1234567.0, 0, False, "1,234,567"),
        (2.5e20, 2, False, "2.5\u202f×\u202f10²⁰"),
        (math.nan, 3, False, "–"),
        (-math.inf, 3, False, "\u2212∞"),
    ],
)
def test_numbers_as_people_write_them(value, decimals, signed, words):
    assert number(value, decimals, signed=signed) == words


def test_an_interval_keeps_two_digits_of_its_width():
    assert decimals_for([0.042]) == 3
    assert decimals_for([0.42, 0.41, 900.0]) == 2
    assert decimals_for([0.12]) == 3
    assert decimals_for([350.0]) == 0
    assert number(-3.1e-10, decimals_for([4.2e-11])) == "\u22120.000000000310"
    assert decimals_for([0.0, math.nan]) == 3


def test_shares_and_levels():
    assert percent(0.4585) == "46\u202f%"
    assert percent(0.0002, 1) == "< 0.1\u202f%"
    assert percent(0.0) == "0\u202f%"
    assert confidence(0.95) == "95\u202f%"
    assert confidence(0.999) == "99.9\u202f%"


def test_small_pieces_of_text():
    assert [p_value(value) for value in (0.0001, 0.034, 0.5, math.nan)] == [
        "p < 0.001",
        "p = 0.034",
        "p = 0.50",
        "p –",
    ]
    assert [rough(value) for value in (0.0, 0.1 + 0.2, 1234.5, 0.00001234)] == [
        "0",
        "0.3",
        "1,234",
        "1.23\u202f×\u202f10⁻⁵",
    ]
    assert [listed(items) for items in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert [sentence(text) for text in ("one row", "p_new is best.", "", "WIS")] == [
        "One row.",
        "p_new is best.",
        "",
        "WIS.",
    ]
    assert sentence("click was predicted", {"click"}) == "click was predicted."


@given(low=FINITE, width=st.floats(1e-9, 1e12), most=st.integers(2, 10))
def test_linear_ticks_are_round_few_and_inside(low, width, most):
    scale = linear((low, low + width))
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    assert all(
        scale.low - 1e-6 * width <= tick <= scale.high + 1e-6 * width for tick in ticks
    ) or width < 1e-9 * abs(low)
    labels = [label for _, label in scale.tick_labels(most)]
    if width > 1e-4 and abs(low) < 1e6:
        assert len(set(labels)) == len(labels)


@given(low=st.floats(1e-9, 1e6), factor=st.floats(1.0, 1e12), most=st.integers(2, 8))
def test_logarithmic_ticks_are_few_and_inside(low, factor, most):
    scale = logarithmic((low, low * factor))
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    assert all(scale.low * 0.999 <= tick <= scale.high * 1.001 for tick in ticks)
    assert list(ticks) == sorted(ticks)


@given(scale=st.sampled_from([Scale(0, 2), Scale(0.1, 100, log=True)]), value=st.floats(-1e6, 1e6))
def test_every_value_has_a_place_on_the_page(scale, value):
    assert 0 <= scale.share(value) <= 1


def test_places_on_a_scale():
    assert Scale(0, 2).share(0.5) == 0.25
    assert Scale(0.1, 1000, log=True).share(10) == pytest.approx(0.5)
    assert linear(()).ticks()
    assert linear((3.0, 3.0)).share(3.0) == pytest.approx(0.5)


@given(words=st.text(max_size=200), room=st.floats(40, 400))
def test_cut_names_fit_their_room(words, room):
    shown = shortened(words, room)
    assert wide(shown) <= room + 1
    if len(words.split()) and wide(" ".join(words.split())) > room + 1:
        assert "…" in shown
