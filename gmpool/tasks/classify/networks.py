"""From nodes to graph vectors: the architectures of the paper's comparison.

global     L layers of message passing, all concatenated (jumping knowledge), then one pooling
selection  L blocks of layer, pooling and readout (mean and max); the readouts are summed
clusters   layer, pooling, layer, pooling, layer; the mean of each level's rows, concatenated
chain      L blocks of layer and pooling, the last of which leaves one row per graph

Each takes (x [N, F], edges, segments) and gives Pooled with x [B, out_dim].
"""

from typing import Any

import torch
from torch import Tensor, nn

from gmpool.errors import UserError
from gmpool.graph.edges import AnyEdges
from gmpool.nn.batch_norm import rows_that_count
from gmpool.nn.conv import make_conv
from gmpool.nn.directed import DirectedEncoder
from gmpool.nn.encoder import Encoder, MoleculeEncoder
from gmpool.nn.molecule import BOND_CONVS, MultiHotEmbedding
from gmpool.ops.segment import Segments, segment_max, segment_mean, segment_sum
from gmpool.pool import METHODS
from gmpool.pool.method import GraphSizes, Pooled
from gmpool.tasks.classify.settings import DIRECTED, ModelConfig
from gmpool.tasks.shape import DataShape


def _directed(shape: DataShape, config: ModelConfig) -> DirectedEncoder:
    if not shape.is_molecular:
        raise UserError(f"conv={DIRECTED} is for molecules with bonds; take gcn or gin")
    return DirectedEncoder(
        shape.cat_sizes,
        shape.edge_cat_sizes,
        config.hidden_dim,
        num_layers=config.num_layers,
        state_dim=config.state_dim,
    )


