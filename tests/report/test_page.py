"""The page as a file: well formed, accessible, self-contained, and deaf to markup in names."""

from __future__ import annotations

import re

import pytest

from kwis.report import page_of, render
from kwis.report.html import _hash
from kwis.results import Verdict
from tests.report.checked import Checked
from tests.report.example import evaluation_of

NASTY = (
    "<script>alert(1)</script>",
    "\"quoted\" & 'single' ${body} $title %s {0}",
    "Zürich 新しい方針 \u202ereversed \ud800 \x00",
    "x" * 400,
    "</title></svg></style><img src=x onerror=alert(2)>",
)
POOR = Verdict(level="do not trust", reasons=("<b>bold</b> claims & more",))


@pytest.fixture(scope="module")
def page() -> Checked:
    return Checked(render(page_of(evaluation_of())))


@pytest.fixture(scope="module")
def nasty() -> str:
    names = {
        "column": "</desc><script>alert(3)</script>",
        "actions": ("<i>a</i>", 'b"', "c\x00"),
        "notes": ("<u>note</u>",),
    }
    gains, verdicts = (0.02, 0.03, -0.01, 0.004, 0.1), (POOR,) * 5
    return render(
        page_of(evaluation_of(NASTY, ("<img src=x>", "revenue"), gains=gains, verdicts=verdicts, **names))
    )


def test_tags_nest_and_there_is_one_heading_of_the_first_level(page):
    assert len(page.places("h1")) == 1
    assert page.text_of("h1")[0].startswith("Of 2 policies, p_bold has the best estimate")
    assert (
        len(page.places("main"))
        == len(page.places("title"))
        - sum(page.names[page.parents[i]] != "head" for i in page.places("title"))
        == 1
    )


def test_ids_are_unique(page, nasty):
    for each in (page, Checked(nasty)):
        assert max(each.ids().values()) == 1


def test_every_figure_is_an_image_with_a_name_and_a_description(page):
    drawings = page.places("svg")
    words = {
        page.attributes[i]["id"]: page.texts[i]
        for i in page.places("title") + page.places("desc")
        if "id" in page.attributes[i]
    }
    for place in drawings:
        found = page.attributes[place]
        assert found["role"] == "img"
        assert words[found["aria-labelledby"]].strip()
        assert words[found["aria-describedby"]].strip()
    titles = {words[page.attributes[place]["aria-labelledby"]] for place in drawings}
    assert len(drawings) == 2 * len(titles)  # each drawn for a desk and for a telephone
    for start in (
        "Value of each policy",
        "Difference to the logging policy",
        "Distribution of the weights of p_new",
        "Local mean weight of p_new",
        "Mean weight of p_new by region",
        "Estimate of p_new along the bandwidth",
        "Reliability of the propensities",
        "Balance of the context",
        "Differences between policies",
        "p_new minus logging policy by country",
        "Mean of click by period",
    ):
        assert any(title.startswith(start) for title in titles), start


def test_sections_come_in_the_order_a_reader_needs_them(page):
    keys = [page.attributes[place]["id"] for place in page.places("section")]
    assert keys == [
        "estimates",
        "trust",
        "policies",
        "segments",
        "drift",
        "weights",
        "propensities",
        "local-mean-weight",
        "bandwidth",
        "rows",
        "settings",
    ]
    assert [page.attributes[place]["href"] for place in page.places("a")] == [f"#{key}" for key in keys]


def test_nothing_is_fetched_from_anywhere(page, nasty):
    assert "http://" not in render(page_of(evaluation_of()))
    assert "https://" not in render(page_of(evaluation_of()))
    for each in (page, Checked(nasty)):
        for name, found in zip(each.names, each.attributes, strict=True):
            assert not {"src", "srcset", "action", "style", "data"} & found.keys(), (name, found)
            assert (found.get("href") or "#").startswith("#")
            assert not [key for key in found if key.startswith("on")]
        assert not {"link", "iframe", "object", "embed", "img", "base", "form"} & set(each.names)


def test_the_policy_of_content_allows_only_the_script_and_style_of_the_page(page):
    (policy,) = [
        found["content"] for found in page.attributes if found.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none';")
    (script,), (style,) = page.text_of("script"), page.text_of("style")
    assert _hash(script) in policy
    assert _hash(style) in policy


def test_markup_in_names_stays_text(nasty):
    page = Checked(nasty)
    assert len(page.places("script")) == len(page.places("style")) == len(page.places("h1")) == 1
    assert not page.places("img") + page.places("b") + page.places("i") + page.places("u")
    assert any("<script>alert(1)</script>" in words for words in page.text_of("h2"))
    assert any("<b>bold</b> claims & more" in words for words in page.text_of("li"))
    assert any("${body} $title %s {0}" in words for words in page.text_of("h2"))
    assert "\x00" not in nasty
    assert "\u202e" not in nasty
    nasty.encode("utf-8")


def test_long_names_are_cut_inside_drawings_only(nasty):
    page = Checked(nasty)
    assert any("x" * 400 in words for words in page.text_of("td"))
    hints = {page.parents[place]: page.texts[place] for place in page.places("title")}
    shown = [page.texts[place].removeprefix(hints.get(place, "")) for place in page.places("text")]
    assert 50 < max(len(words) for words in shown) < 150


def test_coordinates_are_finite_numbers_within_the_drawing():
    text = render(page_of(evaluation_of()))
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    for drawing in drawings:
        assert "nan" not in re.sub(r"<(title|desc|text)[^>]*>.*?</\1>", "", drawing)
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', drawing)[1])
        for x in re.findall(r' (?:x|x1|x2|cx)="([-\d.]+)"', drawing):
            assert -1 <= float(x) <= width + 1


def test_equal_evaluations_give_equal_pages():
    assert render(page_of(evaluation_of())) == render(page_of(evaluation_of()))


def test_a_drawing_refuses_coordinates_that_are_not_finite():
    from kwis.report.markup import coordinate

    with pytest.raises(ValueError, match="finite coordinates"):
        coordinate(float("nan"))
