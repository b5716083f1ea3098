"""What a file says of an estimator, beside its model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gmpool.errors import CheckpointError, UserError, WrongType


def folder_of(folder: Any) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise WrongType(f"the folder of a model is a path, got {type(folder).__name__}")
    if not os.fspath(folder):
        raise UserError("the folder of a model is empty; give its path, such as 'my-model'")
    return Path(folder)


def writable(kept: dict[str, Any]) -> dict[str, Any]:
    """The same; raises for what JSON cannot hold before anything is written."""
    for name, value in kept.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise CheckpointError(
                f"a file cannot hold the {name} of this estimator ({error}): give words or "
                "numbers, or keep it with pickle"
            ) from error
    return kept


def read_again(kept: Mapping[str, Any]) -> dict[str, Any]:
    """How new graphs are read. Files of before this was said have it among the parameters."""
    names = ("node_label", "node_features")
    found = kept.get("reads") or {
        **{name: kept["params"][name] for name in names},
        "node_categories": kept["categories"],
    }
    categories = found["node_categories"]
    return {
        **{name: found[name] for name in names},
        "node_categories": None if categories is None else [*map(hashable, categories)],
    }


def hashable(value: Any) -> Any:
    """JSON has lists for tuples."""
    return tuple(map(hashable, value)) if isinstance(value, list) else value
