"""`gmpool evaluate`"""

from typing import Annotated

import typer

from gmpool.cli.arguments import DataRoot, DeviceOption, JsonFlag, OutOption, usable, worker_count
from gmpool.cli.console import err
from gmpool.cli.output import check_places, form_of, write
from gmpool.cli.predict import (
    BatchOption,
    ModelArgument,
    PartWorkersOption,
    SmilesOption,
)
from gmpool.cli.row_bar import bar_of
from gmpool.engine.checkpoint import load_model
from gmpool.engine.device import usable_device
from gmpool.file_paths import require_other_file


def evaluate(
    model: ModelArgument,
    dataset: Annotated[
        str, typer.Argument(help="A table, or other data, with labels.", callback=usable)
    ],
    label: Annotated[
        list[str] | None,
        typer.Option(help="Only this of the labels that the model predicts; may be repeated."),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(help="What intervals and sets promise; default 0.9, of calibrated models."),
    ] = None,
    data: DataRoot = None,
    smiles_column: SmilesOption = None,
    skip_bad_labels: Annotated[
        bool, typer.Option("--skip-bad-labels", help="Take labels that are none for gaps.")
    ] = False,
    out: OutOption = None,
    json_: JsonFlag = False,
    workers: PartWorkersOption = "auto",
    batch_size: BatchOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Score a trained model on data with labels, which are in columns called as in training.

    Each score of each label stands above its 95 % interval. Of probabilities there is the
    calibration error, of calibrated models how many labels lie inside intervals and sets.

    gmpool evaluate my-model measured.csv --out scores.md
    """
    form = form_of(out, "json" if json_ else None)
    check_places(out)
    if out is not None:
        require_other_file(out, "--out", [dataset])
    saved = load_model(model)
    with bar_of(err, hidden=False) as bar:
        task = bar.add_task("", total=None)
        grids = saved.evaluate(
            dataset,
            data,
            label=label,
            coverage=coverage,
            skip_bad_labels=skip_bad_labels,
            told=lambda rows, total: bar.update(task, completed=rows, total=total),
            workers=worker_count(workers),
            batch_size=batch_size,
            smiles_column=smiles_column,
            device=usable_device(device),
        )
    write(grids, form, out, title=f"{dataset} by {model}")
