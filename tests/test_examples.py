"""The examples run, offline, and learn something."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pyg_readout() -> None:
    assert example("pyg_readout").main(epochs=15) > 0.6


def test_own_molecules(tmp_path: Path) -> None:
    assert example("own_molecules").main(tmp_path) > 0.9
