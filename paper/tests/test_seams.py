"""Which parts of the library the experiments use that are not among its public names."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import kwis
import kwis_paper

PUBLIC = {
    "kwis.typing": "names of array types",
    "kwis.cli.terminal": "what plug-ins are to use",
    "kwis.estimators": "the protocol of an estimator",
    "kwis.intervals": "the protocol of an interval",
}
INSIDE = {
    "kwis.models.fitting": "misreported propensities are fitted as the library fits models",
    "kwis._validation": "arrays that cannot be written to",
    "kwis.bandwidth.scale": "grids and starts around the typical distance",
    "kwis.bandwidth.shrunk": "one bandwidth per feature, shrunk",
    "kwis.stats.influence": "influence summed by group",
    "kwis.estimators.neighbourhood": "Kernel-WIS of all test sets from one kernel",
    "kwis.estimators.state_wis": "State-WIS of all test sets",
    "kwis.evaluation.recommend": "the recommendation, applied to stored estimates",
    "kwis.intervals.student": "Student's interval from stored influence",
    "kwis.kernel.profiles": "every kernel by name",
    "kwis.models.reward.models": "reward models fitted once per training log",
    "kwis.models.propensity.repair": "the repair, and parts of it, fitted once per pair of policies",
    "kwis.models.propensity.repair_logged": "the repair of logged propensities",
    "kwis.report.charts": "figures are drawn as in a report",
    "kwis.report.charts.axes": "their axes",
    "kwis.report.charts.canvas": "their strokes",
    "kwis.report.markup": "the page is written as a report",
    "kwis.report.wording": "numbers are written as in a report",
    "kwis.estimators.joint": "the error that a fitted model adds to a standard error",
    "kwis.kernel": "kernel sums",
    "kwis.kernel.fused": "kernels of distances that many cells share",
    "kwis.kernel.geometry": "those distances",
    "kwis.runtime.compile": "training of policies, compiled as the kernels are",
    "kwis.runtime.threads": "blocks of rows on several threads",
    "kwis.sample": "ratios and balanced weights",
}
"""Modules of the library that may move without notice, and what they are used for."""


def _imports() -> set[tuple[str, str]]:
    """Pairs of a module of the library and a name that is imported from it."""
    sources = Path(kwis_paper.__file__).parent.rglob("*.py")
    nodes = [node for path in sources for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    found = {
        (node.module or "", name.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    return {(module, name) for module, name in found if module.partition(".")[0] == "kwis"}


def test_every_public_name_is_taken_from_the_package_itself() -> None:
    elsewhere = [
        (module, name)
        for module, name in _imports()
        if module != "kwis"
        and name in kwis.__all__
        # another function may have the same name
        and getattr(import_module(module), name) is getattr(kwis, name)
    ]
    assert elsewhere == []


def test_what_else_is_used_is_listed() -> None:
    others = _imports() - {("kwis", name) for name in kwis.__all__}
    used = {f"kwis.{name}" if module == "kwis" else module for module, name in others}
    assert used - set(PUBLIC) == set(INSIDE)
