"""Pooling methods, one file each; gmt.py is the one to read first."""

from gmpool.pool import gmt_method, mean  # noqa: F401  (registers the methods)
from gmpool.pool.method import METHODS, method_options, method_summary

__all__ = ["METHODS", "method_options", "method_summary"]
