"""Graph convolutions: message passing in the encoder, and keys and values in graph attention."""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeGuard, cast

import torch
from torch import Tensor, nn

from gmpool.errors import WrongType, unknown
from gmpool.graph import AnyEdges, Columns, OneHot, plain
from gmpool.nn.batch_norm import BatchNorm
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.nn.two_layers import TwoLayers
from gmpool.ops.add_bias import add_bias, affine

ConvFactory = Callable[[int, int], nn.Module]


class LinearConv(Protocol):
    """A convolution P(x) Wᵀ + b whose propagation P is linear and has no parameters.

    Any module with these three is absorbed by seed attention when it makes keys and values. P(x)
    may come as one tensor or as blocks of its columns.
    """

    weight: Tensor  # [out, in]
    bias: Tensor  # [out]

    def shared_propagation(self, x: Tensor | Columns, edges: AnyEdges) -> Tensor | list[Tensor]: ...


def is_linear(conv: object) -> TypeGuard[LinearConv]:
    """Whether it has the three. Not by isinstance, which from Python 3.12 on does not see the
    parameters of a module."""
    return callable(getattr(conv, "shared_propagation", None)) and all(
        isinstance(getattr(conv, name, None), Tensor) for name in ("weight", "bias")
    )


class GCNConv(KeepsOptions):
    """Â X Wᵀ + b with Â = D^-1/2 (A + I) D^-1/2 (Kipf & Welling, 2017), Glorot initialised.

    x [N, in_dim] -> [N, out_dim]

    in_dim, out_dim: widths before and after.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"gcn"})

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_dim, in_dim))
        self.bias = nn.Parameter(torch.zeros(out_dim))
        nn.init.xavier_uniform_(self.weight)

    def shared_propagation(self, x: Tensor | Columns, edges: AnyEdges) -> list[Tensor]:
        return x.gcn(edges) if isinstance(x, Columns) else [edges.gcn.matmul(x)]

    @property
    def propagates_first(self) -> bool:
        """On the narrower side. When the input needs no gradient (raw features) that also leaves
        out the propagation of the backward pass."""
        return self.weight.shape[1] <= self.weight.shape[0]

    def transform(self, z: Tensor, *, relu: bool = False) -> Tensor:
        """What follows the propagation. [N, in_dim] -> [N, out_dim]"""
        return affine(z, self.weight, self.bias, relu=relu)

    def forward(
        self, x: Tensor | Columns | OneHot, edges: AnyEdges, *, relu: bool = False
    ) -> Tensor:
        if not isinstance(x, OneHot) and self.propagates_first:
            z = self.shared_propagation(x, edges)
            return self.transform(z[0] if len(z) == 1 else torch.cat(z, dim=1), relu=relu)
        if isinstance(x, OneHot):
            rows = x.linear(self.weight)
        else:
            rows = nn.functional.linear(plain(x), self.weight)
        return add_bias(edges.gcn.matmul(rows), self.bias, relu=relu)


class IdentityConv(nn.Linear, KeepsOptions):
    """No propagation: a row-wise linear map, the keys and values of the plain attention (MH).

    in_dim, out_dim: widths before and after.
    """

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__(in_dim, out_dim)

    def shared_propagation(self, x: Tensor | Columns, edges: AnyEdges) -> list[Tensor]:
        return list(x.blocks) if isinstance(x, Columns) else [x]

    def forward(self, x: Tensor | Columns, edges: AnyEdges | None = None) -> Tensor:
        return super().forward(plain(x))


class GINConv(KeepsOptions):
    """MLP((1 + ε) x_i + Σ_j x_j) with two layers (Xu et al., 2019). x [N, in] -> [N, out]

    in_dim, out_dim: widths before and after.
    eps: ε, which is not learned.
    batch_norm: whether a ReLU and a batch norm follow the two layers, as in GMT's published code.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"plain"})

    def __init__(
        self, in_dim: int, out_dim: int, *, eps: float = 0.0, batch_norm: bool = False
    ) -> None:
        super().__init__()
        self.eps = eps
        self.mlp = TwoLayers(in_dim, out_dim, out_dim)
        self.norm = BatchNorm(out_dim) if batch_norm else None

    def forward(
        self,
        x: Tensor | Columns,
        edges: AnyEdges,
        *,
        relu: bool = False,
        counts: Tensor | None = None,
    ) -> Tensor:
        """counts [N]: the rows that count, for the norm; None: all."""
        x = plain(x)
        rows = (1 + self.eps) * x + edges.plain.matmul(x)
        if self.norm is None:
            return self.mlp(rows, relu=relu)
        rows = self.norm(self.mlp(rows, relu=True), counts)
        return torch.relu(rows) if relu else rows


class GraphConv(KeepsOptions):
    """W x_i + b + Σ_j W' x_j, a map of its own for the node itself (Morris et al., 2019).

    x [N, in_dim] -> [N, out_dim]

    in_dim, out_dim: widths before and after.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"plain"})

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.itself = nn.Linear(in_dim, out_dim)
        self.around = nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, x: Tensor | Columns, edges: AnyEdges) -> Tensor:
        x = plain(x)
        return self.itself(x) + edges.plain.matmul(self.around(x))


class ForeignConv(nn.Module):
    """A convolution in PyG's style, `conv(x, edge_index, third)`, made by the user's factory.

    `third` is edge_attr where the batch has it, else edge_weight, else it is left out.

    conv: what the factory made.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"edge_index", "edge_attr", "edge_weight"})

    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.conv = conv

    def reset_parameters(self) -> None:
        cast(Any, self.conv).reset_parameters()

    def forward(self, x: Tensor | Columns, edges: AnyEdges) -> Tensor:
        third = edges.edge_weight if edges.edge_attr is None else edges.edge_attr
        return self.conv(plain(x), edges.edge_index, *(() if third is None else (third,)))


CONVS: dict[str | None, ConvFactory] = {"gcn": GCNConv, "gin": GINConv, None: IdentityConv}


def make_conv(conv: str | ConvFactory | None, in_dim: int, out_dim: int) -> nn.Module:
    """A convolution by name ("gcn", "gin", None) or by a factory `(in_dim, out_dim) -> Module`."""
    if callable(conv):
        made = conv(in_dim, out_dim)
        if not isinstance(made, nn.Module):
            raise WrongType(f"the conv factory must return a torch.nn.Module, got {type(made)}")
        ours = isinstance(made, (GCNConv, GINConv, IdentityConv)) or is_linear(made)
        return made if ours else ForeignConv(made)
    if conv not in CONVS:
        raise unknown("convolution", conv, [str(name) for name in CONVS])
    return CONVS[conv](in_dim, out_dim)


def activated(
    conv: nn.Module,
    x: Tensor | OneHot,
    edges: AnyEdges,
    norm: nn.Module | None = None,
    counts: Tensor | None = None,
) -> Tensor:
    """The ReLU of a convolution, which ours do on the way, or of a norm after it.

    counts [N]: the rows that count, for norms; None: all.
    """
    out: Tensor
    if isinstance(conv, GINConv):
        out = conv(x, edges, relu=norm is None, counts=counts)
    elif isinstance(conv, GCNConv):
        out = conv(x, edges, relu=norm is None)
    else:
        out = conv(x, edges)
        out = torch.relu(out) if norm is None else out
    return out if norm is None else torch.relu(norm(out, counts))
