"""Graph multiset pooling: exact, padding-free readouts for graphs, and a way to compare them."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gmpool.data import PackedGraphs
    from gmpool.engine.checkpoint import load_model
    from gmpool.estimators.classifier import GraphClassifier
    from gmpool.estimators.regressor import GraphRegressor
    from gmpool.graph import Edges, Segments
    from gmpool.pool.blocks import GMPool, SelfAtt
    from gmpool.pool.gmt import GraphMultisetTransformer, seeds_for
    from gmpool.pool.method import Pooled

__version__ = "0.1.0"

__all__ = [
    "Edges",
    "GMPool",
    "GraphClassifier",
    "GraphMultisetTransformer",
    "GraphRegressor",
    "PackedGraphs",
    "Pooled",
    "Segments",
    "SelfAtt",
    "load_model",
    "seeds_for",
]

_HOMES = {
    "Edges": "gmpool.graph",
    "GMPool": "gmpool.pool.blocks",
    "GraphClassifier": "gmpool.estimators.classifier",
    "GraphMultisetTransformer": "gmpool.pool.gmt",
    "GraphRegressor": "gmpool.estimators.regressor",
    "PackedGraphs": "gmpool.data",
    "Pooled": "gmpool.pool.method",
    "Segments": "gmpool.graph",
    "SelfAtt": "gmpool.pool.blocks",
    "load_model": "gmpool.engine.checkpoint",
    "seeds_for": "gmpool.pool.gmt",
}


def __getattr__(name: str) -> Any:
    """What the package offers is imported when it is first asked for, and so are its modules:
    torch takes seconds, and `gmpool --version` needs none of it."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if not name.startswith("_") and find_spec(f"gmpool.{name}") is not None:
        return import_module(f"gmpool.{name}")
    raise AttributeError(f"module 'gmpool' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
