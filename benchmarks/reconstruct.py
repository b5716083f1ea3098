"""A training epoch of GMPool's reconstruction of ZINC at ratio 0.25: ours, and two padded ways.

sparse layers  PyG's GCN layers on edge lists; keys and values are copied into [B, max n, D] for the
               pooling, and what is unpooled is taken out of [B, max n, D] again, as published
dense layers   everything on [B, max n, D] with a dense adjacency [B, max n, max n], by PyG's
               DenseGCNConv

All have the same layers, loss and optimizer and draw fresh shuffles; the peers through PyG's
DataLoader. All compute the same function (tests/benchmarks/test_reconstruct_bench.py).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader
from torch_geometric.nn import DenseGCNConv, GCNConv
from torch_geometric.utils import to_dense_adj, to_dense_batch

from benchmarks.padded import PaddedAttentionBlock
from benchmarks.timing import interleaved, versus
from gmpool.data import PackedGraphs, epoch_batches, load, to_pyg
from gmpool.tasks.reconstruct.compress import GMPoolClusters
from gmpool.tasks.reconstruct.model import Autoencoder
from gmpool.tasks.reconstruct.settings import AutoencoderConfig, ReconstructTrainConfig
from gmpool.tasks.shape import DataShape

HIDDEN = 32


class PaddedAutoencoder(nn.Module):
    """Two GCN layers, GMPool with one head, a linear map, unpooling, three GCN layers."""

    def __init__(self, width: int, num_seeds: int) -> None:
        super().__init__()
        self.encoder = nn.ModuleList([GCNConv(width, HIDDEN), GCNConv(HIDDEN, HIDDEN)])
        self.seeds = nn.Parameter(torch.empty(1, num_seeds, HIDDEN))
        nn.init.xavier_uniform_(self.seeds)
        self.pool = PaddedAttentionBlock(HIDDEN, HIDDEN, HIDDEN, 1, False, graph=True)
        self.linear = nn.Linear(HIDDEN, HIDDEN)
        widths = [HIDDEN, HIDDEN, HIDDEN, width]
        self.decoder = nn.ModuleList(GCNConv(a, b) for a, b in pairwise(widths))

    def forward(self, batch: Batch) -> Tensor:
        x = batch.x
        for conv in self.encoder:
            x = torch.relu(conv(x, batch.edge_index))
        seeds = self.seeds.expand(batch.num_graphs, -1, -1)
        rows, a = self.pool.attend(seeds, x, batch.edge_index, batch.batch)
        rebuilt = a.transpose(1, 2) @ self.linear(rows)  # [B, max n, D]
        _, mask = to_dense_batch(x, batch.batch)
        x = rebuilt[mask]
        for conv in self.decoder[:-1]:
            x = torch.relu(conv(x, batch.edge_index))
        return self.decoder[-1](x, batch.edge_index)


class DenseAutoencoder(nn.Module):
    """The same, with every layer on padded nodes and a dense adjacency."""

    def __init__(self, width: int, num_seeds: int) -> None:
        super().__init__()
        self.encoder = nn.ModuleList([DenseGCNConv(width, HIDDEN), DenseGCNConv(HIDDEN, HIDDEN)])
        self.seeds = nn.Parameter(torch.empty(1, num_seeds, HIDDEN))
        nn.init.xavier_uniform_(self.seeds)
        self.to_query = nn.Linear(HIDDEN, HIDDEN)
        self.to_key, self.to_value = DenseGCNConv(HIDDEN, HIDDEN), DenseGCNConv(HIDDEN, HIDDEN)
        self.after = nn.Linear(HIDDEN, HIDDEN)
        self.linear = nn.Linear(HIDDEN, HIDDEN)
        widths = [HIDDEN, HIDDEN, HIDDEN, width]
        self.decoder = nn.ModuleList(DenseGCNConv(a, b) for a, b in pairwise(widths))

    def forward(self, batch: Batch) -> Tensor:
        x, mask = to_dense_batch(batch.x, batch.batch)  # [B, max n, F]
        adj = to_dense_adj(batch.edge_index, batch.batch)  # [B, max n, max n]
        for conv in self.encoder:
            x = torch.relu(conv(x, adj, mask))
        q = self.to_query(self.seeds).expand(batch.num_graphs, -1, -1)  # [B, K, D]
        k, v = self.to_key(x, adj, mask), self.to_value(x, adj, mask)
        a = (q @ k.transpose(1, 2) / HIDDEN**0.5).softmax(1) * mask[:, None]
        o = q + a @ v
        rows = self.linear(o + torch.relu(self.after(o)))
        x = a.transpose(1, 2) @ rows  # [B, max n, D]
        for conv in self.decoder[:-1]:
            x = torch.relu(conv(x, adj, mask))
        return self.decoder[-1](x, adj, mask)[mask]


def copy_weights(ours: Autoencoder, peer: PaddedAutoencoder | DenseAutoencoder) -> None:
    """Give a peer the weights of ours."""
    compression = ours.compression
    assert isinstance(compression, GMPoolClusters)
    pool = compression.pool
    attention = pool.attention
    to = peer.pool if isinstance(peer, PaddedAutoencoder) else peer
    after = to.linear if isinstance(peer, PaddedAutoencoder) else peer.after
    pairs: list[tuple[Any, Any]] = [
        *zip(peer.encoder, ours.encoder.convs, strict=True),
        *zip(peer.decoder, ours.decoder, strict=True),
        (to.to_key, attention.to_key),
        (to.to_value, attention.to_value),
    ]
    with torch.no_grad():
        peer.seeds.copy_(pool.seeds[None])
        for conv, mine in pairs:
            conv.lin.weight.copy_(mine.weight)
            conv.bias.copy_(mine.bias)
        to.to_query.load_state_dict(attention.to_query.state_dict())
        after.load_state_dict(pool.after.linear.state_dict())
        peer.linear.load_state_dict(compression.linear.state_dict())


def our_epoch(
    graphs: PackedGraphs, model: Autoencoder, ids: Tensor, size: int
) -> Callable[[], None]:
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, fused=True)
    generator = torch.Generator().manual_seed(0)

    def epoch() -> None:
        for batch in epoch_batches(graphs, ids, size, generator):
            _step(optimizer, model.loss(batch, model.phases[0]))

    return epoch


def peer_epoch(
    graphs: PackedGraphs, model: nn.Module, ids: Tensor, size: int
) -> Callable[[], None]:
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, fused=True)
    listed = to_pyg(graphs)
    loader = DataLoader([listed[i] for i in ids.tolist()], batch_size=size, shuffle=True)

    def epoch() -> None:
        for batch in loader:
            _step(optimizer, F.cross_entropy(model(batch), batch.x.argmax(1)))

    return epoch


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def measure(root: Path | None = None, rounds: int = 5) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    data = load("ZINC", root)
    graphs, ids = data.graphs, data.folds[0].train
    config, size = AutoencoderConfig(), ReconstructTrainConfig().batch_size
    shape = DataShape.of(graphs, labelled=False)
    seeds, width = shape.sizes.share(config.ratio), shape.num_features
    times = interleaved(
        {
            "gmpool": our_epoch(graphs, Autoencoder(shape, config), ids, size),
            "padded pooling, sparse layers": peer_epoch(
                graphs, PaddedAutoencoder(width, seeds), ids, size
            ),
            "padded, dense layers": peer_epoch(graphs, DenseAutoencoder(width, seeds), ids, size),
        },
        rounds=rounds,
    )
    threads = torch.get_num_threads()
    return versus(times, "gmpool", "training epoch of ZINC's reconstruction", threads=threads)
