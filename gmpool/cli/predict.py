"""`gmpool predict`"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from gmpool.cli.arguments import DataRoot, SkipOption, SmilesOption, new_graphs
from gmpool.cli.console import say, say_left_out
from gmpool.engine.checkpoint import load_model
from gmpool.errors import UserError
from gmpool.tasks.classify.predict import predict as predict_graphs
from gmpool.tasks.classify.predict import prediction_columns


def predict(
    model: Annotated[Path, typer.Argument(help="Folder written by gmpool train --save-model.")],
    dataset: Annotated[str, typer.Argument(help="A CSV with SMILES, a TU folder, or a name.")],
    output: Annotated[
        Path | None, typer.Option("--out", help="CSV to write; default: standard output.")
    ] = None,
    data: DataRoot = None,
    smiles_column: SmilesOption = None,
    skip_bad_rows: SkipOption = False,
) -> None:
    """Apply a trained model to new data and write one CSV row per graph."""
    trained, _ = load_model(model)
    table = {"smiles_column": smiles_column, "skip_bad_rows": skip_bad_rows}
    graphs, skipped = new_graphs(dataset, data, table)
    say_left_out(skipped)
    scores = predict_graphs(trained, graphs)
    names = graphs.graph_names or [str(i) for i in range(graphs.num_graphs)]
    header = ["graph", *prediction_columns(trained)]
    classes = trained.shape.class_names if trained.shape.task == "multiclass" else ()
    if classes:
        header.insert(1, "class")
    try:
        with _csv_target(output) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            for name, row in zip(names, scores.tolist(), strict=True):
                best = [classes[row.index(max(row))]] if classes else []
                writer.writerow([name, *best, *(f"{value:.6g}" for value in row)])
    except OSError as error:
        target = output or "standard output"
        raise UserError(f"the predictions could not be written to {target}: {error}") from error
    if output is not None:
        say(f"{len(names)} predictions: {output}")


@contextmanager
def _csv_target(path: Path | None) -> Iterator[Any]:
    if path is None:
        yield sys.stdout
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        yield file
