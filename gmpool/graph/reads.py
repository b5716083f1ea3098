"""What models read of a batch, as they declare it, and batches that hold so much and no more.

A layer that is given edges names in its attribute `reads` those attributes of `AnyEdges` that it
asks for itself; its parts name theirs:

    plain, gcn         products with A, with Â; who wants coarse graphs or Σ A² reads plain
    entries            where the entries of A are
    edge_index, edge_weight, edge_attr
    bonds, gcn_bonds   kinds of the entries of A, of Â; where those are not known, features
    back               the way back of each entry of A (`gmpool.graph.way_back`)
    batch              which graphs of which set these are; of a batch of fixed shape the levels of
                       a chain that it was made with
"""

from collections.abc import Callable, Set

import torch
from torch import nn

from gmpool.data.constants import is_dense
from gmpool.data.fixed_batch import FixedBatches
from gmpool.data.packed import PackedGraphs
from gmpool.errors import unknown
from gmpool.ops import choice

PRODUCTS = frozenset({"plain", "gcn"})
KINDS = frozenset({"bonds", "gcn_bonds"})
FEATURES = frozenset({"edge_index", "edge_attr"})
READS = PRODUCTS | KINDS | FEATURES | {"entries", "edge_weight", "batch", "back"}


def reads_of(module: nn.Module) -> frozenset[str]:
    """What a module and all its parts read of edges."""
    reads = frozenset[str]().union(*(getattr(part, "reads", ()) for part in module.modules()))
    for name in reads - READS:
        raise unknown("word in reads", name, sorted(READS))
    return reads


def kernels_for(graphs: PackedGraphs, dtype: torch.dtype) -> bool:
    """Whether a GPU multiplies with bits, and sends messages by kinds of bonds."""
    return choice.triton_serves(torch.empty(0, dtype=dtype, device=graphs.device))


def batches_for(
    graphs: PackedGraphs,
    reads: Set[str],
    dtype: torch.dtype = torch.float32,
    *,
    kind: Callable[..., FixedBatches] = FixedBatches,
) -> FixedBatches:
    """Batches of fixed shape with what is read; dtype: of the model that reads it. kind: makes
    them, for those who want more of the graphs than their edges."""
    has_kernels, reads = kernels_for(graphs, dtype), reads - {"batch"}
    if has_kernels and reads <= PRODUCTS and is_dense(graphs) and graphs.adjacency_bits:
        return kind(graphs, plain=False, dense=True)
    # Kinds serve directed messages on a CPU, too.
    by_kind = bool(reads & KINDS) and (has_kernels or "back" in reads)
    by_kind = by_kind and graphs.bond_kinds is not None
    if reads & KINDS and not by_kind:
        reads = reads | {"entries"} | FEATURES
    return kind(
        graphs,
        plain=not reads <= {"gcn", "gcn_bonds"},
        attr=bool(reads & FEATURES),
        codes=by_kind,
        back="back" in reads,
    )
