from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import kwis

ROOT = Path(__file__).parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def own_docstring(name: str) -> str:
    """The docstring of a public name; a kernel is described by its class."""
    value = getattr(kwis, name)
    return inspect.getdoc(value if callable(value) else type(value)) or ""


def test_the_reference_lists_every_public_name_and_no_other() -> None:
    page = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(kwis.__all__)


@pytest.mark.parametrize("name", kwis.__all__)
def test_a_public_name_has_an_example_that_prints_what_it_shows(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = own_docstring(name)
    example = doctest.DocTestParser().get_doctest(text, {"kwis": kwis}, name, None, 0)
    assert any(name in step.source for step in example.examples), f"{name} has no example"
    told: list[str] = []
    assert doctest.DocTestRunner(optionflags=FLAGS).run(example, out=told.append).failed == 0, "".join(told)
