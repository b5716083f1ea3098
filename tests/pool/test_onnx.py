"""The readout as an ONNX model, for any number of nodes, edges and graphs; and PyG's summary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from graphs import random_batch
from torch import Tensor

from gmpool import GMPool, GraphMultisetTransformer
from gmpool.graph import Segments
from gmpool.graph.edges import Edges
from gmpool.nn.row_attention import RowAttention
from gmpool.ops import onnx_forms
from gmpool.ops.grouped import collect, match, spread
from gmpool.ops.row_ids import row_ids
from gmpool.ops.seed_attention import seed_attention
from gmpool.ops.segment import segment_max
from gmpool.ops.sparse import sddmm, spmm

DIM = 6


@pytest.mark.filterwarnings("ignore")
def test_an_exported_readout_gives_the_same(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    blocks = "SelfAtt-GMPool_G-SelfAtt-GMPool_I"  # whatever a block is given first or later
    model = GraphMultisetTransformer(DIM, 4, num_seeds=3, num_heads=2, blocks=blocks).eval()
    batch = random_batch([5, 1, 3], DIM, dtype=torch.float32)
    nodes, edges = torch.export.Dim("nodes"), torch.export.Dim("edges")
    program = torch.onnx.export(
        model,
        (batch.x, batch.edge_index, batch.batch),
        dynamo=True,
        dynamic_shapes=({0: nodes}, {1: edges}, {0: nodes}),
        input_names=["x", "edge_index", "batch"],
        verbose=False,
    )
    program.save(tmp_path / "gmt.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "gmt.onnx")
    for seed, sizes in enumerate(([5, 1, 3], [2, 0, 9], [3], [4, 4, 4, 4, 7])):
        batch = random_batch(sizes, DIM, seed=seed, dtype=torch.float32)
        batch = batch.permuted(
            torch.randperm(len(batch.x)), torch.randperm(batch.edge_index.shape[1])
        )
        given = {"x": batch.x, "edge_index": batch.edge_index, "batch": batch.batch}
        (found,) = session.run(None, {name: t.numpy() for name, t in given.items()})
        with torch.no_grad():
            expected = model(*given.values()).numpy()
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)


def test_what_is_exported_means_the_same_as_our_operators() -> None:
    batch = random_batch([4, 0, 5, 1], DIM, weighted=True)
    segments = Segments.from_batch(batch.batch[torch.randperm(10)], 10, None, 5)
    index = (segments.batch, segments.order, segments.ptr)
    matrix = Edges(batch.edge_index, 10, edge_weight=batch.weight).entries
    p, x = matrix.pattern, batch.x
    structure = (p.rowptr, p.col)
    a, o = torch.rand(10, 2, 3, dtype=x.dtype), torch.rand(2, 5, 3, DIM, dtype=x.dtype)
    same: list[tuple[Tensor, Tensor]] = [
        (onnx_forms.row_ids(p.rowptr, len(p.col)), row_ids(p.rowptr, len(p.col))),
        (onnx_forms.spmm(x, matrix.weight, *structure), spmm(p, x, matrix.weight)),
        (onnx_forms.spmm(x, None, *structure), spmm(p, x)),
        (onnx_forms.sddmm(x, 2 * x, *structure), sddmm(p, x, 2 * x)),
        (onnx_forms.segment_max(x, *index), segment_max(x, segments)),
        (onnx_forms.collect(a, x, *index), collect(a, x, segments)),
        (onnx_forms.spread(a, o, *index), spread(a, o, segments)),
        (onnx_forms.match(x, o, *index), match(x, o, segments)),
        (onnx_forms.sort_by_graph(segments.batch, 5)[1], segments.ptr),
    ]
    m, c = torch.rand(DIM, 6, dtype=x.dtype), torch.rand(6, dtype=x.dtype)
    for axis in ("seeds", "nodes"):
        blocks = [x[:, :2].contiguous(), x[:, 2:].contiguous()]
        ours, mass, shares = seed_attention(blocks, m, c, segments, 2, axis)
        call = (blocks[0], m[None], c[None], *index, 2, axis, True, "pytorch", blocks[1])
        same += zip(onnx_forms.seed_attention(*call)[:-1], [*ours, mass, shares], strict=True)
        among = RowAttention(DIM, DIM, num_heads=2, softmax=axis, scale="none").double()
        q, k, v = torch.rand(3, 10, 2, 3, dtype=x.dtype)
        exported = onnx_forms.row_attention(q, k, v, segments.batch, axis)
        same.append((exported, among._ragged(q, k, v, segments)))
    for found, expected in same:
        torch.testing.assert_close(found, expected)


def test_summary_of_pyg() -> None:
    pytest.importorskip("tabulate")
    from torch_geometric.nn import summary

    batch = random_batch([5, 3], DIM, dtype=torch.float32)
    for model in (GraphMultisetTransformer(DIM, 4, num_seeds=3), GMPool(DIM, 2)):
        table = summary(model, batch.x, batch.edge_index, batch.batch)
        assert f"{sum(p.numel() for p in model.parameters()):,}" in table
        assert "SeedAttention" in table
