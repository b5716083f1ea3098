"""Pooling methods by name: what `--method` can say.

A method is a module built as `Method(in_dim, hidden_dim, mean_nodes=…, **options)`, with an
attribute `out_dim` and

    forward(x, edges, segments, *, edge_attr=None, batch_size=None) -> Pooled

Its keyword-only constructor arguments, other than mean_nodes, are its options.
"""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn

from gmpool.registry import Registry

METHODS: Registry[type[nn.Module]] = Registry("method")


def method_options(name: str) -> dict[str, Any]:
    """The options of a method and their defaults."""
    parameters = inspect.signature(METHODS[name].__init__).parameters.values()
    return {
        p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "mean_nodes"
    }


def method_summary(name: str) -> str:
    """The first line of its docstring."""
    return (METHODS[name].__doc__ or "").strip().splitlines()[0]
