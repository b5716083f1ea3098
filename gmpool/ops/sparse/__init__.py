"""spmm and sddmm on a fixed sparsity pattern."""

from gmpool.ops.sparse.operator import sddmm, spmm
from gmpool.ops.sparse.pattern import Pattern

__all__ = ["Pattern", "sddmm", "spmm"]
