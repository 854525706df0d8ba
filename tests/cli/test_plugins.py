"""Commands of other packages: found, listed, called, and missed in one sentence."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tests.cli.example import Run

SHOUT = """
import typer

app = typer.Typer(help="Say it aloud.")


@app.callback()
def start() -> None: ...


@app.command()
def loud(word: str) -> None:
    print(word.upper())
    raise typer.Exit(1)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a package as pip would install it: a module, and metadata with an entry point."""
    (tmp_path / "shouting.py").write_text(SHOUT)
    metadata = tmp_path / "shouting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\nSummary: Words said aloud\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[kwis.commands]\nshout = shouting:app\nbroken = nowhere_at_all:app\nevaluate = shouting:app\n"
    )
    return tmp_path


def kwis(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kwis`` in a Python of its own that finds what is installed in ``folder``; says whether the plug-in
    was imported.
    """
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); from kwis.cli.main import main; code = "
        f"main(sys.argv[1:]); "
        "print('imported' if 'shouting' in sys.modules else 'not imported', file=sys.stderr); sys.exit(code)"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_help_lists_a_plug_in_without_importing_it(package: Path) -> None:
    ended = kwis(package, "--help")
    assert ended.returncode == 0
    assert "Words said aloud" in " ".join(ended.stdout.split())
    assert ended.stderr == "not imported\n"


def test_a_plug_in_is_called_by_its_name_and_its_exit_code_is_ours(package: Path) -> None:
    ended = kwis(package, "shout", "loud", "hello")
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "HELLO\n", "imported\n")
    ended = kwis(package, "shout", "--help")
    assert "Say it aloud." in ended.stdout
    assert "completion" not in ended.stdout


def test_a_command_of_the_library_cannot_be_replaced(package: Path) -> None:
    ended = kwis(package, "evaluate", "--help")
    assert "Estimate what target policies would have brought" in " ".join(ended.stdout.split())
    assert ended.stderr == "not imported\n"


def test_a_plug_in_that_cannot_be_imported_ends_in_one_line(package: Path) -> None:
    ended = kwis(package, "broken")
    assert ended.returncode == 3
    assert ended.stderr.startswith("error: unforeseen ModuleNotFoundError: No module named 'nowhere_at_all'")


def test_the_papers_command_says_how_to_install_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: ())
    ended = run("paper", "run")
    assert (ended.code, ended.out) == (2, "")
    sentence = "the paper's experiments are a package of their own: pip install ./paper in a checkout of kwis"
    assert ended.err == f"error: `kwis paper` is not installed; {sentence}\n"
    assert run("shout").err.startswith("error: No such command 'shout'")


def test_commands_of_the_library_look_for_no_plug_in(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(group: str) -> tuple[EntryPoint, ...]:
        raise AssertionError("the list of installed packages takes time to read")

    monkeypatch.setattr("importlib.metadata.entry_points", looked)
    assert run("demo", "--help").code == 0
    assert run("--version").code == 0
