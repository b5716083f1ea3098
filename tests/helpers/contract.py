"""What every pooling method must satisfy: one function per law, each given the name of a method.

A method is tried as the network that the comparison makes of it, from nodes and edges to one vector
per graph, and by itself as a user of PyG meets it. A law that it breaks by its nature, as its class
says, is checked to be broken.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from graphs import Batch, random_batch
from torch import Tensor, nn

from gmpool.errors import UserError
from gmpool.graph.edges import Edges
from gmpool.graph.reads import READS, reads_of
from gmpool.nn.inputs import WEIGHTED
from gmpool.ops.segment import Segments
from gmpool.pool import METHODS, method_options, method_summary
from gmpool.pool.method import GraphSizes, Method
from gmpool.tasks.classify.networks import NETWORKS, make_network
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.shape import DataShape

FEATURES, HIDDEN = 5, 8
SIZES = GraphSizes(9.0, (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15))
SHAPE = DataShape(
    task="multiclass",
    num_features=FEATURES,
    num_outputs=2,
    mean_nodes=SIZES.mean,
    node_deciles=SIZES.deciles,
)
LAWS: dict[str, Callable[[str], None]] = {}


def law(check: Callable[[str], None]) -> Callable[[str], None]:
    LAWS[check.__name__] = check
    return check


def network(name: str) -> Any:
    torch.manual_seed(3)
    config = ModelConfig(method=name, hidden_dim=HIDDEN, num_layers=2)
    return make_network(SHAPE, config).double().eval()


def pooling(name: str) -> Any:
    torch.manual_seed(3)
    return METHODS[name](FEATURES, HIDDEN, sizes=SIZES).double().eval()


def run(net: nn.Module, batch: Batch, dtype: torch.dtype = torch.float64) -> Any:
    edges = Edges.of(batch.edge_index, len(batch.x), dtype)
    segments = Segments.from_batch(batch.batch, len(batch.x), None, batch.size)
    return net(batch.x.to(dtype), edges, segments)


def called(pool: nn.Module, batch: Batch, **edges: Tensor) -> Any:
    return pool(batch.x, batch.edge_index, batch.batch, batch_size=batch.size, **edges)


def moved(batch: Batch, seed: int) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    return batch.permuted(
        torch.randperm(len(batch.x), generator=generator),
        torch.randperm(batch.edge_index.shape[1], generator=generator),
    )


def with_gradients(net: nn.Module, batch: Batch) -> list[Tensor]:
    net.zero_grad()
    pooled = run(net, batch)
    (pooled.x.square().sum() + sum(pooled.losses.values())).backward()
    return [p.grad for p in net.parameters() if p.grad is not None]


@law
def says_what_it_is(name: str) -> None:
    assert 20 < len(method_summary(name)) <= 100
    assert issubclass(METHODS[name], Method)
    assert METHODS[name].architecture in NETWORKS
    assert METHODS[name].has_fixed_shapes(method_options(name)) in (True, False)


@law
def order_of_nodes_and_edges_does_not_matter(name: str) -> None:
    net = network(name)
    for seed in range(3):
        batch = random_batch([9, 6, 12, 2], FEATURES, seed=seed, density=0.3)
        here, there = run(net, batch).x, run(net, moved(batch, seed)).x
        if "order" in METHODS[name].breaks:
            assert not torch.allclose(here, there), "it is said to break this law, and keeps it"
        else:
            torch.testing.assert_close(here, there)


@law
def a_graph_does_not_see_its_batch_mates(name: str) -> None:
    net = network(name)
    for directed in (False, True):
        batch = random_batch([5, 1, 0, 11, 2], FEATURES, directed=directed)
        together = run(net, batch).x
        for b in range(batch.size):
            torch.testing.assert_close(together[b], run(net, batch.alone(b)).x[0])


@law
def losses_do_not_see_the_batch(name: str) -> None:
    """The losses of two graphs together are the mean of theirs alone."""
    net = network(name)
    batch = random_batch([5, 8], FEATURES)
    together = run(net, batch).losses
    alone = [run(net, batch.alone(b)).losses for b in range(2)]
    for loss, value in together.items():
        torch.testing.assert_close(value, (alone[0][loss] + alone[1][loss]) / 2)


@law
def small_and_edgeless_graphs_are_graphs(name: str) -> None:
    net = network(name)
    for sizes in ([1], [1, 1, 1], [0, 4], [2, 1, 3]):
        for density in (0.0, 1.0):
            batch = random_batch(sizes, FEATURES, density=density)
            pooled = run(net, batch)
            assert pooled.x.shape == (len(sizes), net.out_dim)
            assert pooled.x.isfinite().all()
            gradients = with_gradients(net, batch)
            assert gradients
            assert all(g.isfinite().all() for g in gradients)


@law
def gradients_are_right(name: str) -> None:
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


@law
def its_state_goes_round(name: str) -> None:
    """By state_dict into another one, by pickle, and by deepcopy."""
    net, batch = network(name), random_batch([6, 3], FEATURES)
    torch.manual_seed(99)
    other = make_network(SHAPE, ModelConfig(method=name, hidden_dim=HIDDEN, num_layers=2)).double()
    other.load_state_dict(net.state_dict())
    for same in (other.eval(), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(run(net, batch).x, run(same, batch).x)


@law
def it_begins_again_as_it_began(name: str) -> None:
    """reset_parameters draws what the constructor draws, wherever the module has gone since."""
    began = pooling(name)
    after = torch.get_rng_state()
    again = copy.deepcopy(began)
    for tensor in (*again.parameters(), *again.buffers()):
        tensor.data.fill_(7)
    torch.manual_seed(3)
    again.reset_parameters()
    assert torch.equal(torch.get_rng_state(), after)
    assert again.state_dict().keys() == began.state_dict().keys()
    for one, other in zip(began.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    for one, other in zip(began.buffers(), again.buffers(), strict=True):
        assert torch.equal(one, other)
    torch.manual_seed(4)
    again.reset_parameters()
    drawn = [p for p in began.parameters() if len(p.unique()) > 2]
    assert not drawn or any(
        not torch.equal(*two) for two in zip(began.parameters(), again.parameters(), strict=True)
    )


@law
def it_keeps_and_shows_its_options(name: str) -> None:
    pool = METHODS[name](FEATURES, hidden_dim=HIDDEN, sizes=SIZES)
    given = {"in_dim": FEATURES, "hidden_dim": HIDDEN, "sizes": SIZES}
    assert pool.options == {**given, **method_options(name)}
    for option, value in pool.options.items():
        kept = getattr(pool, option)
        assert kept is value or isinstance(kept, (nn.Module, Tensor)), option
        if option in given:
            assert f"{option}={value!r}" in repr(pool)


@law
def a_misspelt_option_raises(name: str) -> None:
    with pytest.raises(TypeError, match="ratoi"):
        METHODS[name](FEATURES, HIDDEN, sizes=SIZES, ratoi=0.3)
    if "ratio" in method_options(name):
        for ratio in (0.0, 1.5, -0.25):
            with pytest.raises(UserError, match=r"ratio must lie in \(0, 1\]"):
                METHODS[name](FEATURES, HIDDEN, sizes=SIZES, ratio=ratio)


class Watched:
    """Edges that remember which of their forms they were asked for."""

    def __init__(self, edges: Edges) -> None:
        self.edges, self.asked = edges, set[str]()

    def __getattr__(self, name: str) -> Any:
        self.asked |= {name} & READS
        if name in ("coarsened", "squared_sum"):
            self.asked.add("plain")
        return getattr(self.edges, name)


@law
def it_asks_of_edges_what_it_says_it_reads(name: str) -> None:
    """Batches of fixed shape hold that and no more."""
    pool, batch = pooling(name), random_batch([4, 3], FEATURES)
    reads = reads_of(pool)
    if "batch" not in reads:  # else it wants the set itself
        edges = Watched(Edges(batch.edge_index, len(batch.x), dtype=torch.float64))
        pool(batch.x, edges, batch.batch, batch_size=batch.size)
        assert edges.asked <= reads


@law
def edge_attr_is_read_or_refused(name: str) -> None:
    pool, batch = pooling(name), random_batch([4, 3], FEATURES)
    attr = torch.ones(batch.edge_index.shape[1], 2, dtype=torch.float64)
    if "edge_attr" in reads_of(pool):
        other, none = called(pool, batch, edge_attr=attr), called(pool, batch)
        seen = not torch.equal(other.x, none.x)
        assert seen or (other.edges.edge_attr is not None and none.edges.edge_attr is None)
    else:
        with pytest.raises(UserError, match="reads edge_attr: leave it out"):
            called(pool, batch, edge_attr=attr)


@law
def edge_weight_is_read_or_refused(name: str) -> None:
    pool, batch = pooling(name), random_batch([9, 6], FEATURES, weighted=True)
    if not reads_of(pool) & WEIGHTED:
        with pytest.raises(UserError, match=f"nothing in {type(pool).__name__} reads edge_weight"):
            called(pool, batch, edge_weight=batch.weight)
        return
    plain = called(pool, batch)
    ones = called(pool, batch, edge_weight=torch.ones_like(batch.weight))
    torch.testing.assert_close(ones.x, plain.x)
    weighted = called(pool, batch, edge_weight=batch.weight)
    assert weighted.x.isfinite().all()
    if weighted.x.shape == plain.x.shape and torch.allclose(weighted.x, plain.x):
        # Who keeps or merges nodes whatever their edges weigh hands the weights on.
        before, after = plain.edges.edge_weight, weighted.edges.edge_weight
        assert after is not None
        assert before is None or not torch.allclose(before, after)


@law
def the_same_seed_gives_the_same(name: str) -> None:
    batch = random_batch([8, 5], FEATURES)
    outs = []
    for _ in range(2):
        net = network(name).train()
        torch.manual_seed(7)
        outs.append(run(net, batch).x)
    assert torch.equal(*outs)


@law
def it_runs_under_autocast(name: str) -> None:
    net = network(name).float()
    batch = random_batch([8, 1, 5], FEATURES)
    exact = run(net, batch, torch.float32).x
    with torch.autocast("cpu", dtype=torch.bfloat16):
        pooled = run(net, batch, torch.float32)
    (pooled.x.float().sum() + sum(loss.float() for loss in pooled.losses.values())).backward()
    assert all(p.grad.isfinite().all() for p in net.parameters() if p.grad is not None)
    assert pooled.x.isfinite().all()
    chooses = METHODS[name].architecture == "selection" or pooled.kept is not None
    if not chooses:  # else rounding decides which nodes are kept
        error = (pooled.x.detach().float() - exact.detach()).abs().max()
        assert float(error) < 0.1 * float(exact.detach().abs().max())


@law
def its_coarse_graph_is_one(name: str) -> None:
    """As a PyG user sees it: rows, edges among them, and the graph of each row."""
    pool, batch = pooling(name), random_batch([9, 1, 0, 12], FEATURES, seed=2)
    pooled = called(pool, batch)
    if METHODS[name].architecture == "global":
        assert pooled.x.shape == (batch.size, pool.out_dim)
        assert pooled.edges is None
        return
    rows = pooled.x.flatten(0, -2)
    assert rows.shape[1] == pool.out_dim
    assert pooled.batch.shape == (len(rows),)
    assert pooled.segments.num_graphs == batch.size
    source, target = pooled.edge_index
    assert int(pooled.edge_index.max()) < len(rows)
    assert torch.equal(pooled.batch[source], pooled.batch[target])
    if pool.rows_per_graph is not None:
        assert pooled.x.shape[:2] == (batch.size, pool.rows_per_graph)
    if METHODS[name].architecture == "selection":
        before = torch.bincount(batch.batch, minlength=batch.size)
        after = torch.bincount(pooled.batch, minlength=batch.size)
        assert (after <= before).all()
        assert (after[before > 0] > 0).all()
        assert after.sum() < before.sum()


@law
def what_it_rebuilds_can_be_unpooled(name: str) -> None:
    """An autoencoder needs the assignment, or what was kept, of a method that it takes whole."""
    method = METHODS[name]
    assert method.rebuilds <= {"x", "a"}
    if not method.rebuilds:
        return
    assert "ratio" in method_options(name)
    if method.architecture != "global":  # of others it takes a part
        pooled = called(pooling(name), random_batch([9, 4], FEATURES))
        assert (pooled.assignment is None) != (pooled.kept is None)
        assert "a" not in method.rebuilds or pooled.assignment is not None
