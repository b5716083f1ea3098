from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import torch
from torch_geometric.data import Data

from gmpool.data import from_pyg


def test_types_are_as_small_as_they_can_be() -> None:
    def path(n: int) -> Data:
        nodes = torch.arange(n)
        return Data(x=torch.ones(n, 1), edge_index=torch.stack([nodes[:-1], nodes[1:]]))

    assert from_pyg([path(256)]).col.dtype == torch.uint8
    graphs = from_pyg([path(257), path(2)])
    assert graphs.col.dtype == torch.int16
    assert from_pyg([path(2**15 + 1)]).col.dtype == torch.int32
    assert graphs.batch([0]).edge_index[0].tolist() == list(range(256))
    assert not graphs.symmetric
    assert graphs.mean_nodes == 129.5
    assert "graphs=2, nodes=259" in repr(graphs)


def test_digest_sees_content_and_not_the_device_or_the_order_of_edges() -> None:
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    one, two, three = (
        from_pyg([Data(x=x, edge_index=e)])
        for x, e in (
            (torch.ones(3, 1), edges),
            (torch.ones(3, 1), edges.flip(1)),
            (torch.zeros(3, 1), edges),
        )
    )
    assert one.digest == two.digest == one.to("cpu").digest != three.digest
    assert not one.symmetric
    assert not one.to("cpu").symmetric


def test_digest_is_of_metadata_and_then_of_each_tensor() -> None:
    """It is in recorded rows, so it must never come out otherwise."""
    data = Data(x=torch.tensor([[1], [0]]), edge_index=torch.tensor([[0], [1]]), y=0)
    graphs = from_pyg([data], name="two")
    meta = {
        "name": "two", "cat_sizes": [2], "edge_cat_sizes": [], "task": "multiclass",
        "class_names": ["0"], "task_names": ["y0"],
    }  # fmt: skip
    assert dict(graphs.metadata()) == meta
    state = hashlib.sha256(json.dumps(meta, sort_keys=True).encode())
    for line, content in (
        (b"col torch.uint8 [1]\n", b"\0"),
        (b"node_cat torch.uint8 [2, 1]\n", b"\1\0"),
        (b"node_ptr torch.int64 [2]\n", b"\0" * 8 + b"\2" + b"\0" * 7),
        (b"row_ptr torch.int64 [3]\n", b"\0" * 16 + b"\1" + b"\0" * 7),
        (b"y torch.int64 [1]\n", b"\0" * 8),
    ):
        state.update(line + content)
    assert graphs.digest == state.hexdigest()
    assert replace(graphs, name="other").digest != graphs.digest
