"""spmm and sddmm on a fixed sparsity pattern."""

from gmpool.ops.sparse.operator import sddmm, spmm
from gmpool.ops.sparse.pattern import Pattern
from gmpool.ops.sparse.reference import sddmm_reference, spmm_reference

__all__ = ["Pattern", "sddmm", "sddmm_reference", "spmm", "spmm_reference"]
