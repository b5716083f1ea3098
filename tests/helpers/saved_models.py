"""Saved models that somebody has changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file, save_file


def description_of(folder: Path) -> dict[str, Any]:
    with safe_open(folder / "model.safetensors", "pt") as file:
        return json.loads(file.metadata()["gmpool"])


def rewrite(
    folder: Path,
    change: Callable[[dict[str, Any]], object] = lambda _: None,
    weights: dict[str, Any] | None = None,
    text: str | None = None,
) -> None:
    """With another description, given as a change or as it stands in the file, or other weights."""
    path = folder / "model.safetensors"
    values = description_of(folder)
    change(values)
    said = json.dumps(values) if text is None else text
    save_file(load_file(path) if weights is None else weights, path, {"gmpool": said})


def as_format_3(folder: Path, **changes: Any) -> None:
    """As two files, which older versions wrote."""
    path = folder / "model.safetensors"
    values = {**description_of(folder), "format": 3, **changes}
    del values["digest"]
    save_file(load_file(path), path)
    (folder / "model.json").write_text(json.dumps({k: v for k, v in values.items() if v}))
