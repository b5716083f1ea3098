"""`gmpool run`"""

import json
import shlex
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from gmpool.cli.arguments import (
    AddressOption,
    DataRoot,
    DeviceOption,
    ExecutorOption,
    JsonFlag,
    KeepFlag,
    ReplicasOption,
    SideBySideOption,
    StoreOption,
    Tf32Flag,
    Way,
    WorkersOption,
    cluster_for,
    every_data_flag,
    flag_words,
    given_flags,
    usable,
    way_for,
    with_flags,
)
from gmpool.cli.console import err, out, say, say_understood
from gmpool.cli.output import check_places
from gmpool.cli.progress import ProgressBars, resumable, say_short_training
from gmpool.engine.expected import Expected, expected
from gmpool.engine.job import Job, Recorded
from gmpool.engine.keep import KeepAll
from gmpool.engine.plan import Plan, read_plan
from gmpool.engine.run_jobs import Failure, run_plan
from gmpool.engine.store import RunStore
from gmpool.report.number_text import duration


def run_command() -> Callable[..., None]:
    """With the flags of every task for data, which a plan's own sets are then read with."""
    return with_flags(run, every_data_flag())


def run(
    own: dict[str, Any],
    plan: Annotated[
        str,
        typer.Argument(help="A plan's name (gmpool list plans), or a .toml file.", callback=usable),
    ],
    store: StoreOption = Path("runs"),
    data: DataRoot = None,
    device: DeviceOption = "auto",
    replicas: ReplicasOption = None,
    workers: WorkersOption = None,
    side_by_side: SideBySideOption = None,
    tf32: Tf32Flag = False,
    executor: ExecutorOption = None,
    address: AddressOption = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only this set of the plan; may be repeated.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Only lines with this method or label; may be repeated."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="So many seeds, not the plan's.")] = None,
    keep_models: KeepFlag = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is to do, and do nothing.")
    ] = False,
    json_: JsonFlag = False,
) -> None:
    """Do the runs of a plan that are not recorded yet."""
    cluster = cluster_for(executor, address)
    if not dry_run:
        check_places(None, store=store)
    table = given_flags(own)
    chosen = read_plan(plan, table).part(dataset or [], method or [], seeds)
    jobs, runs = chosen.jobs(), RunStore(store)
    joined = any(job.is_joined for job in jobs)
    way = way_for(device, replicas, workers, side_by_side, tf32, joined, cluster, store=store)
    for name in chosen.datasets:
        if name in chosen.own:
            say_understood(chosen.own[name])
    costs = _costs(jobs, runs, way)
    if not json_:
        out.print(_cost_table(chosen, costs))
    failures: list[Failure] = []
    if not dry_run:
        to_do = [cost.job for cost in costs if cost.to_do or keep_models]
        say_short_training(to_do)
        keep = KeepAll(store / "models") if keep_models else None
        total = sum(len(job.runs) for job in to_do)
        keys = {run.key for job in to_do for run in job.runs}
        with (
            ProgressBars(err, total) as bars,
            resumable(runs, total, lambda finished: len(keys & finished.keys())),
        ):
            failures = run_plan(
                to_do,
                runs,
                way.executor,
                root=data,
                watcher=bars,
                on_job=_announcer(chosen.own),
                keep=keep,
            )
        costs = _costs(jobs, runs, way)
        for failure in failures:
            say(f"failed: {failure}")
        say(_ending(plan, store, costs, flag_words(table)))
    if json_:
        print(json.dumps(_to_json(chosen, costs, failures, store)))
    if failures:
        raise typer.Exit(2)


def _costs(jobs: Sequence[Job], runs: RunStore, way: Way) -> list[Expected]:
    return expected(jobs, Recorded(runs), way.where, way.workers)


def _announcer(told_before: Collection[str]) -> Callable[[Job], None]:
    """told_before: sets of which it was said what they are. Bars name the method anyway."""
    told = set(told_before)

    def announce(job: Job) -> None:
        if job.name not in told:
            told.add(job.name)
            say_understood(job.dataset)
        if job.label not in (job.model.method, job.task.label(job.model)):
            say(f"{job.label}:")

    return announce


def _cost_table(plan: Plan, costs: Sequence[Expected]) -> Table:
    shown = Table(title=Text(plan.title), title_justify="left", show_footer=True)
    total = _total(costs)
    about = any(cost.rough for cost in costs)
    time = _time(total["to_do"], total["expected_seconds"], about)
    if any(cost.seconds is None for cost in costs) and total["expected_seconds"]:
        time = f"{time} and more"
    shown.add_column("line", footer="total")
    shown.add_column("dataset")
    for key, heading in (("runs", "runs"), ("recorded", "recorded"), ("to_do", "to do")):
        shown.add_column(heading, justify="right", footer=str(total[key]))
    shown.add_column("expected time", justify="right", footer=time)
    for cost in costs:
        shown.add_row(
            Text(cost.job.label),
            Text(cost.job.name),
            str(len(cost.job.runs)),
            str(cost.recorded),
            str(cost.to_do),
            _time(cost.to_do, cost.seconds, cost.rough),
        )
    return shown


def _time(to_do: int, seconds: float | None, rough: bool) -> str:
    if not to_do:
        return "–"
    if seconds is None:
        return "unknown"
    return f"{'about ' if rough else ''}{duration(seconds)}"


def _total(costs: Sequence[Expected]) -> dict[str, Any]:
    """Sums over the jobs; of times over those that are known, none if none is."""
    known = [cost.seconds for cost in costs if cost.seconds is not None and cost.to_do]
    return {
        "runs": sum(len(cost.job.runs) for cost in costs),
        "recorded": sum(cost.recorded for cost in costs),
        "to_do": sum(cost.to_do for cost in costs),
        "expected_seconds": sum(known) if known else None,
    }


def _ending(plan: str, store: Path, costs: Sequence[Expected], flags: Sequence[str]) -> str:
    total = _total(costs)
    left = "; the same command tries the others again" if total["to_do"] else ""
    command = shlex.join(["gmpool", "table", plan, "--store", str(store), *flags])
    return (
        f"{total['recorded']} of {total['runs']} runs are recorded in {store}{left}\n"
        f"the result: {command}"
    )


def _to_json(
    plan: Plan, costs: Sequence[Expected], failures: Sequence[Failure], store: Path
) -> dict[str, Any]:
    return {
        "plan": plan.name,
        "store": str(store),
        **_total(costs),
        "cells": [cost.to_json() for cost in costs],
        "failures": [failure.to_json() for failure in failures],
    }
