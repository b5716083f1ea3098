"""Pooling methods, one file each; gmt.py is the one to read first."""

from gmpool.pool import (  # noqa: F401  (registers the methods)
    asap,
    deepsets,
    diffpool,
    edgepool,
    gin,
    gmt_method,
    mean,
    mempool,
    mincut,
    sagpool,
    set2set,
    set_transformer,
    sortpool,
    structpool,
    topk,
)
from gmpool.pool.haarpool import method as haarpool  # noqa: F401
from gmpool.pool.method import METHODS, method_options, method_summary

__all__ = ["METHODS", "method_options", "method_summary"]
