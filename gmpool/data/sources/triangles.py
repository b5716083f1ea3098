"""Undirected graphs as bits of their upper triangles: how COLLAB fits into 1.4 MB."""

import zipfile
import zlib

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gmpool.atomic_files import PathLike
from gmpool.data.compressed_rows import small_int
from gmpool.data.packed import PackedGraphs
from gmpool.errors import DataError


def read_triangles(path: PathLike, name: str) -> PackedGraphs:
    """Reads undirected graphs from an npz of adjacency bits.

    ``num_nodes`` [G], ``y`` [G] from 0, and ``adj_bits``: the strict upper triangles of all
    adjacency matrices, row by row, one after another, packed by ``np.packbits``. Degree is the node
    feature. Classes are named from 1, as in the text files of the same set.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            sizes = archive["num_nodes"].astype(np.int64)
            y, bits = archive["y"].astype(np.int64), archive["adj_bits"]
    except (OSError, LookupError, ValueError, TypeError, EOFError, RuntimeError,
            zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
        raise DataError(f"{path}: not a readable file of packed triangles ({error})") from error
    flat = all(part.ndim == 1 for part in (sizes, y, bits)) and bits.dtype == np.uint8
    if not flat or not len(y) == len(sizes) > 0 or not 0 <= y.min() <= y.max() < len(y):
        raise DataError(f"{path}: y does not fit num_nodes; the file is damaged")
    # In floating point no product wraps.
    fits = sizes.min() >= 0 and (sizes * (sizes - 1.0) / 2).sum() <= 8.0 * len(bits)
    if not fits or len(bits) != -(-int((sizes * (sizes - 1) // 2).sum()) // 8):
        raise DataError(f"{path}: adj_bits does not fit num_nodes; the file is damaged")
    largest = int(sizes.max())
    dtype = small_int(largest - 1)
    cols: list[Tensor] = []
    degrees: list[NDArray[np.int64]] = []
    start = 0  # in bits
    for n in sizes.tolist():
        count = n * (n - 1) // 2
        chunk = np.unpackbits(bits[start // 8 : (start + count + 7) // 8])
        dense = np.zeros((n, n), dtype=bool)
        dense[np.triu_indices(n, 1)] = chunk[start % 8 : start % 8 + count]
        dense |= dense.T
        cols.append(torch.from_numpy(dense.nonzero()[1]).to(dtype))
        degrees.append(dense.sum(1))
        start += count
    node_ptr = torch.from_numpy(np.concatenate([[0], sizes.cumsum()]))
    row_ptr = torch.from_numpy(np.concatenate([[0], np.concatenate(degrees).cumsum()]))
    graphs = PackedGraphs(
        name=name,
        node_ptr=node_ptr,
        row_ptr=row_ptr,
        col=torch.cat(cols),
        y=torch.from_numpy(y),
        task="multiclass",
        class_names=tuple(str(c + 1) for c in range(int(y.max()) + 1)),
        task_names=("label",),
    )
    return graphs.with_degree_features().validate()
