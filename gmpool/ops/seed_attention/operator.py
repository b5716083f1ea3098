"""Seed attention: K learned seeds look at the nodes of each graph, keys and values absorbed.

Given Z [N, D] (the propagated features), M [D, H·K] (per head W^K_i Q_iᵀ, scaled) and the constant
score c [H·K] (Q_i · b^K_i, scaled):
    scores  s = Z M + c                     [N, H, K]
    A       softmax of s over the K seeds per node and head, or over the nodes per seed and head
    returns Aᵀ Z [H, B, K, D], Aᵀ 1 [H, B, K] and A, from which a head's output is
            (Aᵀ Z) W^V_i + (Aᵀ 1) b^V_i
No key or value is ever built per node. What is kept for the backward pass is Z and A: O(n·K).
Z comes as blocks of columns (one, or one per layer with jumping knowledge), so that nobody has to
copy them together and their gradients apart; Aᵀ Z comes back in the same blocks.

It is one operator with a fused backward, and R replicas with seeds of their own are one call of it:
M [R, D, H·K] and c [R, H·K], replica r having the r-th part of the rows and of the graphs. A
gradient that will itself be differentiated is composed of the operators of grouped/ and segment/
instead. On a GPU with Triton each pass is one kernel that makes A on the way; it is written to
memory only for those who ask for it. Which implementation serves is chosen once (choice.py).
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops import onnx_forms
from gmpool.ops.choice import implementation
from gmpool.ops.replicas import flat, lead, union_index
from gmpool.ops.seed_attention.choice import PYTORCH, Call, Gradients, Kept, choose, lse_rows
from gmpool.ops.seed_attention.pytorch import by_replica, differentiable_backward
from gmpool.ops.segment import Segments, segment_sum
from gmpool.ops.without_dispatcher import only_values, without_dispatcher

Attended = tuple[list[Tensor], Tensor, Tensor]


def seed_attention(
    blocks: list[Tensor],
    m: Tensor,
    c: Tensor,
    segments: Segments,
    num_heads: int,
    axis: str,
    *,
    want_a: bool = True,
) -> Attended:
    """(blocks of Aᵀ Z [H, B, K, D_l], Aᵀ 1 [H, B, K], A [N, H, K]).

    blocks: Z as columns [N, D_l]; m [D, H·K], c [H·K]
    want_a: without it A may come back empty, which on a GPU saves its memory.
    """
    if m.shape[1] == num_heads and axis == "seeds":
        return one_seed(blocks, segments, num_heads, want_a=want_a)
    path, heads = choose(blocks, num_heads, m.shape[1], axis)
    how = (segments.batch, segments.order, segments.ptr, heads, axis, want_a, path)
    if heads == num_heads:
        *pooled, mass, a, _ = _call(blocks[0], m[None], c[None], *how, *blocks[1:])
        return pooled, mass, a
    slots = heads * (m.shape[1] // num_heads)
    found = [
        _call(blocks[0], m_h[None], c_h[None], *how, *blocks[1:])
        for m_h, c_h in zip(m.split(slots, dim=1), c.split(slots), strict=True)
    ]
    *pooled, mass, a = zip(*(part[:-1] for part in found), strict=True)
    return [torch.cat(part) for part in pooled], torch.cat(mass), torch.cat(a, dim=1)


def one_seed(
    blocks: list[Tensor], segments: Segments, num_heads: int, *, want_a: bool = True
) -> Attended:
    """The same for one seed: a softmax over it is 1, pooling is a sum, and there are no scores."""
    H, B, z = num_heads, segments.num_graphs, blocks[0]
    sums = [segment_sum(z, segments)[None, :, None].expand(H, B, 1, -1) for z in blocks]
    mass = segments.counts.to(z.dtype)[None, :, None].expand(H, B, 1)
    return sums, mass, z.new_ones(z.shape[0] if want_a else 0, H, 1)


def _forward_values(
    blocks: list[Tensor], m: Tensor, c: Tensor, batch: Tensor, order: Tensor, ptr: Tensor,
    num_heads: int, axis: str, want_a: bool, path: str,
) -> list[Tensor]:  # fmt: skip
    """[*blocks of Aᵀ Z, Aᵀ 1, A, log Σ e^s]; the last is for the kernels' backward over nodes."""
    call = Call(blocks, m, c, Segments(batch, order, ptr), num_heads, axis, path)
    return _module(call).forward(call, want_a)


def _module(call: Call) -> Any:
    """Without nodes there is nothing to launch a kernel for."""
    by_pytorch = call.path == PYTORCH or call.blocks[0].shape[0] == 0
    return implementation("seed_attention", "pytorch" if by_pytorch else "triton")


_attend = torch.library.custom_op("gmpool::seed_attention", _forward_values, mutates_args=())


