"""`gmpool bench`, whose benchmarks lie beside the package, in a checkout of the repository."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gmpool
from gmpool.errors import UserError

ROOT = Path(gmpool.__file__).resolve().parents[1]


def bench_command() -> Callable[..., Any]:
    if not (ROOT / "benchmarks" / "command.py").is_file():
        return bench
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    command: Callable[..., Any] = importlib.import_module("benchmarks.command").bench
    return command


def bench(name: str) -> None:
    """Measure ours beside the usual way (needs a source checkout)."""
    raise UserError(
        f"{name}: the benchmarks are not part of the installed package and are not in {ROOT}; "
        f"run from a checkout of the repository"
    )
