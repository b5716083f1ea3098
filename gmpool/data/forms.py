"""What a packed set is made of and what it becomes: files, PyG, NetworkX, tables of molecules.

Each form has a module of its own, imported when it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

    from gmpool.data.packed import PackedGraphs

PathLike = str | os.PathLike[str]


class OtherForms:
    """The part of PackedGraphs that reads and writes."""

    def save(self, path: PathLike) -> None:
        """Writes one safetensors file, all or nothing."""
        from gmpool.data import packed_file as store

        store.write(cast("PackedGraphs", self), path)

    @classmethod
    def load(cls, path: PathLike, verify: bool = True) -> PackedGraphs:
        """Memory-maps a file made by ``save``; ``verify`` recomputes its digest."""
        from gmpool.data import packed_file as store

        return store.read(path, verify=verify)[0]

    @classmethod
    def from_tu(cls, path: PathLike, **options: Any) -> PackedGraphs:
        """A TU folder or zip; options as in :func:`gmpool.data.sources.tu.read_tu`."""
        from gmpool.data.sources.tu import read_tu

        return read_tu(path, **options)

    @classmethod
    def from_smiles(cls, smiles: Sequence[str], y: Any = None, **options: Any) -> PackedGraphs:
        """Molecules; options as in :func:`gmpool.data.sources.molecules.from_smiles`."""
        from gmpool.data.sources.molecules import from_smiles

        return from_smiles(smiles, y, **options)

    @classmethod
    def from_csv(cls, path: PathLike, **options: Any) -> PackedGraphs:
        """A table of SMILES; options as in :func:`gmpool.data.sources.table.read_csv`."""
        from gmpool.data.sources.table import read_csv

        return read_csv(path, **options)[0]

    @classmethod
    def from_pyg(cls, graphs: Sequence[Data], **options: Any) -> PackedGraphs:
        """PyG ``Data`` objects; options as in :func:`gmpool.data.sources.pyg.from_pyg`."""
        from gmpool.data.sources.pyg import from_pyg

        return from_pyg(graphs, **options)

    def to_pyg(self, *, one_hot: bool = True) -> list[Data]:
        """One PyG ``Data`` per graph; see :func:`gmpool.data.sources.pyg.to_pyg`."""
        from gmpool.data.sources.pyg import to_pyg

        return to_pyg(cast("PackedGraphs", self), one_hot=one_hot)

    @classmethod
    def from_networkx(cls, graphs: Sequence[nx.Graph], **options: Any) -> PackedGraphs:
        """NetworkX graphs; options as in :mod:`gmpool.data.sources.networkx_graphs`."""
        from gmpool.data.sources.networkx_graphs import from_networkx

        return from_networkx(graphs, **options)

    def to_networkx(self) -> list[nx.Graph]:
        """One NetworkX graph each; see :func:`gmpool.data.sources.networkx_graphs.to_networkx`."""
        from gmpool.data.sources.networkx_graphs import to_networkx

        return to_networkx(cast("PackedGraphs", self))
