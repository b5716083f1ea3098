"""A training epoch of GMT on PROTEINS (authors' settings): ours, padded, and PyG's own readout.

All have three GCN layers of 128, the same classifier, loss, clipping and optimizer, and draw fresh
shuffles; the peers through PyG's DataLoader. On a GPU ours is what a training does there, steps
captured once and replayed, and stands beside launching it step by step, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.loader import DataLoader

from benchmarks.padded import PaddedGMT, PaddedGraphClassifier
from benchmarks.readout import PyGReadout
from benchmarks.timing import interleaved, versus, where
from gmpool.data import Dataset, PackedGraphs, Split, load, to_pyg
from gmpool.engine.job import Job
from gmpool.engine.stack.members import Member
from gmpool.engine.stack.stack import Stack
from gmpool.nn.heads import classifier
from gmpool.pool.gmt import seeds_for

Epoch = Callable[[], None]
BATCH, HIDDEN, HEADS = 128, 128, 2


def our_epoch(dataset: Dataset, method: str = "gmt") -> Epoch:
    job = Job.make("classify", dataset, method)
    model = job.task.build(dataset, job.model).to(dataset.graphs.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=job.train.lr, fused=True)
    ids, generator = torch.arange(len(dataset)), torch.Generator().manual_seed(0)

    def epoch() -> None:
        for batch in dataset.batches(ids, BATCH, generator):
            step(model, optimizer, model.loss(batch, model.phases[0]))

    return epoch


def replayed_epoch(dataset: Dataset) -> Epoch:
    """All graphs in training, as many steps as in the others."""
    job, ids = Job.make("classify", dataset, "gmt"), torch.arange(len(dataset))
    part, config = Split(ids, ids[:1], ids[:1]), replace(job.train, batch_size=BATCH)
    member = Member(part, job.model, config, seed=0)
    return Stack(job.task, dataset, [member], dataset.graphs.device).train_epoch


def peer_epoch(graphs: PackedGraphs, readout: nn.Module, device: str, *, jumping: bool) -> Epoch:
    head = classifier(HIDDEN, HIDDEN, graphs.num_outputs, dropout=0.5)
    model = PaddedGraphClassifier(graphs.num_features, HIDDEN, readout, head, jumping=jumping)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, fused=True)
    loader = DataLoader(to_pyg(graphs), batch_size=BATCH, shuffle=True)

    def epoch() -> None:
        for batch in loader:
            batch = batch.to(device)
            out = model(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
            step(model, optimizer, F.cross_entropy(out, batch.y))

    return epoch


def step(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def to_its_end(epoch: Epoch) -> Epoch:
    """The same, waiting for the device."""

    def run() -> None:
        epoch()
        torch.cuda.synchronize()

    return run


def measure(root: Path | None = None, rounds: int = 5) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    dataset = load("PROTEINS", root)
    graphs = dataset.graphs
    device = "cuda" if torch.cuda.is_available() else "cpu"
    seeds = seeds_for(graphs.mean_nodes)
    padded = PaddedGMT(3 * HIDDEN, HIDDEN, num_seeds=seeds, num_heads=HEADS)
    pyg = PyGReadout(HIDDEN, seeds, HEADS)
    ours = our_epoch(dataset.to(device))
    epochs = {
        "gmpool": ours,
        "padded formulation": peer_epoch(graphs, padded, device, jumping=True),
        "GCN + PyG's readout at width 128": peer_epoch(graphs, pyg, device, jumping=False),
    }
    if device == "cuda":
        epochs |= {"gmpool": replayed_epoch(dataset.to(device)), "gmpool, launched": ours}
        epochs = {name: to_its_end(epoch) for name, epoch in epochs.items()}
    times = interleaved(epochs, rounds=rounds, repeats=2)
    facts = {"threads": torch.get_num_threads(), **where(device)}
    return versus(times, "gmpool", "training epoch of PROTEINS", **facts)
