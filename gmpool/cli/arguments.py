"""What the commands are given: options they share, and words turned into settings."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer

from gmpool.cli.ranks import group
from gmpool.engine.device import usable_device
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.on_ray import OnRay
from gmpool.engine.executors.processes import Processes, usable_cores
from gmpool.engine.executors.ray_tasks import AUTO, Cluster
from gmpool.engine.executors.shared import Shared
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.group import Group
from gmpool.engine.own_sets import data_flags
from gmpool.engine.provenance import device_name
from gmpool.engine.unfinished import FOLDER as UNFINISHED
from gmpool.errors import UserError, unknown
from gmpool.file_paths import usable_path
from gmpool.tasks.task import TASKS, Flag

RAY = "ray"


def usable(given: Any) -> Any:
    """A callback for arguments that are, or may be, paths: what no file can be called raises."""
    for path in given if isinstance(given, list) else [] if given is None else [given]:
        usable_path(path)
    return given


DataRoot = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Folder with dataset files; else $GMPOOL_DATA, then the cache.",
        callback=usable,
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
StoreOption = Annotated[
    Path, typer.Option("--store", help="Folder of the run store.", callback=usable)
]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, cuda, or auto.")]
ReplicasOption = Annotated[
    str | None,
    typer.Option(
        "--replicas",
        help="How many runs are one program: auto, or a number; default auto on a GPU, else 1.",
    ),
]
WorkersOption = Annotated[
    str | None,
    typer.Option(
        "--workers",
        help="CPU: so many runs at a time, each in a process with one thread; auto: one per core. "
        "Default 1, and auto where models are joined of several.",
    ),
]
SideBySideOption = Annotated[
    int | None,
    typer.Option(help="GPU: so many programs at a time, of any runs; their small kernels overlap."),
]
Tf32Flag = Annotated[
    bool, typer.Option("--tf32", help="Let a GPU multiply with 10 bits of mantissa: faster.")
]
ExecutorOption = Annotated[
    str | None,
    typer.Option("--executor", help="ray: on a cluster; default: on this machine."),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="Of the Ray cluster: auto, the one this machine is a part of; HOST:PORT; or local, "
        "one of this machine alone. Default auto.",
    ),
]
KeepFlag = Annotated[
    bool,
    typer.Option("--keep-models", help="Keep the weights of every run in models/ of the store."),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Write the table to this .md, .tex, .csv, .json or .html file.",
        callback=usable,
    ),
]
PlotsOption = Annotated[
    Path | None,
    typer.Option("--plots", help="Write pictures to this folder.", callback=usable),
]


class Way(NamedTuple):
    """To run what a command is asked for."""

    executor: Executor
    workers: int
    """So many runs at a time, each with a thread."""
    where: str
    """As rows have it."""


def way_for(
    device: str,
    replicas: str | None,
    workers: str | None,
    side_by_side: int | None = None,
    tf32: bool = False,
    joined: bool = False,
    cluster: Cluster | None = None,
    *,
    store: Path,
) -> Way:
    """The way that the options ask for. joined: models are of several trainings, which take all
    cores where nobody says otherwise."""
    if (ranks := group()) is not None:
        asked = {"--replicas": replicas, "--workers": workers, "--side-by-side": side_by_side}
        return _way_of(ranks, device, {**asked, "--executor": cluster}, tf32, store)
    if cluster is not None:
        return _way_on(cluster, device, replicas, workers, side_by_side, tf32)
    device = usable_device(device)
    executor = executor_for(device, replicas, workers, side_by_side, tf32, joined)
    at_once = executor.workers if isinstance(executor, Processes) else 1
    return Way(executor, at_once, device_name(device, threads=None if at_once == 1 else 1))


def _way_of(ranks: Group, device: str, asked: Mapping[str, Any], tf32: bool, store: Path) -> Way:
    """asked: other ways, by their flags."""
    for flag, value in asked.items():
        if value is not None:
            raise UserError(
                f"{flag} is another way than torchrun, by which {ranks.count} processes do each "
                "training together: take one of them"
            )
    device = usable_device(device)
    if device not in ("cpu", "cuda"):
        raise UserError(f"--device takes cpu, cuda or auto under torchrun, got {device!r}")
    allow_tf32(tf32, device)
    return Way(Shared(ranks, device, store / UNFINISHED), 1, device_name(device))


def cluster_for(executor: str | None, address: str | None) -> Cluster | None:
    """None: this machine."""
    if executor is None:
        if address is not None:
            raise UserError(f"--address {address} is of a cluster: say --executor ray too")
        return None
    if executor != RAY:
        raise unknown("executor", executor, [RAY])
    return Cluster(AUTO if address is None else address)


def _way_on(
    cluster: Cluster,
    device: str,
    replicas: str | None,
    workers: str | None,
    side_by_side: int | None,
    tf32: bool,
) -> Way:
    if workers is not None:
        raise UserError("--workers is for this machine; a cluster has as many as its nodes say")
    if side_by_side is not None:
        raise UserError("--side-by-side is for this machine; on a cluster each GPU has one program")
    if device not in ("auto", "cpu", "cuda"):
        raise UserError(f"--device takes cpu, cuda or auto on a cluster, got {device!r}")
    if device == "auto":
        device = "cuda" if cluster.has_gpus else "cpu"
    if tf32 and device == "cpu":
        raise UserError("--tf32 is for a GPU; this runs on CPUs")
    together = None if replicas is None else _number("--replicas", replicas)
    on = OnRay(replace(cluster, gpus=int(device == "cuda")), together, tf32)
    return Way(on, max(on.workers, 1), device_name(device, threads=1) if device == "cpu" else "")


def executor_for(
    device: str,
    replicas: str | None,
    workers: str | None,
    side_by_side: int | None = None,
    tf32: bool = False,
    joined: bool = False,
) -> Executor:
    """device: one that is usable."""
    allow_tf32(tf32, device)
    if side_by_side is not None:
        _check_side_by_side(side_by_side, device, replicas)
    if joined and workers is None and replicas is None and device == "cpu":
        workers = "auto"
    if workers is not None:
        if device != "cpu":
            raise UserError(
                f"--workers is for the CPU; this runs on {device}: use --replicas there"
            )
        if replicas is not None:
            raise UserError(
                "--workers and --replicas are two ways to do many runs at once: take one"
            )
        count = worker_count(workers)
        return Processes(count) if count > 1 else Alone(device)
    together = _number("--replicas", replicas or ("1" if device == "cpu" else "auto"))
    return Alone(device) if together == 1 else Stacked(device, together, side_by_side)


def allow_tf32(tf32: bool, device: str) -> None:
    if tf32 and device == "cpu":
        raise UserError("--tf32 is for a GPU; this runs on the CPU")
    torch.backends.cuda.matmul.allow_tf32 = tf32


def worker_count(given: str) -> int:
    return _number("--workers", given) or usable_cores()


def _number(flag: str, given: str) -> int | None:
    """A number, or None for auto."""
    if given == "auto":
        return None
    if not (given.isdecimal() and len(given) < 5 and int(given) >= 1):
        raise UserError(f"{flag} takes auto or a number from 1 to 9,999, got {given!r}")
    return int(given)


def _check_side_by_side(programs: int, device: str, replicas: str | None) -> None:
    if programs < 1:
        raise UserError(f"--side-by-side takes a number from 1 on, got {programs}")
    if device == "cpu":
        raise UserError("--side-by-side is for a GPU; this runs on the CPU")
    if replicas == "1":
        raise UserError("--side-by-side is for stacks, and --replicas 1 makes none: leave one out")


def every_data_flag() -> list[Flag]:
    """Those of all tasks that say how data are read, each once."""
    found = {flag.name: flag for name in TASKS for flag in data_flags(TASKS[name])}
    return list(found.values())


def given_flags(own: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that say nothing."""
    return {name: value for name, value in own.items() if value not in (None, False, [])}


def flag_words(given: Mapping[str, Any]) -> list[str]:
    """As they are typed."""
    words = []
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list) else [value]:
            words += [flag] if each is True else [flag, str(each)]
    return words


def with_flags(do: Callable[..., None], flags: Sequence[Flag], **fixed: Any) -> Callable[..., None]:
    """A function that typer makes a command of: `do`, whose argument `own` is made of flags, each
    of them an option. One that `do` has too is declared by the flag, and goes to both.

    fixed: arguments of `do` that are no options.
    """
    names = [flag.name for flag in flags]
    shared = inspect.signature(do, eval_str=True).parameters.values()
    asked = [p for p in shared if p.name not in ("own", *fixed)]

    def command(**given: Any) -> None:
        own = {name: given[name] for name in names}
        do(own=own, **fixed, **{p.name: given[p.name] for p in asked})

    parameters = [p for p in asked if p.name not in names]
    parameters += [_parameter(flag) for flag in flags]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__name__, command.__doc__ = do.__name__, do.__doc__
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
