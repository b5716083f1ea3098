"""The readout alone, forward and backward, on one large graph: time and peak memory.

Each peak is how far resident memory rises over what it was before one forward and backward pass, in
a process of its own (Linux: the high-water mark of /proc, which can be set back).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import aggr

from benchmarks.padded import PaddedGMT
from benchmarks.timing import interleaved, row, versus
from gmpool import GraphMultisetTransformer
from gmpool.graph.edges import Edges
from gmpool.ops.segment import Segments

NODES, DIRECTED_EDGES, WIDTH, SEEDS = 100_000, 400_000, 128, 4


class PyGReadout(nn.Module):
    """aggr.GraphMultisetTransformer, called as ours is."""

    def __init__(self, width: int, num_seeds: int, num_heads: int = 1) -> None:
        super().__init__()
        self.readout = aggr.GraphMultisetTransformer(width, k=num_seeds, heads=num_heads)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        return self.readout(x, batch, dim_size=batch_size)


def contestants(num_seeds: int = SEEDS) -> dict[str, Callable[[], nn.Module]]:
    return {
        "gmpool": lambda: GraphMultisetTransformer(WIDTH, WIDTH, num_seeds=num_seeds),
        "padded formulation": lambda: PaddedGMT(WIDTH, WIDTH, num_seeds=num_seeds),
        "PyG's readout": lambda: PyGReadout(WIDTH, num_seeds),
    }


def one_graph(nodes: int, directed_edges: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random features, an Erdős–Rényi graph with both directions of each edge, one graph."""
    generator = torch.Generator().manual_seed(0)
    half = torch.randint(nodes, (2, directed_edges // 2), generator=generator)
    edge_index = torch.cat([half, half.flip(0)], dim=1)
    x = torch.randn(nodes, WIDTH, generator=generator).requires_grad_()
    return x, edge_index, torch.zeros(nodes, dtype=torch.long)


def forward_backward(readout: nn.Module, x: Tensor, *graphs: Any) -> Callable[[], None]:
    """graphs: what the readout takes beside x."""

    def run() -> None:
        x.grad = None
        readout.zero_grad(set_to_none=True)
        readout(x, *graphs).sum().backward()

    return run


def sorted_before(
    readout: nn.Module, x: Tensor, edge_index: Tensor, batch: Tensor
) -> Callable[[], None]:
    """The same for ours, when the edges of one graph were sorted for an earlier pass."""
    N = x.shape[0]
    edges = Edges.of(edge_index, N, x.dtype)
    return forward_backward(readout, x, edges, Segments.from_batch(batch, N, batch_size=1))


def peak_mib(contestant: str) -> float:
    """Peak memory of one forward and backward pass beyond what was there before, in MiB."""
    command = [sys.executable, "-m", "benchmarks.readout", contestant]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return float(done.stdout.strip().splitlines()[-1])


def _print_peak(contestant: str) -> None:
    torch.manual_seed(0)
    readout = contestants()[contestant]()
    # A small pass first: libraries allocate their own buffers once.
    forward_backward(readout, *one_graph(100, 400), 1)()
    run = forward_backward(readout, *one_graph(NODES, DIRECTED_EDGES), 1)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status_kib("VmHWM")
    run()
    print((_status_kib("VmHWM") - before) / 1024)


def _status_kib(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def measure(root: Path | None = None, rounds: int = 5) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    inputs = one_graph(NODES, DIRECTED_EDGES)
    runs = {name: forward_backward(make(), *inputs, 1) for name, make in contestants().items()}
    times = interleaved(runs, rounds=rounds)
    facts = {"nodes": NODES, "directed_edges": DIRECTED_EDGES, "threads": torch.get_num_threads()}
    rows = versus(times, "gmpool", "readout of one graph, time", **facts)
    peaks = {name: peak_mib(name) for name in contestants()}
    return rows + [
        row(f"readout of one graph, peak memory: gmpool vs {peer}", peaks["gmpool"], peak, "MiB",
            **facts)
        for peer, peak in peaks.items()
        if peer != "gmpool"
    ]  # fmt: skip


if __name__ == "__main__":
    _print_peak(sys.argv[1])
