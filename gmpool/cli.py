"""The command line: `gmpool train | predict | table | list | bench`."""

from __future__ import annotations

import csv
import importlib
import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table

import gmpool
from gmpool.config import AUTHORS
from gmpool.data import CATALOGUE, Dataset, load, load_table
from gmpool.data.table import SUFFIXES
from gmpool.engine.checkpoint import load_model
from gmpool.engine.cross_validate import Job, cross_validate
from gmpool.engine.store import Row, RunStore
from gmpool.errors import UserError
from gmpool.pool import METHODS, method_options, method_summary
from gmpool.report.page import write_report
from gmpool.report.progress import ProgressBars
from gmpool.report.summary import summarise
from gmpool.report.tables import as_csv, as_json, markdown, terminal
from gmpool.tasks.predict import predict as predict_graphs
from gmpool.tasks.predict import prediction_columns

app = typer.Typer(
    help="Graph multiset pooling: train, predict and compare readouts of graphs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out, err = Console(), Console(stderr=True)
INTERRUPTED = 130


class Listing(StrEnum):
    datasets = "datasets"
    methods = "methods"
    presets = "presets"


class Bench(StrEnum):
    loader = "loader"
    epoch = "epoch"
    readout = "readout"
    ops = "ops"


class Format(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    csv = "csv"
    json = "json"


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


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        out.print(gmpool.__version__)
        raise typer.Exit


@app.command()
def train(
    dataset: Annotated[
        str, typer.Argument(help="A dataset's name (gmpool list datasets), a CSV, or a TU folder.")
    ],
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help="Pooling method; may be repeated.")
    ] = None,
    folds: Annotated[int | None, typer.Option(help="How many folds; default all.")] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 1,
    first_seed: Annotated[int, typer.Option(help="The first seed; others count up.")] = 42,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", help="KEY=VALUE over the published setting; repeatable."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    data: DataRoot = None,
    store: StoreOption = Path("runs"),
    save_model: Annotated[
        Path | None, typer.Option(help="Keep the best model in this folder, for gmpool predict.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the results to this .html or .md file.")
    ] = None,
    json_: JsonFlag = False,
    smiles_column: SmilesOption = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", help="CSV: a label column; may be repeated.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="CSV: multiclass, binary or regression; default inferred.")
    ] = None,
    split_column: Annotated[
        str | None, typer.Option(help="CSV: the column that says train, valid or test.")
    ] = None,
    skip_bad_rows: SkipOption = False,
) -> None:
    """Cross-validate pooling methods on a dataset; finished runs are not done again."""
    methods = method or ["gmt"]
    if json_ and len(methods) > 1:
        raise UserError("--json describes one method; give --method once")
    if save_model and len(methods) > 1:
        raise UserError("--save-model keeps one model; give --method once")
    table = {
        "smiles_column": smiles_column,
        "label_columns": label,
        "task": task,
        "split_column": split_column,
        "skip_bad_rows": skip_bad_rows,
    }
    chosen = _load(dataset, data, table)
    device = _device(device)
    settings = _settings(option or [])
    jobs = [
        Job.make(
            chosen,
            name,
            folds=len(chosen.folds) if folds is None else folds,
            seeds=seeds,
            first_seed=first_seed,
            options=settings,
        )
        for name in methods
    ]
    if report is not None and report.suffix not in (".html", ".md"):
        raise UserError(f"--report writes .html or .md, got {report}")
    runs = RunStore(store)
    total = sum(len(job.specs()) for job in jobs)
    rows: list[Row] = []
    with ProgressBars(err, total) as bars, _resumable(runs, jobs):
        for job in jobs:
            rows += cross_validate(
                job, runs, device=device, watcher=bars, save_to=save_model
            )
    summaries = summarise(rows)
    if report is not None:
        write_report(rows, report, command=_command())
        err.print(f"report: {report}")
    if save_model is not None:
        err.print(f"model:  {save_model}")
    if json_:
        print(json.dumps({**summaries[0].to_json(), "store": str(store)}))
    else:
        out.print(terminal(summaries))


