"""The paper's published numbers (tables 1 and 8), for the column beside ours."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Published(NamedTuple):
    mean: float
    std: float
    best_or_comparable: bool


@cache
def _tables() -> dict[str, Any]:
    return json.loads(files("gmpool.report").joinpath("paper.json").read_text("utf-8"))


def published(dataset: str, method: str, part: str = "test") -> Published | None:
    """Mean and deviation over ten seeds, or None where the paper has no number."""
    value = _tables()[part].get(method, {}).get(dataset)
    return None if value is None else Published(*value)


def paper_name(method: str) -> str:
    """What the paper calls a method; our own name where it does not have it."""
    return _tables()["methods"].get(method, method)
