"""`gmpool train`"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from gmpool.cli.arguments import (
    DataRoot,
    JsonFlag,
    ReplicasOption,
    SkipOption,
    SmilesOption,
    StoreOption,
    Tf32Flag,
    WorkersOption,
    allow_tf32,
    labelled_data,
    replicas_wanted,
    settings_from,
    usable_device,
    workers_wanted,
)
from gmpool.cli.console import err, out, say, say_left_out
from gmpool.cli.progress import ProgressBars
from gmpool.cli.resumable import resumable
from gmpool.engine.cross_validate import Job, cross_validate
from gmpool.engine.store import Row as JsonRow
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.record import Row
from gmpool.report.page import write_report
from gmpool.report.render.terminal import terminal
from gmpool.report.summary import summarise, summary_grid, summary_title


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
    replicas: ReplicasOption = None,
    workers: WorkersOption = None,
    tf32: Tf32Flag = False,
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
    chosen = labelled_data(dataset, data, table)
    say_left_out(chosen.skipped)
    device = usable_device(device)
    together = replicas_wanted(replicas, device)
    processes = workers_wanted(workers, device, replicas)
    allow_tf32(tf32, device)
    settings = settings_from(option or [])
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
    keys = [spec.key for job in jobs for spec in job.specs()]
    rows: list[JsonRow] = []
    with (
        ProgressBars(err, len(keys)) as bars,
        resumable(runs, len(keys), lambda finished: sum(key in finished for key in keys)),
    ):
        for job in jobs:
            rows += cross_validate(
                job,
                runs,
                device=device,
                watcher=bars,
                save_to=save_model,
                replicas=together,
                workers=processes,
            )
    summaries = summarise(map(Row.from_json, rows))
    grid = summary_grid(summaries)
    if report is not None:
        write_report([grid], report, title=summary_title(summaries), command=_command())
        say(f"report: {report}")
    if save_model is not None:
        say(f"model:  {save_model}")
    if json_:
        print(json.dumps({**summaries[0].to_json(), "store": str(store)}))
    else:
        out.print(terminal([grid], out.width))


def _command() -> str:
    return shlex.join(["gmpool", *sys.argv[1:]])
