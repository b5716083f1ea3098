"""What every test starts from: one thread, quiet imports, a cache of its own, known datasets."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from said import Said

# A deadline per example fails at random on a busy machine.
settings.register_profile("gmpool", deadline=None)
settings.load_profile("gmpool")
torch.set_num_threads(1)
# Else torch warns when it compiles a kernel for a GPU: no test's cache is a folder yet.
os.environ["USE_PYTORCH_KERNEL_CACHE"] = "0"
if not torch.cuda.is_available():
    # Triton reads this once, when something imports it: tests/ops/test_triton_*.py run the kernels.
    os.environ["TRITON_INTERPRET"] = "1"

with warnings.catch_warnings():
    # Importing PyG warns about torch.jit, which is no fault of the tests: do it before they start.
    warnings.simplefilter("ignore")
    import torch_geometric.nn  # noqa: F401


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the real datasets: $GMPOOL_DATA, else ../shared/data."""
    given = os.environ.get("GMPOOL_DATA")
    root = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    if not (root / "MUTAG.zip").is_file():
        pytest.skip(f"no datasets in {root}; set GMPOOL_DATA to the folder that holds them")
    return root


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a cache of its own, and finds no data unless it asks for them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GMPOOL_DATA", raising=False)
    return tmp_path / "cache" / "gmpool"


@pytest.fixture
def gmpool_cli(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """The command line without a new process."""
    from gmpool.cli import main

    def call(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["gmpool", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return Said(int(end.value.code or 0), *capsys.readouterr())

    return call
