from __future__ import annotations

import doctest
import inspect
import operator
import re
from pathlib import Path

import pytest

import kwis

ROOT = Path(__file__).parents[2]
NAMES = [*kwis.__all__, "datasets.open_bandit"]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(operator.attrgetter(name)(kwis))]
CLASSES = [
    name
    for name in kwis.__all__
    if inspect.isclass(value := getattr(kwis, name)) and not issubclass(value, Exception)
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def own_docstring(name: str) -> str:
    """The docstring of a public name; a kernel is described by its class."""
    value = operator.attrgetter(name)(kwis)
    return inspect.getdoc(value if callable(value) else type(value)) or ""


def test_the_reference_lists_every_public_name_and_no_other() -> None:
    page = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   ([\w.]+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example_that_prints_what_it_shows(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = own_docstring(name)
    example = doctest.DocTestParser().get_doctest(text, {"kwis": kwis}, name, None, 0)
    assert any(name in step.source for step in example.examples), f"{name} has no example"
    told: list[str] = []
    assert doctest.DocTestRunner(optionflags=FLAGS).run(example, out=told.append).failed == 0, "".join(told)


METHODS = [
    f"Evaluation.{name}"
    for name, value in vars(kwis.Evaluation).items()
    if inspect.isfunction(value) and not name.startswith("_")
]


def section(text: str, title: str) -> list[str]:
    """The names that open the entries of a section of a docstring in numpydoc's form."""
    body = re.search(
        rf"^{title}\n-{{{len(title)}}}\n(.*?)(?=\n\n\S[^\n]*\n---|\Z)", text, re.MULTILINE | re.DOTALL
    )
    opening = re.findall(r"^\S.*$", body.group(1), re.MULTILINE) if body else []
    return [name.strip("* ") for line in opening for name in line.split(" : ")[0].split(",")]


def test_sections_of_a_docstring_are_told_apart() -> None:
    text = "Do it.\n\nParameters\n----------\na, b\n    Two.\n*rest\n    More.\n\nReturns\n-------\nint\n    One."
    assert section(text, "Parameters") == ["a", "b", "rest"]
    assert section(text, "Returns") == ["int"]
    assert section(text, "See Also") == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_parameters_of_a_public_function_are_described(name: str) -> None:
    described = section(own_docstring(name), "Parameters")
    assert sorted(described) == sorted(inspect.signature(operator.attrgetter(name)(kwis)).parameters)


@pytest.mark.parametrize("name", CLASSES)
def test_the_fields_of_a_public_class_are_described(name: str) -> None:
    value, text = getattr(kwis, name), own_docstring(name)
    described = {*section(text, "Parameters"), *section(text, "Attributes")}
    assert described >= set(inspect.signature(value).parameters)
    assert all(hasattr(value, entry) for entry in section(text, "Attributes"))


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_a_public_function_says_what_it_returns(name: str) -> None:
    assert section(own_docstring(name), "Returns")


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_points_to_others_that_exist(name: str) -> None:
    others = section(own_docstring(name), "See Also")
    assert others
    for other in others:
        package, _, rest = other.partition(".")
        assert package == "kwis"
        assert rest != name
        assert operator.attrgetter(rest)(kwis) is not None
