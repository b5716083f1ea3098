"""`gmpool table`"""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gmpool.cli.arguments import (
    JsonFlag,
    OutOption,
    PlotsOption,
    every_data_flag,
    flag_words,
    given_flags,
    usable,
    with_flags,
)
from gmpool.cli.console import say
from gmpool.cli.output import check_places, form_of, save_pictures, write
from gmpool.engine.checkpoint import kept_model
from gmpool.engine.job import Recorded
from gmpool.engine.plan import Plan, read_plan, shipped_plans
from gmpool.engine.store import RunStore
from gmpool.errors import UserError, unknown
from gmpool.file_paths import require_other_file
from gmpool.report.grid import Grid
from gmpool.tasks.task import TASKS

RUNS = Path("runs")


def table_command() -> Callable[..., None]:
    """With the flags that `gmpool run` has for a plan's own sets: they say which runs are meant."""
    return with_flags(table, every_data_flag())


def table(
    own: dict[str, Any],
    what: Annotated[
        str,
        typer.Argument(
            help="A plan's name (gmpool list plans) or .toml file, a run store, or a file of rows.",
            callback=usable,
        ),
    ] = str(RUNS),
    store: Annotated[
        list[Path] | None,
        typer.Option(
            help="With a plan: a run store or file of rows; may be repeated.", callback=usable
        ),
    ] = None,
    dataset: Annotated[list[str] | None, typer.Option(help="Only these sets.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Only these methods, or lines of a plan.")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", help="terminal, markdown, latex, csv, json or html; default terminal."
        ),
    ] = None,
    out: OutOption = None,
    plots: PlotsOption = None,
    json_: JsonFlag = False,
) -> None:
    """Show recorded runs beside the paper's numbers: all of a store, or a plan with its tests."""
    form = form_of(out, "json" if json_ else format_)
    check_places(out, plots=plots)
    if _is_plan(what):
        plan = read_plan(what, given_flags(own)).part(dataset or [], method or [])
        if out is not None:
            require_other_file(out, "--out", plan.files)
        grids = _of_plan(what, plan, store or [], draw=plots is not None or form == "html")
        write(grids, form, out, title=plan.title)
        if plots is not None:
            _say_what_is_missing(plan, store or [RUNS])
            save_pictures([picture for grid in grids for picture in grid.pictures], plots)
        return
    words = [(word, True) for word in flag_words(given_flags(own)) if word.startswith("--")]
    for flag, given in (("--store", store), ("--plots", plots), *words):
        if given:
            raise UserError(f"{flag} goes with a plan (gmpool list plans), and {what!r} is none")
    write(_of_store(Path(what), dataset or [], method or []), form, out, title="Recorded runs")


def _of_plan(what: str, plan: Plan, stores: list[Path], *, draw: bool) -> list[Grid]:
    missing = [store for store in stores if not store.exists()]
    asked = stores or [RUNS]
    found = [RunStore.at(store) for store in asked]
    rows = [row for store in found for row in store]  # of a run in two stores the first counts
    folder = found[0].folder
    kept = kept_model(folder / "models") if draw else None
    shown = plan.asked(Recorded(plan.task.complete(rows, folder)), kept)
    if missing or not shown.rows:
        command = shlex.join(["gmpool", "run", what, "--store", str((missing or asked)[0])])
        has = "there is no run store" if missing else "no run of the plan is recorded in"
        raise UserError(f"{has} {' and '.join(map(str, missing or asked))}; {command} records some")
    return plan.task.grids(shown)


def _say_what_is_missing(plan: Plan, stores: list[Path]) -> None:
    models = RunStore.at(stores[0]).folder / "models"
    if plan.task.draws_models and not models.is_dir():
        say(
            f"{models} is not there, so that there are no pictures of what models make; "
            f"gmpool run … --keep-models keeps weights"
        )


def _of_store(path: Path, datasets: list[str], methods: list[str]) -> list[Grid]:
    """One table for each family of tasks."""
    store = RunStore.at(path)
    rows = [
        row
        for row in store.finished().values()
        if (not datasets or row.dataset in datasets) and (not methods or row.method in methods)
    ]
    if not rows:
        raise UserError(f"{store.path} holds no rows that match; gmpool train records some")
    grids = []
    for family in dict.fromkeys(row.task for row in rows):
        task, mine = TASKS[family], [row for row in rows if row.task == family]
        grids += task.summary(task.complete(mine, store.folder))
    return grids


def _is_plan(what: str) -> bool:
    """A folder or a file of rows comes before a plan of the same name."""
    path = Path(what)
    if path.suffix == ".toml":
        return True
    if path.is_file() or RunStore(path).path.exists():
        return False
    if what in shipped_plans():
        return True
    if path.exists() or path == RUNS:
        return False
    raise unknown("plan or run store", what, shipped_plans())
