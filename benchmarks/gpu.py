"""On a CUDA device: bandwidth, the operators alone, the readout of a large graph, captured batches.

Times are by CUDA events, the median of 20 turns. What is "replayed" was captured as a CUDA graph,
so that no time of the host is in it; what is launched, has that. A row "… vs the bytes it must
move" has as its peer the time that a copy takes for the same bytes, so that its ratio is the part
of the device's copy bandwidth that was reached: Z and the gradient of Aᵀ Z are read, Aᵀ Z and ∂Z
are written, once.
"""

from __future__ import annotations

import contextlib
import gc
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.padded import PaddedGMT
from benchmarks.readout import (
    SEEDS,
    WIDTH,
    contestants,
    forward_backward,
    one_graph,
    sorted_before,
)
from benchmarks.timing import row, versus, where
from gmpool import GraphMultisetTransformer
from gmpool.errors import UserError
from gmpool.graph.edges import Edges
from gmpool.ops import choice
from gmpool.ops.seed_attention import seed_attention
from gmpool.ops.segment import Segments
from gmpool.ops.sparse import spmm

NODES, DIRECTED_EDGES = 1_000_000, 4_000_000
REPLICAS, GRAPHS, NODES_EACH, COLUMNS, SLOTS = 100, 128, 39, 384, 20
COPIED = 2**31  # bytes
NOMINAL = 4.8e12  # bytes per second of an H200, by its data sheet
OURS, PLAIN = "gmpool", "PyTorch's operators"
Runs = Mapping[str, Callable[[], object]]


