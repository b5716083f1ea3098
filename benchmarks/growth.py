"""How the cost of the readout grows, with the nodes of one graph and with its seeds.

nodes  an Erdős–Rényi graph of n nodes and 4 n directed edges, width 128, 4 seeds
seeds  the same for one n and K seeds

Forward and backward, given edge_index: ours, the padded formulation and PyG's readout in turn.
Whoever runs out of memory or of time is left out from there on, and a row says why. A row "… vs the
bytes it must move" has ours with edges sorted before, on a GPU replayed as a CUDA graph, and as its
peer the time that a copy takes for these bytes: X read forward and backward, ∂X written, every
entry of Â read both ways. Its ratio is the part of the copy's bandwidth that was reached.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.efficiency import or_why_not
from benchmarks.gpu import OURS, Runs, copy_bandwidth, events, replayed
from benchmarks.readout import SEEDS, contestants, forward_backward, one_graph, sorted_before
from benchmarks.timing import alone, interleaved, row, versus, where

NODES = {"cpu": (1000, 10_000, 100_000), "cuda": (1000, 10_000, 100_000, 1_000_000)}
SEEDS_OF = {"cpu": 10_000, "cuda": 100_000}
"""How many nodes the graph has whose seeds grow."""
MANY_SEEDS = (1, 4, 16, 64)
COPIED = {"cpu": 2**28, "cuda": 2**31}  # bytes
ENTRY_BYTES = 12  # a column and a weight
LIMIT_S = 5.0
ROUNDS = {"cpu": 5, "cuda": 20}


def measure(root: Path | None = None) -> Iterator[dict[str, Any]]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    bandwidth = copy_bandwidth(COPIED[device], device, partial(median, device=device))
    facts = {**where(device), "copy_bytes_per_s": bandwidth}
    ended: set[str] = set()
    for nodes in NODES[device]:
        for found in rows_of(nodes, SEEDS, device, bandwidth, ended):
            yield {**found, "growth": "nodes", **facts}
    ended = set()
    for seeds in MANY_SEEDS:
        for found in rows_of(SEEDS_OF[device], seeds, device, bandwidth, ended):
            yield {**found, "growth": "seeds", **facts}


def median(runs: Runs, device: str) -> dict[str, float]:
    """Seconds of each, in turn."""
    if device == "cuda":
        return events(runs, rounds=ROUNDS[device])
    return interleaved(runs, rounds=ROUNDS[device])


def rows_of(
    nodes: int, seeds: int, device: str, bandwidth: float, ended: set[str]
) -> Iterator[dict[str, Any]]:
    """ended: who takes part no longer; it grows."""
    x, edge_index, batch = (t.detach().to(device) for t in one_graph(nodes, 4 * nodes))
    inputs = (x.requires_grad_(), edge_index, batch)
    runs: dict[str, Callable[[], object]] = {}
    why: dict[str, str] = {}
    for name, make in contestants(seeds).items():
        if name in ended:
            continue
        torch.manual_seed(0)
        run = forward_backward(make().to(device), *inputs, 1)
        once = or_why_not(partial(seconds_once, run, device))
        if name == OURS or (isinstance(once, float) and once <= LIMIT_S):
            runs[name] = run
        else:
            why[name] = once if isinstance(once, str) else "over the time limit"
    ended.update(why)
    what = f"readout of one graph, {nodes:,} nodes, {seeds} seed{'s' * (seeds > 1)}"
    facts = {"nodes": nodes, "directed_edges": 4 * nodes, "seeds": seeds}
    times = median(runs, device)
    yield from versus(times, OURS, what, **facts)
    for name, reason in why.items():
        both = f"{what}: {OURS} vs {name}"
        yield alone(both, times[OURS], "s", peer_ended=reason, **facts)
    yield {**against_the_bytes(what, seeds, inputs, bandwidth), **facts}


def seconds_once(run: Callable[[], object], device: str) -> float:
    start = time.perf_counter()
    run()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def against_the_bytes(
    what: str, seeds: int, inputs: tuple[Tensor, Tensor, Tensor], bandwidth: float
) -> dict[str, Any]:
    x, edge_index, _ = inputs
    torch.manual_seed(0)
    launched = sorted_before(contestants(seeds)[OURS]().to(x.device), *inputs)
    run = replayed(launched) if x.is_cuda else launched
    size = 3 * 4 * x.numel() + 2 * ENTRY_BYTES * (edge_index.shape[1] + x.shape[0])
    ours = median({OURS: run}, x.device.type)[OURS]
    how = f"{OURS}, edges sorted before{', replayed' if x.is_cuda else ''}"
    name = f"{what}: {how} vs the bytes it must move"
    return row(name, ours, size / bandwidth, "s", bytes=size)
