"""What a layer is given of edges, the edges that a user passes, and those that a pooling made."""

from functools import cached_property
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from gmpool.errors import UserError, WrongType
from gmpool.graph.coarse_edges import CoarseEdges
from gmpool.graph.matrices import BitMatrix, ScaledMatrix, SparseMatrix
from gmpool.ops.matrix import Matrix
from gmpool.ops.segment import INDEX_TYPES, Segments, segment_sum
from gmpool.ops.sparse import Pattern
from gmpool.ops.without_dispatcher import only_values


class Bonds(NamedTuple):
    """Bonds of few kinds: which of them each entry of a matrix is, the same seen from both ends."""

    matrix: SparseMatrix
    kinds: Tensor  # [C, Σ sizes]: the distinct rows of edge_attr
    code: Tensor  # [E]; of Â [E + N], with C for self-loops


class AnyEdges(Protocol):
    """The edges of B graphs with N nodes together, whoever made them.

    A layer says in its attribute `reads` which of these it asks for (`gmpool.graph.reads`).
    """

    @property
    def num_nodes(self) -> int: ...

    @property
    def dtype(self) -> torch.dtype:
        """Of weights that are made here."""

    @property
    def plain(self) -> Matrix:
        """A, with the edge weights where there are any."""

    @property
    def gcn(self) -> Matrix:
        """D^-1/2 (A + I) D^-1/2."""

    @property
    def entries(self) -> SparseMatrix:
        """A once more, for who must know where its entries are."""

    @property
    def order(self) -> Tensor | None:
        """Which edge each entry is; None: they come in the same order. [E]"""

    @property
    def edge_index(self) -> Tensor:
        """[2, E]: sources and targets, as in PyG."""

    @property
    def edge_weight(self) -> Tensor | None:
        """[E]"""

    @property
    def edge_attr(self) -> Tensor | None:
        """[E, F]"""

    @property
    def bonds(self) -> Bonds | None:
        """The kinds of A's entries, where they are known."""

    @property
    def gcn_bonds(self) -> Bonds | None:
        """The kinds of Â's entries, where they are known."""

    def squared_sum(self, segments: Segments) -> Tensor:
        """Σ A_ij² of each graph. [B]"""

    def coarsened(self, c: Tensor, segments: Segments) -> CoarseEdges:
        """The graphs A' = Cᵀ A C. c [N, K]"""


