"""A package that is not ours, as far as Python can tell."""

from __future__ import annotations

from pathlib import Path


def an_entry_point(folder: Path, group: str, *lines: str) -> None:
    """What an installed distribution says of itself."""
    info = folder / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: other\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]), encoding="utf-8")
