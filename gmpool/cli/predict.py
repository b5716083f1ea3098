"""`gmpool predict`"""

from pathlib import Path
from typing import Annotated

import typer

import gmpool
from gmpool.cli.arguments import DataRoot, DeviceOption, usable
from gmpool.cli.made_rows import Maker
from gmpool.cli.new_data import new_data
from gmpool.cli.row_file import ENDINGS
from gmpool.engine.checkpoint import load_model
from gmpool.engine.device import usable_device
from gmpool.engine.executors.processes import usable_cores
from gmpool.errors import UserError
from gmpool.tasks.predictions import Predictions

ModelArgument = Annotated[
    Path, typer.Argument(help="Folder written by gmpool train --save-model.", callback=usable)
]
DataArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="A table with SMILES, a TU folder, packed graphs, or a name; also several, and "
        "patterns such as 'parts/*.csv'.",
        callback=usable,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help=f"File to write ({', '.join(ENDINGS)}), of several inputs a folder; default: "
        "standard output.",
        callback=usable,
    ),
]
SmilesOption = Annotated[
    str | None, typer.Option("--smiles-column", help="Table: the column with SMILES.")
]
SkipFlag = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out rows of which nothing can be said.")
]


def _positive(given: int | None) -> int | None:
    if given is not None and given < 1:
        raise UserError(f"--batch-size takes a number from 1 on, got {given}")
    return given


BatchOption = Annotated[
    int | None,
    typer.Option(
        "--batch-size",
        help="So many graphs at a time go through the model.",
        callback=_positive,
    ),
]
PartWorkersOption = Annotated[
    str, typer.Option("--workers", help="So many processes; auto: one per core.")
]
CoverageOption = Annotated[
    float | None,
    typer.Option(
        help="Calibrated models: how often intervals (low_NAME, high_NAME) or sets (set_NAME) are "
        "to hold the truth, such as 0.9."
    ),
]


def predict(
    model: ModelArgument,
    dataset: DataArgument,
    output: OutputOption = None,
    coverage: CoverageOption = None,
    data: DataRoot = None,
    smiles_column: SmilesOption = None,
    skip_bad_rows: SkipFlag = False,
    workers: PartWorkersOption = "auto",
    batch_size: BatchOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Apply a trained model to new data.

    All columns of a table stay, in its order. Beside them stand the predictions (pred_NAME a
    value or class, p_NAME a probability), how sure they are (std_NAME, of calibrated models), and
    what the problem is where there is none. Of other data there is one row per graph.

    Stopped or killed, the same command goes on.

    A text that a spreadsheet would run as a formula gets an apostrophe before it.

    gmpool predict my-model new.csv --out predictions.csv

    gmpool predict my-model 'parts/*.csv' --out predicted --coverage 0.9
    """
    given = new_data(dataset, output, data)
    options = {
        "device": usable_device(device),
        "smiles_column": smiles_column,
        "coverage": coverage,
        "batch_size": batch_size,
    }
    saved, processes = load_model(model), worker_count(workers)

    def make(source: str, done: int) -> Predictions:
        return saved.predict(source, data, workers=processes, done=done, **options)

    asked = {**options, "skip_bad_rows": skip_bad_rows}
    origin = {"model": saved.digest, "options": asked, "version": gmpool.__version__}
    Maker(make, origin, "prediction", skip_bad_rows).write_all(given)


def worker_count(given: str) -> int:
    if given == "auto":
        return usable_cores()
    if not (given.isdecimal() and len(given) < 5 and int(given) >= 1):
        raise UserError(f"--workers takes auto or a number from 1 to 9,999, got {given!r}")
    return int(given)