class Edges:
    """The edges of a ragged batch, from PyG's edge_index; each form is made once, when asked for.

    edge_index: [2, E], sources and targets.
    num_nodes: N.
    edge_weight: [E]; without it all are 1.
    edge_attr: [E, F], features for convolutions that read them.
    dtype: of the weights of Â where there is no edge_weight.
    """

    bonds = gcn_bonds = None

    def __init__(
        self,
        edge_index: Tensor,
        num_nodes: int,
        *,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        _check(edge_index, num_nodes, edge_weight, edge_attr)
        self.edge_index, self.num_nodes = edge_index, num_nodes
        self.edge_weight, self.edge_attr, self.dtype = edge_weight, edge_attr, dtype
        self._sorted: tuple[SparseMatrix, Tensor] | None = None
        self._gcn: SparseMatrix | None = None

    @classmethod
    def of(
        cls,
        edge_index: Tensor | AnyEdges,
        num_nodes: int,
        dtype: torch.dtype,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> AnyEdges:
        """From what a user passes: a [2, E] tensor, or edges made before."""
        if not isinstance(edge_index, Tensor):
            if edge_weight is not None or edge_attr is not None:
                raise UserError(
                    "edge_weight and edge_attr belong inside Edges when Edges is passed"
                )
            return edge_index
        return cls(edge_index, num_nodes, edge_weight=edge_weight, edge_attr=edge_attr, dtype=dtype)

    def _sort(self) -> tuple[SparseMatrix, Tensor]:
        if self._sorted is None:
            self._sorted = SparseMatrix.from_edge_index(
                self.edge_index, self.num_nodes, self.edge_weight
            )
        return self._sorted

    @property
    def entries(self) -> SparseMatrix:
        return self._sort()[0]

    @property
    def order(self) -> Tensor:
        return self._sort()[1]

    @property
    def plain(self) -> SparseMatrix:
        return self.entries

    @property
    def gcn(self) -> SparseMatrix:
        if self._gcn is None:
            both, weight = gcn_edges(self.edge_index, self.num_nodes, self.edge_weight, self.dtype)
            self._gcn, _ = SparseMatrix.from_edge_index(both, self.num_nodes, weight)
        return self._gcn

    def squared_sum(self, segments: Segments) -> Tensor:
        return squared_sum(self.plain, segments, self.dtype)

    def coarsened(self, c: Tensor, segments: Segments) -> CoarseEdges:
        return CoarseEdges.of(self.plain, c, segments)


def _check(
    edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None, edge_attr: Tensor | None
) -> None:
    """Raises for what is no list of edges among so many nodes. Numbers are read on a CPU alone."""
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise UserError(f"edge_index must be [2, E], got {tuple(edge_index.shape)}")
    if edge_index.dtype not in INDEX_TYPES:
        raise WrongType(
            f"edge_index must hold the numbers of nodes as torch.int64, got {edge_index.dtype}"
        )
    if edge_weight is not None:
        if edge_weight.shape != edge_index.shape[1:]:
            raise UserError(
                f"edge_weight must have one entry per edge, shape ({edge_index.shape[1]},), "
                f"got {tuple(edge_weight.shape)}"
            )
        if not edge_weight.dtype.is_floating_point:
            raise WrongType(f"edge_weight must be of floating point, got {edge_weight.dtype}")
    if edge_attr is not None and edge_attr.shape[:1] != edge_index.shape[1:]:
        raise UserError(
            f"edge_attr must have one row per edge, {edge_index.shape[1]}, "
            f"got shape {tuple(edge_attr.shape)}"
        )
    if edge_weight is not None or edge_attr is not None:
        for name, given in (("edge_weight", edge_weight), ("edge_attr", edge_attr)):
            if given is not None and given.device != edge_index.device:
                raise UserError(
                    f"{name} is on {given.device}, but edge_index on {edge_index.device}"
                )
    if edge_index.is_cpu and only_values(edge_index) and edge_index.shape[1]:
        ends = edge_index.aminmax()
        smallest, largest = int(ends[0]), int(ends[1])
        if smallest < 0 or largest >= num_nodes:
            raise UserError(
                f"edge_index names node {smallest if smallest < 0 else largest}, but there are "
                f"{num_nodes} nodes: entries must lie in 0 … {num_nodes - 1}"
            )


def squared_sum(a: SparseMatrix | BitMatrix, segments: Segments, dtype: torch.dtype) -> Tensor:
    """Σ A_ij² of each graph. [B]"""
    return segment_sum(a.squares().to(dtype), segments)[:, 0]


def gcn_edges(
    edge_index: Tensor, num_nodes: int, weight: Tensor | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """D^-1/2 (A + I) D^-1/2 as (edge_index [2, E+N], weight [E+N]), D the weighted in-degree.

    A node that has a self-loop keeps that loop's weight instead of gaining one of 1, as PyG's
    gcn_norm does. Shapes depend on E and N alone, so that the function can be compiled.
    """
    device = edge_index.device
    source, target = edge_index[0], edge_index[1]
    if weight is None:
        weight = torch.ones(source.shape[0], dtype=dtype, device=device)
    is_loop = source == target
    # Loops are written to their node's slot, every other edge to the spare slot N.
    slot = torch.where(is_loop, source, num_nodes)
    loop = torch.ones(num_nodes + 1, dtype=weight.dtype, device=device).scatter(0, slot, weight)
    nodes = torch.arange(num_nodes, device=device)
    both = torch.cat([edge_index, torch.stack([nodes, nodes])], dim=1)  # [2, E+N]
    w = torch.cat([weight.masked_fill(is_loop, 0.0), loop[:num_nodes]])  # [E+N]
    degree = torch.zeros(num_nodes, dtype=w.dtype, device=device).index_add(0, both[1], w)
    scale = torch.where(degree > 0, degree.clamp(min=torch.finfo(w.dtype).tiny).rsqrt(), 0.0)
    return both, scale.index_select(0, both[0]) * w * scale.index_select(0, both[1])


class DerivedEdges:
    """Edges of which the sparse matrix is known already, sorted by target."""

    order: Tensor | None = None
    bonds = gcn_bonds = None

    def __init__(
        self, entries: SparseMatrix, *, dtype: torch.dtype, edge_attr: Tensor | None = None
    ) -> None:
        """edge_attr: a row for each entry. [E, F]"""
        self.entries, self.dtype, self.edge_attr = entries, dtype, edge_attr

    @property
    def num_nodes(self) -> int:
        return self.entries.num_rows

    @property
    def plain(self) -> SparseMatrix:
        return self.entries

    @cached_property
    def gcn(self) -> ScaledMatrix:
        return ScaledMatrix.of(self.entries, self.dtype)

    @cached_property
    def edge_index(self) -> Tensor:
        return self.entries.edge_index

    @property
    def edge_weight(self) -> Tensor | None:
        return self.entries.weight

    def squared_sum(self, segments: Segments) -> Tensor:
        return squared_sum(self.plain, segments, self.dtype)

    def coarsened(self, c: Tensor, segments: Segments) -> CoarseEdges:
        return CoarseEdges.of(self.plain, c, segments)


def incidence(edges: AnyEdges) -> tuple[Pattern, Pattern]:
    """(the E × N matrix that gives each edge the row of its source, the N × E matrix that sums the
    rows of edges into their targets)"""
    p, order, (source, target) = edges.entries.pattern, edges.order, edges.edge_index
    assert p.to_t is not None
    place = torch.arange(source.shape[0] + 1, device=p.col.device)
    by_source = p.to_t if order is None else order.index_select(0, p.to_t)
    by_target = place[:-1] if order is None else order
    return (
        Pattern(place, source, p.t_rowptr, by_source),
        Pattern(p.rowptr, by_target, place, target),
    )
