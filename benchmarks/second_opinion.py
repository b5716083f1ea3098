"""Two networks of others on our molecules, trained as they train them: is a number that differs
from the published one a matter of the data, of our code, or of neither?

`gmt` is the authors' network, padded, with PyG's layers; `ogb-gcn` is the example that the Open
Graph Benchmark publishes, whose scores are on its leaderboard. Of gmpool they use the loader of
batches, the table of settings and the metric.

    python -m benchmarks.second_opinion gmt ogbg-moltox21 --seed 42 --epochs 200 --out rows.jsonl
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.padded import PaddedGMT
from gmpool.data import Dataset, GraphBatch, PackedGraphs, epoch_batches, load
from gmpool.engine.provenance import commit, device_name, versions
from gmpool.tasks.classify.settings import AUTHORS as PUBLISHED
from gmpool.tasks.metrics import metric_of


class Protocol(NamedTuple):
    """How a network is trained; the epoch with the best validation score is tested."""

    epochs: int
    batch_size: int
    lr: float = 1e-3
    weight_decay: float = 0.0
    clip_norm: float | None = None
    warmup: int | None = None
    """Epochs of linear growth, then a cosine to 0; None: a constant learning rate."""

    def rate(self, epoch: float) -> float:
        if self.warmup is None:
            return 1.0
        if epoch < self.warmup:
            return epoch / self.warmup
        return 0.5 * (1 + math.cos(math.pi * (epoch - self.warmup) / (self.epochs - self.warmup)))


AUTHORS = Protocol(500, 128, weight_decay=1e-4, clip_norm=1.0, warmup=50)
OGB = Protocol(100, 32)


class OGBConv(nn.Module):
    """Σ_j ReLU(W x_j + e_ij) / √(d_i d_j) + ReLU(W x_i + r) / d_i"""

    def __init__(self, bond_sizes: tuple[int, ...], dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.root = nn.Parameter(torch.randn(dim))
        self.bonds = _tables(bond_sizes, dim)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x, (source, target) = self.linear(x), edge_index
        degree = torch.bincount(source, minlength=x.shape[0]).to(x.dtype) + 1
        norm = (degree[source] * degree[target]).rsqrt()
        message = norm[:, None] * torch.relu(x[source] + edge_attr @ self.bonds)
        gathered = torch.zeros_like(x).index_add(0, target, message)
        return gathered + torch.relu(x + self.root) / degree[:, None]


class AuthorsGMT(nn.Module):
    """Three of these layers with jumping knowledge, the padded readout, and the classifier."""

    def __init__(self, graphs: PackedGraphs, name: str) -> None:
        super().__init__()
        published = PUBLISHED[name]
        dim, seeds = 128, math.ceil(0.25 * math.ceil(graphs.num_nodes / graphs.num_graphs))
        self.atoms = _tables(graphs.cat_sizes, dim)
        self.convs = nn.ModuleList(OGBConv(graphs.edge_cat_sizes, dim) for _ in range(3))
        self.readout = PaddedGMT(
            3 * dim,
            dim,
            num_seeds=seeds,
            num_heads=published["num_heads"],
            layer_norm=published.get("layer_norm", False),
        )
        self.head = nn.Sequential(
            nn.Linear(dim, dim), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(dim, dim // 2), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(dim // 2, _tasks(graphs)),
        )  # fmt: skip

    def forward(self, batch: GraphBatch) -> Tensor:
        x, layers, edge_index = batch.x @ self.atoms, [], batch.edge_index.long()
        for conv in self.convs:
            x = torch.relu(conv(x, edge_index, batch.edge_attr))
            layers.append(x)
        rows = torch.cat(layers, dim=1)
        return self.head(self.readout(rows, edge_index, batch.batch, batch.num_graphs))


class OGBExampleGCN(nn.Module):
    """Five of these layers of width 300 with batch norm and dropout, the mean, one linear map."""

    def __init__(self, graphs: PackedGraphs, _: str) -> None:
        super().__init__()
        dim = 300
        self.atoms = _tables(graphs.cat_sizes, dim)
        self.convs = nn.ModuleList(OGBConv(graphs.edge_cat_sizes, dim) for _ in range(5))
        self.norms = nn.ModuleList(nn.BatchNorm1d(dim) for _ in range(5))
        self.out = nn.Linear(dim, _tasks(graphs))

    def forward(self, batch: GraphBatch) -> Tensor:
        x, edge_index = batch.x @ self.atoms, batch.edge_index.long()
        for i, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            x = norm(conv(x, edge_index, batch.edge_attr))
            x = functional.dropout(torch.relu(x) if i < 4 else x, 0.5, self.training)
        total = x.new_zeros(batch.num_graphs, x.shape[1]).index_add(0, batch.batch, x)
        return self.out(total / batch.ptr.diff()[:, None])


NETWORKS: dict[str, tuple[type[nn.Module], Protocol]] = {
    "gmt": (AuthorsGMT, AUTHORS),
    "ogb-gcn": (OGBExampleGCN, OGB),
}


def _tables(sizes: tuple[int, ...], dim: int) -> nn.Parameter:
    """One table per categorical column, below each other, for multi-hot rows."""
    return nn.Parameter(
        torch.cat([nn.init.xavier_uniform_(torch.empty(size, dim)) for size in sizes])
    )


def _labels(batch: GraphBatch) -> Tensor:
    assert batch.y is not None
    return batch.y.float().view(batch.num_graphs, -1)


def _tasks(graphs: PackedGraphs) -> int:
    assert graphs.y is not None
    return graphs.y[0].numel()


def train(
    dataset: Dataset, network: nn.Module, protocol: Protocol, seed: int, epochs: int
) -> Iterator[dict[str, float]]:
    """What each of the first epochs showed: training loss, validation and test score."""
    graphs, (split, *_) = dataset.graphs, dataset.folds
    optimizer = torch.optim.Adam(
        network.parameters(), lr=protocol.lr, weight_decay=protocol.weight_decay
    )
    steps = math.ceil(len(split.train) / protocol.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: protocol.rate(s / steps))
    shuffle = torch.Generator().manual_seed(seed)
    parts = {
        name: list(epoch_batches(graphs, ids, protocol.batch_size))
        for name, ids in (("valid", split.valid), ("test", split.test))
    }
    for epoch in range(1, epochs + 1):
        network.train()
        total = 0.0
        for batch in epoch_batches(graphs, split.train, protocol.batch_size, shuffle):
            out, y = network(batch), _labels(batch)
            known = ~y.isnan()
            loss = functional.binary_cross_entropy_with_logits(out[known], y[known])
            optimizer.zero_grad()
            loss.backward()
            if protocol.clip_norm is not None:
                nn.utils.clip_grad_norm_(network.parameters(), protocol.clip_norm)
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        scores = {name: score(network, batches) for name, batches in parts.items()}
        yield {"epoch": epoch, "train_loss": round(total / steps, 4), **scores}


@torch.no_grad()
def score(network: nn.Module, batches: list[GraphBatch]) -> float:
    network.eval()
    out = torch.cat([network(batch) for batch in batches])
    return round(metric_of("roc_auc", out, torch.cat([_labels(batch) for batch in batches])), 2)


def main(
    name: Annotated[str, typer.Argument(help="gmt or ogb-gcn.")],
    dataset: Annotated[str, typer.Argument(help="One of the OGB molecule sets.")],
    seed: Annotated[int, typer.Option()] = 42,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Stop early; the schedule stays.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Add the row to this file.")] = None,
) -> None:
    """Train one of the networks and say what the epoch with the best validation scored."""
    if name not in NETWORKS:
        raise typer.BadParameter(f"there is no network {name!r}, only {', '.join(NETWORKS)}")
    kind, protocol = NETWORKS[name]
    if name == "gmt":
        size = PUBLISHED.get(dataset, {}).get("batch_size", protocol.batch_size)
        protocol = protocol._replace(batch_size=size)
    data = load(dataset)
    if data.graphs.task != "binary" or not data.graphs.edge_cat_sizes:
        raise typer.BadParameter(f"{dataset} is no set of molecules with yes-or-no labels")
    torch.manual_seed(seed)
    curve: list[dict[str, Any]] = []
    for row in train(data, kind(data.graphs, dataset), protocol, seed, epochs or protocol.epochs):
        curve.append(row)
        print(row, flush=True)
    best = max(curve, key=lambda row: row["valid"])
    columns = {key: [row[key] for row in curve] for key in ("train_loss", "valid", "test")}
    found = {
        "network": name, "dataset": dataset, "seed": seed, "batch_size": protocol.batch_size,
        "best": best, "device": device_name("cpu"), "versions": versions(), "commit": commit(),
        "curve": columns,
    }  # fmt: skip
    print({key: value for key, value in found.items() if key != "curve"})
    if out is not None:
        with out.open("a") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    typer.run(main)
