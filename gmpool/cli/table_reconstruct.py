"""`gmpool table` of reconstructions: of a plan, or of what a store holds of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gmpool.cli.console import say
from gmpool.cli.output import save_pictures, write
from gmpool.data import CATALOGUE, Dataset, load
from gmpool.data.sources.generated import PAPER_GRAPHS, generate
from gmpool.engine.checkpoint import load_autoencoder
from gmpool.engine.plan import Plan
from gmpool.engine.store import Row as JsonRow
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.record import Row
from gmpool.report.grid import Picture
from gmpool.tasks.reconstruct.late_scores import with_molecule_scores
from gmpool.tasks.reconstruct.pictures import pictures
from gmpool.tasks.reconstruct.scores import Tally, tallies
from gmpool.tasks.reconstruct.table import grids


def of_plan(plan: Plan, rows: Iterable[JsonRow]) -> list[JsonRow]:
    """The rows that are runs of the plan."""
    known = [row for row in rows if row["task"] == "reconstruct"]
    return [row for cell in plan.cells() for row in cell.recorded(known)]


def scored(rows: Sequence[JsonRow], store: RunStore) -> list[JsonRow]:
    """The rows with chemists' scores, which are made now where the data and RDKit are there."""
    found = list(rows)
    for name in dict.fromkeys(row["dataset"] for row in rows if "predicted" in row):
        unscored = any(r["dataset"] == name and "validity" not in r["scores"] for r in rows)
        data = dataset_named(name) if unscored else None
        if data is not None:
            found = with_molecule_scores(found, data, store)
    return found


def dataset_named(name: str) -> Dataset | None:
    """A named set or graph; None, and a word on it, where its files are not there."""
    if name in PAPER_GRAPHS:
        return generate(name)
    if name not in CATALOGUE:
        return None
    try:
        return load(name)
    except UserError as error:
        say(f"{name} is not at hand, so that there are no scores or pictures of it: {error}")
        return None


def show_reconstructions(
    found: Sequence[JsonRow],
    store: RunStore,
    wanted: str,
    to: Path | None,
    plots: Path | None = None,
    seeds: int | None = None,
) -> None:
    """Print or write the table of the rows, and its pictures where they are wanted.

    seeds: how many each line should have; without it, as many as the one that has most.
    """
    rows = [Row.from_json(row) for row in scored(found, store)]
    tallied = tallies(rows, seeds=seeds)
    made = grids(tallied, rows)
    drawn = _pictures(rows, tallied, store) if plots is not None or wanted == "html" else []
    made[-1] = replace(made[-1], pictures=drawn)
    write(made, wanted, to, title="Reconstructions")
    if plots is not None:
        save_pictures(drawn, plots)


def _pictures(rows: Sequence[Row], tallied: Sequence[Tally], store: RunStore) -> list[Picture]:
    """All pictures that can be made; what is missing is said."""
    models: Path = store.folder / "models"
    named = {name: dataset_named(name) for name in dict.fromkeys(row.dataset for row in rows)}
    datasets = {name: data for name, data in named.items() if data is not None}
    if not models.is_dir():
        say(f"{models} is not there, so that clusters and point clouds cannot be drawn; "
            f"gmpool run … --keep-models keeps weights")  # fmt: skip
    kept = [row for row in rows if (models / row.key).is_dir()]
    return pictures(kept, tallied, datasets, lambda row: load_autoencoder(models / row.key)[0])
