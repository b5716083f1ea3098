"""The yardsticks of the reconstruction compute what ours computes."""

from __future__ import annotations

import pytest
import torch
from small_graphs import atoms
from torch_geometric.data import Batch

from benchmarks.reconstruct import (
    DenseAutoencoder,
    PaddedAutoencoder,
    copy_weights,
    our_epoch,
    peer_epoch,
)
from gmpool.data import GraphBatch, to_pyg
from gmpool.tasks.reconstruct.model import Autoencoder
from gmpool.tasks.reconstruct.settings import AutoencoderConfig
from gmpool.tasks.shape import DataShape


@pytest.mark.parametrize("kind", [PaddedAutoencoder, DenseAutoencoder])
def test_same_weights_same_output(kind: type) -> None:
    graphs = atoms()
    torch.manual_seed(0)
    ours = Autoencoder(DataShape.of(graphs, labelled=False), AutoencoderConfig(ratio=0.5))
    peer = kind(4, 3)
    copy_weights(ours, peer)
    ids = [3, 0, 7, 12]
    batch = Batch.from_data_list([to_pyg(graphs)[i] for i in ids])
    torch.testing.assert_close(peer(batch), ours(GraphBatch(graphs, ids))[0], atol=1e-5, rtol=1e-4)


def test_an_epoch_of_each_trains() -> None:
    graphs, ids = atoms(), torch.arange(24)
    torch.manual_seed(0)
    ours = Autoencoder(DataShape.of(graphs, labelled=False), AutoencoderConfig(ratio=0.5))
    for model, make in ((ours, our_epoch), (PaddedAutoencoder(4, 3), peer_epoch)):
        before = [p.detach().clone() for p in model.parameters()]
        make(graphs, model, ids, 8)()
        assert any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
