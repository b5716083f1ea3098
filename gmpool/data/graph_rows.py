"""New graphs and the rows that they came in, in parts: a table of any length fits in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import SOURCES, Dataset, load, source_of
from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.descriptors import Descriptors
from gmpool.data.sources.molecules import BadSmiles, MoleculePacker
from gmpool.data.sources.table_cells import Cells, Line, is_frame, open_cells, stem
from gmpool.data.sources.table_columns import find_smiles
from gmpool.errors import UserError, WrongType

PART_ROWS = 2048
"""Some batches, and what is assembled at once (`gmpool.data.epoch_batches.GROUP_SIZE`)."""
PART_LETTERS = 2**18
"""Of SMILES, each letter an atom at most."""


Given = PackedGraphs | tuple[str, ...]
"""Graphs, or SMILES to make them of."""


class Part(NamedTuple):
    """Some rows, one after the other."""

    rows: list[list[str]]
    places: list[str]
    """Where each is, for messages."""
    problems: list[str | None]
    """Why a row's cells cannot be used; None where they can."""
    given: Given
    """Of the rows without a problem."""


def packed(given: Given, descriptors: str | None = None) -> tuple[PackedGraphs, dict[int, str]]:
    """(the graphs, what is wrong with each SMILES of which there is none, by its number).

    descriptors: the kind of them that molecules are to have; each is read once.
    """
    if isinstance(given, PackedGraphs):
        return given, {}
    packer = MoleculePacker(None if descriptors is None else Descriptors(descriptors))
    bad = {}
    for number, smiles in enumerate(given):
        try:
            packer.add(smiles)
        except BadSmiles as error:
            bad[number] = str(error)
    return packer.finish("molecules"), bad


class GraphRows(NamedTuple):
    """All rows, to be read once."""

    columns: list[str]
    like: PackedGraphs
    """No graph, but the features of those that will come."""
    parts: Iterator[Part]
    total: int | None
    """How many rows will come, where that is known; of a text file how many lines, which is more
    where a cell has several."""


def graph_rows(source: Any, root: PathLike | None = None, **options: Any) -> GraphRows:
    """The rows of a table (a path or a DataFrame) or of a list of SMILES; of other names and paths
    and of PackedGraphs one row per graph, with its name or number. No labels are read."""
    if isinstance(source, PackedGraphs | Dataset):
        if any(options.values()):
            raise UserError(f"{', '.join(options)}: for a table, and packed graphs are none")
        return _of_graphs(source if isinstance(source, PackedGraphs) else source.graphs)
    if is_frame(source):
        return _of_cells(open_cells(source), len(source), **options)
    if isinstance(source, str | os.PathLike):
        if source_of(os.fspath(source)) is SOURCES["table"]:
            return _of_cells(open_cells(source), _lines(Path(source)), **options)
        return _of_graphs(load(source, root, label_columns=(), labelled=False, **options).graphs)
    if not isinstance(source, Iterable):
        raise WrongType(
            "new data is a path or name, a DataFrame, a list of SMILES or PackedGraphs, got "
            f"{type(source).__name__}"
        )
    smiles = list(source)
    return _of_cells(_listed(smiles), len(smiles), **options)


def _of_graphs(graphs: PackedGraphs) -> GraphRows:
    def parts() -> Iterator[Part]:
        for start in range(0, graphs.num_graphs, PART_ROWS):
            ids = range(start, min(start + PART_ROWS, graphs.num_graphs))
            names = graphs.graph_names or ids
            rows = [[str(names[i])] for i in ids]
            places = [f"{graphs.name}: graph {i}" for i in ids]
            yield Part(rows, places, [None] * len(ids), graphs.select(ids))

    return GraphRows(["graph"], graphs.select([]), parts(), graphs.num_graphs)


def _of_cells(cells: Cells, total: int | None, smiles_column: str | None = None) -> GraphRows:
    smiles_at = find_smiles(smiles_column, cells.path, cells.header)
    width = len(cells.header)

    def parts() -> Iterator[Part]:
        with cells:
            for lines in _together(cells, smiles_at):
                rows = [(line.cells + [""] * width)[:width] for line in lines]
                places = [f"{cells.path}:{line.number}" for line in lines]
                problems = [_said(line, width) for line in lines]
                fitting = (line for line in lines if line.problem is None)
                given = tuple(line.cells[smiles_at].strip() for line in fitting)
                yield Part(rows, places, problems, given)

    like = MoleculePacker().finish(stem(cells.path))
    return GraphRows(cells.header, like, parts(), total)


def _together(cells: Cells, smiles_at: int) -> Iterator[list[Line]]:
    """So many lines as may be in memory at once."""
    lines: list[Line] = []
    letters = 0
    for line in cells:
        lines.append(line)
        letters += 0 if line.problem else len(line.cells[smiles_at])
        if len(lines) >= PART_ROWS or letters >= PART_LETTERS:
            yield lines
            lines, letters = [], 0
    if lines:
        yield lines


def _said(line: Line, width: int) -> str | None:
    """What is wrong with the cells, and which of them have no column."""
    if line.problem is None or len(line.cells) <= width:
        return line.problem
    more = line.cells[width:]
    shown = ", ".join(map(repr, more[:3])) + ", …" * (len(more) > 3)
    return f"{line.problem}; the last {len(more)} are not kept: {shown}"


def _listed(smiles: Sequence[Any]) -> Cells:
    for number, text in enumerate(smiles):
        if not isinstance(text, str):
            raise WrongType(
                f"a list of SMILES has text in it, got {type(text).__name__} at {number}"
            )
    rows = ((number, [text]) for number, text in enumerate(smiles))
    return Cells("list", ["smiles"], "a list of SMILES", rows)


def _lines(path: Path) -> int | None:
    """Below the header of a file that is not compressed."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt", ".smi", ".smiles"):
        return None
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(partial(file.read, 2**20), b"")) - 1
