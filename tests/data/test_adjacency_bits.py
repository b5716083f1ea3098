from __future__ import annotations

from dataclasses import replace

import torch
from dense_sets import SIZES, dense_set

from gmpool.data.adjacency_bits import WORD, is_dense
from gmpool.data.pack import pack


def test_bits_are_the_adjacency() -> None:
    graphs = dense_set()
    bits = graphs.adjacency_bits
    assert bits is not None
    assert bits.word_ptr.tolist()[-1] == len(bits.words)
    for g, n in enumerate(SIZES):
        words = bits.words[bits.word_ptr[g] : bits.word_ptr[g + 1]].view(-1, n)  # [⌈n/32⌉, n]
        found = (
            (words[:, None] >> torch.arange(WORD)[None, :, None] & 1).flatten(0, 1).T
        )  # [n, 32w]
        source, target = graphs.batch([g]).edge_index
        want = torch.zeros(n, found.shape[1], dtype=torch.int32)
        want[target, source] = 1
        assert torch.equal(found, want)
    degree = graphs.row_ptr.diff()
    torch.testing.assert_close(bits.scale, (degree + 1.0) ** -0.5)
    assert bits.node_ptr.tolist() == [*graphs.node_ptr.tolist(), graphs.num_nodes]


def test_where_there_are_bits() -> None:
    plain, ends = dense_set([40, 50]), torch.tensor([0, 1])
    assert plain.adjacency_bits is not None
    weights = torch.ones(plain.num_edges)
    assert replace(plain, edge_weight=weights).adjacency_bits is None
    assert replace(plain, edge_float=weights[:, None]).adjacency_bits is None
    for source, target in (
        (ends[:1], ends[1:]),  # one way alone
        (torch.tensor([0, 1, 0]), torch.tensor([1, 0, 0])),  # a self-loop
        (torch.tensor([0, 1, 0, 1]), torch.tensor([1, 0, 1, 0])),  # edges twice
    ):
        other = pack(name="other", sizes=torch.tensor([2]), source=source, target=target)
        assert other.adjacency_bits is None
    assert is_dense(plain)
    assert not is_dense(dense_set([20, 25])), "too small"
    assert not is_dense(dense_set([40, 50], density=0.1)), "too few edges"
