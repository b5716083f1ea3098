"""PackedGraphs: all graphs of a dataset in a few flat tensors, and the views of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

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
        per_node = {"node_cat": self.node_cat, "node_float": self.node_float}
        per_edge = {
            "col": self.col,
            "edge_cat": self.edge_cat,
            "edge_float": self.edge_float,
            "edge_weight": self.edge_weight,
        }
        kept: dict[str, Any] = {
            "node_ptr": part.ptr,
            "row_ptr": part.graph.rowptr.long(),
            "y": part.y,
        }
        for index, group in ((part.node_ids, per_node), (part.edge_ids, per_edge)):
            kept |= {k: v.index_select(0, index) for k, v in group.items() if v is not None}
        if self.graph_names is not None:
            kept["graph_names"] = tuple(self.graph_names[i] for i in part.ids.tolist())
        return replace(self, **kept)

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
