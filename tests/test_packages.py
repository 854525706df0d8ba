"""Two packages in one repository: the library stands without the paper's experiments."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ADDRESSES = ("Source", "Documentation", "Issues", "Changelog")


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


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with all that a release asks for, and a stand-in for the building of packages."""
    (tmp_path / ".ci").mkdir()
    for name in ("release", "release.py"):
        shutil.copy(ROOT / ".ci" / name, tmp_path / ".ci")
    urls = "".join(f'{name} = "https://example.org/{name}"\n' for name in ADDRESSES)
    for name, text in {
        "pyproject.toml": f'[project]\nname = "some"\nversion = "1.2.0"\n\n[project.urls]\n{urls}',
        "CITATION.cff": 'title: some\nrepository-code: "https://example.org"\n',
        "CHANGELOG.md": "# Changelog\n\n## 1.2.0 - 2026-01-31\n\n## 1.1.0 - 2025-01-31\n",
    }.items():
        (tmp_path / name).write_text(text, "utf-8")
    packages = tmp_path / ".ci" / "packages"
    packages.write_text('#!/bin/sh\nmkdir -p "$DIST"\necho "$@" > "$DIST/wheel"\n', "utf-8")
    packages.chmod(0o755)
    (tmp_path / ".gitignore").write_text("build/\ndist/\n", "utf-8")
    return tmp_path


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def release(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [folder / ".ci" / "release", sys.executable, "another"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        *(
            ("pyproject.toml", f"{name} = ", f"Other{name} = ", f"[project.urls] needs {name} ")
            for name in ADDRESSES
        ),
        ("pyproject.toml", "[project.urls]", "[tool.other]", "[project.urls] needs Source"),
        ("CITATION.cff", "repository-code", "# repository-code", "CITATION.cff: repository-code needs"),
        ("CHANGELOG.md", " - 2026-01-31", "", "which must be '## "),
    ],
)
def test_a_release_is_refused_and_nothing_built_without(
    checkout: Path, name: str, old: str, new: str, sentence: str
) -> None:
    replaced(checkout / name, old, new)
    found = release(checkout)
    assert found.returncode == 1
    assert sentence in found.stderr
    assert not (checkout / "build").exists()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_release_leaves_what_was_built_of_what_is_committed(checkout: Path) -> None:
    for command in (
        "git init -q",
        "git add -A",
        "git -c user.name=a -c user.email=a@example.org -c commit.gpgsign=false commit -q -m first",
    ):
        subprocess.run(command.split(), cwd=checkout, check=True)
    found = release(checkout)
    assert (found.returncode, found.stderr) == (0, "")
    assert (checkout / "dist" / "wheel").read_text("utf-8").split() == [sys.executable, "another"]
    (checkout / "new").touch()
    found = release(checkout)
    assert (found.returncode, found.stderr) == (1, "not ready: there are changes that are not committed\n")


def test_the_release_check_reads_this_repository() -> None:
    command = [sys.executable, ROOT / ".ci" / "release.py"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ("[project.urls] needs Source" in found.stderr) == ("urls" not in project(ROOT)["project"])
