"""Clusterings of a set in the user's cache: minutes of work for a set that is used again and again.
In a process it is clustered once, not in every batch.

In files they are kept as categorical columns of a set that has the same nodes and no edges.
"""

from __future__ import annotations

import hashlib
import logging
import time
from pathlib import Path

import torch

from gmpool.data.compressed_rows import small_int
from gmpool.data.constants import PackedConstants
from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.find_file import cache_dir
from gmpool.data.sources.packed_file import read, save
from gmpool.errors import DataError
from gmpool.graph.colours import Ints
from gmpool.pool.haarpool.chain import Chain, cluster_table, make_chain

_log = logging.getLogger(__name__)
FORMAT = "gmpool-chain-3"
WORTH_A_FILE_S = 1.0  # what is clustered in less time is clustered again
MOST = 8  # chains that are kept in memory, those used last

_made: dict[tuple[str, int, torch.device], Chain] = {}


def cached_chain(graphs: PackedConstants, levels: int) -> Chain:
    """`make_chain` with its clusterings read from the cache, or written there.

    A damaged file, or a folder that cannot be written, costs time and not the result.
    """
    if levels == 1:
        return make_chain(graphs, levels)
    structure = _structure(graphs)
    path = cache_dir() / FORMAT / f"{structure[:24]}-{levels}.safetensors"
    table = _read(path, structure, graphs, levels)
    if table is None:
        start = time.perf_counter()
        table = cluster_table(graphs, levels)
        seconds = time.perf_counter() - start
        if seconds > WORTH_A_FILE_S:
            _log.info("clustered the %d graphs of %s in %.0f s", len(graphs), graphs.name, seconds)
            _write(path, structure, graphs, table)
    return make_chain(graphs, levels, table)


def _structure(graphs: PackedConstants) -> str:
    """A digest of everything that the clusterings depend on."""
    state = hashlib.sha256()
    for tensor in (graphs.node_ptr, graphs.row_ptr, graphs.col, graphs.edge_weight):
        state.update(b"none" if tensor is None else tensor.cpu().contiguous().numpy().tobytes())
    return state.hexdigest()


def _read(path: Path, structure: str, graphs: PackedConstants, levels: int) -> Ints | None:
    """The table of clusters, where the file holds one of these very graphs."""
    if not path.exists():
        return None
    try:
        found, _ = read(path)
        _check(found, structure, graphs, levels)
    except DataError as error:
        _log.warning("clustering again: %s", error)
        return None
    assert found.node_cat is not None
    return found.node_cat.long().numpy()


def _check(found: PackedGraphs, structure: str, graphs: PackedConstants, levels: int) -> None:
    """Raises DataError where the table is not one of these graphs or has empty clusters."""
    if found.name != structure or not torch.equal(found.node_ptr, graphs.node_ptr.cpu()):
        raise DataError(f"the cached clusters are those of other graphs than {graphs.name}")
    if found.node_cat is None or found.node_cat.size(1) != levels - 1:
        raise DataError(f"the cache does not hold {levels - 1} clusterings of {graphs.name}")
    graph = torch.repeat_interleave(found.sizes)  # [N]
    for column, size in zip(found.node_cat.long().T, found.cat_sizes, strict=True):
        count = torch.zeros(len(found), dtype=torch.int64)
        count.scatter_reduce_(0, graph, column + 1, "amax")
        if (graph * size + column).unique().numel() != int(count.sum()):
            raise DataError(f"the cached clusters of {graphs.name} have gaps")


def _write(path: Path, structure: str, graphs: PackedConstants, table: Ints) -> None:
    sizes = tuple(int(column.max(initial=0)) + 1 for column in table.T)
    clusters = PackedGraphs(
        name=structure,
        node_ptr=graphs.node_ptr.cpu(),
        row_ptr=torch.zeros(graphs.num_nodes + 1, dtype=torch.int64),
        col=torch.zeros(0, dtype=torch.uint8),
        node_cat=torch.from_numpy(table).to(small_int(max(sizes) - 1)),
        cat_sizes=sizes,
    )
    try:
        save(clusters, path)
    except DataError as error:
        _log.warning("not cached: %s", error)


def chain_of(graphs: PackedConstants, levels: int) -> Chain:
    """The chain of a set, where the set lies; its copies on other devices share what was made."""
    home, here = ((graphs.digest, levels, d) for d in (torch.device("cpu"), graphs.device))
    if here not in _made:
        chain = _made.get(home) or _remember(home, cached_chain(graphs, levels))
        if here != home:
            _remember(here, tuple(level.to(graphs.device) for level in chain))
    return _made[here]


def _remember(key: tuple[str, int, torch.device], chain: Chain) -> Chain:
    """In place of the oldest, where there are many."""
    if len(_made) == MOST:
        del _made[next(iter(_made))]
    _made[key] = chain
    return chain
