"""The relational convolution, alone and as keys and values that attention absorbs."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from every_edges import from_edge_index
from torch import Tensor
from torch.autograd import grad

from gmpool.errors import WrongType
from gmpool.graph import Segments
from gmpool.graph.relation_edges import RelationEdges
from gmpool.nn.relational import RelationalConv
from gmpool.pool.blocks import GMPool

B, T, N, D = 3, 2, 4, 8


@pytest.fixture
def relations() -> Tensor:
    torch.manual_seed(0)
    return torch.rand(B, T, N, N, dtype=torch.float64).requires_grad_()


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(B * N, D, dtype=torch.float64).requires_grad_()


def test_it_is_the_sum_over_kinds_written_out(relations: Tensor, x: Tensor) -> None:
    conv = RelationalConv(D, 5, relations=T).double()
    torch.nn.init.normal_(conv.bias)
    own, *of_kind = conv.weight.split(D, dim=1)  # [5, D] each
    assert len(of_kind) == T
    expected = torch.cat(
        [
            rows @ own.T + sum(a @ (rows @ w.T) for a, w in zip(kinds, of_kind, strict=True))
            for rows, kinds in zip(x.split(N), relations, strict=True)
        ]
    )
    found = conv(x, RelationEdges(relations))
    torch.testing.assert_close(found, expected + conv.bias)
    moved = (x, relations, conv.weight)
    for mine, theirs in zip(
        grad(found.square().sum(), moved),
        grad((expected + conv.bias).square().sum(), moved),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs)


def test_each_weight_starts_as_if_it_were_alone() -> None:
    """As wide as a matrix from D to D, and not as one from (1 + T)·D."""
    torch.manual_seed(0)
    conv = RelationalConv(64, 64, relations=3)
    bound = (6 / (64 + 64)) ** 0.5
    parts = conv.weight.detach().split(64, dim=1)
    assert len(parts) == 4
    for part in parts:
        assert 0.99 * bound < part.abs().max() <= bound
    assert conv.bias.eq(0).all()


def test_edges_of_one_kind_are_refused_by_name(x: Tensor) -> None:
    conv = RelationalConv(D, D, relations=T).double()
    edges = from_edge_index(weighted=False).edges
    with pytest.raises(WrongType, match=r"edges of several kinds, RelationEdges, got Edges"):
        conv(x, edges)


@pytest.mark.parametrize("softmax", ["nodes", "seeds"])
@pytest.mark.parametrize(("seeds", "heads"), [(1, 4), (3, 1), (4, 2)])
def test_attention_absorbs_it(
    relations: Tensor, x: Tensor, softmax: str, seeds: int, heads: int
) -> None:
    """Keys and values are never made, and all comes out as if they were."""
    torch.manual_seed(2)
    conv = partial(RelationalConv, relations=T)
    pool = GMPool(D, seeds, num_heads=heads, conv=conv, softmax=softmax).double()
    for name, weight in pool.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(weight)
    segments, edges = Segments.uniform(B, N, x.device), RelationEdges(relations)
    moved = (x, relations, *pool.parameters())
    found = {}
    for form in ("absorbed", "direct"):
        pool.attention.form = form
        out = pool(x, edges, segments).x
        assert out.shape == (B, seeds, D)
        slopes = grad(out.sin().sum(), moved, allow_unused=True, materialize_grads=True)
        found[form] = [out, *slopes]
    for absorbed, direct in zip(found["absorbed"], found["direct"], strict=True):
        torch.testing.assert_close(absorbed, direct)
    assert found["direct"][2].ne(0).any(), "the kinds of edges count"


def test_keys_that_are_made_ask_for_the_edges_once(
    relations: Tensor, x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys and values are read off the same propagated rows."""
    asked = []
    propagated = RelationEdges.propagated

    def counted(self: RelationEdges, rows: Tensor) -> Tensor:
        asked.append(rows.shape)
        return propagated(self, rows)

    monkeypatch.setattr(RelationEdges, "propagated", counted)
    pool = GMPool(D, 2, conv=partial(RelationalConv, relations=T), softmax="nodes").double()
    pool.attention.form = "absorbed"
    pool(x, RelationEdges(relations), Segments.uniform(B, N, x.device))
    assert asked == [(B * N, D)]
