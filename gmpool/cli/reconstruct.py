"""`gmpool reconstruct`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gmpool.atomic_files import write_atomically
from gmpool.cli.arguments import (
    DataRoot,
    JsonFlag,
    ReplicasOption,
    SkipOption,
    SmilesOption,
    Tf32Flag,
    WorkersOption,
    allow_tf32,
    replicas_wanted,
    settings_from,
    usable_device,
    workers_wanted,
)
from gmpool.cli.console import err, out, say, say_left_out
from gmpool.cli.progress import ProgressBars
from gmpool.cli.resumable import resumable
from gmpool.data import Dataset
from gmpool.engine.checkpoint import load_autoencoder
from gmpool.engine.reconstructions import ReconstructJob, run_reconstructions
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.options import parse_value
from gmpool.record import Row
from gmpool.report.render import render
from gmpool.report.render.terminal import terminal
from gmpool.tasks.reconstruct.data import reconstruct_data
from gmpool.tasks.reconstruct.pictures import pictures
from gmpool.tasks.reconstruct.scores import Tally, tallies
from gmpool.tasks.reconstruct.table import grids


def reconstruct(
    dataset: Annotated[
        str,
        typer.Argument(
            help="A dataset's name such as ZINC, a CSV of SMILES, a TU folder, ring, grid, or a "
            "generator of NetworkX."
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="gmt, topk, diffpool, mincut, structpool or random; may be repeated.",
        ),
    ] = None,
    ratio: Annotated[
        list[float] | None,
        typer.Option(help="Rows left of a graph, as a share of its nodes; may be repeated."),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="x (node features) or a (adjacency); may be repeated."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 1,
    first_seed: Annotated[int, typer.Option(help="The first seed; others count up.")] = 42,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", help="KEY=VALUE over the published setting; repeatable."),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            help="KEY=VALUE of a graph that is made, such as n=100; repeatable.",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    replicas: ReplicasOption = None,
    workers: WorkersOption = None,
    tf32: Tf32Flag = False,
    data: DataRoot = None,
    to: Annotated[
        Path, typer.Option("--out", help="Folder for the rows, the weights and the pictures.")
    ] = Path("reconstruction"),
    json_: JsonFlag = False,
    smiles_column: SmilesOption = None,
    split_column: Annotated[
        str | None, typer.Option(help="CSV: the column that says train, valid or test.")
    ] = None,
    skip_bad_rows: SkipOption = False,
) -> None:
    """Compress graphs to a few nodes, rebuild them, and show what was lost."""
    table = {
        "smiles_column": smiles_column,
        "split_column": split_column,
        "skip_bad_rows": skip_bad_rows,
    }
    given = {k: parse_value(v) for k, v in settings_from(parameter or [], "--parameter").items()}
    chosen = reconstruct_data(dataset, data, parameters=given, table=table)
    say_left_out(chosen.skipped)
    device = usable_device(device)
    together = replicas_wanted(replicas, device)
    processes = workers_wanted(workers, device, replicas)
    allow_tf32(tf32, device)
    settings = settings_from(option or [])
    for flag in ("ratio", "objective"):
        if flag in settings:
            raise UserError(f"give {flag} as --{flag} {settings[flag]}, not as an --option")
    jobs = [
        ReconstructJob.make(
            chosen,
            name,
            seeds=seeds,
            first_seed=first_seed,
            options={**settings, "ratio": share, "objective": aim},
        )
        for name in method or ["gmt"]
        for share in ratio or [0.25]
        for aim in objective or ["x"]
    ]
    runs = RunStore(to)
    keys = [spec.key for job in jobs for spec in job.specs()]
    with (
        ProgressBars(err, len(keys)) as bars,
        resumable(runs, len(keys), lambda finished: sum(key in finished for key in keys)),
    ):
        found = run_reconstructions(
            jobs,
            runs,
            device=device,
            watcher=bars,
            replicas=together,
            workers=processes,
            keep_models=to / "models",
        )
    rows = [Row.from_json(row) for row in found]
    tallied = tallies(rows, seeds=seeds)
    _draw(rows, tallied, chosen, to)
    if json_:
        print(render("json", grids(tallied)), end="")
    else:
        out.print(terminal(grids(tallied, rows), out.width))


def _draw(rows: list[Row], tallied: list[Tally], chosen: Dataset, folder: Path) -> None:
    models = folder / "models"
    kept = [row for row in rows if (models / row.key).is_dir()]
    drawn = pictures(
        kept, tallied, {chosen.name: chosen}, lambda row: load_autoencoder(models / row.key)[0]
    )
    made = {picture.file: png for picture in drawn if (png := picture.draw()) is not None}
    try:
        write_atomically({folder / name: content for name, content in made.items()})
    except OSError as error:
        raise UserError(f"pictures could not be written to {folder}: {error}") from error
    for name in ("rows.jsonl", *made):
        say(f"written: {folder / name}")
