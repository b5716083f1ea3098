"""`gmpool predict`"""

import csv
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from gmpool.cli.arguments import DataRoot, DeviceOption, usable_device
from gmpool.cli.console import say, say_left_out
from gmpool.engine.checkpoint import load_model
from gmpool.errors import UserError


def predict(
    model: Annotated[Path, typer.Argument(help="Folder written by gmpool train --save-model.")],
    dataset: Annotated[str, typer.Argument(help="A CSV with SMILES, a TU folder, or a name.")],
    output: Annotated[
        Path | None, typer.Option("--out", help="CSV to write; default: standard output.")
    ] = None,
    data: DataRoot = None,
    device: DeviceOption = "auto",
    smiles_column: Annotated[
        str | None, typer.Option("--smiles-column", help="CSV: the column with SMILES.")
    ] = None,
    skip_bad_rows: Annotated[
        bool,
        typer.Option("--skip-bad-rows", help="CSV: leave unusable rows out instead of stopping."),
    ] = False,
) -> None:
    """Apply a trained model to new data and write one CSV row per graph."""
    saved = load_model(model)
    found = saved.task.predict(
        saved.model,
        dataset,
        data,
        device=usable_device(device),
        smiles_column=smiles_column,
        skip_bad_rows=skip_bad_rows,
    )
    say_left_out(found.skipped)
    stdout = nullcontext(sys.stdout)  # which is not ours to close
    try:
        with output.open("w", newline="", encoding="utf-8") if output else stdout as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(found.columns)
            writer.writerows(found.rows)
    except OSError as error:
        target = output or "standard output"
        raise UserError(f"the predictions could not be written to {target}: {error}") from error
    if output is not None:
        say(f"{len(found.rows)} predictions: {output}")