@_attend.register_fake
def _(blocks: list[Tensor], m: Tensor, c: Tensor, *rest: Any) -> list[Tensor]:
    _, _, ptr, H, axis, want_a, path = rest
    z, HK, B = blocks[0], m.shape[2], ptr.shape[0] - 1
    pooled = [z.new_empty(H, B, HK // H, block.shape[1]) for block in blocks]
    a = z.new_empty(z.shape[0] if want_a or path == PYTORCH else 0, H, HK // H)
    lse = z.new_empty(lse_rows(path, axis, B), HK, dtype=torch.float32)
    return [*pooled, z.new_empty(H, B, HK // H), a, lse]


def _save(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    blocks, m, c, batch, order, ptr, _, ctx.axis, _, ctx.path = inputs
    *pooled, _, a, lse = output
    # Only the kernels' backward over nodes reads Aᵀ Z again.
    kept = pooled if lse.shape[0] else []
    ctx.num_kept = len(kept)
    ctx.save_for_backward(m, c, a, lse, batch, order, ptr, *blocks, *kept)


def _backward(ctx: Any, grads: list[Tensor]) -> tuple[Any, ...]:
    m, c, a, lse, batch, order, ptr, *rest = ctx.saved_tensors
    num_blocks = len(rest) - ctx.num_kept
    blocks, pooled = rest[:num_blocks], rest[num_blocks:]
    *g, g_mass, g_a, _ = grads
    how, kept = (batch, order, ptr, ctx.axis, ctx.path), (a, pooled, lse)
    if torch.is_grad_enabled():  # only when the gradient itself will be differentiated
        call = Call(blocks, m, c, Segments(batch, order, ptr), g_mass.shape[0], ctx.axis, ctx.path)
        *dz, dm, dc = differentiable_backward(call, Kept(*kept), Gradients(g, g_mass, g_a))
    else:
        backward: Any = _backward_values if only_values(m) else _attend_backward
        *dz, dm, dc = backward(blocks, m, c, *kept, g, g_mass, g_a, *how)
    return dz, dm, dc, *[None] * 7


def _backward_values(
    blocks: list[Tensor], m: Tensor, c: Tensor, a: Tensor, pooled: list[Tensor], lse: Tensor,
    g: list[Tensor], g_mass: Tensor, g_a: Tensor, batch: Tensor, order: Tensor, ptr: Tensor,
    axis: str, path: str,
) -> list[Tensor]:  # fmt: skip
    """[*∂z, ∂m, ∂c]"""
    call = Call(blocks, m, c, Segments(batch, order, ptr), g_mass.shape[0], axis, path)
    return _module(call).backward(call, Kept(a, pooled, lse), Gradients(g, g_mass, g_a))


_attend_backward = torch.library.custom_op(
    "gmpool::seed_attention_backward", _backward_values, mutates_args=()
)


@_attend_backward.register_fake
def _(blocks: list[Tensor], m: Tensor, c: Tensor, *rest: Any) -> list[Tensor]:
    return [*(z.new_empty(z.shape) for z in blocks), m.new_empty(m.shape), c.new_empty(c.shape)]


_attend.register_autograd(_backward, setup_context=_save)


# An autograd.Function knows tensors that are arguments, not those in lists: blocks after the first
# come last.


def _listed(z: Tensor, *rest: Any) -> tuple[Any, ...]:
    return [z, *rest[9:]], *rest[:9]


def _save_flat(ctx: Any, args: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    _save(ctx, _listed(*args), list(output))


def _backward_flat(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
    dz, *rest = _backward(ctx, list(grads))
    return dz[0], *rest, *dz[1:]


def _flat_kernel(*args: Any) -> tuple[Tensor, ...]:
    return tuple(_forward_values(*_listed(*args)))


_call = without_dispatcher(
    lambda *args: _attend(*_listed(*args)),
    _flat_kernel,
    _save_flat,
    _backward_flat,
    onnx_forms.seed_attention,
)


@_attend.register_vmap
def _(info: Any, in_dims: Any, blocks: list[Tensor], m: Tensor, c: Tensor, *rest: Any) -> Any:
    # Rows, graphs, M and c of the replicas one after the other: the same operator again.
    R, (batch, order, ptr, *options) = info.batch_size, rest
    rows = [lead(z, dim, R) for z, dim in zip(blocks, in_dims[0], strict=True)]  # [R, N, D_l]
    N, B = rows[0].shape[1], lead(ptr, in_dims[5], R).shape[1] - 1
    index = union_index(R, in_dims[3:6], N, B, (batch, order, ptr))
    zs, seeds = [z.flatten(0, 1) for z in rows], (flat(m, in_dims[1], R), flat(c, in_dims[2], R))
    *per_graph, a, lse = _attend(zs, *seeds, *index, *options)
    outputs = [*(t.unflatten(1, (R, B)) for t in per_graph), by_replica(a, R), by_replica(lse, R)]
    return outputs, [*[1] * len(per_graph), 0, 0]
