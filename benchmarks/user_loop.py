"""The readout where a PyG user meets it first: launched from Python with plain x, edge_index and
batch, of which nothing was made before. Forward and backward, and forward alone, on batches of 128
molecules and 128 proteins (four heads, ten seeds) and on one graph of growing size (one head, four
seeds), beside PyG's readout, which sees no edges, and the padded formulation.

On a GPU a row says how many kernels ours and the peer start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.growth import LIMIT_S, median, seconds_once
from benchmarks.padded import PaddedGMT
from benchmarks.readout import WIDTH, PyGReadout, forward_backward, one_graph
from benchmarks.timing import versus, where
from gmpool import GraphMultisetTransformer
from gmpool.data import load

OURS = "gmpool"
BATCHES = {"128 molecules": "ogbg-molbbbp", "128 proteins": "PROTEINS"}
NODES = {"cpu": (1000, 10_000, 100_000), "cuda": (1000, 10_000, 100_000, 1_000_000)}
GRAPHS = 128
Inputs = tuple[Tensor, Tensor, Tensor, int]


def measure(root: Path | None = None) -> Iterator[dict[str, Any]]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for what, name in BATCHES.items():
        yield from rows_of(what, batch_of(name, root, device), 10, 4, device)
    for nodes in NODES[device]:
        x, edge_index, batch = (t.detach().to(device) for t in one_graph(nodes, 4 * nodes))
        given = x.requires_grad_(), edge_index, batch, 1
        yield from rows_of(f"one graph of {nodes:,} nodes", given, 4, 1, device)


def batch_of(name: str, root: Path | None, device: str) -> Inputs:
    """Graphs of a set, drawn once, with features of the readout's width."""
    graphs = load(name, root).graphs
    generator = torch.Generator().manual_seed(0)
    drawn = graphs.batch(torch.randperm(len(graphs), generator=generator)[:GRAPHS])
    x = torch.randn(drawn.num_nodes, WIDTH, generator=generator).to(device).requires_grad_()
    return x, drawn.edge_index.to(device), drawn.batch.to(device), drawn.num_graphs


def rows_of(
    what: str, given: Inputs, seeds: int, heads: int, device: str
) -> Iterator[dict[str, Any]]:
    options: dict[str, Any] = {"num_seeds": seeds, "num_heads": heads}
    torch.manual_seed(0)
    readouts: dict[str, nn.Module] = {
        OURS: GraphMultisetTransformer(WIDTH, WIDTH, **options).to(device),
        "PyG's readout": PyGReadout(WIDTH, seeds, heads).to(device),
        "padded formulation": PaddedGMT(WIDTH, WIDTH, **options).to(device),
    }
    passes: dict[str, Callable[[nn.Module], Callable[[], object]]] = {
        "forward and backward": lambda readout: forward_backward(readout, *given),
        "forward": lambda readout: partial(without_gradients, readout, given),
    }
    for kind, make in passes.items():
        runs = {name: make(readout) for name, readout in readouts.items()}
        runs = {n: run for n, run in runs.items() if seconds_once(run, device) <= LIMIT_S}
        facts = {
            "nodes": given[0].shape[0], "directed_edges": given[1].shape[1], "graphs": given[3],
            "seeds": seeds, "heads": heads, "threads": torch.get_num_threads(), **where(device),
        }  # fmt: skip
        if device == "cuda":
            facts["kernels"] = {name: kernels_of(run) for name, run in runs.items()}
        yield from versus(median(runs, device), OURS, f"readout of {what}, {kind}", **facts)


@torch.no_grad()
def without_gradients(readout: nn.Module, given: Inputs) -> None:
    readout(*given)


def kernels_of(run: Callable[[], object]) -> int:
    """How many a call starts on a GPU."""
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        run()
        torch.cuda.synchronize()
    names = [event.name for event in seen.events() if event.device_type.name == "CUDA"]
    return sum(not name.startswith(("Memcpy", "Memset")) for name in names)
