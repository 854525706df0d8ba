from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from kwis.cli.main import main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands of the README were run."""
    folder = tmp_path_factory.mktemp("readme")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for line in (
            re.search(r"```sh\n(kwis.*?)```", README, re.DOTALL).group(1).replace("\\\n", "").splitlines()
        ):
            quick = (
                ["--estimator", "wis"] if "evaluate" in line else []
            )  # the example does the whole work once, which is enough
            assert main([*shlex.split(line)[1:], *quick]) == 0
    return folder


@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_the_readme_shows(code: str, shown: str, folder: Path) -> None:
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == shown


def test_the_commands_write_what_they_say(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "sample.parquet"]


def test_the_values_called_true_are_true() -> None:
    from kwis import sample_log

    truth = sample_log(1).truth
    values = [f"{truth[name]['click']:.4f}" for name in ("logger", "p_new", "p_bold")]
    assert (
        f"{values[0]} for the logging policy, {values[1]} for `p_new`, {values[2]} for `p_bold`"
        in README.replace("\n", " ")
    )
