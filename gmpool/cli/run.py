"""`gmpool run`"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from gmpool.cli.arguments import (
    DataRoot,
    JsonFlag,
    ReplicasOption,
    StoreOption,
    Tf32Flag,
    WorkersOption,
    allow_tf32,
    replicas_wanted,
    usable_device,
    workers_wanted,
)
from gmpool.cli.console import err, out, say
from gmpool.cli.progress import ProgressBars
from gmpool.cli.resumable import resumable
from gmpool.engine.cell import Cell
from gmpool.engine.expected import Expected, expected
from gmpool.engine.plan import Plan, read_plan
from gmpool.engine.provenance import device_name
from gmpool.engine.run_plan import Failure, run_cells
from gmpool.engine.store import Row, RunStore
from gmpool.errors import UserError, unknown
from gmpool.report.number_text import duration


def run(
    plan: Annotated[
        str, typer.Argument(help="A plan's name (gmpool list plans), or a .toml file.")
    ],
    store: StoreOption = Path("runs"),
    data: DataRoot = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    replicas: ReplicasOption = None,
    workers: WorkersOption = None,
    side_by_side: Annotated[
        int | None,
        typer.Option(
            help="GPU: so many programs at a time, of any cells; their small kernels overlap."
        ),
    ] = None,
    tf32: Tf32Flag = False,
    only_dataset: Annotated[
        list[str] | None, typer.Option(help="Only this set of the plan; may be repeated.")
    ] = None,
    only_method: Annotated[
        list[str] | None,
        typer.Option(help="Only lines with this method or label; may be repeated."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="So many seeds, not the plan's.")] = None,
    keep_models: Annotated[
        bool,
        typer.Option(
            "--keep-models", help="Keep the weights of reconstructions in models/ of the store."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is to do, and do nothing.")
    ] = False,
    json_: JsonFlag = False,
) -> None:
    """Do the runs of a plan that are not recorded yet."""
    device = usable_device(device)
    together = replicas_wanted(replicas, device)
    processes = workers_wanted(workers, device, replicas)
    check_side_by_side(side_by_side, device, together)
    allow_tf32(tf32, device)
    chosen = _part_of(read_plan(plan), only_dataset or [], only_method or [], seeds)
    if keep_models and chosen.task != "reconstruct":
        raise UserError(
            f"--keep-models is for plans of reconstructions, and {plan} is none; "
            f"gmpool train --save-model keeps a classifier"
        )
    cells, runs = chosen.cells(), RunStore(store)
    where = device_name(device, threads=None if processes == 1 else 1)
    costs = expected(cells, runs.finished().values(), where, processes)
    if not json_:
        out.print(_cost_table(chosen, costs))
    failures: list[Failure] = []
    if not dry_run:
        to_do = [cost.cell for cost in costs if cost.to_do or keep_models]
        kept = store / "models" if keep_models else None
        failures = _do(
            to_do,
            runs,
            device=device,
            replicas=together,
            side_by_side=side_by_side,
            workers=processes,
            root=data,
            keep_models=kept,
        )
        costs = expected(cells, runs.finished().values(), where, processes)
        for failure in failures:
            say(f"failed: {failure}")
        say(_ending(plan, store, costs))
    if json_:
        print(json.dumps(_to_json(chosen, costs, failures, store)))
    if failures:
        raise typer.Exit(2)


def _part_of(plan: Plan, datasets: list[str], methods: list[str], seeds: int | None) -> Plan:
    """What --only-dataset, --only-method and --seeds leave of a plan."""
    for name in datasets:
        if name not in plan.datasets:
            raise UserError(f"--only-dataset: {unknown('set of the plan', name, plan.datasets)}")
    names = {name for line in plan.lines for name in (line.label, line.method)}
    for name in methods:
        if name not in names:
            raise UserError(f"--only-method: {unknown('line of the plan', name, names)}")
    if seeds is not None and seeds < 1:
        raise UserError(f"--seeds must be at least 1, got {seeds}")
    return replace(
        plan,
        datasets=tuple(d for d in plan.datasets if d in datasets or not datasets),
        lines=tuple(
            line for line in plan.lines if not methods or {line.label, line.method} & set(methods)
        ),
        seeds=plan.seeds if seeds is None else seeds,
    )


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
        cell = cost.cell
        shown.add_row(
            Text(cell.line.label), Text(cell.dataset), str(cell.runs), str(cost.recorded),
            str(cost.to_do), _time(cost.to_do, cost.seconds, cost.rough),
        )  # fmt: skip
    return shown


def _time(to_do: int, seconds: float | None, rough: bool) -> str:
    if not to_do:
        return "–"
    if seconds is None:
        return "unknown"
    return f"{'about ' if rough else ''}{duration(seconds)}"


def _total(costs: Sequence[Expected]) -> dict[str, Any]:
    """Sums over the cells; of times over those that are known, none if none is."""
    known = [cost.seconds for cost in costs if cost.seconds is not None and cost.to_do]
    return {
        "runs": sum(cost.cell.runs for cost in costs),
        "recorded": sum(cost.recorded for cost in costs),
        "to_do": sum(cost.to_do for cost in costs),
        "expected_seconds": sum(known) if known else None,
    }


def check_side_by_side(programs: int | None, device: str, replicas: int | None) -> None:
    if programs is None:
        return
    if programs < 1:
        raise UserError(f"--side-by-side takes a number from 1 on, got {programs}")
    if device == "cpu":
        raise UserError("--side-by-side is for a GPU; this runs on the CPU")
    if replicas == 1:
        raise UserError("--side-by-side is for stacks, and --replicas 1 makes none: leave one out")


def _do(cells: Sequence[Cell], runs: RunStore, **how: Any) -> list[Failure]:
    total = sum(cell.runs for cell in cells)

    def count(finished: dict[str, Row]) -> int:
        return sum(len(cell.recorded(finished.values())) for cell in cells)

    def on_cell(cell: Cell) -> None:
        # Bars name the method anyway, and of a reconstruction the ratio and the objective too.
        if cell.task == "classify" and cell.line.label != cell.line.method:
            say(f"{cell.line.label}:")

    with ProgressBars(err, total) as bars, resumable(runs, total, count):
        return run_cells(cells, runs, watcher=bars, on_cell=on_cell, **how)


def _ending(plan: str, store: Path, costs: Sequence[Expected]) -> str:
    total = _total(costs)
    left = "; the same command tries the others again" if total["to_do"] else ""
    command = shlex.join(["gmpool", "table", plan, "--store", str(store)])
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
