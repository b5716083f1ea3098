"""The kinds of bonds in a set: what the OGB molecules have are a dozen of sixty combinations."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.data.compressed_rows import Rows, features, local_ids

MOST = 63
"""More kinds are not worth a table of them; with self-loops as one more they are a power of two."""


class BondKinds(NamedTuple):
    """The distinct rows of a set's edge_cat, and which of them each entry of its matrices has."""

    rows: Tensor  # float32 [C, Σ edge_cat_sizes]: multi-hot, as edge_attr has them
    graph: Tensor  # uint8 [E]: of the entries of the adjacency
    gcn: Tensor  # uint8 [E + N]: of those of the normalised one, whose self-loops have C


def find_bond_kinds(
    cat: Tensor, sizes: tuple[int, ...], node_ptr: Tensor, back: Rows, gcn: Rows
) -> BondKinds | None:
    """The kinds of a symmetric set without weights, whose edge_cat is ``cat`` [E, Ce].

    ``back`` is the transpose of its adjacency, ``gcn`` the normalised one. None where edges are not
    bonds: none at all, too many kinds, self-loops, or another kind on the way back.
    """
    has_loops = len(gcn.col) < len(cat) + len(gcn.row_ptr) - 1  # each node has exactly one in gcn
    if not len(cat) or has_loops:
        return None
    code = _numbered(cat, sizes)  # [E]
    count = int(code.max()) + 1
    if count > MOST or not torch.equal(code, code[_way_back(back)]):
        return None
    example = torch.zeros(count, dtype=torch.int64, device=cat.device)
    example.scatter_(0, code, torch.arange(len(code), device=cat.device))
    kinds = features(None, cat[example].long(), sizes, count)
    small = code.to(torch.uint8)
    is_bond = gcn.col != _target(gcn, node_ptr)
    of_gcn = torch.full_like(gcn.col, count, dtype=torch.uint8).masked_scatter_(is_bond, small)
    return BondKinds(kinds, small, of_gcn)


def _numbered(cat: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Equal rows get equal numbers, 0 … C-1. [E, Ce] -> int64 [E]"""
    code = torch.zeros(len(cat), dtype=torch.int64, device=cat.device)
    for column, size in zip(cat.unbind(1), sizes, strict=True):
        code = torch.unique(code * size + column, return_inverse=True)[1]
    return code


def _way_back(back: Rows) -> Tensor:
    """Where the reverse of each edge lies. [E]"""
    assert back.perm is not None
    first = back.edge_ptr[:-1].repeat_interleave(back.edge_ptr.diff(), output_size=len(back.perm))
    return first + back.perm


def _target(rows: Rows, node_ptr: Tensor) -> Tensor:
    """The row of each entry, counted inside its graph as col is. [E]"""
    local = local_ids(node_ptr, rows.col.dtype)
    return local.repeat_interleave(rows.row_ptr.diff(), output_size=len(rows.col))
