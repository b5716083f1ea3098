"""The ragged operators beside what plain PyTorch offers, on a batch of 128 graphs of PROTEINS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from benchmarks.timing import interleaved, versus
from gmpool.data import load
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.graph.matrices import SparseMatrix
from gmpool.ops.grouped import collect
from gmpool.ops.segment import segment_sum
from gmpool.ops.sparse import spmm

WIDTH, SLOTS = 384, 20


def measure(root: Path | None = None) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    graphs = load("PROTEINS", root).graphs
    batch = graphs.batch(torch.randperm(graphs.num_graphs)[:128])
    adjacency, segments = BatchEdges(batch).gcn, batch_segments(batch)
    assert isinstance(adjacency, SparseMatrix)
    pattern, weight = adjacency.pattern, adjacency.weight
    assert weight is not None
    N, B = batch.num_nodes, batch.num_graphs
    x, a = torch.randn(N, WIDTH), torch.rand(N, 1, SLOTS)
    rows, sizes = pattern.rows, segments.counts.tolist()
    csr = torch.sparse_csr_tensor(
        pattern.rowptr, pattern.col, weight, (N, N), check_invariants=False
    )
    results = versus(
        interleaved(
            {
                "spmm": lambda: spmm(pattern, x, weight),
                "torch CSR product": lambda: csr @ x,
                "index_add": lambda: torch.zeros_like(x).index_add_(
                    0, rows, x.index_select(0, pattern.col) * weight[:, None]
                ),
            },
            rounds=31,
        ),
        "spmm",
        "propagation at width 384",
    )
    results += versus(
        interleaved(
            {
                "collect": lambda: collect(a, x, segments),
                "loop of matrix products": lambda: [
                    p.t() @ q for p, q in zip(a[:, 0].split(sizes), x.split(sizes), strict=True)
                ],
            },
            rounds=31,
        ),
        "collect",
        "AᵀZ of 128 graphs, 20 slots",
    )
    return results + versus(
        interleaved(
            {
                "segment_sum": lambda: segment_sum(x, segments),
                "index_add": lambda: torch.zeros(B, WIDTH).index_add_(0, segments.batch, x),
            },
            rounds=31,
        ),
        "segment_sum",
        "sum of nodes per graph",
    )
