"""GMT as an Aggregation of PyG: wherever one is taken, and equal to the readout without edges."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.aggr import Aggregation, MultiAggregation
from torch_geometric.nn.aggr import GraphMultisetTransformer as OfPyG
from torch_geometric.nn.resolver import aggregation_resolver

from gmpool.aggr import GMTAggregation
from gmpool.errors import UserError
from gmpool.pool.gmt import GraphMultisetTransformer

WIDTH = 6


def an_aggregation(hidden_dim: int | None = None, **options: object) -> GMTAggregation:
    torch.manual_seed(0)
    given = {"num_seeds": 3, "num_heads": 2, **options}
    return GMTAggregation(WIDTH, hidden_dim, **given).double()


def some_rows(count: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, WIDTH, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("softmax", ["seeds", "nodes"])
@pytest.mark.parametrize("preset", ["authors", "paper"])
def test_it_is_the_readout_of_graphs_without_edges(softmax: str, preset: str) -> None:
    aggregation = an_aggregation(4, softmax=softmax, preset=preset)
    torch.manual_seed(0)
    readout = GraphMultisetTransformer.from_preset(
        preset, WIDTH, 4, num_seeds=3, num_heads=2, softmax=softmax, conv=None,
        blocks="GMPool_I-SelfAtt-GMPool_I",
    ).double()  # fmt: skip
    x, index = some_rows(9), torch.tensor([2, 0, 0, 3, 2, 2, 0, 3, 3])  # unsorted; set 1 is empty
    none = torch.zeros(2, 0, dtype=torch.long)
    assert torch.equal(aggregation(x, index, dim_size=5), readout(x, none, index, 5))
    order = index.sort(stable=True).indices
    ptr = torch.tensor([0, 3, 3, 6, 9, 9])
    by_ptr = aggregation(x[order], ptr=ptr)
    torch.testing.assert_close(by_ptr, aggregation(x, index, dim_size=5))
    assert by_ptr.isfinite().all()


def test_pygs_own_is_the_same_where_the_definitions_agree() -> None:
    """Nothing negative, so that its ReLU does nothing; no map before it and no bias in W^O."""
    torch.manual_seed(1)
    theirs = OfPyG(WIDTH, k=3, heads=2).double()
    ours = an_aggregation(
        softmax="nodes", preset="paper", scale="head", layer_norm=False, final_linear=False
    )
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.abs_()
        for pool in (theirs.pma1, theirs.pma2):
            pool.lin.weight.copy_(torch.eye(WIDTH))
            pool.lin.bias.zero_()
        parts = (theirs.pma1, theirs.encoders[0], theirs.pma2)
        for block, part in zip(ours.readout.blocks, parts, strict=True):
            attention = part.mab.attn
            attention.out_proj.bias.zero_()
            weight, bias = attention.in_proj_weight, attention.in_proj_bias
            if hasattr(block, "seeds"):
                block.seeds.copy_(part.seed[0])
                mine = block.attention
                for i, name in enumerate(("to_query", "to_key", "to_value")):
                    getattr(mine, name).weight.copy_(weight.chunk(3)[i])
                    getattr(mine, name).bias.copy_(bias.chunk(3)[i])
            else:
                block.attention.to_query_key_value.weight.copy_(weight)
                block.attention.to_query_key_value.bias.copy_(bias)
            block.attention.out_projection.weight.copy_(attention.out_proj.weight)
            block.after.linear.load_state_dict(part.mab.lin.state_dict())
    x, index = some_rows(8).abs(), torch.tensor([0, 0, 0, 1, 1, 2, 2, 2])
    torch.testing.assert_close(ours(x, index), theirs(x, index))


class Messages(MessagePassing):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.propagate(edge_index, x=x)


def test_it_works_wherever_pyg_takes_one() -> None:
    aggregation = an_aggregation()
    assert isinstance(aggregation, Aggregation)
    assert aggregation_resolver(aggregation) is aggregation
    x, edge_index = some_rows(4), torch.tensor([[0, 1, 2, 3, 1], [1, 0, 1, 2, 2]])
    out = Messages(aggr=aggregation)(x, edge_index)
    torch.testing.assert_close(out, aggregation(x[edge_index[0]], edge_index[1], dim_size=4))
    both = MultiAggregation(["mean", aggregation], mode="cat")
    index = torch.tensor([1, 0, 1, 1])
    assert both(x, index).shape == (2, 2 * WIDTH)
    torch.testing.assert_close(both(x, index)[:, WIDTH:], aggregation(x, index))
    torch.testing.assert_close(aggregation(x), aggregation(x, torch.zeros(4, dtype=torch.long)))


@settings(deadline=None, max_examples=25)
@given(
    index=st.lists(st.integers(0, 3), max_size=10),
    seed=st.integers(0, 1000),
    softmax=st.sampled_from(["seeds", "nodes"]),
)
def test_neither_order_nor_other_sets_matter(index: list[int], seed: int, softmax: str) -> None:
    aggregation = an_aggregation(softmax=softmax)
    x, ids = some_rows(len(index), seed), torch.tensor(index, dtype=torch.long)
    out = aggregation(x, ids, dim_size=4)
    order = torch.randperm(len(index), generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(aggregation(x[order], ids[order], dim_size=4), out)
    for b in range(4):
        mine = x[ids == b]
        alone = aggregation(mine, torch.zeros(len(mine), dtype=torch.long), dim_size=1)
        torch.testing.assert_close(alone[0], out[b])


def test_it_says_what_it_is_and_begins_again() -> None:
    aggregation = an_aggregation(4)
    assert repr(aggregation) == "GMTAggregation(in_dim=6, hidden_dim=4, num_seeds=3, num_heads=2)"
    began = [p.clone() for p in aggregation.parameters()]
    torch.manual_seed(0)
    aggregation.reset_parameters()
    assert all(map(torch.equal, began, aggregation.parameters()))
    torch.manual_seed(1)
    aggregation.reset_parameters()
    assert not any(map(torch.equal, began[:1], aggregation.parameters()))


def test_what_it_cannot_take() -> None:
    aggregation, index = an_aggregation(), torch.tensor([0, 1, 1])
    with pytest.raises(UserError, match=r"GMTAggregation takes x \[N, D\].* shape \(2, 3, 6\)"):
        aggregation(some_rows(6).view(2, 3, 6), index)
    with pytest.raises(UserError, match="dim=1"):
        aggregation(some_rows(3), index, dim=1)
    with pytest.raises(UserError, match="width 6, got x of width 5"):
        aggregation(some_rows(3)[:, :5], index)
    with pytest.raises(UserError, match="index must hold the numbers of sets"):
        aggregation(some_rows(3), index.double(), dim_size=2)
    with pytest.raises(UserError, match=r"index holds set 1 .* dim_size is 1: .* in 0 … 0"):
        aggregation(some_rows(3), index, dim_size=1)
    with pytest.raises(UserError, match=r"index must have one entry per row, shape \(3,\)"):
        aggregation(some_rows(3), index[:2])
    with pytest.raises(UserError, match="dim_size must be a number of sets, got 'two'"):
        aggregation(some_rows(3), index, dim_size="two")
    with pytest.raises(UserError, match="dim_size is 4, but ptr says 1"):
        aggregation(some_rows(3), ptr=torch.tensor([0, 3]), dim_size=4)
    with pytest.raises(UserError, match="ptr must ascend from 0 to the number of rows, 3"):
        aggregation(some_rows(3), ptr=torch.tensor([0, 2]))
    with pytest.raises(UserError, match=r"torch.int64 \[B\+1\]"):
        aggregation(some_rows(3), ptr=torch.tensor([0.0, 3.0]))
    with pytest.raises(UserError, match="so conv has no place"):
        an_aggregation(conv="gcn")
    with pytest.raises(UserError, match="blocks takes GMPool_I"):
        an_aggregation(blocks="GMPool_G")
    with pytest.raises(TypeError, match="ratoi"):
        an_aggregation(ratoi=0.5)
