"""Products of a ragged [N, ·] tensor with per-graph [H, B, K, D] tensors, graph by graph.

With node i in graph b(i), and H heads that share the rows z_i:
    collect  o_hbk = Σ_{i in b} a_ihk z_i            [H, B, K, D]   Aᵀ Z    (pooling)
    spread   z_i   = Σ_hk a_ihk o_{h b(i) k}         [N, D]         A O     (unpooling)
    match    s_ihk = z_i · o_{h b(i) k}              [N, H, K]      Z Oᵀ    (scores)
The three are closed under differentiation: the derivatives of each are the other two.
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.ops import onnx_forms
from gmpool.ops.choice import serving
from gmpool.ops.replicas import flat, lead, union_index
from gmpool.ops.segment import Segments
from gmpool.ops.wide import wide
from gmpool.ops.without_dispatcher import save_inputs, without_dispatcher


def collect(a: Tensor, z: Tensor, segments: Segments) -> Tensor:
    """Aᵀ Z per graph. a [N, H, K], z [N, D] -> [H, B, K, D]"""
    return _call_collect(a, z, segments.batch, segments.order, segments.ptr)


def spread(a: Tensor, o: Tensor, segments: Segments) -> Tensor:
    """A O per graph. a [N, H, K], o [H, B, K, D] -> [N, D]"""
    return _call_spread(a, o, segments.batch, segments.order, segments.ptr)


def match(z: Tensor, o: Tensor, segments: Segments) -> Tensor:
    """Z Oᵀ per graph. z [N, D], o [H, B, K, D] -> [N, H, K]"""
    return _call_match(z, o, segments.batch, segments.order, segments.ptr)


def collect_blocks(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """Aᵀ Z for each block of columns of Z, of values alone; where to find what is worked out once
    for all blocks."""
    N, H, K = a.shape
    if N == 0:
        return [z.new_zeros(H, segments.num_graphs, K, z.shape[1]) for z in blocks]
    return serving(blocks[0], "grouped").collect(a, blocks, segments)


def spread_blocks(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """A O for each block of columns of O, of values alone."""
    if a.numel() == 0:
        return [o.new_zeros(a.shape[0], o.shape[3]) for o in blocks]
    return serving(blocks[0], "grouped").spread(a, blocks, segments)


def match_blocks(zs: list[Tensor], os: list[Tensor], segments: Segments) -> Tensor:
    """Z Oᵀ, summed over blocks of columns of both, of values alone."""
    N, (H, _, K, _) = zs[0].shape[0], os[0].shape
    if N * H * K == 0:
        return zs[0].new_zeros(N, H, K)
    return serving(zs[0], "grouped").match(zs, os, segments)


def _collect_alone(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return collect_blocks(wide(a), [wide(z)], Segments(batch, order, ptr))[0].to(z.dtype)


def _spread_alone(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return spread_blocks(wide(a), [wide(o)], Segments(batch, order, ptr))[0].to(o.dtype)


def _match_alone(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return match_blocks([wide(z)], [wide(o)], Segments(batch, order, ptr)).to(z.dtype)


_collect = torch.library.custom_op("gmpool::collect", _collect_alone, mutates_args=())


@_collect.register_fake
def _(a: Tensor, z: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return z.new_empty(a.shape[1], ptr.shape[0] - 1, a.shape[2], z.shape[1])


_spread = torch.library.custom_op("gmpool::spread", _spread_alone, mutates_args=())


@_spread.register_fake
def _(a: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return o.new_empty(a.shape[0], o.shape[3])


_match = torch.library.custom_op("gmpool::match", _match_alone, mutates_args=())


@_match.register_fake
def _(z: Tensor, o: Tensor, batch: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
    return z.new_empty(z.shape[0], o.shape[0], o.shape[2])


def _collect_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, z, *index = ctx.saved_tensors
    da = _call_match(z, grad, *index).to(a.dtype) if ctx.needs_input_grad[0] else None
    dz = _call_spread(a, grad, *index) if ctx.needs_input_grad[1] else None
    return da, dz, None, None, None


def _spread_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, o, *index = ctx.saved_tensors
    da = _call_match(grad, o, *index).to(a.dtype) if ctx.needs_input_grad[0] else None
    do = _call_collect(a, grad, *index) if ctx.needs_input_grad[1] else None
    return da, do, None, None, None


def _match_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    z, o, *index = ctx.saved_tensors
    dz = _call_spread(grad, o, *index) if ctx.needs_input_grad[0] else None
    do = _call_collect(grad, z, *index) if ctx.needs_input_grad[1] else None
    return dz, do, None, None, None


_collect.register_autograd(_collect_backward, setup_context=save_inputs)
_call_collect = without_dispatcher(
    _collect, _collect_alone, save_inputs, _collect_backward, onnx_forms.collect
)
_spread.register_autograd(_spread_backward, setup_context=save_inputs)
_call_spread = without_dispatcher(
    _spread, _spread_alone, save_inputs, _spread_backward, onnx_forms.spread
)
_match.register_autograd(_match_backward, setup_context=save_inputs)
_call_match = without_dispatcher(
    _match, _match_alone, save_inputs, _match_backward, onnx_forms.match
)


def _graphs_side_by_side(o: Tensor, dim: int | None, R: int) -> Tensor:
    """[H, B, K, D] of each replica -> [H, R·B, K, D]"""
    return lead(o, dim, R).transpose(0, 1).flatten(1, 2)


@_collect.register_vmap
def _(info: Any, in_dims: Any, a: Tensor, z: Tensor, *index: Tensor) -> tuple[Tensor, int]:
    R = info.batch_size
    N, B = lead(a, in_dims[0], R).shape[1], lead(index[2], in_dims[4], R).shape[1] - 1
    union = union_index(R, in_dims[2:], N, B, index)
    out = _collect(flat(a, in_dims[0], R), flat(z, in_dims[1], R), *union)
    return out.unflatten(1, (R, B)), 1


def _per_node_vmap(op: Any) -> Any:
    """spread and match: both take a per-node and a per-graph tensor and give a per-node one."""

    def rule(info: Any, in_dims: Any, rows: Tensor, o: Tensor, *index: Tensor) -> Any:
        R = info.batch_size
        N, B = lead(rows, in_dims[0], R).shape[1], lead(o, in_dims[1], R).shape[2]
        union = union_index(R, in_dims[2:], N, B, index)
        out = op(flat(rows, in_dims[0], R), _graphs_side_by_side(o, in_dims[1], R), *union)
        return out.unflatten(0, (R, N)), 0

    return rule


_spread.register_vmap(_per_node_vmap(_spread))
_match.register_vmap(_per_node_vmap(_match))
