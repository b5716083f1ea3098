"""`gmpool train`, and the command of every other task that has one: made from what it declares."""

import inspect
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from gmpool.cli.arguments import (
    DataRoot,
    DeviceOption,
    JsonFlag,
    KeepFlag,
    OutOption,
    PlotsOption,
    ReplicasOption,
    StoreOption,
    Tf32Flag,
    WorkersOption,
    executor_for,
    usable_device,
)
from gmpool.cli.console import err, say, say_left_out
from gmpool.cli.output import form_of, save_pictures, write
from gmpool.cli.progress import ProgressBars, resumable
from gmpool.engine.checkpoint import Keep, KeepAll, KeepBest, KeepBoth, kept_model
from gmpool.engine.job import Job, Recorded
from gmpool.engine.plan import cells_of
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.options import settings_from
from gmpool.tasks.task import Asked, Flag, Task


def command_of(task: Task) -> Callable[..., None]:
    """A function that typer makes a command of, with the task's own options among the others."""

    def command(**given: Any) -> None:
        own = {flag.name: given.pop(flag.name) for flag in task.flags}
        _do(task, own, **given)

    shared = inspect.signature(_do, eval_str=True).parameters.values()
    mine = [_parameter(flag) for flag in task.flags]
    parameters = [p for p in shared if p.name not in ("task", "own")] + mine
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__doc__ = task.help
    return command


def _parameter(flag: Flag) -> inspect.Parameter:
    names = [f"--{flag.name.replace('_', '-')}", *([f"-{flag.short}"] if flag.short else [])]
    words = f"{flag.help.removesuffix('.')}; may be repeated." if flag.repeat else flag.help
    kind: Any = flag.kind if flag.kind is bool else flag.kind | None
    kind = list[flag.kind] | None if flag.repeat else kind  # type: ignore[name-defined]
    default = False if flag.kind is bool else None
    option = typer.Option(*names, help=words)
    return inspect.Parameter(
        flag.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )


def _do(
    task: Task,
    own: dict[str, Any],
    dataset: Annotated[
        str, typer.Argument(help="A dataset's name (gmpool list datasets), or a file or folder.")
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
        typer.Option("--option", "-o", help="KEY=VALUE over the published setting; repeatable."),
    ] = None,
    device: DeviceOption = "auto",
    replicas: ReplicasOption = None,
    workers: WorkersOption = None,
    tf32: Tf32Flag = False,
    data: DataRoot = None,
    store: StoreOption = Path("runs"),
    save_model: Annotated[
        Path | None, typer.Option(help="Keep the best model in this folder, for gmpool predict.")
    ] = None,
    keep_models: KeepFlag = False,
    out: OutOption = None,
    plots: PlotsOption = None,
    json_: JsonFlag = False,
) -> None:
    methods = method or ["gmt"]
    if save_model and len(methods) > 1:
        raise UserError("--save-model keeps one model; give --method once")
    form_of(out)  # before anything is done: a name that says no form raises
    chosen = task.open(dataset, data, **{f.name: own[f.name] for f in task.flags if f.to == "data"})
    say_left_out(getattr(chosen, "skipped", ()))
    usable = usable_device(device)
    executor = executor_for(usable, replicas, workers, tf32=tf32)
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
    draws = plots is not None and task.draws_models
    keep: Keep | None = KeepAll(store / "models") if keep_models or draws else None
    if save_model is not None:
        best = KeepBest(save_model)
        keep = best if keep is None else KeepBoth(keep, best)
    runs = RunStore(store)
    keys = [run.key for job in jobs for run in job.runs]
    with (
        ProgressBars(err, len(keys)) as bars,
        resumable(runs, len(keys), lambda finished: sum(key in finished for key in keys)),
    ):
        rows = run_jobs(jobs, runs, executor, watcher=bars, keep=keep)
    if save_model is not None:
        say(f"model: {save_model}")
    grids = task.summary(rows)
    write(grids, "json" if json_ else "terminal", None)
    if out is not None:
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
    return [dict(zip([f.name for f in flags], each, strict=True)) for each in product(*values)]
