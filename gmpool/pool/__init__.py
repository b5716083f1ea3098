"""Pooling methods, one file each, found by lying here; gmt.py is the one to read first."""

from gmpool.pool.method import METHODS, method_options, method_summary

__all__ = ["METHODS", "method_options", "method_summary"]
