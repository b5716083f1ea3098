"""`gmpool predict`"""

from pathlib import Path
from typing import Annotated

import typer

from gmpool.cli.arguments import AddressOption, DataRoot, DeviceOption, ExecutorOption, usable
from gmpool.cli.model_rows import Where, write_rows
from gmpool.cli.row_file import ENDINGS
from gmpool.errors import UserError

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
    executor: ExecutorOption = None,
    address: AddressOption = None,
) -> None:
    """Apply a trained model to new data.

    All columns of a table stay, in its order. Beside them stand the predictions (pred_NAME a
    value or class, p_NAME a probability), how sure they are (std_NAME, of calibrated models), and
    what the problem is where there is none. Of other data there is one row per graph.

    Stopped or killed, the same command goes on.

    A text that a spreadsheet would run as a formula gets an apostrophe before it.

    gmpool predict my-model new.csv --out predictions.csv

    gmpool predict my-model 'parts/*.csv' --out predicted --coverage 0.9

    gmpool predict my-model 'parts/*.csv' --out predicted --executor ray
    """
    options = {"smiles_column": smiles_column, "coverage": coverage, "batch_size": batch_size}
    where = Where(workers, device, executor, address)
    write_rows(
        "predict", "prediction", model, dataset, output, data, options, where,
        skip_bad_rows=skip_bad_rows,
    )  # fmt: skip
