"""`gmpool table` of reconstructions: of a plan, or of what a store holds of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gmpool.cli.console import say
from gmpool.cli.output import Format, save, write
from gmpool.data import CATALOGUE, Dataset, load
from gmpool.data.sources.generated import PAPER_GRAPHS, generate
from gmpool.engine.plan import Plan
from gmpool.engine.store import Row, RunStore
from gmpool.errors import UserError
from gmpool.tasks.reconstruct import table as reconstruction
from gmpool.tasks.reconstruct.late_scores import with_molecule_scores
from gmpool.tasks.reconstruct.pictures import pictures
from gmpool.tasks.reconstruct.scores import Tally, tallies


def of_plan(plan: Plan, rows: Iterable[Row]) -> list[Row]:
    """The rows that are runs of the plan."""
    known = [row for row in rows if row["task"] == "reconstruct"]
    return [row for cell in plan.cells() for row in cell.recorded(known)]


def scored(rows: Sequence[Row], store: RunStore) -> list[Row]:
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
    rows: Sequence[Row],
    store: RunStore,
    wanted: Format,
    to: Path | None,
    plots: Path | None = None,
    seeds: int | None = None,
) -> None:
    """Print or write the table of the rows, and its pictures where they are wanted.

    seeds: how many each line should have; without it, as many as the one that has most.
    """
    rows = scored(rows, store)
    tallied = tallies(rows, seeds=seeds)
    makers = {
        Format.markdown: lambda: reconstruction.markdown(tallied),
        Format.latex: lambda: reconstruction.latex(tallied),
        Format.csv: lambda: reconstruction.as_csv(tallied),
        Format.json: lambda: reconstruction.as_json(tallied) + "\n",
    }
    if wanted is Format.html:
        raise UserError("tables of reconstructions have no html form; take markdown")
    write(makers, lambda width: reconstruction.terminal(tallied, width), wanted, to)
    if plots is not None:
        for name, picture in drawn(rows, tallied, store).items():
            save(plots / name, picture)


def drawn(rows: Sequence[Row], tallied: Sequence[Tally], store: RunStore) -> dict[str, bytes]:
    """All pictures that can be made, by file name; what is missing is said."""
    models: Path = store.folder / "models"
    found = {name: dataset_named(name) for name in dict.fromkeys(row["dataset"] for row in rows)}
    datasets = {name: data for name, data in found.items() if data is not None}
    if not models.is_dir():
        say(f"{models} is not there, so that clusters and point clouds cannot be drawn; "
            f"gmpool run … --keep-models keeps weights")  # fmt: skip
    return pictures(rows, tallied, datasets, models)
