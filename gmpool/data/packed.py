"""PackedGraphs: all graphs of a dataset in a few flat tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from gmpool.data import compressed_rows as structure
from gmpool.data.adjacency_bits import AdjacencyBits, adjacency_bits
from gmpool.data.batch import GraphBatch, Ids
from gmpool.data.bond_kinds import BondKinds, bond_kinds
from gmpool.data.compressed_rows import Rows
from gmpool.data.forms import OtherForms
from gmpool.errors import DataError

DENSE_LIMIT = 2**23  # numbers: 32 MiB of float32
Task = Literal["multiclass", "binary", "regression"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PackedGraphs(OtherForms):
    """G graphs with N nodes and E directed edges together, sorted by (graph, target, source).

    The in-edges of node i are positions ``row_ptr[i]:row_ptr[i+1]`` of ``col``, and ``col`` holds
    the source's number inside its own graph, in the smallest integer type that fits. Categorical
    features stay small integers: column c of ``node_cat`` takes values in 0..cat_sizes[c]-1. A
    batch shows them as ``x = [node_float | one-hot of each categorical column]``.
    """

    name: str
    """What the set is called in messages and tables."""
    node_ptr: Tensor
    """int64 [G+1]: the nodes of graph g are node_ptr[g]:node_ptr[g+1]."""
    row_ptr: Tensor
    """int64 [N+1]: where each node's in-edges begin."""
    col: Tensor
    """small integer [E]: the source of each edge, counted from its graph's first node."""
    node_cat: Tensor | None = None
    """small integer [N, C]: categorical node features."""
    cat_sizes: tuple[int, ...] = ()
    """How many values each column of node_cat can take."""
    cat_starts: tuple[int, ...] = ()
    """The value in the source that number 0 of each column stands for; () is 0 for all."""
    node_type_names: tuple[str, ...] = ()
    """What the values of the only column of node_cat are called, such as "N H1 +"; () unknown."""
    node_float: Tensor | None = None
    """float32 [N, F]: numeric node features."""
    edge_cat: Tensor | None = None
    """small integer [E, Ce]: categorical edge features."""
    edge_cat_sizes: tuple[int, ...] = ()
    """How many values each column of edge_cat can take."""
    edge_float: Tensor | None = None
    """float32 [E, Fe]: numeric edge features."""
    edge_weight: Tensor | None = None
    """float32 [E]: the adjacency's entries; None means all ones."""
    y: Tensor | None = None
    """int64 [G] classes (multiclass), or float32 [G, T] with NaN = missing (binary, regression)."""
    task: Task | None = None
    """What y means; None when there is no y."""
    class_names: tuple[str, ...] = ()
    """Multiclass: the label that each class number stood for in the source."""
    task_names: tuple[str, ...] = ()
    """Names of the label columns, T of them."""
    graph_names: tuple[str, ...] | None = None
    """One string per graph, for example its SMILES."""

    def __len__(self) -> int:
        return self.num_graphs

    def __repr__(self) -> str:
        return (
            f"PackedGraphs({self.name!r}, graphs={self.num_graphs}, nodes={self.num_nodes}, "
            f"edges={self.num_edges}, features={self.num_features}, task={self.task}, "
            f"outputs={self.num_outputs})"
        )

    # -- counts ---------------------------------------------------------------------------------

    @property
    def num_graphs(self) -> int:
        return self.node_ptr.numel() - 1

    @property
    def num_nodes(self) -> int:
        return self.row_ptr.numel() - 1

    @property
    def num_edges(self) -> int:
        return self.col.numel()

    @property
    def num_features(self) -> int:
        """Width of ``batch.x``: numeric columns plus the one-hot width of the categorical ones."""
        return sum(self.cat_sizes) + (0 if self.node_float is None else self.node_float.size(1))

    @property
    def num_edge_features(self) -> int:
        """Width of ``batch.edge_attr``."""
        floats = 0 if self.edge_float is None else self.edge_float.size(1)
        return sum(self.edge_cat_sizes) + floats

    @property
    def mean_nodes(self) -> float:
        return self.num_nodes / max(self.num_graphs, 1)

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def num_outputs(self) -> int:
        """Width of a model's output: classes for multiclass, label columns otherwise."""
        return self.num_classes if self.task == "multiclass" else len(self.task_names)

    @property
    def device(self) -> torch.device:
        return self.node_ptr.device

    @cached_property
    def sizes(self) -> Tensor:
        """int64 [G]: nodes of each graph."""
        return self.node_ptr.diff()

    # -- constants of the set, computed once ----------------------------------------------------

    @cached_property
    def symmetric(self) -> bool:
        """Whether every edge has its reverse, with the same weight."""
        return structure.is_symmetric(self._rows, self._reversed)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all tensors and names: equal content gives an equal digest."""
        from gmpool.data import packed_file as store

        return store.content_digest(self)

    @cached_property
    def _dense_x(self) -> Tensor | None:
        """``x`` of the whole set where it is small: then a batch only copies rows."""
        if self.num_nodes * self.num_features > DENSE_LIMIT:
            return None
        x = structure.features(self.node_float, self.node_cat, self.cat_sizes, self.num_nodes)
        return x.to(self.device)

    @cached_property
    def _rows(self) -> Rows:
        edge_ptr = self.row_ptr.index_select(0, self.node_ptr)
        return Rows(self.row_ptr, edge_ptr, self.col, self.edge_weight, None)

    @cached_property
    def _reversed(self) -> Rows:
        return structure.transpose(self._rows, self.node_ptr)

    @cached_property
    def _gcn_rows(self) -> Rows:
        return structure.gcn_normalised(self._rows, self.node_ptr)

    @cached_property
    def _gcn_reversed(self) -> Rows:
        return structure.transpose(self._gcn_rows, self.node_ptr)

    @cached_property
    def _bond_kinds(self) -> BondKinds | None:
        return bond_kinds(self)

    @cached_property
    def _adjacency_bits(self) -> AdjacencyBits | None:
        return adjacency_bits(self)

    # -- views ----------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that are there, by field name."""
        found = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in found if isinstance(value, Tensor)}

    def to(self, device: torch.device | str) -> PackedGraphs:
        """The same set on another device; batches are then made there."""
        tensors: dict[str, Any] = {k: v.to(device) for k, v in self.tensors().items()}
        moved = replace(self, **tensors)
        for known in ("symmetric", "digest"):  # content, not place: no need to compute them again
            if known in self.__dict__:
                moved.__dict__[known] = self.__dict__[known]
        return moved

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
        column = degree.unsqueeze(1).to(structure.small_int(max(sizes) - 1))
        cat = column if self.node_cat is None else torch.cat([self.node_cat.to(column), column], 1)
        return replace(self, node_cat=cat, cat_sizes=sizes, cat_starts=starts, node_type_names=())

    def validate(self) -> PackedGraphs:
        """Raises DataError for the first thing that cannot be right; returns the set itself."""
        from gmpool.data import validity as check

        check.check(self)
        return self


def metadata(graphs: PackedGraphs) -> Mapping[str, Any]:
    """Every field that is not a tensor, in a form that JSON keeps."""
    values = {f.name: getattr(graphs, f.name) for f in fields(graphs)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None
        and not isinstance(value, Tensor)
        and (name not in ("cat_starts", "node_type_names") or value)  # most sets have neither
    }
