"""The relational convolution: W_s h + Σ_t A_t W_t h (Schlichtkrull et al., 2018)."""

import torch
from torch import Tensor, nn

from gmpool.errors import WrongType
from gmpool.graph import AnyEdges, Columns, plain
from gmpool.graph.relation_edges import RelationEdges
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.ops.add_bias import affine


class RelationalConv(KeepsOptions):
    """W_s h + Σ_t A_t W_t h + b, a weight for each kind of edges. x [N, in] -> [N, out]

    It is linear in the rows [h | A_1 h | … | A_T h], which no weight of it has a part in: keys and
    values that it makes are absorbed.

    in_dim, out_dim: widths before and after.
    relations: T.
    """

    def __init__(self, in_dim: int, out_dim: int, *, relations: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_dim, (1 + relations) * in_dim))
        self.bias = nn.Parameter(torch.zeros(out_dim))
        for part in self.weight.detach().split(in_dim, dim=1):
            nn.init.xavier_uniform_(part)

    def shared_propagation(self, x: Tensor | Columns, edges: AnyEdges) -> list[Tensor]:
        if not isinstance(edges, RelationEdges):
            raise WrongType(
                f"a relational convolution reads edges of several kinds, RelationEdges, got "
                f"{type(edges).__name__}"
            )
        return [edges.propagated(plain(x))]

    def forward(self, x: Tensor | Columns, edges: AnyEdges) -> Tensor:
        return affine(self.shared_propagation(x, edges)[0], self.weight, self.bias)
