"""The laws of the paper, as laws: for every order of blocks and both softmax axes."""

from __future__ import annotations

from itertools import product

import hypothesis.strategies as st
import networkx as nx
import pytest
import torch
from graphs import random_batch
from hypothesis import given, settings
from networkx.generators.atlas import graph_atlas_g

from gmpool import GMPool, GraphMultisetTransformer
from gmpool.data import from_networkx
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.graph.reads import reads_of
from gmpool.nn.encoder import Encoder

DIM = 6
NAMES = ("GMPool_G", "GMPool_I", "SelfAtt")
# Every sequence of one to three blocks that ends in a pooling.
ORDERS = [
    "-".join([*start, last])
    for length in range(3)
    for start in product(NAMES, repeat=length)
    for last in NAMES[:2]
]
sizes_of_graphs = st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(any)


def model_for(blocks: str, softmax: str, **options: object) -> GraphMultisetTransformer:
    torch.manual_seed(1)
    return GraphMultisetTransformer(
        DIM, 4, num_seeds=3, num_heads=2, blocks=blocks, softmax=softmax, **options
    ).double()


@pytest.mark.parametrize("softmax", ["seeds", "nodes"])
@pytest.mark.parametrize("blocks", ORDERS)
def test_a_graph_does_not_see_its_batch_mates(blocks: str, softmax: str) -> None:
    model = model_for(blocks, softmax)
    batch = random_batch([5, 1, 0, 7, 2], DIM, weighted=bool(reads_of(model)))
    together = model(batch.x, batch.edge_index, batch.batch, batch.size, edge_weight=batch.weight)
    for b in range(batch.size):
        one = batch.alone(b)
        alone = model(one.x, one.edge_index, one.batch, 1, edge_weight=one.weight)
        torch.testing.assert_close(together[b], alone[0], atol=1e-12, rtol=1e-12)


@settings(deadline=None, max_examples=40)
@given(
    sizes=sizes_of_graphs,
    seed=st.integers(0, 10**6),
    blocks=st.sampled_from(ORDERS),
    softmax=st.sampled_from(["seeds", "nodes"]),
    later=st.sampled_from(["identity", "coarsened"]),
    conv=st.sampled_from(["gcn", "gin", None]),
    directed=st.booleans(),
)
def test_order_of_nodes_and_edges_does_not_matter(
    sizes: list[int], seed: int, blocks: str, softmax: str, later: str, conv: str, directed: bool
) -> None:
    if blocks.count("GMPool") < 2:
        later = "identity"
    model = model_for(blocks, softmax, later_adjacency=later, conv=conv)
    weighted = bool(reads_of(model))  # else weights are refused
    batch = random_batch(sizes, DIM, seed=seed, weighted=weighted, directed=directed)
    generator = torch.Generator().manual_seed(seed)
    other = batch.permuted(
        torch.randperm(len(batch.x), generator=generator),
        torch.randperm(batch.edge_index.shape[1], generator=generator),
    )
    out, moved = (
        model(b.x, b.edge_index, b.batch, b.size, edge_weight=b.weight) for b in (batch, other)
    )
    torch.testing.assert_close(out, moved, atol=1e-11, rtol=1e-11)


def copies(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """`count` disjoint copies of a triangle with a tail, as one graph."""
    x = torch.arange(4 * DIM, dtype=torch.float64).view(4, DIM).sin()
    edges = torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]])
    return x.repeat(count, 1), torch.cat([edges + 4 * i for i in range(count)], dim=1)


@pytest.mark.parametrize("conv", ["gcn", "gin", None])
def test_multiplicity_is_seen_with_softmax_over_seeds(conv: str | None) -> None:
    torch.manual_seed(0)
    seeds = GMPool(DIM, 3, conv=conv, softmax="seeds").double()
    once, twice = seeds(*copies(1)).x, seeds(*copies(2)).x
    assert (once - twice).abs().max() > 1e-3
    model = model_for("GMPool_G-SelfAtt-GMPool_I", "seeds", conv=conv)
    assert (model(*copies(1)) - model(*copies(2))).abs().max() > 1e-3


@pytest.mark.parametrize("conv", ["gcn", "gin", None])
def test_multiplicity_is_lost_with_softmax_over_nodes(conv: str | None) -> None:
    """A softmax over nodes is a mean: this is why the paper's clustering form matters."""
    torch.manual_seed(0)
    nodes = GMPool(DIM, 3, conv=conv, softmax="nodes").double()
    torch.testing.assert_close(nodes(*copies(1)).x, nodes(*copies(3)).x, atol=1e-12, rtol=0)


def weisfeiler_lehman_classes(graphs: list[nx.Graph]) -> list[int]:
    """The stable colouring of 1-WL, run on all graphs at once; equal numbers: not separated."""
    union = nx.disjoint_union_all(graphs)
    colour = dict.fromkeys(union, 0)
    for _ in range(max(map(len, graphs))):
        signs = {v: (colour[v], tuple(sorted(colour[u] for u in union[v]))) for v in union}
        names = {sign: i for i, sign in enumerate(sorted(set(signs.values())))}
        colour = {v: names[signs[v]] for v in union}
    histograms, start = [], 0
    for graph in graphs:
        histograms.append(tuple(sorted(colour[v] for v in range(start, start + len(graph)))))
        start += len(graph)
    names = {h: i for i, h in enumerate(dict.fromkeys(histograms))}
    return [names[h] for h in histograms]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("blocks", ["GMPool_G-SelfAtt-GMPool_I", "GMPool_G-GMPool_I"])
def test_power_of_weisfeiler_lehman_on_the_atlas(blocks: str, seed: int) -> None:
    """All 1,253 graphs of up to 7 nodes: exactly the pairs that 1-WL separates are separated."""
    atlas = graph_atlas_g()
    assert len(atlas) == 1253
    classes = torch.tensor(weisfeiler_lehman_classes(atlas))
    packed = from_networkx(atlas, without_features="constant")
    torch.manual_seed(seed)
    encoder = Encoder(1, 64, num_layers=6, conv="gin").double()  # colours are stable after 6 rounds
    readout = GraphMultisetTransformer(
        encoder.out_dim, 64, num_seeds=4, num_heads=2, conv="gin", blocks=blocks
    ).double()
    batch = packed.batch(torch.arange(len(atlas)))
    edges, segments = BatchEdges(batch), batch_segments(batch)
    with torch.no_grad():
        vectors = readout(encoder(batch.x.double(), edges), edges, segments)
    vectors = vectors / vectors.abs().mean(0)
    distance = torch.cdist(vectors, vectors, p=float("inf"))
    same = classes[:, None] == classes[None, :]
    assert same.sum() > len(atlas)  # the atlas has pairs that 1-WL cannot tell apart
    assert distance[same].max() < 1e-11
    assert distance[~same].min() > 1e-7
