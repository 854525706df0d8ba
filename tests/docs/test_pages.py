from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks, pages, run

QUICK = ("estimators.md", "bandwidths.md")
"""Pages whose blocks take a few seconds; README has a test of its own."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=() if page.name in QUICK else pytest.mark.slow)
        for page in pages()
        if page.name != "README.md"
    ],
)
def test_a_page_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    done = run(page.read_text(encoding="utf-8"), tmp_path)
    assert done
    for block, printed in done:
        assert printed == (block.shown if block.shown is not None else printed)
        assert block.shown is not None or not printed.strip() or block.language == "sh", block.code


def test_a_block_that_is_not_run_says_why() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        reasons = re.findall(r"<!-- not run: ([^>]+) -->", text)
        ours = [block for block in blocks(text) if block.skipped and "kwis" in block.code.split()]
        assert len(reasons) >= len(ours), page.name
        assert all(len(reason) > 10 for reason in reasons)