def events(runs: Runs, rounds: int = 20, warmup: int = 3) -> dict[str, float]:
    """Median seconds of each contestant; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(warmup + rounds):
        for name, run in runs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            end.synchronize()
            if turn >= warmup:
                times[name].append(start.elapsed_time(end) / 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


@contextlib.contextmanager
def without_kernels() -> Iterator[None]:
    """The same operators on plain PyTorch."""
    had = choice.HAS_TRITON
    choice.HAS_TRITON = False
    try:
        yield
    finally:
        choice.HAS_TRITON = had


def on_plain(run: Callable[[], object]) -> Callable[[], object]:
    def plain() -> object:
        with without_kernels():
            return run()

    return plain


def replayed(
    run: Callable[[], object], stream: torch.cuda.Stream | None = None
) -> Callable[[], object]:
    """The same as one CUDA graph. stream: where it is captured, for a backward pass that of the
    forward pass, because autograd goes back on the stream it came on."""
    stream = stream or torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):  # for what happens once
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        run()
    return graph.replay


def copy_bandwidth(size: int, device: str, timed: Callable[[Runs], dict[str, float]]) -> float:
    """Bytes per second, read and written, of a copy of so many within the device."""
    source = torch.randn(size // 4, device=device)
    target = torch.empty_like(source)
    return 2 * size / timed({"copy": lambda: target.copy_(source)})["copy"]


def attention(
    name: str, replicas: int, segments: Segments, width: int, slots: int, bandwidth: float
) -> list[dict[str, Any]]:
    """Seed attention over seeds alone, one head; each replica has seeds and rows of its own."""
    R, N, B = replicas, segments.batch.shape[0], segments.num_graphs
    many = (R,) if R > 1 else ()
    z = torch.randn(*many, N, width, device="cuda")
    m = torch.randn(*many, slots, width, device="cuda").mT * width**-0.5  # as the layer makes it
    c = torch.randn(*many, slots, device="cuda")

    def one(z: Tensor, m: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        pooled, mass, _ = seed_attention([z], m, c, segments, 1, "seeds", want_a=False)
        return pooled[0], mass

    def forward(inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        return torch.vmap(one)(*inputs) if R > 1 else one(*inputs)

    def no_grad() -> None:
        with torch.no_grad():
            forward((z, m, c))

    def backward() -> Callable[[], object]:
        """Of a forward pass here and now, whose stream it keeps to."""
        leaves = [t.detach().requires_grad_() for t in (z, m, c)]
        outputs = forward(leaves)
        grads = [torch.randn_like(t) for t in outputs]
        return lambda: torch.autograd.grad(outputs, leaves, grads, retain_graph=True)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        there = backward()
    with without_kernels():
        plain = backward()
    pooled = 4 * R * B * slots * width
    passes: dict[str, tuple[Runs, Callable[[], object], int]] = {
        "forward": ({OURS: no_grad, PLAIN: on_plain(no_grad)}, no_grad, 4 * z.numel() + pooled),
        "backward": ({OURS: backward(), PLAIN: on_plain(plain)}, there, 8 * z.numel() + pooled),
    }
    rows = []
    for direction, (runs, captured_run, size) in passes.items():
        times = events(runs)
        alone = events({OURS: replayed(captured_run, stream)})[OURS]
        facts = {"bytes": size, "tf32": torch.backends.cuda.matmul.allow_tf32}
        what = f"seed attention {direction}, {name}"
        rows += versus(times, OURS, what, **facts)
        must = f"{what}: {OURS}, replayed vs the bytes it must move"
        rows.append(row(must, alone, size / bandwidth, "s", **facts))
    return rows


def propagation(edges: Edges) -> list[dict[str, Any]]:
    pattern, weight = edges.gcn.pattern, edges.gcn.weight
    assert weight is not None
    csr = torch.sparse_csr_tensor(
        pattern.rowptr, pattern.col, weight, (NODES, NODES), check_invariants=False
    )
    rows = []
    for width in (128, 4):
        x = torch.randn(NODES, width, device="cuda")
        runs: Runs = {
            OURS: lambda x=x: spmm(pattern, x, weight),  # type: ignore[misc]
            "torch CSR product": lambda x=x: csr @ x,  # type: ignore[misc]
            PLAIN: on_plain(lambda x=x: spmm(pattern, x, weight)),  # type: ignore[misc]
        }
        rows += versus(events(runs), OURS, f"spmm of one graph at width {width}")
    return rows


def readout(x: Tensor, edge_index: Tensor, batch: Tensor) -> list[dict[str, Any]]:
    """Each alone, so that a peak is its own."""
    times: dict[str, float] = {}
    peaks: dict[str, float] = {}
    for name, make in contestants().items():
        torch.manual_seed(0)
        run = forward_backward(make().cuda(), x, edge_index, batch, 1)
        run()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        peaks[name] = (torch.cuda.max_memory_allocated() - before) / 2**20
        times |= events({name: run})
        del run
        gc.collect()
    facts = {"nodes": NODES, "directed_edges": DIRECTED_EDGES}
    given = sorted_before(contestants()[OURS]().cuda(), x, edge_index, batch)
    times |= events({f"{OURS}, edges sorted before": given})
    times |= events({f"{OURS}, edges sorted before, replayed": replayed(given)})
    return versus(times, OURS, "readout of one graph, time", **facts) + [
        row(f"readout of one graph, peak memory: {OURS} vs {peer}", peaks[OURS], peak, "MiB",
            **facts)
        for peer, peak in peaks.items()
        if peer != OURS
    ]  # fmt: skip


def captured() -> list[dict[str, Any]]:
    """128 graphs of 39 nodes: ours as a CUDA graph that is replayed, beside launching it anew."""
    torch.manual_seed(0)
    N = GRAPHS * NODES_EACH
    x = torch.randn(N, WIDTH, device="cuda", requires_grad=True)
    segments = Segments.uniform(GRAPHS, NODES_EACH, "cuda")
    ends = torch.randint(NODES_EACH, (2, 2 * N), device="cuda")
    half = ends + NODES_EACH * (torch.arange(2 * N, device="cuda") % GRAPHS)
    edge_index = torch.cat([half, half.flip(0)], dim=1)
    edges = Edges.of(edge_index, N, x.dtype)
    ours = GraphMultisetTransformer(WIDTH, WIDTH, num_seeds=SEEDS).cuda()
    padded = PaddedGMT(WIDTH, WIDTH, num_seeds=SEEDS).cuda()
    eager = forward_backward(ours, x, edges, segments)
    runs: Runs = {
        f"{OURS}, replayed": replayed(eager),
        f"{OURS}, launched": eager,
        "padded formulation": forward_backward(padded, x, edge_index, segments.batch, GRAPHS),
    }
    return versus(events(runs), f"{OURS}, replayed", "readout of 128 small graphs")


def measure(root: Path | None = None) -> Iterator[dict[str, Any]]:
    if not torch.cuda.is_available():
        raise UserError(
            "the benchmark gpu needs a CUDA device, and torch finds none here; "
            "the others (loader, ops, readout, epoch, methods) run on a CPU"
        )
    torch.manual_seed(0)
    bandwidth = copy_bandwidth(COPIED, "cuda", events)
    gpu = torch.cuda.get_device_name()
    facts = {"gpu": gpu, "copy_bytes_per_s": bandwidth, **where("cuda")}
    for found in _rows(bandwidth):
        yield {**found, **facts}


def _rows(bandwidth: float) -> Iterator[dict[str, Any]]:
    one = Segments.uniform(1, NODES, "cuda")
    small = Segments.uniform(GRAPHS, NODES_EACH, "cuda")
    copied = (2 * COPIED / bandwidth, 2 * COPIED / NOMINAL)
    yield row("copy within the device vs the data sheet of an H200", *copied, "s")
    yield from attention("one graph of 1M nodes, 4 slots", 1, one, WIDTH, SEEDS, bandwidth)
    name = f"{REPLICAS} × {GRAPHS} graphs of {NODES_EACH} nodes, {SLOTS} slots"
    yield from attention(name, REPLICAS, small, COLUMNS, SLOTS, bandwidth)
    yield from captured()
    x, edge_index, batch = (t.detach().cuda() for t in one_graph(NODES, DIRECTED_EDGES))
    yield from propagation(Edges(edge_index, NODES, dtype=x.dtype))
    yield from readout(x.requires_grad_(), edge_index, batch)
