"""The paper's published scores of methods on sets, to stand beside ours."""

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Published(NamedTuple):
    mean: float
    std: float | None = None
    best_or_comparable: bool | None = None
    """Whether the paper prints it bold; None where it marks nothing."""


@cache
def _tables() -> dict[str, Any]:
    return json.loads(files("gmpool.report").joinpath("paper.json").read_text("utf-8"))


def published(dataset: str, method: str, part: str = "test") -> Published | None:
    """Mean and deviation over ten seeds, or None where the paper has no number.

    part: "test", "valid", "ablation" (by the name of the line, without deviations) or
    "leaderboard".
    """
    value = _tables()[part].get(method, {}).get(dataset)
    return None if value is None else Published(*value)


def method_name(method: str) -> str:
    """What the paper calls a method; its own name where the paper does not have it."""
    return str(_tables()["methods"].get(method, method))


def method_rank(method: str) -> int:
    """Where a method stands in the paper's order; those it does not have come last."""
    order = list(_tables()["methods"])
    return order.index(method) if method in order else len(order)


def published_count(method: str, part: str = "test") -> str | None:
    """On how many sets the paper finds a method best or comparable, such as "10/10"."""
    return _tables()["best_or_comparable_counts"].get(part, {}).get(method)


def published_method(label: str, method: str, part: str, *, changed: bool) -> str | None:
    """By which name `published` knows a line of a plan, or None where the paper does not have it.

    A label that the paper uses decides. Otherwise the method does, unless it is changed: a method
    with options of its own is not what the paper measured.
    """
    ours = {name.lower(): key for key, name in _tables()["methods"].items()}
    known = {key.lower(): key for key in _tables()[part]}
    for name in (label.lower(), ours.get(label.lower(), ""), "" if changed else method):
        if name in known:
            return known[name]
    return None
