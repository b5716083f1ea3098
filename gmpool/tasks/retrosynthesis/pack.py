"""From reactions, templates and candidates to a prepared set: every molecule once, as a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gmpool.errors import DataError
from gmpool.tasks.retrosynthesis.candidates import Candidates
from gmpool.tasks.retrosynthesis.features import (
    MoleculeGraph,
    graph_of_molecule,
    graph_of_pattern,
)
from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.prepared import ARRAYS, Prepared
from gmpool.tasks.retrosynthesis.reactions import ReactionTable
from gmpool.tasks.retrosynthesis.shards import as_completed, processes

_CHUNK = 2000


@dataclass
class _Lists:
    """Grows by products."""

    molecules: dict[str, int] = field(default_factory=dict)
    values: dict[str, list[int]] = field(
        default_factory=lambda: {n: [] for n in ARRAYS if n.startswith("products.")}
    )
    too_slow: list[str] = field(default_factory=list)

    def number(self, smiles: str) -> int:
        return self.molecules.setdefault(smiles, len(self.molecules))

    def add(self, product: str, found: Candidates | None) -> None:
        if found is None:
            self.too_slow.append(product)
            found = Candidates([], [], [])
        lists = self.values
        lists["products.molecule"].append(self.number(product))
        lists["products.center_counts"].append(len(found.centers))
        lists["products.centers"] += found.centers
        lists["products.run_counts"].append(len(found.runs))
        for template, made in found.runs:
            lists["products.templates"].append(template)
            lists["products.made_counts"].append(len(made))
            lists["products.made"] += made
        lists["products.outcome_counts"].append(len(found.outcomes))
        for outcome in found.outcomes:
            lists["products.molecule_counts"].append(len(outcome))
            lists["products.outcomes"] += [self.number(smiles) for smiles in outcome]


def pack(
    table: ReactionTable,
    library: TemplateLibrary,
    products: Sequence[str],
    candidates: Iterable[Candidates | None],
    workers: int = 1,
    done: Callable[[int, int], None] = lambda molecules, of: None,
) -> Prepared:
    """products: the distinct ones of the table, with the candidates of each. done: is told how many
    molecules of how many have become graphs."""
    lists = _Lists()
    place = {product: at for at, product in enumerate(products)}
    truth_of: dict[int, list[int]] = {}
    wanted: dict[int, list[int]] = {}
    for number, reaction in enumerate(table.reactions):
        wanted.setdefault(place[reaction.product], []).append(number)
    for at, (product, found) in enumerate(zip(products, candidates, strict=True)):
        lists.add(product, found)
        numbers = {} if found is None else {o: n for n, o in enumerate(found.outcomes)}
        truth_of[at] = [numbers.get(table.reactions[n].reactants, -1) for n in wanted[at]]
    truth = np.full(len(table.reactions), -1)
    for at, numbers_ in wanted.items():
        truth[numbers_] = truth_of[at]
    tables = {
        "centers": [graph_arrays([graph_of_pattern(text) for text in library.centers])],
        "fragments": [graph_arrays([graph_of_pattern(text) for text in library.fragments])],
        "molecules": _molecules(list(lists.molecules), workers, done),
    }
    kinds = np.unique(np.concatenate([p.kinds for each in tables.values() for p in each]))
    part = np.zeros(len(table.reactions))
    part[table.split.valid.numpy()], part[table.split.test.numpy()] = 1, 2
    group = {name: at for at, name in enumerate(library.groups)}
    arrays: dict[str, Any] = {
        "atoms": kinds,
        **lists.values,
        "reactions.product": [place[reaction.product] for reaction in table.reactions],
        "reactions.group": [group.get(reaction.group, -1) for reaction in table.reactions],
        "reactions.truth": truth,
        "reactions.part": part,
        "reactions.line": [reaction.line for reaction in table.reactions],
        "smiles": np.frombuffer("\n".join(lists.molecules).encode("ascii"), dtype=np.uint8),
    }
    for name, parts in tables.items():
        for field_, values in joined(parts, kinds)._asdict().items():
            if field_ != "kinds":
                arrays[f"{name}.{field_}"] = values
    about = {
        "name": table.name,
        "reactions": len(table.reactions),
        "too_slow": lists.too_slow,
        "left_out": len(table.left_out),
    }
    return Prepared(library, about, {name: _as(name, arrays[name]) for name in ARRAYS})


def _as(name: str, values: Any) -> np.ndarray:
    wide = np.asarray(values)
    if not wide.size:
        return np.zeros(0, dtype=ARRAYS[name])
    made = wide.astype(ARRAYS[name])
    if (made != wide).any():
        raise DataError(f"{name}: {wide.max()} is more than a prepared set can hold")
    return made


class GraphArrays(NamedTuple):
    """Many graphs, one after the other. kinds: the distinct numbers of their atoms; atoms: the
    place of each one's among them; neighbours: counted within a graph."""

    kinds: np.ndarray
    sizes: np.ndarray
    atoms: np.ndarray
    degrees: np.ndarray
    neighbours: np.ndarray


def graph_arrays(graphs: Sequence[MoleculeGraph]) -> GraphArrays:
    numbers = np.array([atom for graph in graphs for atom in graph.atoms], dtype=np.int64)
    kinds, atoms = np.unique(numbers, return_inverse=True)
    near = [each for graph in graphs for each in graph.neighbours]
    return GraphArrays(
        kinds,
        _as("molecules.sizes", [len(graph.atoms) for graph in graphs]),
        _as("molecules.atoms", atoms),
        _as("molecules.degrees", [len(each) for each in near]),
        _as("molecules.neighbours", [to for each in near for to in each]),
    )


def joined(parts: Sequence[GraphArrays], kinds: np.ndarray) -> GraphArrays:
    """As one, with these kinds of atoms."""
    atoms = [np.searchsorted(kinds, p.kinds).astype(np.uint16)[p.atoms] for p in parts]
    rest = [np.concatenate([p[at] for p in parts]) for at in (1, 3, 4)]
    return GraphArrays(kinds, rest[0], np.concatenate(atoms), rest[1], rest[2])


def _molecules(
    smiles: Sequence[str], workers: int, done: Callable[[int, int], None]
) -> list[GraphArrays]:
    parts = [smiles[at : at + _CHUNK] for at in range(0, len(smiles), _CHUNK)]
    if workers == 1 or len(parts) < 2:
        return [_graphs_of(part) for part in parts]
    found: dict[int, GraphArrays] = {}
    with processes(workers) as pool:
        for at, made in as_completed(pool, _graphs_of, iter([(p,) for p in parts]), 2 * workers):
            found[at] = made
            done(min(len(found) * _CHUNK, len(smiles)), len(smiles))
    return [found[at] for at in range(len(parts))]


def _graphs_of(smiles: Sequence[str]) -> GraphArrays:
    return graph_arrays([graph_of_molecule(each) for each in smiles])
