"""What models declare to read of a batch is what they read: no less, and no more is held for them.

A GPU is played: kinds of bonds and bits are read on a CPU as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from dense_sets import dense_set
from every_edges import first_replica
from small_graphs import atoms
from small_sets import classes, ring_molecule
from torch import Tensor, nn
from trainings import fixed_batches

from gmpool.data import GraphBatch, PackedGraphs, from_pyg
from gmpool.data.fixed_batch import FixedBatches
from gmpool.errors import UserError
from gmpool.graph import reads
from gmpool.graph.batch_edges import BatchEdges, NotDeclared
from gmpool.graph.reads import FEATURES, KINDS, PRODUCTS, READS, batches_for, reads_of
from gmpool.nn import directed, molecule
from gmpool.nn.conv import GCNConv, GINConv, make_conv
from gmpool.pool import METHODS
from gmpool.pool.haarpool.fixed_chain import ChainBatches
from gmpool.tasks.classify import model as classify
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.reconstruct import model as reconstruct
from gmpool.tasks.reconstruct.compress import COMPRESSIONS
from gmpool.tasks.reconstruct.settings import AutoencoderConfig
from gmpool.tasks.shape import DataShape
from gmpool.tasks.trainable import Trainable

NETWORKS = [name for name in METHODS if METHODS[name].architecture != "kernel"]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "gmt": [
        {},
        {"conv": None},
        {"conv": "gin", "num_heads": 2},
        {"later_adjacency": "coarsened"},
        {"blocks": "GMPool_I-SelfAtt-GMPool_G", "later_adjacency": "coarsened"},
    ],
    "structpool": [{}, {"readout": "convolution"}, {"hops": 2}],
}


def molecules() -> PackedGraphs:
    torch.manual_seed(0)
    return from_pyg([ring_molecule(n, n % 2) for n in (8, 1, 3, 4)])


def unlabelled() -> PackedGraphs:
    return replace(dense_set(), y=None, task=None, class_names=())


SETS = {"features": classes, "molecules": molecules, "dense": dense_set}


class Watched(BatchEdges):
    """Edges that write down what they are asked for, not what they ask themselves for."""

    asked: set[str]
    inside = False

    def __getattribute__(self, name: str) -> Any:
        if name not in READS or self.inside:
            return super().__getattribute__(name)
        self.asked.add(name)
        self.inside = True
        try:
            return super().__getattribute__(name)
        finally:
            self.inside = False


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    for task in (classify, reconstruct):
        monkeypatch.setattr(task, "BatchEdges", Watched)
    monkeypatch.setattr(Watched, "asked", set(), raising=False)
    return Watched.asked


@pytest.fixture(params=[False, True], ids=["without kernels", "with kernels"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(molecule, "by_kind", lambda x: request.param)
    monkeypatch.setattr(reads, "kernels_for", lambda graphs, dtype: request.param)
    return request.param


def classifiers(method: str, graphs: PackedGraphs) -> Iterator[Trainable]:
    """With each convolution, with and without layers, with every option that decides what is
    read. A hierarchical method without layers is no network."""
    shape = DataShape.of(graphs)
    layers = (0, 1, 2) if METHODS[method].architecture == "global" else (1, 2)
    for conv in ("gcn", "gin"):
        for num_layers in layers:
            for pool in OPTIONS.get(method, [{}]):
                config = ModelConfig(
                    method=method, conv=conv, num_layers=num_layers, hidden_dim=8, pool=pool
                )
                yield classify.GraphModel(shape, config).eval()


def autoencoders(method: str, graphs: PackedGraphs) -> Iterator[Trainable]:
    shape = DataShape.of(graphs, labelled=False)
    learns_a = method in reconstruct.LEARNS_ADJACENCY
    for objective in ("x", "a") if learns_a else ("x",):
        config = AutoencoderConfig(method=method, objective=objective, hidden_dim=8, ratio=0.5)
        yield reconstruct.Autoencoder(shape, config).eval()


@torch.no_grad()
def check(model: Trainable, graphs: PackedGraphs, asked: set[str], stackable: bool) -> None:
    asked.clear()
    batch = GraphBatch(graphs, [0])
    model(batch)
    declared, of_batch = reads_of(model), vars(batch)
    by_features = {"entries", *FEATURES} if declared & KINDS else set()
    assert asked <= declared | by_features
    # Layers that multiply with coarse graphs declare as if they worked on the batch; the way back
    # is an entry's, and nobody asks edges for it.
    assert declared - KINDS - PRODUCTS - {"back"} <= asked
    if not stackable:
        return
    made = fixed_batches(graphs, model)
    ids = torch.tensor([[2, 0]])
    fixed = first_replica(made.make(ids, made.bounds(ids)))
    model(fixed)  # would raise NotDeclared
    if made.bits is not None:
        return
    assert made.plain == ("graph" in of_batch)
    has_features = graphs.edge_cat is not None
    assert (made.attr is not None) == (has_features and not of_batch.keys().isdisjoint(FEATURES))
    assert (made.kinds is not None) == ("graph_code" in of_batch or "gcn_code" in of_batch)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("method", NETWORKS)
def test_every_method(method: str, name: str, kernels: bool, asked: set[str]) -> None:
    graphs = SETS[name]()
    for model in classifiers(method, graphs):
        # What StructPool reaches in so many hops has no fixed shape.
        stackable = METHODS[method].fixed_shapes and "hops" not in model.config.pool
        check(model, graphs, asked, stackable)


@pytest.mark.parametrize("method", ["gmt", "mean", "mincut", "topk"])
def test_directed_messages(
    method: str, kernels: bool, asked: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With each bond's own state, as in a batch of fixed shape."""
    monkeypatch.setattr(directed, "distinct_bonds", lambda *_: None)
    graphs = molecules()
    config = ModelConfig(method=method, conv="dmpnn", num_layers=2, hidden_dim=8)
    model = classify.GraphModel(DataShape.of(graphs), config).eval()
    assert reads_of(model) >= {"bonds", "back"}
    check(model, graphs, asked, stackable=True)
    batches, ids = batches_for(graphs, reads_of(model)), torch.tensor([[2, 0]])
    assert batches.make(ids, batches.bounds(ids)).graph.t_perm is not None


