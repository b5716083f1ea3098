"""Multi-head attention from queries to the rows of each graph: equations 5 (MH) and 6 (GMH).

    O_i = w(Q W^Q_i · K_iᵀ) V_i ,   [O_1, …, O_H] W^O
with keys and values K_i, V_i linear in the rows (MH) or made by graph convolutions (GMH), and w a
softmax over the queries ("seeds") or over the rows ("nodes").
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gmpool.errors import UserError, unknown
from gmpool.graph import AnyEdges, Columns, Segments, plain
from gmpool.graph.matrices import BitMatrix, SparseMatrix
from gmpool.nn.conv import ConvFactory, GCNConv, LinearConv, is_linear, make_conv
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.nn.no_influence import without_influence
from gmpool.ops.add_bias import affine
from gmpool.ops.grouped import collect
from gmpool.ops.matrix import Matrix
from gmpool.ops.seed_attention import (
    Choice,
    choose,
    one_seed,
    seed_attention,
    seed_attention_through,
    seed_softmax,
)

SOFTMAX_AXES = ("seeds", "nodes")
SCALES = ("width", "head", "none")


class Attended(NamedTuple):
    out: Tensor  # what the queries gathered
    query: Tensor  # the projected queries, for the residual connection
    attention: Tensor | None = None  # [N, H, K] for seeds over nodes


class MultiHeadAttention(KeepsOptions):
    """Heads, scale and output projection, shared by attention from seeds and among rows.

    dim: width of queries, keys and values, all heads together.
    num_heads: H, by which dim can be divided.
    softmax: over the queries ("seeds") or over the rows they attend to ("nodes").
    scale: scores are divided by √width ("width", as the authors' code does), √(width/H) ("head"),
        or by nothing ("none", as the paper writes it).
    out_projection: the paper's W^O, which the authors' code leaves out.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_heads: int = 1,
        softmax: str = "seeds",
        scale: str = "width",
        out_projection: bool = False,
    ) -> None:
        super().__init__()
        if num_heads < 1 or dim % num_heads:
            raise UserError(f"the width {dim} cannot be split into num_heads={num_heads} heads")
        if softmax not in SOFTMAX_AXES:
            raise unknown("softmax axis", softmax, SOFTMAX_AXES)
        if scale not in SCALES:
            raise unknown("scale", scale, SCALES)
        self.num_heads, self.dim, self.softmax = num_heads, dim, softmax
        self.factor = {"width": dim, "head": dim // num_heads, "none": 1}[scale] ** -0.5
        self.out_projection = nn.Linear(dim, dim, bias=False) if out_projection else None

    def heads(self, t: Tensor) -> Tensor:
        """[..., D] -> [..., H, D/H]"""
        return t.unflatten(-1, (self.num_heads, self.dim // self.num_heads))

    def project(self, out: Tensor) -> Tensor:
        """[..., D] -> [..., D]"""
        return out if self.out_projection is None else self.out_projection(out)


class SeedAttention(MultiHeadAttention):
    """K seeds attend to the nodes of each graph. seeds [K, D] -> out [B, K, D]

    conv: makes keys and values, as in GMPool; the other options are MultiHeadAttention's.

    Two forms of the same function. Absorbed: scores are Z M and outputs (AᵀZ) W^V, so that no key
    or value exists per node. Direct: keys and values are built. `form` is "absorbed", "direct" or
    "auto": absorbed where the convolution allows it, and either H·K < D, by counting operations, or
    a fused kernel serves it, which never writes the N·H·K scores that the direct form moves about.
    """

    def __init__(self, dim: int, *, conv: str | ConvFactory | None = None, **options: Any) -> None:
        super().__init__(dim, **options)
        self.form = "auto"
        self.to_query = nn.Linear(dim, dim)
        self.to_key = make_conv(conv, dim, dim)
        self.to_value = make_conv(conv, dim, dim)

    @property
    def absorbable(self) -> bool:
        return is_linear(self.to_key) and is_linear(self.to_value)

    def _absorb(self, num_seeds: int, x: Tensor | Columns) -> bool:
        if self.form != "auto":
            return self.form == "absorbed"
        slots = self.num_heads * num_seeds
        return self.absorbable and (slots < self.dim or self._served(slots, x).is_fused)

    def _served(self, slots: int, x: Tensor | Columns) -> Choice:
        blocks = x.blocks if isinstance(x, Columns) else [x]
        return choose(blocks, self.num_heads, slots, self.softmax)

    def forward(
        self,
        seeds: Tensor,
        x: Tensor | Columns,
        edges: AnyEdges,
        segments: Segments,
        *,
        want_attention: bool = True,
    ) -> Attended:
        query = self.to_query(seeds)  # [K, D]
        form = self._absorbed if self._absorb(seeds.shape[0], x) else self._direct
        out, a = form(self.heads(query), x, edges, segments, want_attention)  # [H, B, K, D/H]
        attention = a if want_attention else None
        out = out.permute(1, 2, 0, 3).flatten(2)  # [B, K, D]
        return Attended(self.project(out), query, attention)

    def _absorbed(
        self, q: Tensor, x: Tensor | Columns, edges: AnyEdges, segments: Segments, want_a: bool
    ) -> tuple[Tensor, Tensor]:
        key, value = self.to_key, self.to_value
        assert is_linear(key)
        assert is_linear(value)
        H, gcn = self.num_heads, _not_yet_applied(key, x, edges)
        is_constant = q.shape[0] == 1 and self.softmax == "seeds"
        if is_constant:
            blocks = _propagated(key, x, edges)
            pooled, mass, a = one_seed(blocks, segments, H, want_a=want_a)
        else:
            queries = self._block_diagonal(q * self.factor)
            # Made as Mᵀ, rows of which the kernels read.
            m, c = (queries.t() @ key.weight).t(), key.bias @ queries  # [D_in, H·K], [H·K]
            D, slots = m.shape
            if gcn is not None and H < slots < D / 2 and not self._is_small(slots, x):
                pooled, mass, a = seed_attention_through(
                    gcn, plain(x), m, c, segments, H, self.softmax
                )
            else:
                blocks = _propagated(key, x, edges)
                pooled, mass, a = seed_attention(
                    blocks, m, c, segments, H, self.softmax, want_a=want_a
                )
        B, K = pooled[0].shape[1:3]
        out = (mass[..., None] * self.heads(value.bias)[:, None, None]).flatten(1, 2)  # [H, B·K, d]
        w_value = value.weight.unflatten(0, (H, -1)).transpose(1, 2)  # [H, D_in, d]
        widths = [part.shape[3] for part in pooled]
        for part, w in zip(pooled, _split(w_value, widths), strict=True):
            out = _plus_product(out, part.flatten(1, 2), w)
        out = out.unflatten(1, (B, K))
        if is_constant and torch.is_grad_enabled():
            unread = (key.weight, key.bias, self.to_query.weight, self.to_query.bias)
            out = without_influence(out, *unread)
        return out, a

    def _is_small(self, slots: int, x: Tensor | Columns) -> bool:
        """Whether a GPU would start kernels for longer than they run: making Z takes fewer."""
        return self._served(slots, x).is_small(x.shape[0])

    def _block_diagonal(self, q: Tensor) -> Tensor:
        """Queries as one matrix whose product serves all heads. [K, H, d] -> [D, H·K]"""
        if self.num_heads == 1:
            return q.flatten(1).t()
        eye = torch.eye(self.num_heads, dtype=q.dtype, device=q.device)
        by_head = q.permute(1, 2, 0)[:, :, None] * eye[:, None, :, None]
        return by_head.flatten(2).flatten(0, 1)

    def _direct(
        self, q: Tensor, x: Tensor | Columns, edges: AnyEdges, segments: Segments, want_a: bool
    ) -> tuple[Tensor, Tensor]:
        # Head by head: what is large, [N, K] each, is then never moved into another order.
        keys, values = self._keys_and_values(x, edges)
        queries = (q * self.factor).unbind(1)  # H × [K, d]
        out, shares = [], []
        for k_h, v_h, q_h in zip(keys, values, queries, strict=True):
            a_h = seed_softmax((k_h @ q_h.t())[:, None], segments, self.softmax)  # [N, 1, K]
            out.append(collect(a_h, v_h, segments))
            shares.append(a_h)
        return torch.cat(out), torch.cat(shares, dim=1) if want_a else shares[0][:0]

    def _keys_and_values(
        self, x: Tensor | Columns, edges: AnyEdges
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """H × [N, d] each; where they are linear in the same propagated rows, by one product."""
        key, value, H = self.to_key, self.to_value, self.num_heads
        if not (is_linear(key) and is_linear(value)):
            return self.heads(key(x, edges)).unbind(1), self.heads(value(x, edges)).unbind(1)
        z = _propagated(key, x, edges)
        rows = z[0] if len(z) == 1 else torch.cat(z, dim=1)
        weight, bias = torch.cat([key.weight, value.weight]), torch.cat([key.bias, value.bias])
        both = affine(rows, weight, bias).unflatten(1, (2 * H, -1)).unbind(1)
        return both[:H], both[H:]


def _not_yet_applied(conv: object, x: Tensor | Columns, edges: AnyEdges) -> Matrix | None:
    """Â, when Â X would have to be made by one product with it: then it need not be made at all."""
    if not isinstance(conv, GCNConv) or (isinstance(x, Columns) and x.gcn_known):
        return None
    gcn = edges.gcn
    return gcn if isinstance(gcn, SparseMatrix | BitMatrix) else None


def _propagated(conv: LinearConv, x: Tensor | Columns, edges: AnyEdges) -> list[Tensor]:
    """The rows that keys and values are linear in, as columns of [N, D_in]."""
    z = conv.shared_propagation(x, edges)
    return z if isinstance(z, list) else [z]


def _plus_product(out: Tensor, rows: Tensor, w: Tensor) -> Tensor:
    """out + rows w of each head. out [H, n, d], rows [H, n, D], w [H, D, d]"""
    if not torch.compiler.is_compiling():
        return torch.baddbmm(out, rows, w)
    # Inductor asks whether a batch of products has one row, which it cannot know of graphs that
    # are counted on the way.
    return torch.stack([torch.addmm(*head) for head in zip(out, rows, w, strict=True)])


def _split(weight: Tensor, widths: list[int]) -> Sequence[Tensor]:
    """The rows of a weight [H, D_in, d] for each block of columns; one block takes all, uncut."""
    return [weight] if len(widths) == 1 else weight.split(widths, dim=1)
