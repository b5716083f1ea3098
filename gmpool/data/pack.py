"""From an unordered edge list to PackedGraphs: sort, drop what must go, shrink the types."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gmpool.data.compressed_rows import small_int
from gmpool.data.packed import PackedGraphs
from gmpool.errors import DataError

MOST_NODES = 10**8
"""More nodes in one set are taken for a mistake, before memory is taken for them."""


def pack(
    *,
    name: str,
    sizes: Tensor,
    source: Tensor,
    target: Tensor,
    cat_sizes: Sequence[int] = (),
    edge_cat_sizes: Sequence[int] = (),
    node_cat: Tensor | None = None,
    simple: bool = False,
    **rest: Any,
) -> PackedGraphs:
    """Builds a set from int64 ``sizes`` [G] and edges ``source``, ``target`` [E] over the set.

    Edges may come in any order; edge fields in ``rest`` are in the same order. With ``simple``,
    self-loops go and of parallel edges one stays (the first). Without it all edges are kept.
    """
    if float(sizes.double().sum()) > MOST_NODES:
        raise DataError(
            f"{name}: {float(sizes.double().sum()):.3g} nodes, more than the {MOST_NODES:,} that a "
            "set can have; check its sizes or split it"
        )
    node_ptr = torch.zeros(sizes.numel() + 1, dtype=torch.int64)
    torch.cumsum(sizes, 0, out=node_ptr[1:])
    num_nodes = int(node_ptr[-1])

    key = target * num_nodes + source  # [E]
    keep: Tensor | None = None
    if key.numel() > 1 and bool((key[1:] < key[:-1]).any()):
        key, keep = torch.sort(key, stable=True)
    if simple and key.numel():
        wanted = key % (num_nodes + 1) != 0  # a self-loop has key i * (num_nodes + 1)
        wanted[1:] &= key[1:] != key[:-1]
        if not bool(wanted.all()):
            key = key[wanted]
            keep = wanted.nonzero().squeeze(1) if keep is None else keep[wanted]

    edge_fields = ("edge_cat", "edge_float", "edge_weight")
    for field in edge_fields:
        if keep is not None and rest.get(field) is not None:
            rest[field] = rest[field].index_select(0, keep)
    target = key // max(num_nodes, 1)
    row_ptr = torch.zeros(num_nodes + 1, dtype=torch.int64)
    torch.cumsum(torch.bincount(target, minlength=num_nodes), 0, out=row_ptr[1:])
    edges = row_ptr.index_select(0, node_ptr).diff()  # [G]
    first = node_ptr[:-1].repeat_interleave(edges, output_size=key.numel())  # [E]
    largest = int(sizes.max()) - 1 if sizes.numel() else 0
    col = key.sub_(target.mul_(num_nodes)).sub_(first).to(small_int(largest))

    if rest.get("edge_cat") is not None:
        rest["edge_cat"] = rest["edge_cat"].to(small_int(max(edge_cat_sizes, default=1) - 1))
    if node_cat is not None:
        node_cat = node_cat.to(small_int(max(cat_sizes, default=1) - 1))
    return PackedGraphs(
        name=name,
        node_ptr=node_ptr,
        row_ptr=row_ptr,
        col=col,
        node_cat=node_cat,
        cat_sizes=tuple(map(int, cat_sizes)),
        edge_cat_sizes=tuple(map(int, edge_cat_sizes)),
        **rest,
    )
