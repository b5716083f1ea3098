"""A small set in the TU text format."""

from __future__ import annotations

from pathlib import Path


def write_tu(folder: Path, name: str, *, graphs: int, nodes: int) -> Path:
    """Paths of ``nodes`` nodes each, of two classes in turn."""
    folder.mkdir(parents=True)
    edges = [(g * nodes + i, g * nodes + i + 1) for g in range(graphs) for i in range(1, nodes)]
    texts = {
        "A": "".join(f"{a}, {b}\n{b}, {a}\n" for a, b in edges),
        "graph_indicator": "".join(f"{g}\n" * nodes for g in range(1, graphs + 1)),
        "graph_labels": "".join(f"{g % 2}\n" for g in range(graphs)),
    }
    for part, text in texts.items():
        (folder / f"{name}_{part}.txt").write_text(text)
    return folder
