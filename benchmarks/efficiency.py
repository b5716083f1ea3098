"""The paper's two efficiency figures: what the first pooling layer of each method takes.

memory  one Erdős–Rényi graph of n nodes and 2 n edges to 4 rows, forward and backward: how far the
        allocated memory of the GPU rises, inputs counted in
time    50 Erdős–Rényi graphs of n nodes and n²/10 edges, a quarter of the rows kept: forward

Ours and, where a method has one, a peer take turns. Whoever runs out of memory or of time is left
out from there on, and the row says why. Memory is that of a GPU: a CPU counts no allocations.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch

from benchmarks.first_pooling import (
    PEERS,
    Layer,
    erdos_renyi,
    options_to_keep,
    our_layer,
    peer_layer,
)
from benchmarks.timing import interleaved, where
from gmpool.data import PackedGraphs
from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.pool.method import GraphSizes

MEMORY_NODES = (1000, 3000, 5000, 10_000, 15_000, 20_000, 50_000, 100_000)
TIME_NODES = tuple(range(100, 1001, 100))
ROWS, GRAPHS = 4, 50
LIMIT_S = 20.0
ROUNDS, ROUNDS_S = 5, 5.0
"""So many rounds, or as many as fit into so many seconds."""

T = TypeVar("T")
Makes = Mapping[str, Callable[[], Layer]]
Found = dict[str, float | str]
"""What was measured for ours and for the peer, or why nothing was."""


def measure(root: Path | None = None) -> Iterator[dict[str, Any]]:
    """Both figures on a GPU; on a CPU the times."""
    if not torch.cuda.is_available():
        yield from time_rows("cpu", TIME_NODES)
        return
    yield from memory_rows("cuda", MEMORY_NODES)
    yield from time_rows("cuda", TIME_NODES)


def memory_rows(
    device: str, sizes: Sequence[int], methods: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    if not device.startswith("cuda"):
        raise UserError(f"peak memory is measured on a CUDA device, got {device!r}; use cuda")
    # Kernels and the libraries' own buffers are made once: first a size that nobody asked for.
    for _ in _rows("memory", "MiB", device, (100,), methods, peaks):
        pass
    yield from _rows("memory", "MiB", device, sizes, methods, peaks)


def time_rows(
    device: str, sizes: Sequence[int], methods: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    return _rows("time", "s", device, sizes, methods, seconds)


def _rows(
    figure: str,
    unit: str,
    device: str,
    sizes: Sequence[int],
    methods: Sequence[str] | None,
    measured: Callable[[Makes, str], Found],
) -> Iterator[dict[str, Any]]:
    ended: set[tuple[str, str]] = set()
    for nodes in sizes:
        one = figure == "memory"
        graphs = erdos_renyi(nodes, 2 * nodes if one else nodes**2 // 10, 1 if one else GRAPHS)
        for method in METHODS if methods is None else methods:
            makes = _contestants(method, graphs, ROWS if one else None, device)
            going = {who: make for who, make in makes.items() if (method, who) not in ended}
            if not going:
                continue
            torch.manual_seed(0)
            found = measured(going, device)
            ended |= {(method, who) for who, value in found.items() if isinstance(value, str)}
            name = f"{figure}, {nodes:,} nodes: {method}"
            facts = {"unit": unit, "figure": figure, "nodes": nodes, **where(device)}
            yield _row(name, method, found, **facts)


def _contestants(method: str, graphs: PackedGraphs, rows: int | None, device: str) -> Makes:
    """rows: how many are kept; None: a quarter, which is what methods do unless told."""
    nodes = int(graphs.sizes[0])
    options = {} if rows is None else options_to_keep(method, rows, nodes)
    makes: dict[str, Any] = {"ours": partial(our_layer, method, graphs, options, device)}
    if method in PEERS:
        rows = rows or GraphSizes(nodes).share(0.25)
        makes["peer"] = partial(peer_layer, method, graphs, rows, device)
    return makes


def _row(name: str, method: str, found: Found, **facts: Any) -> dict[str, Any]:
    """ours, peer and ratio may be None; `ended` and `peer_ended` say who came to an end here."""
    ours, peer = (found.get(who) for who in ("ours", "peer"))
    both = isinstance(ours, float) and isinstance(peer, float)
    return {
        "name": name,
        "ours": ours if isinstance(ours, float) else None,
        "peer": peer if isinstance(peer, float) else None,
        "ratio": peer / ours if both else None,  # type: ignore[operator]
        "method": method,
        "peer_name": PEERS.get(method),
        "ended": ours if isinstance(ours, str) else None,
        "peer_ended": peer if isinstance(peer, str) else None,
        **facts,
    }


def peaks(makes: Makes, device: str) -> Found:
    """MiB of one forward and backward pass, inputs and weights counted in."""
    found: Found = {}

    def peak(make: Callable[[], Layer]) -> float | str:
        before = torch.cuda.memory_allocated(device)
        forward = make()
        with torch.no_grad():
            forward()  # what is made once per set is no part of a pass
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        begun = time.perf_counter()
        forward().backward()
        torch.cuda.synchronize(device)
        if time.perf_counter() - begun > LIMIT_S:
            return "over the time limit"
        return (torch.cuda.max_memory_allocated(device) - before) / 2**20

    for who, make in makes.items():
        found[who] = or_why_not(partial(peak, make))
    return found


def seconds(makes: Makes, device: str) -> Found:
    """Median seconds of a forward pass, contestants in turn."""
    found: Found = {}
    runs: dict[str, Callable[[], None]] = {}

    def begun(make: Callable[[], Layer]) -> Callable[[], None]:
        forward = make()

        def run() -> None:
            with torch.no_grad():
                forward()
            if device.startswith("cuda"):
                torch.cuda.synchronize(device)

        run()
        return run

    for who, make in makes.items():
        ready = or_why_not(partial(begun, make))
        if isinstance(ready, str):
            found[who] = ready
        else:
            runs[who] = ready
    if runs:
        times = interleaved(runs, rounds=1, warmup=0)
        rounds = min(ROUNDS, int(ROUNDS_S / max(times.values())))
        if rounds > 1:
            times = interleaved(runs, rounds=rounds, warmup=0)
        found |= {w: s if s <= LIMIT_S else "over the time limit" for w, s in times.items()}
    return found


def or_why_not(work: Callable[[], T]) -> T | str:
    """What the work gives, or in a few words why it cannot be done."""
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()
    try:
        return work()
    except (MemoryError, torch.OutOfMemoryError):
        return "out of memory"
    except UserError as error:
        return str(error)
    except Exception as error:  # the other rows shall not be lost with this one
        if "alloc" in str(error):  # a CPU has no error of its own for it
            return "out of memory"
        first = (str(error).splitlines() or [""])[0]
        return f"failed: {type(error).__name__}: {first}"
