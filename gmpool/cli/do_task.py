"""`gmpool train`, and the command of every other task that has one: made from what it declares."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from gmpool.cli.arguments import (
    AddressOption,
    DataRoot,
    DeviceOption,
    ExecutorOption,
    JsonFlag,
    KeepFlag,
    OutOption,
    PlotsOption,
    ReplicasOption,
    StoreOption,
    Tf32Flag,
    WorkersOption,
    cluster_for,
    usable,
    way_for,
    with_flags,
)
from gmpool.cli.console import err, say, say_understood, understood
from gmpool.cli.output import check_places, form_of, save_pictures, write
from gmpool.cli.progress import ProgressBars, resumable, say_short_training
from gmpool.engine.checkpoint import kept_model, saved_key
from gmpool.engine.job import Job, Recorded
from gmpool.engine.keep import Keep, KeepAll, KeepBest, KeepBoth
from gmpool.engine.own_sets import data_flags
from gmpool.engine.plan import cells_of
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.file_paths import require_other_file
from gmpool.options import settings_from
from gmpool.tasks.task import Asked, Task


def command_of(task: Task) -> Callable[..., None]:
    """A function that typer makes a command of, with the task's own options among the others."""
    command = with_flags(_do, task.flags, task=task)
    command.__doc__ = task.help
    return command


def _do(
    task: Task,
    own: dict[str, Any],
    dataset: Annotated[
        str,
        typer.Argument(
            help="A dataset's name (gmpool list datasets), or a file or folder.", callback=usable
        ),
    ],
    *,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Pooling method (gmpool list methods); repeatable."),
    ] = None,
    folds: Annotated[int | None, typer.Option(help="How many folds; default all.")] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 1,
    first_seed: Annotated[int, typer.Option(help="The first seed; others count up.")] = 42,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            help="KEY=VALUE over the published setting (gmpool list options); repeatable.",
        ),
    ] = None,
    device: DeviceOption = "auto",
    replicas: ReplicasOption = None,
    workers: WorkersOption = None,
    tf32: Tf32Flag = False,
    executor: ExecutorOption = None,
    address: AddressOption = None,
    data: DataRoot = None,
    store: StoreOption = Path("runs"),
    save_model: Annotated[
        Path | None,
        typer.Option(
            help="Keep the best model in this folder, for gmpool predict or sample.",
            callback=usable,
        ),
    ] = None,
    keep_models: KeepFlag = False,
    out: OutOption = None,
    plots: PlotsOption = None,
    json_: JsonFlag = False,
) -> None:
    methods = method or [task.default_method]
    if save_model and len(methods) > 1:
        raise UserError("--save-model keeps one model; give --method once")
    form_of(out)  # before anything is done: a name that says no form raises
    check_places(out, plots=plots, save_model=save_model, store=store)
    if out is not None:
        require_other_file(out, "--out", [dataset])
    how = {flag.name: own[flag.name] for flag in data_flags(task)}
    if "folds" in how and "folds" in task.flags_for(dataset):
        folds = None  # the set is opened with as many as are asked for
    else:
        how.pop("folds", None)
    chosen = task.open(dataset, data, **how)
    cluster = cluster_for(executor, address)
    settings = settings_from(option or [])
    jobs = [
        Job.make(
            task.family,
            chosen,
            name,
            seeds=seeds,
            first_seed=first_seed,
            folds=folds,
            options={**settings, **line},
        )
        for name in methods
        for line in _lines(task, own, settings)
    ]
    joined = any(job.is_joined for job in jobs)
    way = way_for(device, replicas, workers, tf32=tf32, joined=joined, cluster=cluster, store=store)
    say_understood(chosen)
    say_short_training(jobs)
    draws = plots is not None and task.draws_models
    keep: Keep | None = KeepAll(store / "models") if keep_models or draws else None
    if save_model is not None:
        best = KeepBest(save_model)
        keep = best if keep is None else KeepBoth(keep, best)
    had = saved_key(save_model) if save_model is not None else None
    runs = RunStore(store)
    keys = [run.key for job in jobs for run in job.runs]
    with (
        ProgressBars(err, len(keys)) as bars,
        resumable(runs, len(keys), lambda finished: sum(key in finished for key in keys)),
    ):
        rows = run_jobs(jobs, runs, way.executor, watcher=bars, keep=keep)
    if save_model is not None:
        same = ", which was there already" if saved_key(save_model) == had else ""
        say(f"model: {save_model}{same}")
    grids = task.summary(rows)
    write(grids, "json" if json_ else "terminal", None)
    if out is not None:
        told = {note for grid in grids for note in grid.notes}
        lines = [line for line in understood(chosen) if line not in told]
        # The first line of what was understood has a name, and the others belong to it.
        read = [("" if at else "data", line) for at, line in enumerate(lines)]
        grids[0] = replace(grids[0], facts=[*read, *grids[0].facts])
        write(grids, form_of(out), out, title=f"{', '.join(methods)} on {chosen.name}")
    if plots is not None:
        cells, kept = cells_of(jobs, Recorded(rows)), kept_model(store / "models")
        opened = {chosen.name: chosen}
        asked = Asked(chosen.name, chosen.name, cells, seeds, kept=kept, datasets=opened)
        save_pictures([p for grid in task.grids(asked) for p in grid.pictures], plots)


def _lines(task: Task, own: dict[str, Any], settings: dict[str, str]) -> list[dict[str, Any]]:
    """The options of each line: all combinations of values that the task's flags were given."""
    flags = [flag for flag in task.flags if flag.to == "lines"]
    for flag in flags:
        if flag.name in settings:
            raise UserError(
                f"give {flag.name} as --{flag.name} {settings[flag.name]}, not as an --option"
            )
    values = [own[flag.name] or [flag.default] for flag in flags]
    names = [flag.name for flag in flags]
    # What nobody asked for is the preset's.
    return [
        {name: value for name, value in zip(names, each, strict=True) if value is not None}
        for each in product(*values)
    ]
