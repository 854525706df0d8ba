"""The examples of the gallery: each runs as a script and as the notebook that its page offers, and draws a picture."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("plot_*.py"))
QUICK = ("plot_03_no_propensities", "plot_07_larger_than_memory", "plot_10_your_own")
"""Those that take about a second of CPU."""


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
        for path in EXAMPLES
    ],
)
def test_an_example_runs_and_draws(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    plt.close("all")
    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert plt.get_fignums()
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("example", [pytest.param(path, id=path.stem) for path in EXAMPLES])
def test_the_notebook_of_an_example_runs(example: Path, tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.reads(json.dumps(_notebook(example)), as_version=4)
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)


def _notebook(example: Path) -> dict:
    """As sphinx-gallery makes it."""
    py_source_parser = pytest.importorskip("sphinx_gallery.py_source_parser")
    from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
    from sphinx_gallery.notebook import jupyter_notebook

    _, parts = py_source_parser.split_code_and_text_blocks(str(example))
    return jupyter_notebook(parts, DEFAULT_GALLERY_CONF, str(example.parent))