class GlobalNetwork(nn.Module):
    """Message passing with jumping knowledge, then one pooling."""

    def __init__(self, shape: DataShape, config: ModelConfig) -> None:
        super().__init__()
        width, layers = config.hidden_dim, config.num_layers
        self.encoder: Encoder | MoleculeEncoder | DirectedEncoder
        if config.conv == DIRECTED:
            self.encoder = _directed(shape, config)
        else:
            how: dict[str, Any] = {
                "num_layers": layers, "conv": config.conv, "batch_norm": config.batch_norm,
            }  # fmt: skip
            if shape.is_molecular:
                atoms, bonds = shape.cat_sizes, shape.edge_cat_sizes
                self.encoder = MoleculeEncoder(atoms, bonds, width, **how)
            else:
                self.encoder = Encoder(shape.num_features, width, **how)
        self.has_norms = config.batch_norm is not None
        self.pool = _pooling(config, self.encoder.out_dim, shape.sizes)
        self.out_dim: int = self.pool.out_dim

    def forward(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        counts = (rows_that_count(segments),) if self.has_norms else ()
        return self.pool(self.encoder(x, edges, *counts), edges, segments)


class _Blocks(nn.Module):
    """The layers of a hierarchical network. Bonds are read by the first one: after a pooling there
    are none, or not those of a molecule. So behind directed messages follow layers of GCN."""

    def __init__(self, shape: DataShape, config: ModelConfig, *, pools: int) -> None:
        super().__init__()
        width, layers = config.hidden_dim, config.num_layers
        if layers < 1:
            raise UserError(
                f"{config.method} alternates message passing and pooling, so num_layers must be at "
                f"least 1, got {layers}"
            )
        self.embed: nn.Module = nn.Identity()
        first: nn.Module
        conv = config.conv
        if conv == DIRECTED:
            first, conv = _directed(shape, config), "gcn"
        elif shape.is_molecular:
            self.embed = MultiHotEmbedding(shape.cat_sizes, width)
            first = BOND_CONVS[conv](shape.edge_cat_sizes, width)
        else:
            first = make_conv(conv, shape.num_features, width)
        later = [make_conv(conv, width, width) for _ in range(layers - 1)]
        self.convs = nn.ModuleList([first, *later])
        self.pools = nn.ModuleList()
        sizes = shape.sizes
        for _ in range(pools):
            pool = _pooling(config, width, sizes)
            self.pools.append(pool)
            sizes = GraphSizes(pool.rows_per_graph or sizes.mean)


class SelectionNetwork(_Blocks):
    """Layer, pooling and readout, three times; the readouts are summed."""

    def __init__(self, shape: DataShape, config: ModelConfig) -> None:
        super().__init__(shape, config, pools=config.num_layers)
        self.out_dim = 2 * config.hidden_dim

    def forward(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        x, losses = self.embed(x), Losses()
        readouts = []
        for conv, pool in zip(self.convs, self.pools, strict=True):
            pooled: Pooled = pool(torch.relu(conv(x, edges)), edges, segments)
            assert pooled.edges is not None
            assert pooled.segments is not None
            x, edges, segments = pooled.x, pooled.edges, pooled.segments
            losses.add(pooled)
            readouts.append(torch.cat([segment_mean(x, segments), segment_max(x, segments)], 1))
        return Pooled(torch.stack(readouts).sum(0), losses=losses.by_name)


class ClustersNetwork(_Blocks):
    """Layers before, between and after poolings to K, K', … clusters; jumping knowledge."""

    def __init__(self, shape: DataShape, config: ModelConfig) -> None:
        super().__init__(shape, config, pools=config.num_layers - 1)
        self.out_dim = config.num_layers * config.hidden_dim

    def forward(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        x, losses = self.embed(x), Losses()
        x = torch.relu(self.convs[0](x, edges))
        readouts = [segment_mean(x, segments)]
        for conv, pool in zip(self.convs[1:], self.pools, strict=True):
            pooled: Pooled = pool(x, edges, segments)
            assert pooled.edges is not None
            assert pooled.segments is not None
            rows, edges, segments = pooled.x.flatten(0, 1), pooled.edges, pooled.segments
            losses.add(pooled)
            x = torch.relu(conv(rows, edges))  # [B·K, D]
            readouts.append(x.view(*pooled.x.shape).mean(1))
        return Pooled(torch.cat(readouts, dim=1), losses=losses.by_name)


class ChainNetwork(_Blocks):
    """Layer and pooling, three times, down to one row per graph."""

    def __init__(self, shape: DataShape, config: ModelConfig) -> None:
        super().__init__(shape, config, pools=config.num_layers)
        self.out_dim = config.hidden_dim
        self.chain_levels = len(self.pools)  # which batches of fixed shape are to hold

    def forward(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        x, left = self.embed(x), len(self.pools)
        for conv, pool in zip(self.convs, self.pools, strict=True):
            x = torch.relu(conv(x, edges))
            pooled: Pooled = pool(x, edges, segments, levels=left)
            assert pooled.edges is not None
            assert pooled.segments is not None
            x, edges, segments = pooled.x, pooled.edges, pooled.segments
            left -= 1
        # A batch of fixed shape has made-up rows too, and none of graphs that are not there.
        return Pooled(x if segments.real is None else segment_sum(x, segments))


class Losses:
    """Auxiliary losses summed over the poolings of a network."""

    def __init__(self) -> None:
        self.by_name: dict[str, Tensor] = {}

    def add(self, pooled: Pooled) -> None:
        for name, loss in pooled.losses.items():
            before = self.by_name.get(name)
            self.by_name[name] = loss if before is None else before + loss


NETWORKS: dict[str, Any] = {
    "global": GlobalNetwork,
    "selection": SelectionNetwork,
    "clusters": ClustersNetwork,
    "chain": ChainNetwork,
}


def make_network(shape: DataShape, config: ModelConfig) -> Any:
    """The network of a method: encoder, poolings and readouts, with attribute out_dim."""
    architecture = METHODS[config.method].architecture
    if architecture not in NETWORKS:
        raise UserError(f"{config.method} is not a network: its architecture is {architecture}")
    return NETWORKS[architecture](shape, config)


def _pooling(config: ModelConfig, in_dim: int, sizes: GraphSizes) -> Any:
    return METHODS[config.method](in_dim, config.hidden_dim, sizes=sizes, **config.pool)
