"""Two packages in one repository: the library stands without the paper's experiments."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_wheel_of_the_library_has_only_the_library() -> None:
    assert project(ROOT)["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/kwis"]}
    assert [path.name for path in (ROOT / "src").iterdir() if not path.name.startswith(".")] == ["kwis"]
    assert not (ROOT / "src" / "kwis" / "paper").exists()


def test_nothing_in_the_library_or_its_tests_imports_the_experiments() -> None:
    sources = [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "benchmarks").rglob("*.py"),
    ]
    assert len(sources) > 200
    imports = re.compile(r"^\s*(from|import) kwis_paper", re.MULTILINE)
    assert [
        path.relative_to(ROOT) for path in sources if imports.search(path.read_text(encoding="utf-8"))
    ] == []


def test_both_packages_have_the_same_version() -> None:
    library, paper = project(ROOT)["project"], project(ROOT / "paper")["project"]
    assert paper["version"] == library["version"]
    minor = ".".join(library["version"].split(".")[:2])
    assert f"kwis=={minor}.*" in paper["dependencies"]


def test_an_extra_installs_what_its_error_message_names() -> None:
    extras = project(ROOT)["project"]["optional-dependencies"]
    message = re.compile(r"pip install (?P<packages>[^(]+) \(the extra `(?P<extra>\w+)` of kwis\)")
    named: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        text = re.sub(r'"\s+"', "", path.read_text(encoding="utf-8"))  # strings that go on in the next line
        for match in message.finditer(text):
            named[match["extra"]] = set(match["packages"].replace("'", "").split())
    assert named == {
        name: {re.split(">=", requirement)[0] for requirement in extras[name]}
        for name in ("stream", "dask", "plot")
    }


def test_nothing_advises_to_install_a_name_that_is_not_published() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    advice = re.compile(r"pip install '?kwis")
    found = [path.name for path in sources if advice.search(path.read_text(encoding="utf-8"))]
    assert found == ["releasing.md"]
