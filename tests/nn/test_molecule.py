"""Embeddings of atoms and bonds, and bond convolutions, against their formulas."""

from __future__ import annotations

import pytest
import torch
from graphs import Batch, random_batch

from gmpool.errors import UserError
from gmpool.graph.edges import Edges
from gmpool.nn.molecule import BOND_CONVS, BondConv, BondGINConv, MultiHotEmbedding


def bonded() -> tuple[Batch, list[int], Edges]:
    """Graphs whose bonds have three kinds."""
    batch = random_batch([4, 1, 3], 5)
    kind = torch.randint(0, 3, (batch.edge_index.shape[1],))
    attr = torch.nn.functional.one_hot(kind, 3).double()
    edges = Edges(batch.edge_index, 8, edge_attr=attr, dtype=torch.float64)
    return batch, kind.tolist(), edges


def test_an_embedding_is_the_sum_over_the_columns() -> None:
    embed = MultiHotEmbedding((3, 2), 4)
    rows = torch.tensor([[0.0, 1, 0, 0, 1], [1, 0, 0, 1, 0]])
    first, second = embed.weight[:3], embed.weight[3:]
    torch.testing.assert_close(
        embed(rows), torch.stack([first[1] + second[1], first[0] + second[0]])
    )
    # Glorot for each table by itself, not for all of them together.
    wide = MultiHotEmbedding((2, 4000), 64).weight
    assert wide[:2].abs().max() > 2 * wide[2:].abs().max()


def test_bond_convolution_is_the_formula() -> None:
    torch.manual_seed(0)
    batch, kinds, edges = bonded()
    conv = BondConv((3,), 5).double()
    h = conv.linear(batch.x)
    degree = 1 + torch.bincount(batch.edge_index[0], minlength=8)
    expected = torch.relu(h + conv.root) / degree[:, None]
    for (j, i), bond in zip(batch.edge_index.t().tolist(), kinds, strict=True):
        message = torch.relu(h[j] + conv.bonds.weight[bond])
        expected[i] = expected[i] + message / (degree[i] * degree[j]).sqrt()
    torch.testing.assert_close(conv(batch.x, edges), expected)


def test_gin_of_bonds_is_the_formula() -> None:
    torch.manual_seed(0)
    batch, kinds, edges = bonded()
    conv = BondGINConv((3,), 5).double()
    torch.nn.init.constant_(conv.eps, 0.25)
    sums = 1.25 * batch.x
    for (j, i), bond in zip(batch.edge_index.t().tolist(), kinds, strict=True):
        sums[i] = sums[i] + torch.relu(batch.x[j] + conv.bonds.weight[bond])
    torch.testing.assert_close(conv(batch.x, edges), conv.mlp(sums))


def test_gin_of_bonds_with_a_norm_has_it_between_its_linear_maps() -> None:
    torch.manual_seed(0)
    batch, _, edges = bonded()
    conv = BondGINConv((3,), 5, batch_norm=True).double()
    first, relu, second = conv.mlp
    norm = torch.nn.BatchNorm1d(10).double()
    sums = batch.x + conv._messages(batch.x, edges)
    torch.testing.assert_close(conv(batch.x, edges), second(relu(norm(first(sums)))))


@pytest.mark.parametrize("name", BOND_CONVS)
def test_without_bonds_there_is_nothing_to_read(name: str) -> None:
    batch = random_batch([4], 5)
    conv = BOND_CONVS[name]((3,), 5).double()
    with pytest.raises(UserError, match="reads bonds, and the batch has no edge_attr"):
        conv(batch.x, Edges(batch.edge_index, 4, dtype=torch.float64))
