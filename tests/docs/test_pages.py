from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import blocks, every_page, pages, run

SLOW = ("start.md", "estimators.md")
"""Pages whose blocks take more than a few seconds; README has a test of its own."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=pytest.mark.slow if page.name in SLOW else ())
        for page in pages()
        if page.name != "README.md"
    ],
)
def test_a_page_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    for block, printed in run(page.read_text(encoding="utf-8"), tmp_path):
        assert printed == (block.shown or ""), block.code


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    texts = {page.name: page.read_text(encoding="utf-8") for page in every_page()}
    marked = {
        name: reasons
        for name, text in texts.items()
        if (reasons := [block.reason for block in blocks(text) if block.reason is not None])
    }
    assert marked == {
        "README.md": ["installs the package", "creates an environment and runs all tests"],
        "how-well-it-holds.md": ["takes hours", "takes minutes"],
        "large-logs.md": ["needs a cluster and its certificates"],
        "watching.md": ["needs GitHub", "needs Airflow", "needs MLflow"],
    }


def test_every_formula_is_one_that_the_site_can_show() -> None:
    latex2mathml = pytest.importorskip("docutils.utils.math.latex2mathml")
    for page in every_page():
        prose = re.sub(
            r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", prose, re.DOTALL):
            assert latex2mathml.tex2mathml(block or inline, as_block=bool(block)), (
                page.name,
                block or inline,
            )


def test_every_fence_is_one_that_is_looked_at() -> None:
    """Indented fences and fences without a language would be passed over."""
    for page in every_page():
        text = page.read_text(encoding="utf-8")
        prose = re.sub(r"^```\{.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)  # without directives
        opened = re.findall(r"^[ >]*(?:```|~~~).*$", prose, re.MULTILINE)[::2]
        assert all(re.fullmatch(r"```(python|sh|yaml|text)", fence) for fence in opened), (page.name, opened)
