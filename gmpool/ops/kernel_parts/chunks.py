"""How a ragged batch is cut into chunks of at most CH nodes, and sums over several of them.

Graph b owns the chunks ptr[b] // CH + b … ptr[b+1] // CH + b: at least one, and at most one more
than its ⌈n/CH⌉, which then has no nodes. So a graph's chunks are known without a sum over the
graphs before it, there are N // CH + B of them whatever the sizes, and the graph after a chunk is
the same or the next. Each program walks along a run of neighbouring chunks. A sum that a run's
border cuts in two is left in parts: row 2p + 1 for what begins in program p and ends in a later
one, row 2p for what began before; they are added in order afterwards.
"""

# Triton reads a kernel's annotations itself, and is an optional package without types.
# mypy: allow-untyped-defs, disable-error-code="import-untyped, import-not-found"
from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from gmpool.ops.kernel_parts.launch import num_programs

MERGE_WIDTH, MERGE_ROWS, FEW_PARTS = 128, 32, 4
MANY_PARTS, MANY_ROWS, NARROW = 16, 512, 16
"""Where a sum has many parts, a program of a merge adds many at once, of few columns."""


class Plan(NamedTuple):
    """Grid of a walk along all chunks; every number follows from shapes."""

    chunk_size: int  # CH: nodes of a chunk
    chunks: int
    run: int  # chunks of one program
    programs: int

    @classmethod
    def of(
        cls, num_nodes: int, num_graphs: int, chunk_size: int, device: torch.device, per_sm: int
    ) -> Plan:
        chunks = num_nodes // chunk_size + num_graphs
        run = max(1, triton.cdiv(chunks, num_programs(device, per_sm)))
        return cls(chunk_size, chunks, run, triton.cdiv(chunks, run))

    def merges(self, groups: int) -> tuple[int, bool]:
        """(programs of a merge, whether each looks after a group of graphs, or after a border)"""
        borders = self.programs - 1
        return min(groups, borders), groups <= borders


@triton.jit
def first_chunk(ptr, b, CH: tl.constexpr):
    return tl.load(ptr + b).to(tl.int64) // CH + b


@triton.jit
def last_chunk(start, end, b, CH: tl.constexpr):
    """The last chunk that graph b needs; an empty graph needs one, too."""
    return start // CH + b + tl.maximum(tl.cdiv(end - start, CH), 1) - 1


@triton.jit
def graph_at(ptr, B, chunk, CH: tl.constexpr):
    """The graph that owns a chunk: the last one whose first chunk is not after it."""
    low = chunk * 0
    high = low + B - 1
    while low < high:
        middle = (low + high + 1) // 2
        inside = first_chunk(ptr, middle, CH) <= chunk
        low = tl.where(inside, middle, low)
        high = tl.where(inside, high, middle - 1)
    return low


