"""A user's own small set on disk."""

from __future__ import annotations

from pathlib import Path

from small_sets import rings_and_paths


def write_set(folder: Path, count: int = 24, name: str = "SHAPES") -> Path:
    """Rings and paths as a TU folder; without features of nodes, degrees tell them apart."""
    graphs = rings_and_paths(count)
    edges, owner, start = [], [], 0
    for number, graph in enumerate(graphs, start=1):
        edges += [f"{a + start + 1}, {b + start + 1}" for a, b in graph.edge_index.T.tolist()]
        owner += [str(number)] * graph.num_nodes
        start += graph.num_nodes
    labels = [str(int(graph.y)) for graph in graphs]
    folder.mkdir(parents=True)
    for part, lines in {"A": edges, "graph_indicator": owner, "graph_labels": labels}.items():
        (folder / f"{name}_{part}.txt").write_text("\n".join(lines) + "\n")
    return folder
