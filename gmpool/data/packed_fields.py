"""What a packed set is made of: its fields, their counts and the digest of their content."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

import torch
from torch import Tensor

Task = Literal["multiclass", "binary", "regression"]
# Left out of the metadata where a set has none.
_OFTEN_EMPTY = ("cat_starts", "node_type_names", "graph_float_names")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PackedFields:
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
    graph_float: Tensor | None = None
    """float32 [G, F]: numeric features of graphs; NaN where one is not defined."""
    graph_float_names: tuple[str, ...] = ()
    """What the columns of graph_float are called."""
    graph_weight: Tensor | None = None
    """float32 [G]: how much each graph counts in training, 0 or more; None: all as much."""
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
            f"{type(self).__name__}({self.name!r}, graphs={self.num_graphs}, "
            f"nodes={self.num_nodes}, edges={self.num_edges}, features={self.num_features}, "
            f"task={self.task}, outputs={self.num_outputs})"
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
    def is_molecular(self) -> bool:
        """Categorical nodes and edges and no numbers, as molecules have them."""
        return bool(self.edge_cat_sizes) and sum(self.cat_sizes) == self.num_features

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

    @property
    def num_entries(self) -> int:
        """Nodes and edges, of which memory and time are made."""
        return self.num_nodes + self.num_edges

    # -- content --------------------------------------------------------------------------------

    def between(self, first: int, last: int) -> Self:
        """The graphs ``first`` … ``last - 1`` as views, which take no memory but their offsets."""
        a, b = int(self.node_ptr[first]), int(self.node_ptr[last])
        c, d = int(self.row_ptr[a]), int(self.row_ptr[b])
        parts = {"node": slice(a, b), "edge": slice(c, d), "col": slice(c, d)}
        graphs = slice(first, last)
        found: dict[str, Any] = {
            name: values[parts.get(name.split("_")[0], graphs)]
            for name, values in self.tensors().items()
        }
        found["node_ptr"] = self.node_ptr[first : last + 1] - a
        found["row_ptr"] = self.row_ptr[a : b + 1] - c
        if self.graph_names is not None:
            found["graph_names"] = self.graph_names[graphs]
        return replace(self, **found)

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that are there, by field name."""
        found = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in found if isinstance(value, Tensor)}

    def metadata(self) -> Mapping[str, Any]:
        """Every field that is not a tensor, in a form that JSON keeps."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None
            and not isinstance(value, Tensor)
            and (name not in _OFTEN_EMPTY or value)
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the metadata and, by field name, each tensor's type, shape and bytes."""
        state = hashlib.sha256(json.dumps(self.metadata(), sort_keys=True).encode())
        for name, tensor in sorted(self.tensors().items()):
            state.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
            if tensor.numel():  # the bytes as they lie there: a set may be larger than memory
                state.update(tensor.detach().cpu().contiguous().view(-1).numpy().data)
        return state.hexdigest()
