"""Colour refinement (Weisfeiler & Lehman, 1968) of all graphs of a set at once.

    c_0(v) = the features of v        c_{t+1}(v) = (c_t(v), {{ (c_t(u), b_uv) : u → v }})

A colour is a 64-bit number and a multiset the sum of its members' mixed numbers, which knows no
order: no sort and no loop over nodes. Two different neighbourhoods get the same number with a
chance of 2^-64.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gmpool.data.packed import PackedGraphs

Colours = NDArray[np.uint64]
Ints = NDArray[np.int64]


def mix(numbers: NDArray[Any]) -> Colours:
    """Scrambles 64-bit numbers one to one, so that sums of them do not meet (SplitMix64)."""
    z = numbers.astype(np.uint64)
    z += np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def sums_between(values: Colours, ptr: NDArray[Any]) -> Colours:
    """Σ values[ptr[i]:ptr[i+1]] for each i, modulo 2^64. [n]"""
    running = np.zeros(len(values) + 1, dtype=np.uint64)
    np.cumsum(values, out=running[1:])
    return running[ptr[1:]] - running[ptr[:-1]]


def refinements(graphs: PackedGraphs, iterations: int) -> list[Ints]:
    """Colours 0, 1, … of all nodes of the set after 0, 1, … iterations. (iterations + 1) × [N]

    The first are the nodes' features, row by row; categories of edges colour the edges.
    """
    row_ptr = graphs.row_ptr.cpu().numpy()
    edge_ptr = graphs.row_ptr.index_select(0, graphs.node_ptr).diff().cpu().numpy()
    first = np.repeat(graphs.node_ptr[:-1].cpu().numpy(), edge_ptr)
    source = first + graphs.col.cpu().numpy()  # [E]
    bond = _rows(graphs.edge_cat, graphs.num_edges)
    colour = _numbered(_rows(graphs.node_cat, graphs.num_nodes, graphs.node_float))
    found = [colour]
    for _ in range(iterations):
        message = mix(colour[source].astype(np.uint64) ^ bond)  # [E]
        own = mix(colour)
        colour = _numbered(mix(own ^ mix(sums_between(message, row_ptr))))
        found.append(colour)
    return found


def colour_counts(graphs: PackedGraphs, iterations: int) -> list[Any]:
    """How often each graph has each colour after 0, 1, … iterations: CSR matrices [G, colours]."""
    from scipy.sparse import csr_matrix

    graph = np.repeat(np.arange(graphs.num_graphs), graphs.sizes.cpu().numpy())  # [N]
    found = []
    for colour in refinements(graphs, iterations):
        shape = (graphs.num_graphs, int(colour.max(initial=-1)) + 1)
        # Entries of one place are added up.
        found.append(csr_matrix((np.ones(len(colour)), (graph, colour)), shape=shape))
    return found


def _rows(cat: Tensor | None, count: int, floats: Tensor | None = None) -> Colours:
    """One number per row of features: equal rows, equal numbers. [count]"""
    number = np.zeros(count, dtype=np.uint64)
    columns = [] if cat is None else list(cat.cpu().numpy().astype(np.uint64).T)
    if floats is not None:
        # -0.0 + 0.0 is 0.0: equal numbers shall have equal bits.
        columns += list((floats.cpu().numpy() + np.float32(0)).view(np.uint32).T)
    for column in columns:
        number = mix(number ^ mix(column))
    return number


def _numbered(colours: Colours) -> Ints:
    """The same colours as 0, 1, …"""
    return np.unique(colours, return_inverse=True)[1]
