"""What a notebook shows of an evaluation: the headline, the cards and the first forest of the report."""

from __future__ import annotations

from dataclasses import replace

from kwis.report.html import render
from kwis.report.markup import element
from kwis.report.summary import page_of
from kwis.result.evaluation import Evaluation

_HEADER, _CARDS, _STRIPE, _CAPTION = 420, 200, 27, 260  # pixels of the parts, for the height of the frame


def notebook_html(evaluation: Evaluation) -> str:
    """A frame that holds its own page, so that its style and the notebook's leave each other alone."""
    page = page_of(evaluation)
    first = page.sections[0]
    forest = replace(first, lead="", blocks=(first.blocks[0],))
    text = render(replace(page, sections=(forest,)))
    height = _HEADER + _CARDS * bool(page.cards) + _CAPTION + _STRIPE * (1 + len(evaluation.targets))
    return element(
        "iframe",
        "",
        srcdoc=text,
        title=page.answer,
        width="100%",
        height=str(height),
        style="border: 0",
    ).text
