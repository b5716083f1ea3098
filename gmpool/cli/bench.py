"""`gmpool bench`"""

from __future__ import annotations

import importlib
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import gmpool
from gmpool.cli.console import out
from gmpool.cli.given import DataRoot, JsonFlag
from gmpool.errors import UserError


class Bench(StrEnum):
    loader = "loader"
    epoch = "epoch"
    readout = "readout"
    ops = "ops"


def bench(
    name: Annotated[Bench, typer.Argument(help="What to measure.")],
    data: DataRoot = None,
    json_: JsonFlag = False,
) -> None:
    """Measure ours beside the usual way, in one run (needs a source checkout)."""
    root = Path(gmpool.__file__).resolve().parents[1]
    if not (root / "benchmarks" / "__init__.py").is_file():
        raise UserError(
            f"the benchmarks are not part of the installed package and are not in {root}; "
            f"run from a checkout of the repository"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    rows = importlib.import_module(f"benchmarks.{name}").measure(data)
    if json_:
        print(json.dumps(rows))
        return
    shown = Table("name", "ours", "peer", "ratio", "unit")
    for row in rows:
        shown.add_row(
            row["name"], f"{row['ours']:.4g}", f"{row['peer']:.4g}", f"{row['ratio']:.1f} ×",
            row["unit"],
        )  # fmt: skip
    out.print(shown)
