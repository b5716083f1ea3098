"""Where the real datasets are, and a cache folder for each test."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline per example fails at random on a busy machine.
settings.register_profile("gmpool", deadline=None)
settings.load_profile("gmpool")

with warnings.catch_warnings():
    # Importing PyG warns about torch.jit, which is no fault of the tests: do it before they start.
    warnings.simplefilter("ignore")
    import torch_geometric.nn  # noqa: F401


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the real datasets: $GMPOOL_DATA, else ../shared/data."""
    given = os.environ.get("GMPOOL_DATA")
    root = Path(given) if given else Path(__file__).parents[2].parent / "shared" / "data"
    if not (root / "MUTAG.zip").is_file():
        pytest.skip(f"no datasets in {root}; set GMPOOL_DATA to the folder that holds them")
    return root


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a cache of its own, and finds no data unless it asks for them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GMPOOL_DATA", raising=False)
    return tmp_path / "cache" / "gmpool"
