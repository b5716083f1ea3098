"""Categories of one set in the numbers of another."""

from __future__ import annotations

from dataclasses import replace

import torch

from gmpool.data.compressed_rows import small_int
from gmpool.data.packed import PackedGraphs
from gmpool.errors import DataError


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
    zeros = (0,) * len(sizes)
    mine = torch.tensor(graphs.cat_starts or zeros, device=graphs.device)
    theirs = torch.tensor(starts or zeros, device=graphs.device)
    cat = graphs.node_cat.long() + mine - theirs  # [N, C]
    bad = (cat < 0) | (cat >= torch.tensor(sizes, device=graphs.device))
    if bool(bad.any()):
        node, column = bad.nonzero()[0].tolist()
        first = int(theirs[column])
        value, last = int(cat[node, column]) + first, first + sizes[column] - 1
        raise DataError(
            f"{graphs.name}: node {node + 1} has category {value} in column {column + 1}, which "
            f"the model has not seen (it knows {first} … {last}); train on data that has it"
        )
    small = cat.to(small_int(max(sizes) - 1))
    return replace(graphs, node_cat=small, cat_sizes=sizes, cat_starts=starts)