@app.command()
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
    table = {
        "smiles_column": smiles_column,
        "label_columns": (),
        "skip_bad_rows": skip_bad_rows,
    }
    graphs = _load(dataset, data, table).graphs
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
        raise UserError(f"the predictions could not be written to {output}: {error}") from error
    if output is not None:
        err.print(f"{len(names)} predictions: {output}")


@app.command()
def table(
    store: Annotated[Path, typer.Argument(help="A run store, or a file of rows.")] = Path("runs"),
    dataset: Annotated[list[str] | None, typer.Option(help="Only these sets.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only these methods.")] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.terminal,
    json_: JsonFlag = False,
) -> None:
    """Show recorded runs beside the paper's numbers."""
    runs = RunStore(store.parent if store.name == "rows.jsonl" else store)
    rows = [
        row
        for row in runs.finished().values()
        if (not dataset or row["dataset"] in dataset) and (not method or row["method"] in method)
    ]
    if not rows:
        raise UserError(f"{runs.path} holds no rows that match; gmpool train records some")
    summaries = summarise(rows)
    if json_ or format_ is Format.json:
        print(as_json(summaries))
    elif format_ is Format.terminal:
        out.print(terminal(summaries))
    else:
        print({"markdown": markdown, "csv": as_csv}[format_](summaries), end="")


@app.command("list")
def list_(
    what: Annotated[Listing, typer.Argument(help="What to list.")],
    json_: JsonFlag = False,
) -> None:
    """List datasets, pooling methods, or the published settings."""
    rows: list[dict[str, Any]]
    if what is Listing.datasets:
        rows = [
            {"name": name, "graphs": e.graphs, "outputs": e.outputs, "nodes": e.mean_nodes,
             "about": e.about}
            for name, e in CATALOGUE.items()
        ]  # fmt: skip
    elif what is Listing.methods:
        rows = [
            {"name": name, "about": method_summary(name), "options": method_options(name)}
            for name in METHODS
        ]
    else:
        rows = [{"dataset": name, "settings": dict(values)} for name, values in AUTHORS.items()]
    if json_:
        print(json.dumps(rows))
        return
    shown = Table(*rows[0])
    for row in rows:
        shown.add_row(*(_words(value) for value in row.values()))
    out.print(shown)


@app.command()
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


def _load(name: str, root: Path | None, table: dict[str, Any]) -> Dataset:
    """A dataset by name or path; the options of a table are refused where they do not apply."""
    if name.endswith(SUFFIXES):
        chosen = load_table(name, **table)
        for reason in chosen.skipped:
            err.print(f"left out: {reason}", highlight=False, markup=False)
        return chosen
    for key, value in table.items():
        if value:
            raise UserError(f"--{key.replace('_', '-')} is for a CSV, and {name!r} is not one")
    return load(name, root)


def _device(name: str) -> str:
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"--device {name}: this machine has no CUDA device; use --device cpu")
    try:
        torch.device(name)
    except RuntimeError as error:
        raise UserError(f"--device takes cpu, cuda or auto, got {name!r}") from error
    return name


def _settings(options: list[str]) -> dict[str, str]:
    settings = {}
    for text in options:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UserError(f"--option takes KEY=VALUE, got {text!r}")
        settings[key] = value
    return settings


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items())
    return str(value)


def _command() -> str:
    return shlex.join(["gmpool", *sys.argv[1:]])


@contextmanager
def _csv_target(path: Path | None) -> Iterator[Any]:
    if path is None:
        yield sys.stdout
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        yield file


@contextmanager
def _resumable(runs: RunStore, jobs: list[Job]) -> Iterator[None]:
    """On Ctrl-C say what is kept and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        finished = runs.finished()
        specs = [spec for job in jobs for spec in job.specs()]
        done = sum(spec.key in finished for spec in specs)
        err.print(
            f"\nstopped: {done} of {len(specs)} runs are recorded in {runs.folder}; "
            f"the same command goes on from there"
        )
        raise typer.Exit(INTERRUPTED) from None


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except UserError as error:
        if "--debug" in sys.argv:
            raise
        err.print(f"[bold red]error:[/] {_plain(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
