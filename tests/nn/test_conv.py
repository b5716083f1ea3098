"""Graph convolutions against PyG's and against what they say of themselves."""

from __future__ import annotations

import pytest
import torch
from graphs import Batch, random_batch
from torch import nn
from torch_geometric.nn import GATConv, RGCNConv
from torch_geometric.nn import GCNConv as PyGGCNConv
from torch_geometric.nn import GINConv as PyGGINConv
from torch_geometric.nn import GraphConv as PyGGraphConv

from gmpool import GMPool, GraphMultisetTransformer
from gmpool.errors import UserError
from gmpool.graph.edges import Edges
from gmpool.nn.conv import (
    ForeignConv,
    GCNConv,
    GINConv,
    GraphConv,
    IdentityConv,
    activated,
    is_linear,
    make_conv,
)

DIM = 8


def edges_of(batch: Batch) -> Edges:
    return Edges(batch.edge_index, len(batch.x), edge_weight=batch.weight, dtype=torch.float64)


@pytest.mark.parametrize(("in_dim", "out_dim"), [(3, 7), (7, 3)], ids=["widening", "narrowing"])
@pytest.mark.parametrize("loops", [False, True])
def test_gcn_equals_pyg(in_dim: int, out_dim: int, loops: bool) -> None:
    batch = random_batch([5, 1, 0, 4], in_dim, weighted=True, directed=True)
    if loops:
        own = torch.tensor([[0, 6], [0, 6]])
        batch.edge_index = torch.cat([batch.edge_index, own], dim=1)
        batch.weight = torch.cat([batch.weight, torch.tensor([2.0, 3.0], dtype=torch.float64)])
    ours, pyg = GCNConv(in_dim, out_dim).double(), PyGGCNConv(in_dim, out_dim).double()
    pyg.load_state_dict({"lin.weight": ours.weight.detach(), "bias": ours.bias.detach()})
    expected = pyg(batch.x, batch.edge_index, batch.weight)
    torch.testing.assert_close(ours(batch.x, edges_of(batch)), expected)


def test_gin_equals_pyg() -> None:
    batch = random_batch([5, 1, 0, 4], 3)
    ours = GINConv(3, 6).double()
    expected = PyGGINConv(ours.mlp)(batch.x, batch.edge_index)
    torch.testing.assert_close(ours(batch.x, edges_of(batch)), expected)


def test_gin_with_a_norm_is_gmts() -> None:
    """Linear, ReLU, linear, ReLU, norm, in GMT's published code; then the ReLU of the layer."""
    batch = random_batch([5, 1, 4], 3)
    torch.manual_seed(0)
    conv = GINConv(3, 6, batch_norm=True).double()
    assert conv.norm is not None
    mlp = nn.Sequential(*conv.mlp, nn.ReLU(), nn.BatchNorm1d(6).double())
    expected = PyGGINConv(mlp)(batch.x, batch.edge_index)
    torch.testing.assert_close(conv(batch.x, edges_of(batch)), expected)
    conv.eval()
    rows = conv(batch.x, edges_of(batch))
    torch.testing.assert_close(conv(batch.x, edges_of(batch), relu=True), torch.relu(rows))


def test_a_graph_convolution_is_pygs() -> None:
    batch = random_batch([5, 1, 4], 3, weighted=True, directed=True)
    ours, pyg = GraphConv(3, 6).double(), PyGGraphConv(3, 6).double()
    pyg.load_state_dict({
        "lin_root.weight": ours.itself.weight, "lin_rel.bias": ours.itself.bias,
        "lin_rel.weight": ours.around.weight,
    })  # fmt: skip
    expected = pyg(batch.x, batch.edge_index, batch.weight)
    torch.testing.assert_close(ours(batch.x, edges_of(batch)), expected)


def test_gin_weighs_a_node_itself_by_one_and_eps() -> None:
    batch = random_batch([4, 3], 3, weighted=True)
    conv = GINConv(3, 6, eps=0.5).double()
    around = torch.from_numpy(batch.dense()) @ batch.x
    torch.testing.assert_close(conv(batch.x, edges_of(batch)), conv.mlp(1.5 * batch.x + around))


def test_without_propagation_edges_do_not_matter() -> None:
    batch = random_batch([4], 3)
    conv = IdentityConv(3, 5).double()
    out = conv(batch.x, edges_of(batch))
    assert torch.equal(out, conv(batch.x))
    torch.testing.assert_close(out, batch.x @ conv.weight.t() + conv.bias)


@pytest.mark.parametrize("name", ["gcn", "gin", None])
def test_the_relu_on_the_way_is_a_relu(name: str | None) -> None:
    batch = random_batch([5, 3], 4)
    conv, edges = make_conv(name, 4, 6).double(), edges_of(batch)
    torch.testing.assert_close(activated(conv, batch.x, edges), torch.relu(conv(batch.x, edges)))


def test_a_factory_of_pyg_convolutions() -> None:
    """Called as conv(x, edge_index, third): edge_attr, else edge_weight, else nothing."""
    torch.manual_seed(0)
    batch = random_batch([5, 3], DIM, weighted=True)
    gat = GMPool(DIM, 2, conv=GATConv).double()
    assert not gat.attention.absorbable
    assert gat(batch.x, batch.edge_index, batch.batch).x.shape == (2, 2, DIM)
    pyg = GMPool(DIM, 2, conv=PyGGCNConv).double()
    ours = GMPool(DIM, 2, conv="gcn").double()
    state = {
        k.replace("conv.lin.", "").replace("conv.", ""): v for k, v in pyg.state_dict().items()
    }
    ours.load_state_dict(state)
    args = (batch.x, batch.edge_index, batch.batch)
    torch.testing.assert_close(
        pyg(*args, edge_weight=batch.weight).x, ours(*args, edge_weight=batch.weight).x
    )
    relational = GMPool(DIM, 2, conv=lambda a, b: RGCNConv(a, b, num_relations=3)).double()
    kind = torch.arange(batch.edge_index.shape[1]) % 3
    by_kind = relational(*args, edge_attr=kind).x
    assert not torch.allclose(by_kind, relational(*args, edge_attr=kind.roll(1)).x)


def test_who_is_absorbed() -> None:
    """Linear with one propagation, by what it has: from Python 3.12 on isinstance cannot tell."""
    assert is_linear(GCNConv(2, 3))
    assert is_linear(IdentityConv(2, 3))
    assert not is_linear(GINConv(2, 3))
    assert not is_linear(nn.Linear(2, 3))
    assert isinstance(make_conv(GATConv, 4, 4), ForeignConv)


@pytest.mark.parametrize(
    "pool", [GMPool(4, 2), GMPool(4, 2, conv="gin"), GraphMultisetTransformer(4, 4, num_seeds=2)]
)
def test_an_edge_attr_that_nothing_reads_is_refused(pool: nn.Module) -> None:
    batch = random_batch([3], 4, dtype=torch.float32)
    attr = torch.ones(batch.edge_index.shape[1], 2)
    with pytest.raises(UserError, match=f"nothing in {type(pool).__name__} reads edge_attr"):
        pool(batch.x, batch.edge_index, edge_attr=attr)


def test_unknown_convolution() -> None:
    with pytest.raises(UserError, match="unknown convolution 'gcm'; did you mean 'gcn'"):
        make_conv("gcm", 2, 2)
    with pytest.raises(UserError, match=r"must return a torch\.nn\.Module"):
        make_conv(lambda a, b: 3, 2, 2)  # type: ignore[arg-type, return-value]
