"""Graphs of molecules and patterns as a table that batches are made of, and as one batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gmpool.data.fixed_batch import FixedBatches
from gmpool.data.packed import PackedGraphs
from gmpool.tasks.retrosynthesis.encoders import Graphs
from gmpool.tasks.retrosynthesis.features import MoleculeGraph, feature_rows


def graph_table(
    name: str,
    kind: np.ndarray,
    sizes: np.ndarray,
    atoms: np.ndarray,
    degrees: np.ndarray,
    neighbours: np.ndarray,
) -> PackedGraphs:
    """sizes: of each graph. atoms: their numbers, of which `kind` says the rows of features.
    degrees, neighbours: of each atom, counted within its graph."""
    small = np.uint8 if len(kind) < 2**8 else np.int16
    return PackedGraphs(
        name=name,
        node_ptr=_offsets(sizes),
        row_ptr=_offsets(degrees),
        col=torch.from_numpy(neighbours.copy()),
        node_cat=torch.from_numpy(kind.astype(small)[atoms][:, None]),
        cat_sizes=(len(kind),),
    )


def batches_of(table: PackedGraphs) -> FixedBatches:
    """Makes batches of a table, as encoders read them."""
    return FixedBatches(table, plain=True, normalised=False, numbers=True)


def encoded(
    graphs: Sequence[MoleculeGraph], elements: Sequence[int], *, queries: bool, like: Tensor
) -> Graphs:
    """Some graphs, and one more that is empty, as an encoder reads them. elements, queries: that
    its model knows and sees. like: a tensor on its device and of its type."""
    codes = np.array([atom for graph in graphs for atom in graph.atoms], dtype=np.int64)
    seen, atoms = np.unique(codes, return_inverse=True)
    near = [each for graph in graphs for each in graph.neighbours]
    table = graph_table(
        "graphs",
        np.arange(len(seen)),
        np.array([len(graph.atoms) for graph in graphs]),
        atoms,
        np.array([len(each) for each in near]),
        np.array([to for each in near for to in each], dtype=np.int64),
    ).to(like.device)
    make, ids = batches_of(table), torch.arange(len(graphs))[None]
    batch = make.make(ids.to(like.device), make.bounds(ids))
    alone = batch.with_({name: tensor[0] for name, tensor in batch.tensors().items()})
    features = torch.from_numpy(feature_rows(seen, elements, queries=queries))
    return Graphs.of(alone, features.to(like))


def _offsets(counts: np.ndarray) -> Tensor:
    found = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=found[1:])
    return torch.from_numpy(found)
