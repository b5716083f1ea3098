"""A PyG model with gmpool's readout, trained on MUTAG as any PyG model is.

python examples/pyg_readout.py
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv

from gmpool import GraphMultisetTransformer
from gmpool.data import load, to_pyg


class Net(nn.Module):
    def __init__(self, in_dim: int, num_classes: int, hidden: int = 64) -> None:
        super().__init__()
        self.conv1, self.conv2 = GCNConv(in_dim, hidden), GCNConv(hidden, hidden)
        self.readout = GraphMultisetTransformer(
            2 * hidden, hidden, num_seeds=5, num_heads=4, layer_norm=True
        )
        self.head = nn.Linear(hidden, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        first = self.conv1(x, edge_index).relu()
        second = self.conv2(first, edge_index).relu()
        nodes = torch.cat([first, second], dim=1)
        return self.head(self.readout(nodes, edge_index, batch, batch_size))


def main(epochs: int = 30) -> float:
    torch.manual_seed(0)
    dataset = load("MUTAG")
    graphs = to_pyg(dataset.graphs)
    split = dataset.folds[0]
    train = DataLoader([graphs[i] for i in split.train], batch_size=32, shuffle=True)
    test = DataLoader([graphs[i] for i in split.test], batch_size=32)
    model = Net(dataset.graphs.num_features, dataset.graphs.num_outputs)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        for batch in train:
            out = model(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
            loss = nn.functional.cross_entropy(out, batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        right = sum(
            int((model(b.x, b.edge_index, b.batch, b.num_graphs).argmax(1) == b.y).sum())
            for b in test
        )
    accuracy = right / len(split.test)
    print(f"test accuracy on fold 1 after {epochs} epochs: {accuracy:.1%}")
    return accuracy


if __name__ == "__main__":
    main()