@pytest.mark.parametrize("make", [atoms, unlabelled])
@pytest.mark.parametrize("method", COMPRESSIONS)
def test_every_compression(method: str, make: Any, kernels: bool, asked: set[str]) -> None:
    graphs = make()
    for model in autoencoders(method, graphs):
        check(model, graphs, asked, stackable=True)


@pytest.mark.parametrize("method", [name for name in NETWORKS if METHODS[name].fixed_shapes])
def test_bits_for_those_who_only_multiply(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They get bits; the others cannot work with them."""
    monkeypatch.setattr(reads, "kernels_for", lambda graphs, dtype: True)
    graphs, ids = dense_set(), torch.tensor([[2, 0]])
    for model in classifiers(method, graphs):
        levels = getattr(model.network, "chain_levels", 0)
        kind = partial(ChainBatches, levels=levels) if levels else FixedBatches
        dense = kind(graphs, plain=False, dense=True)
        bits = first_replica(dense.make(ids, dense.bounds(ids)))
        try:
            with torch.no_grad():
                model(bits)
            works = True
        except NotDeclared:
            works = False
        assert (batches_for(graphs, reads_of(model)).bits is not None) == works


def test_bits_for_dense_sets_where_there_are_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = dense_set([40, 50], density=0.1)
    assert batches_for(dense_set(), {"gcn"}).bits is None
    monkeypatch.setattr(reads, "kernels_for", lambda graphs, dtype: dtype == torch.float32)
    assert batches_for(dense_set(), {"gcn"}).bits is not None
    assert batches_for(dense_set(), set()).bits is not None
    assert batches_for(dense_set(), {"gcn"}, torch.float64).bits is None
    assert batches_for(sparse, {"gcn"}).bits is None
    loops = replace(dense_set(), edge_weight=torch.ones(dense_set().num_edges))
    assert batches_for(loops, {"gcn"}).bits is None


def test_a_module_reads_what_its_parts_read() -> None:
    parts = nn.Sequential(GCNConv(2, 2), nn.Sequential(GINConv(2, 2), nn.Linear(2, 2)))
    assert reads_of(parts) == {"gcn", "plain"}
    assert reads_of(nn.Linear(2, 2)) == frozenset()
    foreign = make_conv(lambda a, b: nn.Linear(a, b), 2, 2)
    assert reads_of(foreign) == {"edge_index", "edge_attr", "edge_weight"}


def test_a_word_that_is_none_raises() -> None:
    class Odd(nn.Module):
        reads = frozenset({"plane"})

    with pytest.raises(UserError, match="unknown word in reads 'plane'; did you mean 'plain'"):
        reads_of(nn.Sequential(Odd()))


def test_who_does_not_say_what_it_reads_is_told_so() -> None:
    class Silent(nn.Module):
        def forward(self, x: Tensor, edges: BatchEdges) -> Tensor:
            return edges.plain.matmul(x)

    graphs, layer, ids = classes(), Silent(), torch.tensor([[0, 1]])
    batches = batches_for(graphs, reads_of(layer))
    batch = first_replica(batches.make(ids, batches.bounds(ids)))
    with pytest.raises(NotDeclared, match="holds no entries"):
        layer(batch.x, BatchEdges(batch))
