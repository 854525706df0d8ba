"""Two packages in one repository: the library stands without the paper's experiments."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
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


def release_check(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / ".ci" / "release.py", folder], capture_output=True, text=True, check=False
    )


def test_nothing_is_released_without_addresses_and_a_dated_version(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    settings, citation, changes = (
        tmp_path / name for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
    )
    version = project(ROOT)["project"]["version"]
    found = release_check(tmp_path)
    assert found.returncode == 1
    assert "[project.urls] needs Source" in found.stderr
    assert "CITATION.cff: repository-code" in found.stderr
    assert f"must be '## {version} - YYYY-MM-DD'" in found.stderr

    names = ("Source", "Documentation", "Issues", "Changelog")
    lines = [f'{name} = "https://example.org/{name}"' for name in names]
    whole = settings.read_text("utf-8")
    settings.write_text("\n".join([whole, "[project.urls]", *lines, ""]), "utf-8")
    citation.write_text(citation.read_text("utf-8") + 'repository-code: "https://example.org"\n', "utf-8")
    released = changes.read_text("utf-8").replace("## Unreleased", f"## {version} - 2026-01-31", 1)
    changes.write_text(released, "utf-8")
    found = release_check(tmp_path)
    assert (found.returncode, found.stderr) == (0, "")

    for name, line in zip(names, lines, strict=True):
        settings.write_text(
            "\n".join([whole, "[project.urls]", *(x for x in lines if x != line), ""]), "utf-8"
        )
        found = release_check(tmp_path)
        assert (found.returncode, found.stderr.count("not ready")) == (1, 1)
        assert f"[project.urls] needs {name} " in found.stderr


def test_a_release_is_refused_before_anything_is_built() -> None:
    script = (ROOT / ".ci" / "release").read_text("utf-8")
    assert script.index(".ci/release.py") < script.index(".ci/packages")
    assert "set -euo pipefail" in script
