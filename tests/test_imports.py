"""Imports point one way, and optional packages are imported where they are used."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gmpool
from gmpool.tasks.task import TASKS

ROOT = Path(gmpool.__file__).parent
GROUND = {
    "errors": {"plain_text"},
    "registry": {"errors"},
    "options": {"errors", "plain_text"},
    "config": {"errors", "options"},
    "atomic_files": set(),
    "identity": set(),
    "exclusive": set(),
    "journal": {"errors", "atomic_files", "exclusive"},
    "record": set(),
    "spreadsheet": set(),
    "plain_text": set(),
    "packed_numbers": set(),
    "file_paths": {"errors", "plain_text"},
    "main_module": {"registry"},
    "worker_process": {"main_module"},
}  # what stands below everything
MAY_IMPORT = {
    **GROUND,
    "ops": {*GROUND},
    "data": {*GROUND},
    "graph": {*GROUND, "ops", "data"},
    "nn": {*GROUND, "ops", "data", "graph"},
    "pool": {*GROUND, "ops", "data", "graph", "nn"},
    "report": {*GROUND, "data"},
    "tasks": {*GROUND, "ops", "data", "graph", "nn", "pool", "report"},
    "engine": {*GROUND, "ops", "data", "nn", "report", "tasks"},
    "cli": {*GROUND, "data", "report", "tasks", "engine", ""},
    "estimators": {*GROUND, "data", "tasks", "engine"},
    "aggr": {"errors", "ops", "graph", "nn", "pool"},
    "__main__": {""},
    "": {"data", "graph", "pool", "engine", "estimators"},
}
OPTIONAL = {
    "rdkit", "rdchiral", "loguru", "syntheseus", "grakel", "networkx", "pyarrow", "ray"
}  # fmt: skip
# Always there; for a few functions.
SLOW = {"sklearn", "scipy", "torch_geometric", "safetensors", "pooch", "requests"}


def files() -> list[Path]:
    found = sorted(ROOT.rglob("*.py"))
    assert len(found) > 40
    return found


def part_of(path: Path) -> str:
    """The folder or file right under gmpool; "" for gmpool/__init__.py."""
    name = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return "" if name == "__init__" else name


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """(module, line) of every import in a file, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are written in full"
            if node.module == "gmpool":  # from gmpool import data
                yield from ((f"gmpool.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module or "", node.lineno


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in files()} == set(MAY_IMPORT)


def test_imports_point_one_way() -> None:
    wrong = []
    for path in files():
        here = part_of(path)
        for module, line in imported(path):
            top, _, rest = module.partition(".")
            there = rest.split(".")[0]
            if top == "gmpool" and there != here and there not in MAY_IMPORT[here]:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {here} imports {module}")
    assert not wrong, "\n".join(wrong)


def gmpool_imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:  # a module of the package, else something inside of it
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else node.module or ""


@cache
def modules() -> dict[str, Path]:
    found = {}
    for path in files():
        parts = ("gmpool", *path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def test_no_module_cycle() -> None:
    """Imports under TYPE_CHECKING and inside functions count: they hide a cycle."""
    graph = {name: modules().keys() & set(gmpool_imports(path)) for name, path in modules().items()}
    try:
        order = list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))
    assert len(order) == len(modules()) > 100


def at_module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported: not those inside functions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                waiting += node.orelse
                continue
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node
            waiting.append(node)


def test_optional_packages_are_imported_where_they_are_used() -> None:
    wrong = []
    for path in files():
        for node in at_module_level(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
            wrong += [
                f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
                for name in names
                if name and name.split(".")[0] in OPTIONAL
            ]
    assert not wrong, "\n".join(wrong)


def inside_functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(module, line) of imports that run when something is called."""
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(outer):
                if isinstance(node, ast.Import):
                    yield from ((alias.name, node.lineno) for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield node.module or "", node.lineno


def test_inside_functions_only_packages_that_may_be_missing_or_are_slow_are_imported() -> None:
    wrong, found = [], set()
    for path in files():
        for module, line in inside_functions(ast.parse(path.read_text(encoding="utf-8"))):
            top = module.split(".")[0]
            found.add(top)
            if top not in OPTIONAL | SLOW:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {module}")
    assert not wrong, "\n".join(wrong)
    assert found >= SLOW, "what nobody imports late needs no mention"


NAMES_NO_TASK = ("engine", "report", "cli")


def forms(name: str) -> re.Pattern[str]:
    """wl-kernel, wl_kernel, WLKernel, WL kernel, …"""
    return re.compile("[-_ ]?".join(map(re.escape, re.split("[-_]", name))), re.IGNORECASE)


def test_no_task_is_named_where_all_are_served() -> None:
    ours = [name for name in TASKS if type(TASKS[name]).__module__.startswith("gmpool.tasks.")]
    assert {"classify", "reconstruct", "wl-kernel"} <= set(ours)
    folders = {path.parent.name for path in (ROOT / "tasks").glob("*/__init__.py")}
    patterns = [forms(name) for name in {*ours, *folders}]
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for folder in NAMES_NO_TASK
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if any(pattern.search(line) for pattern in patterns)
    ]
    assert not wrong, "\n".join(wrong)


WITHOUT = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {
            "rdkit", "rdchiral", "loguru", "grakel", "networkx", "pyarrow", "ray"
        }:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
import gmpool, gmpool.cli
print(*gmpool.__all__)
sys.argv = ["gmpool", "train", sys.argv[1], "--device", "cpu"]
gmpool.cli.main()
"""


def test_without_optional_packages_all_but_what_needs_them_works(tmp_path: Path) -> None:
    table = tmp_path / "molecules.csv"
    table.write_text("smiles,y\nCC,0\nCO,1\nCN,0\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(table)], capture_output=True, text=True
    )
    assert done.stdout.split() == gmpool.__all__
    assert done.returncode == 2
    assert "'rdkit', which is not installed" in done.stderr
    assert 'pip install "gmpool[chem]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_saved_models_are_read_by_a_name_of_the_package_which_imports_no_engine() -> None:
    code = "import gmpool, sys; print(*(m for m in sys.modules if m.startswith('gmpool.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
    assert gmpool.load_model is gmpool.engine.checkpoint.load_model


@pytest.mark.parametrize("name", gmpool.__all__)
def test_public_names_are_there_and_documented(name: str) -> None:
    assert (getattr(gmpool, name).__doc__ or "").strip()
