"""What the commands are given: options they share, and words turned into data and settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from gmpool.data import CATALOGUE, Dataset, PackedGraphs, load, load_table
from gmpool.data.sources.table import SUFFIXES
from gmpool.data.sources.tu import read_tu
from gmpool.engine.executors.processes import usable_cores
from gmpool.errors import UserError

DataRoot = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with dataset files; else $GMPOOL_DATA, then the cache."),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
StoreOption = Annotated[Path, typer.Option("--store", help="Folder of the run store.")]
SmilesOption = Annotated[
    str | None, typer.Option("--smiles-column", help="CSV: the column with SMILES.")
]
SkipOption = Annotated[
    bool, typer.Option("--skip-bad-rows", help="CSV: leave unusable rows out instead of stopping.")
]

ReplicasOption = Annotated[
    str | None,
    typer.Option(
        "--replicas",
        help="How many runs are one program: auto, or a number; default auto on a GPU, else 1.",
    ),
]
WorkersOption = Annotated[
    str | None,
    typer.Option(
        "--workers",
        help="CPU: so many runs at a time, each in a process with one thread; auto: one per core.",
    ),
]
Tf32Flag = Annotated[
    bool, typer.Option("--tf32", help="Let a GPU multiply with 10 bits of mantissa: faster.")
]

# The option that sets each argument of load_table, for messages.
_FLAGS = {
    "smiles_column": "--smiles-column",
    "label_columns": "--label",
    "task": "--task",
    "split_column": "--split-column",
    "skip_bad_rows": "--skip-bad-rows",
}


def labelled_data(name: str, root: Path | None, table: Mapping[str, Any]) -> Dataset:
    """A dataset by name or path; the options of a table are refused where they do not apply."""
    if name.endswith(SUFFIXES):
        return load_table(name, **table)
    _refuse(name, table)
    return load(name, root)


def new_graphs(
    name: str, root: Path | None, table: Mapping[str, Any]
) -> tuple[PackedGraphs, tuple[str, ...]]:
    """Graphs to predict on, whose labels are not read, and the rows of a table left out."""
    if name.endswith(SUFFIXES):
        dataset = load_table(name, label_columns=(), **table)
        return dataset.graphs, dataset.skipped
    _refuse(name, table)
    if name not in CATALOGUE and (Path(name).is_dir() or name.endswith(".zip")):
        return read_tu(name, labelled=False), ()
    return load(name, root).graphs, ()


def _refuse(name: str, table: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if value:
            raise UserError(f"{_FLAGS[key]} is for a CSV, and {name!r} is not one")


def usable_device(name: str) -> str:
    """cpu, cuda or cuda:N; auto is cuda where there is one."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise UserError(f"--device takes cpu, cuda or auto, got {name!r}")
    count = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= count:
        raise UserError(f"--device {name}: this machine has {count} CUDA devices; use --device cpu")
    return name


def replicas_wanted(given: str | None, device: str) -> int | None:
    """How many runs are one program; None: as many as fit."""
    if given is None:
        return 1 if device == "cpu" else None
    if given == "auto":
        return None
    if not given.isdecimal() or int(given) < 1:
        raise UserError(f"--replicas takes auto or a number from 1 on, got {given!r}")
    return int(given)


def workers_wanted(given: str | None, device: str, replicas: str | None) -> int:
    """How many processes do runs; 1: this one does them all."""
    if given is None:
        return 1
    if device != "cpu":
        raise UserError(f"--workers is for the CPU; this runs on {device}: use --replicas there")
    if replicas is not None:
        raise UserError("--workers and --replicas are two ways to do many runs at once: take one")
    if given == "auto":
        return usable_cores()
    if not given.isdecimal() or int(given) < 1:
        raise UserError(f"--workers takes auto or a number from 1 on, got {given!r}")
    return int(given)


def allow_tf32(wanted: bool, device: str) -> None:
    """Whether float32 products on a GPU may be rounded to tf32."""
    if wanted and device == "cpu":
        raise UserError("--tf32 is for a GPU; this runs on the CPU")
    torch.backends.cuda.matmul.allow_tf32 = wanted


def settings_from(options: list[str], flag: str = "--option") -> dict[str, str]:
    """["lr=0.1", ...] as a dict; flag is what the user wrote before each."""
    settings = {}
    for text in options:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UserError(f"{flag} takes KEY=VALUE, got {text!r}")
        settings[key] = value
    return settings