@triton.jit
def place_of(start, b, chunk, CH: tl.constexpr):
    """Where among the ordered nodes a chunk begins."""
    return start + (chunk - start // CH - b) * CH


@triton.jit
def chunk_at(ptr, order, b, chunk, CH: tl.constexpr):
    """(start and end of graph b, place of the chunk, its nodes, which of them there are)"""
    start, end = tl.load(ptr + b).to(tl.int64), tl.load(ptr + b + 1).to(tl.int64)
    at = place_of(start, b, chunk, CH)
    place = at + tl.arange(0, CH)
    inside = place < end
    return start, end, at, tl.load(order + place, mask=inside, other=0).to(tl.int64), inside


@triton.jit
def graph_after(ptr, B, b, start, end, chunk, CH: tl.constexpr):
    """(graph that owns a chunk, its start and end), from those of the chunk before."""
    another = chunk >= end // CH + b + 1
    start = tl.where(another, end, start)
    b += another.to(tl.int32)
    return b, start, tl.load(ptr + b + 1, mask=b < B, other=0).to(tl.int64)


@triton.jit
def cut_rows(ptr, B, group_size, run, CH: tl.constexpr, BY_GROUP: tl.constexpr):
    """What program i of a merge puts together: group i of graphs where there are fewer groups than
    borders, else the group that lies across the border between run i and the next and begins in i.

    (the group, the run where it begins, its number of parts: none unless there are several)
    """
    i = tl.program_id(0)
    group = i
    if not BY_GROUP:
        group = graph_at(ptr, B, (i + 1) * run - 1, CH) // group_size
    begin = first_chunk(ptr, group * group_size, CH)
    b = (group + 1) * group_size - 1
    start, end = tl.load(ptr + b).to(tl.int64), tl.load(ptr + b + 1).to(tl.int64)
    p, last = begin // run, last_chunk(start, end, b, CH) // run
    mine = last > p
    if not BY_GROUP:
        mine = mine & (p == i)
    return group, p, tl.where(mine, last - p + 1, 0)


@triton.jit
def sum_of_parts(
    part, outer, inner, inside, p, count, parts, INNER: tl.constexpr, ROWS: tl.constexpr,
    BW: tl.constexpr,
):  # fmt: skip
    """A sum that begins in run p, ROWS parts at a time. [BW]"""
    acc = tl.zeros([ROWS, BW], tl.float32)
    for step in range(tl.cdiv(count, ROWS)):
        j = step * ROWS + tl.arange(0, ROWS)
        row = 2 * (p + j) + (j == 0)
        at = (outer[None, :] * parts + row[:, None]) * INNER + inner[None, :]
        acc += tl.load(part + at, mask=(j < count)[:, None] & inside[None, :], other=0.0)
    return tl.sum(acc, 0)


@triton.jit(do_not_specialize=["B", "group_size", "run", "parts"])
def chunks_merge_sums(
    several, outs, ptr, B, group_size, run, parts,
    WIDTHS: tl.constexpr, INNERS: tl.constexpr, FIRSTS: tl.constexpr, CH: tl.constexpr,
    BY_GROUP: tl.constexpr, FEW: tl.constexpr, ROWS: tl.constexpr, BW: tl.constexpr,
):  # fmt: skip
    group, p, count = cut_rows(ptr, B, group_size, run, CH, BY_GROUP)
    if count > 0:
        for i in tl.static_range(len(WIDTHS)):
            begin = (tl.program_id(1) - FIRSTS[i]) * BW
            if (begin >= 0) & (begin < WIDTHS[i]):
                w = begin + tl.arange(0, BW)
                inside = w < WIDTHS[i]
                outer, inner = (w // INNERS[i]).to(tl.int64), w % INNERS[i]
                if count <= FEW:
                    total = sum_of_parts(
                        several[i], outer, inner, inside, p, count, parts, INNERS[i], FEW, BW
                    )
                else:
                    total = sum_of_parts(
                        several[i], outer, inner, inside, p, count, parts, INNERS[i], ROWS, BW
                    )
                at = (outer * (B // group_size) + group) * INNERS[i] + inner
                tl.store(outs[i] + at, total.to(outs[i].dtype.element_ty), mask=inside)


def merge_sums(
    parts: list[Tensor], outs: list[Tensor], ptr: Tensor, plan: Plan, group_size: int = 1
) -> None:
    """Write to `outs` what the borders of runs cut.

    parts [O, 2P, I...], outs [O, groups, I...]: a group is `group_size` graphs in a row.
    """
    pairs = [(part, out) for part, out in zip(parts, outs, strict=True) if out.numel()]
    if plan.programs < 2 or not pairs:
        return
    B = ptr.shape[0] - 1
    groups = B // group_size
    merges, by_group = plan.merges(groups)
    many = plan.programs > MANY_PARTS * groups
    rows, width = (MANY_ROWS, NARROW) if many else (MERGE_ROWS, MERGE_WIDTH)
    inner = tuple(out[0, 0].numel() for _, out in pairs)
    columns = tuple(out.shape[0] * n for (_, out), n in zip(pairs, inner, strict=True))
    blocks = [triton.cdiv(n, width) for n in columns]
    chunks_merge_sums[(merges, sum(blocks))](
        tuple(part for part, _ in pairs), tuple(out for _, out in pairs), ptr, B,
        group_size, plan.run, 2 * plan.programs, columns, inner,
        tuple(accumulate([0, *blocks[:-1]])), plan.chunk_size, by_group, FEW_PARTS, rows, width,
    )  # fmt: skip
