"""PackedGraphs: all graphs of a dataset in a few flat tensors, and the views of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from gmpool.data import validity
from gmpool.data.batch import GraphBatch, Ids
from gmpool.data.compressed_rows import small_int
from gmpool.data.constants import PackedConstants
from gmpool.errors import DataError


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PackedGraphs(PackedConstants):
    """The graphs of a dataset: ``batch`` and ``select`` show some of them, ``to`` moves them.

    Its tensors and names are those of :class:`gmpool.data.packed_fields.PackedFields`; what follows
    from them is computed once (:class:`gmpool.data.constants.PackedConstants`).
    """

    def batch(self, ids: Ids) -> GraphBatch:
        """The disjoint union of the graphs ``ids`` (any order, repeats allowed)."""
        return GraphBatch(self, ids)

    def select(self, ids: Ids) -> PackedGraphs:
        """The subset ``ids`` as a set of its own; class names and feature widths stay."""
        part = self.batch(ids)
        kept: dict[str, Any] = {}
        for name, values in self.tensors().items():
            if name not in ("node_ptr", "row_ptr", "y"):
                index = {"node": part.node_ids, "graph": part.ids}.get(name.split("_")[0])
                kept[name] = values.index_select(0, part.edge_ids if index is None else index)
        kept |= {"node_ptr": part.ptr, "row_ptr": part.row_ptr.long(), "y": part.y}
        if self.graph_names is not None:
            kept["graph_names"] = tuple(self.graph_names[i] for i in part.ids.tolist())
        return replace(self, **kept)

    def part(self, ids: Tensor) -> PackedGraphs:
        """``select``, whose graphs keep their numbers."""
        found = self.select(ids)
        found.__dict__["numbers"] = self.numbers.index_select(0, ids)
        return found

    def with_degree_features(self, max_degree: int | None = None) -> PackedGraphs:
        """Adds the number of in-edges of each node as a categorical column (one-hot in a batch).

        ``max_degree`` fixes the width, so that a set can be made to fit an existing model.
        """
        degree = self.row_ptr.diff()  # [N]
        found = int(degree.max()) if self.num_nodes else 0
        limit = found if max_degree is None else max_degree
        if found > limit:
            raise DataError(f"{self.name}: a node has {found} in-edges, but max_degree is {limit}")
        sizes = (*self.cat_sizes, limit + 1)
        starts = (*self.cat_starts, 0) if self.cat_starts else ()
        column = degree.unsqueeze(1).to(small_int(max(sizes) - 1))
        cat = column if self.node_cat is None else torch.cat([self.node_cat.to(column), column], 1)
        return replace(self, node_cat=cat, cat_sizes=sizes, cat_starts=starts, node_type_names=())

    def validate(self) -> PackedGraphs:
        """Raises DataError for the first thing that cannot be right; returns the set itself."""
        validity.check(self)
        return self


def with_categories(
    graphs: PackedGraphs, sizes: tuple[int, ...], starts: tuple[int, ...]
) -> PackedGraphs:
    """The same nodes with their categories numbered as in another set, such as a model's.

    sizes, starts: that set's cat_sizes and cat_starts. A TU folder counts its node labels from the
    smallest it has, so that the same label can have other numbers in a new folder. A value that
    the other set does not have is an error.
    """
    if (sizes, starts) == (graphs.cat_sizes, graphs.cat_starts) or graphs.node_cat is None:
        return graphs
    unseen = unseen_categories(graphs, sizes, starts)
    if unseen:
        graph, reason = next(iter(unseen.items()))
        raise DataError(f"{graphs.name}: graph {graph}: {reason}; train on data that has it")
    cat = graphs.node_cat.long() + _shift(graphs, starts)  # [N, C]
    small = cat.to(small_int(max(sizes) - 1))
    return replace(graphs, node_cat=small, cat_sizes=sizes, cat_starts=starts)


def unseen_categories(
    graphs: PackedGraphs, sizes: tuple[int, ...], starts: tuple[int, ...]
) -> dict[int, str]:
    """The graphs with a value that the other set does not have, by number, and which it is."""
    if (sizes, starts) == (graphs.cat_sizes, graphs.cat_starts) or graphs.node_cat is None:
        return {}
    cat = graphs.node_cat.long() + _shift(graphs, starts)  # [N, C]
    bad = (cat < 0) | (cat >= torch.tensor(sizes, device=graphs.device))
    nodes, columns = bad.nonzero().unbind(1)
    owners = torch.searchsorted(graphs.node_ptr, nodes, right=True) - 1
    found: dict[int, str] = {}
    for graph, node, column in zip(owners.tolist(), nodes.tolist(), columns.tolist(), strict=True):
        if graph not in found:
            first = starts[column] if starts else 0
            value, last = int(cat[node, column]) + first, first + sizes[column] - 1
            found[graph] = (
                f"node {node - int(graphs.node_ptr[graph]) + 1} has category {value} in column "
                f"{column + 1}, which the model has not seen (it knows {first} … {last})"
            )
    return found


def _shift(graphs: PackedGraphs, starts: tuple[int, ...]) -> Tensor:
    """What is added to the numbers of categories that are to be counted from other starts."""
    zeros = (0,) * len(graphs.cat_sizes)
    mine, theirs = (torch.tensor(each or zeros) for each in (graphs.cat_starts, starts))
    return (mine - theirs).to(graphs.device)
