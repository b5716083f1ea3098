"""The adjacency of a set of dense graphs as bits: of COLLAB, 24 million entries in 7 MB."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.data.compressed_rows import local_ids
from gmpool.data.packed_fields import PackedFields

WORD = 32  # bits
# A product with bits passes over all pairs of nodes, a sparse one over the entries. On an H200 the
# sparse one takes 15·10⁹ entries per second at width 128, a product of tiles some 20 times as many
# pairs; smaller graphs than MIN_NODES leave most of a tile empty.
MIN_SHARE, MIN_NODES = 1 / 8, 32


class AdjacencyBits(NamedTuple):
    """The matrices of all graphs of a set; number G is a graph without nodes.

    Graph g with n nodes has ⌈n/32⌉ rows of n words: bit k of word (w, i) is A_ij with j = 32 w + k.
    So the words of neighbouring nodes i lie side by side.
    """

    words: Tensor  # int32
    word_ptr: Tensor  # int64 [G+1]: where the words of each graph begin
    node_ptr: Tensor  # int64 [G+2]: where the nodes of each graph begin in the set
    scale: Tensor  # float32 [N]: D^-1/2 of Â = D^-1/2 (A + I) D^-1/2


def is_dense(graphs: PackedFields) -> bool:
    """Whether products with bits are faster than sparse ones."""
    pairs = int(graphs.sizes.square().sum())
    return graphs.mean_nodes >= MIN_NODES and graphs.num_edges >= MIN_SHARE * pairs


def pack_bits(graphs: PackedFields) -> AdjacencyBits | None:
    """The bits of a set whose edges go both ways and are nothing but edges; None where one leads
    from a node to itself, which Â would keep as it is, or is there twice."""
    sizes, degree = graphs.sizes, graphs.row_ptr.diff()
    row = torch.repeat_interleave(degree, output_size=graphs.num_edges)  # [E]: a node of the set
    i, j = local_ids(graphs.node_ptr, torch.int64)[row], graphs.col.long()
    twice = (row.diff() == 0) & (j.diff() == 0)
    if bool((i == j).any()) or bool(twice.any()):
        return None
    counts = (sizes + WORD - 1) // WORD * sizes  # [G]
    word_ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    g = torch.repeat_interleave(sizes, output_size=graphs.num_nodes)[row]  # [E]
    words = torch.zeros(int(word_ptr[-1]), dtype=torch.int64, device=graphs.device)
    words.index_add_(0, word_ptr[g] + j // WORD * sizes[g] + i, 1 << j % WORD)
    node_ptr = torch.cat([graphs.node_ptr, graphs.node_ptr[-1:]])
    return AdjacencyBits(words.to(torch.int32), word_ptr, node_ptr, (1.0 + degree).rsqrt())
