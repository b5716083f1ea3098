"""What every registered pooling method must satisfy. Registering a method tests it.

The methods are tested as the networks that the comparison makes of them: from nodes and edges to
one vector per graph.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from graphs import Batch, random_batch
from torch import Tensor, nn

from gmpool.config import ModelConfig, configure
from gmpool.errors import UserError
from gmpool.graph.edges import Edges
from gmpool.ops.segment import Segments
from gmpool.pool import METHODS, method_options, method_summary
from gmpool.pool.method import GraphSizes
from gmpool.tasks.classify.networks import make_network
from gmpool.tasks.shape import DataShape

FEATURES, HIDDEN = 5, 8
NETWORKS = [name for name in METHODS if METHODS[name].architecture != "kernel"]
SHAPE = DataShape(
    task="multiclass",
    num_features=FEATURES,
    num_outputs=2,
    mean_nodes=9.0,
    node_deciles=(3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15),
)
EXPECTED = {
    "mean", "gin", "set2set", "sortpool", "sagpool-global", "sagpool", "topk", "asap", "edgepool",
    "diffpool", "mincut", "haarpool", "structpool", "gmt", "mempool", "set-transformer",
    "deepsets", "wl-svm",
}  # fmt: skip


def network(name: str, **pool: Any) -> Any:
    torch.manual_seed(3)
    config = ModelConfig(method=name, hidden_dim=HIDDEN, num_layers=2, pool=pool)
    return make_network(SHAPE, config).double().eval()


def run(net: nn.Module, batch: Batch, dtype: torch.dtype = torch.float64) -> Any:
    edges = Edges.of(batch.edge_index, len(batch.x), dtype)
    segments = Segments.from_batch(batch.batch, len(batch.x), None, batch.size)
    return net(batch.x.to(dtype), edges, segments)


def moved(batch: Batch, seed: int) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    return batch.permuted(
        torch.randperm(len(batch.x), generator=generator),
        torch.randperm(batch.edge_index.shape[1], generator=generator),
    )


def with_gradients(net: nn.Module, batch: Batch) -> list[Tensor]:
    pooled = run(net, batch)
    (pooled.x.square().sum() + sum(pooled.losses.values())).backward()
    return [p.grad for p in net.parameters() if p.grad is not None]


def test_every_method_of_the_paper_is_there() -> None:
    assert set(METHODS) == EXPECTED


@pytest.mark.parametrize("name", METHODS)
def test_it_says_what_it_is_in_one_line(name: str) -> None:
    assert 20 < len(method_summary(name)) <= 100


SYMMETRY = pytest.mark.xfail(
    strict=True,
    reason="HaarPool's chain is made of the edges alone: of nodes that a symmetry exchanges, as "
    "the two of an edge, the numbering decides which comes first, whatever their features",
)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=SYMMETRY if n == "haarpool" else ()) for n in NETWORKS],
)
def test_order_of_nodes_and_edges_does_not_matter(name: str, seed: int) -> None:
    net = network(name)
    batch = random_batch([9, 6, 12, 2], FEATURES, seed=seed, density=0.3)
    torch.testing.assert_close(run(net, batch).x, run(net, moved(batch, seed)).x)


def tied_nodes() -> Batch:
    """A path whose nodes agree in the feature that SortPool sorts by."""
    start = torch.arange(7)
    x = torch.randn(8, FEATURES, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x[:, -1] = 0.0
    edges = torch.stack([start, start + 1])
    return Batch(x, torch.cat([edges, edges.flip(0)], 1), torch.zeros(8, dtype=torch.long), 1)


@pytest.mark.parametrize(
    "ties",
    [
        "content",
        pytest.param(
            "position",
            marks=pytest.mark.xfail(
                strict=True,
                reason="equal sorting features are told apart by the order of the nodes, as in "
                "other implementations of SortPool",
            ),
        ),
    ],
)
def test_sortpool_with_ties(ties: str) -> None:
    torch.manual_seed(0)
    pool = METHODS["sortpool"](FEATURES, HIDDEN, num_rows=4, ties=ties).double()
    one, other = tied_nodes(), moved(tied_nodes(), 1)
    out = [pool(b.x, b.edge_index, b.batch, batch_size=1).x for b in (one, other)]
    torch.testing.assert_close(*out)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_graph_does_not_see_its_batch_mates(name: str, directed: bool) -> None:
    net = network(name)
    batch = random_batch([5, 1, 0, 11, 2], FEATURES, directed=directed)
    together = run(net, batch).x
    for b in range(batch.size):
        torch.testing.assert_close(together[b], run(net, batch.alone(b)).x[0])


@pytest.mark.parametrize("name", NETWORKS)
def test_losses_do_not_see_the_batch(name: str) -> None:
    """The losses of two graphs together are the mean of theirs alone."""
    net = network(name)
    batch = random_batch([5, 8], FEATURES)
    together = run(net, batch).losses
    alone = [run(net, batch.alone(b)).losses for b in range(2)]
    for loss, value in together.items():
        torch.testing.assert_close(value, (alone[0][loss] + alone[1][loss]) / 2)


@pytest.mark.parametrize("sizes", [[1], [1, 1, 1], [0, 4], [2, 1, 3]])
@pytest.mark.parametrize("density", [0.0, 1.0])
@pytest.mark.parametrize("name", NETWORKS)
def test_small_and_edgeless_graphs(name: str, density: float, sizes: list[int]) -> None:
    net = network(name)
    batch = random_batch(sizes, FEATURES, density=density)
    pooled = run(net, batch)
    assert pooled.x.shape == (len(sizes), net.out_dim)
    assert pooled.x.isfinite().all()
    gradients = with_gradients(net, batch)
    assert gradients
    assert all(g.isfinite().all() for g in gradients)


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_right(name: str) -> None:
    """Along a random direction the derivative is the difference quotient."""
    net = network(name)
    batch = random_batch([7, 4], FEATURES, seed=5)
    gradients = with_gradients(net, batch)
    used = [p for p in net.parameters() if p.grad is not None]
    generator = torch.Generator().manual_seed(1)
    steps = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in used]
    expected = sum(float((g * s).sum()) for g, s in zip(gradients, steps, strict=True))
    ends = []
    for sign in (1, -1):
        with torch.no_grad():
            for p, s in zip(used, steps, strict=True):
                p += sign * 1e-6 * s
            pooled = run(net, batch)
            ends.append(float(pooled.x.square().sum() + sum(pooled.losses.values())))
            for p, s in zip(used, steps, strict=True):
                p -= sign * 1e-6 * s
    assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_state_round_trip(name: str) -> None:
    net, batch = network(name), random_batch([6, 3], FEATURES)
    torch.manual_seed(99)
    other = make_network(SHAPE, ModelConfig(method=name, hidden_dim=HIDDEN, num_layers=2)).double()
    other.load_state_dict(net.state_dict())
    assert torch.equal(run(net, batch).x, run(other.eval(), batch).x)


@pytest.mark.parametrize("name", METHODS)
def test_a_misspelt_option_raises(name: str) -> None:
    with pytest.raises(UserError, match="ratoi"):
        configure("MUTAG", name, method_options(name), {"ratoi": 0.3})
    with pytest.raises(TypeError, match="ratoi"):
        METHODS[name](FEATURES, HIDDEN, sizes=GraphSizes(9.0), ratoi=0.3)


@pytest.mark.parametrize("name", [n for n in NETWORKS if "ratio" in method_options(n)])
@pytest.mark.parametrize("ratio", [0.0, 1.5, -0.25])
def test_a_ratio_out_of_range_raises(name: str, ratio: float) -> None:
    with pytest.raises(UserError, match=r"ratio must lie in \(0, 1\]"):
        METHODS[name](FEATURES, HIDDEN, sizes=GraphSizes(9.0), ratio=ratio)


@pytest.mark.parametrize("name", NETWORKS)
def test_deterministic_with_a_seed(name: str) -> None:
    batch = random_batch([8, 5], FEATURES)
    outs = []
    for _ in range(2):
        net = network(name).train()
        torch.manual_seed(7)
        outs.append(run(net, batch).x)
    assert torch.equal(*outs)


@pytest.mark.parametrize("name", NETWORKS)
def test_runs_under_autocast(name: str) -> None:
    net = network(name).float()
    batch = random_batch([8, 1, 5], FEATURES)
    exact = run(net, batch, torch.float32).x
    with torch.autocast("cpu", dtype=torch.bfloat16):
        pooled = run(net, batch, torch.float32)
    (pooled.x.float().sum() + sum(loss.float() for loss in pooled.losses.values())).backward()
    assert all(p.grad.isfinite().all() for p in net.parameters() if p.grad is not None)
    assert pooled.x.isfinite().all()
    if METHODS[name].architecture != "selection" and name != "sagpool-global":
        # Where rounding does not decide which nodes are kept, it is close.
        error = (pooled.x.detach().float() - exact.detach()).abs().max()
        assert float(error) < 0.1 * float(exact.detach().abs().max())


@pytest.mark.parametrize(
    "name", [n for n in NETWORKS if METHODS[n].architecture in ("selection", "clusters", "chain")]
)
def test_the_coarse_graph_is_one(name: str) -> None:
    """As a PyG user sees it: rows, edges among them, and the graph of each row."""
    torch.manual_seed(0)
    pool = METHODS[name](FEATURES, FEATURES, sizes=GraphSizes(9.0)).double()
    batch = random_batch([9, 1, 0, 12], FEATURES, seed=2)
    pooled = pool(batch.x, batch.edge_index, batch.batch, batch_size=batch.size)
    rows = pooled.x.flatten(0, -2)
    assert pooled.batch.shape == (len(rows),)
    assert pooled.segments.num_graphs == batch.size
    source, target = pooled.edge_index
    assert int(pooled.edge_index.max()) < len(rows)
    assert torch.equal(pooled.batch[source], pooled.batch[target])
    if METHODS[name].architecture == "selection":
        before = torch.bincount(batch.batch, minlength=batch.size)
        after = torch.bincount(pooled.batch, minlength=batch.size)
        assert (after <= before).all()
        assert (after[before > 0] > 0).all()
        assert after.sum() < before.sum()
