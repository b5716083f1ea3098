"""A packed set that is put together from parts on disk: it may be larger than memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from gmpool.data.compressed_rows import small_int
from gmpool.data.packed import PackedGraphs

_GROWN = ("node_cat", "node_float", "edge_cat", "edge_float", "graph_float")
"""Fields whose rows follow each other as they are."""
AT_A_TIME = 2**24


class PackedParts:
    """Files in a folder that grow with every part; in a ``with`` block.

    Parts have the same features. Sources of edges are kept wide until the largest graph is known.
    """

    def __init__(self, folder: Path, *, names: bool = False) -> None:
        self.folder = folder
        self.names: list[str] | None = [] if names else None
        self._files: dict[str, BinaryIO] = {}
        self._like: PackedGraphs | None = None
        self._rows: dict[str, int] = {}
        self.graphs = self.nodes = self.edges = self._largest = 0

    def __enter__(self) -> PackedParts:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, part: PackedGraphs) -> None:
        if self._like is None:
            self._like = part.select([])
        self._write("node_ptr", part.node_ptr[1:] + self.nodes)
        self._write("row_ptr", part.row_ptr[1:] + self.edges)
        self._write("col", part.col.to(torch.int32))
        for name in _GROWN:
            values = getattr(part, name)
            if values is not None:
                self._write(name, values)
        if self.names is not None and part.graph_names is not None:
            self.names += part.graph_names
        self.graphs += part.num_graphs
        self.nodes += part.num_nodes
        self.edges += part.num_edges
        if part.num_graphs:
            self._largest = max(self._largest, int(part.sizes.max()))

    def _write(self, name: str, rows: Tensor) -> None:
        if name not in self._files:
            self._files[name] = (self.folder / name).open("wb")
            self._rows[name] = 0
            if name.endswith("_ptr"):
                rows = torch.cat([rows.new_zeros(1), rows])
        if rows.numel():
            self._files[name].write(rows.contiguous().view(-1).numpy().data)
        self._rows[name] += rows.shape[0]

    def together(self, name: str, labels: Mapping[str, Any]) -> PackedGraphs:
        """All graphs, as views of the files; they are read while the folder is there."""
        assert self._like is not None, "a set of no parts"
        for file in self._files.values():
            file.flush()
        found: dict[str, Any] = {}
        for field, like in self._like.tensors().items():
            if field in self._rows:
                kind = torch.int32 if field == "col" else like.dtype
                found[field] = self._mapped(field, kind, like.shape[1:])
        found["col"] = self._narrow(found["col"])
        names = None if self.names is None else tuple(self.names)
        return replace(self._like, name=name, graph_names=names, **found, **labels)

    def _mapped(self, name: str, kind: torch.dtype, of_row: tuple[int, ...]) -> Tensor:
        count = self._rows[name]
        for width in of_row:
            count *= width
        if not count:
            return torch.empty(0, *of_row, dtype=kind)
        flat = torch.from_file(str(self.folder / name), size=count, dtype=kind)
        return flat.view(-1, *of_row)

    def _narrow(self, col: Tensor) -> Tensor:
        """In the type that `pack` takes."""
        kind = small_int(max(self._largest - 1, 0))
        path = self.folder / "narrow"
        with path.open("wb") as file:
            for chunk in col.split(AT_A_TIME):
                if chunk.numel():
                    file.write(chunk.to(kind).numpy().data)
        self._rows["narrow"] = col.numel()
        return self._mapped("narrow", kind, ())
