"""collect, spread and match by PyTorch's operators: see operator.py for what they mean.

Small graphs go through embedding_bag; large graphs are one matrix product each, which reads Z once.
Which is cheaper is decided by counting operations.
"""

from __future__ import annotations

from types import ModuleType

from torch import Tensor

import gmpool.ops.grouped.embedding_bags as embedding_bags
import gmpool.ops.grouped.matrix_products as matrix_products
from gmpool.ops.segment import Segments

# Multiply-adds per graph above which one matrix product per graph beats embedding_bag, measured on
# two CPU cores: a product has a fixed cost of some 10 µs and then runs 3 × faster.
LARGE_GRAPH = 800_000


def collect(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """a [N, H, K], blocks [N, D_l] -> [H, B, K, D_l] each"""
    work = a.numel() * sum(z.shape[1] for z in blocks)
    return _cheaper(work, segments).collect(a, blocks, segments)


def spread(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """a [N, H, K], blocks [H, B, K, D_l] -> [N, D_l] each"""
    work = a.numel() * sum(o.shape[3] for o in blocks)
    return _cheaper(work, segments).spread(a, blocks, segments)


def match(zs: list[Tensor], os: list[Tensor], segments: Segments) -> Tensor:
    """zs [N, D_l], os [H, B, K, D_l] -> [N, H, K], summed over the blocks"""
    H, _, K, _ = os[0].shape
    work = H * K * sum(z.numel() for z in zs)
    return _cheaper(work, segments).match(zs, os, segments)


def _cheaper(multiply_adds: int, segments: Segments) -> ModuleType:
    large = multiply_adds > LARGE_GRAPH * max(segments.num_graphs, 1)
    return matrix_products if large else embedding_bags
