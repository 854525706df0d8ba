"""Folders are tiers: what stands further down the list may import what stands above it, and nothing else."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import kwis

ROOT = Path(kwis.__file__).parent
TIERS = (
    ("errors", "typing", "_validation", "_text", "_call"),
    ("stats", "runtime"),
    ("results",),
    ("data",),
    ("datasets",),
    ("sample",),
    ("policy",),
    ("kernel",),
    ("bandwidth",),
    ("models",),
    ("estimators",),
    ("intervals",),
    ("checks",),
    ("result",),
    ("evaluation",),
    ("report", "compat"),
    ("cli",),
)
RANK = {name: rank for rank, tier in enumerate(TIERS) for name in tier}
OUTSIDE = {"__init__", "__main__"}
"""The package itself and the command are doors."""
EXCEPTIONS = {
    ("result/evaluation.py", "kwis.report"),
    ("result/evaluation.py", "kwis.report.notebook"),
    ("result/evaluation.py", "kwis.report.plots"),
}
"""An ``Evaluation`` draws itself, as a page, in a notebook and as plots, when it is asked to."""
NAMED_AFTER_COMMANDS_AND_SECTIONS = ("cli", "report/sections")


def _sources() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if _tier_of(path) not in OUTSIDE]


def _tier_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _nodes(parent: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers read."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _nodes(node)


def _imports(source: str) -> set[str]:
    """Modules of the library that a source imports when it runs, at its head or within a function."""
    found = set()
    for node in _nodes(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "kwis":
            found |= {f"kwis.{name.name}" for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {name for name in found if name.startswith("kwis.")}


def _upward(tier: str, source: str) -> set[str]:
    """Modules that a source of a tier imports and must not: of a later tier, or none of the tiers."""
    names = {name: name.split(".")[1] for name in _imports(source)}
    return {
        name
        for name, other in names.items()
        if other not in OUTSIDE and RANK.get(other, len(TIERS)) > RANK[tier]
    }


def test_every_module_has_a_tier_and_every_tier_a_module() -> None:
    assert {_tier_of(path) for path in _sources()} == set(RANK)


def test_imports_go_one_way() -> None:
    upward = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in _sources()
        for name in _upward(_tier_of(path), path.read_text(encoding="utf-8"))
    }
    assert upward == EXCEPTIONS


def test_an_import_against_the_tiers_is_noticed() -> None:
    assert _upward("kernel", "def f():\n    from kwis.estimators import WIS\n") == {"kwis.estimators"}
    assert _upward("kernel", "import kwis.cli.main\nfrom kwis import evaluate\n") == {
        "kwis.cli.main",
        "kwis.evaluate",
    }
    assert not _upward("kernel", "if TYPE_CHECKING:\n    from kwis.estimators import WIS\n")


def test_what_users_hand_in_has_a_named_type() -> None:
    for door in (kwis.evaluate, kwis.plan, kwis.watch, kwis.sensitivity, kwis.read_log, kwis.scan_log):
        for name, entry in inspect.signature(door).parameters.items():
            if name in ("log", "source", "target", "estimators", "interval", "by", "client", "reward_model"):
                assert "Any" not in str(entry.annotation), f"{door.__name__}({name}: {entry.annotation})"


def _instance_checks(source: str) -> Iterator[set[str]]:
    """Names of the classes that each ``isinstance`` or ``issubclass`` of a source asks for."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            asked = ast.walk(node.args[1])
            yield {getattr(name, "id", getattr(name, "attr", "")) for name in asked}


def _concrete() -> dict[str, Path]:
    """Classes of estimators and intervals, by name, with the module that has them; protocols are none."""
    found = {}
    for path in _sources():
        if _tier_of(path) in ("estimators", "intervals"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                members = {one.name for one in getattr(node, "body", []) if isinstance(one, ast.FunctionDef)}
                abstract = any("Protocol" in ast.dump(base) for base in getattr(node, "bases", []))
                if (
                    isinstance(node, ast.ClassDef)
                    and not abstract
                    and members & {"applied", "estimate", "interval"}
                ):
                    found[node.name] = path
    return found


def test_nobody_asks_which_estimator_or_interval_it_has() -> None:
    concrete = _concrete()
    assert {"WIS", "KernelWIS", "DoublyRobust", "StudentInterval", "Bootstrap"} <= set(concrete)
    places = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in _sources()
        for names in _instance_checks(path.read_text(encoding="utf-8"))
        for name in names & set(concrete)
        if path != concrete[name]
    }
    assert places == set()


def test_asking_for_a_concrete_class_is_noticed() -> None:
    source = "if isinstance(one, Other | estimators.KernelWIS):\n    pass\n"
    assert [names & set(_concrete()) for names in _instance_checks(source)] == [{"KernelWIS"}]


def test_no_two_modules_share_a_file_name() -> None:
    places = defaultdict(list)
    for path in _sources():
        folder = path.relative_to(ROOT).parent.as_posix()
        if path.name != "__init__.py" and not folder.startswith(NAMED_AFTER_COMMANDS_AND_SECTIONS):
            places[path.name].append(folder)
    assert {name: folders for name, folders in places.items() if len(folders) > 1} == {}
