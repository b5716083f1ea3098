"""Which implementation serves, and that those of an operator can stand for each other."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
import torch

from gmpool.ops import choice

OPS = Path(choice.__file__).parent
IMPLEMENTATIONS = ("triton", "pytorch")
WITH_KERNELS = sorted(path.parent.name for path in OPS.glob("*/triton.py"))


def functions(path: Path) -> dict[str, str]:
    """The public functions of a module and their signatures, but for kernels and their parts."""
    found = [f for f in ast.parse(path.read_text()).body if isinstance(f, ast.FunctionDef)]
    return {
        f.name: f"{ast.unparse(f.args)} -> {ast.unparse(f.returns)}"
        for f in found
        if f.returns is not None and not f.name.startswith("_")
    }


def kernels(path: Path) -> list[str]:
    """What is launched, kernel[grid](...), of what triton.jit compiles."""
    text = path.read_text()
    found = [f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)]
    compiled = [f.name for f in found if any("jit" in ast.unparse(d) for d in f.decorator_list)]
    return [name for name in compiled if f" {name}[" in text]


def test_there_are_operators_with_kernels() -> None:
    assert {"grouped", "seed_attention", "sparse"} <= set(WITH_KERNELS)


@pytest.mark.parametrize("operator", WITH_KERNELS)
def test_implementations_have_the_same_functions(operator: str) -> None:
    by_triton, by_pytorch = (functions(OPS / operator / f"{name}.py") for name in IMPLEMENTATIONS)
    assert by_triton
    assert by_triton.items() <= by_pytorch.items()


def test_kernels_are_named_after_their_operator() -> None:
    """So that a profile can tell them apart."""
    found = {path: kernels(path) for path in OPS.rglob("*.py")}
    names = [name for names in found.values() for name in names]
    assert len(names) == 20
    assert len(set(names)) == len(names)
    says = {"sparse": "spmm", "kernel_parts": "chunks"}
    for path, names in found.items():
        operator = path.relative_to(OPS).parts[0]
        assert all(name.startswith(says.get(operator, operator)) for name in names), names


def test_only_what_kernels_know_goes_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.zeros(1)
    assert not choice.triton_serves(x)
    monkeypatch.setattr(choice, "HAS_TRITON", True)
    monkeypatch.setattr(choice, "INTERPRET", True)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert choice.triton_serves(x)
    assert choice.triton_serves(x.half())
    assert not choice.triton_serves(x.double())
    assert not choice.triton_serves(x.to("meta"))
    monkeypatch.setattr(choice, "HAS_TRITON", False)
    assert not choice.triton_serves(x)


def test_the_module_that_serves() -> None:
    served = choice.serving(torch.zeros(1), "sparse")
    assert served.__name__ == "gmpool.ops.sparse.pytorch"
    assert inspect.isfunction(served.spmm)
