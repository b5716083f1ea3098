"""What bond_messages means."""

import torch
from torch import Tensor

from gmpool.ops.sparse import Pattern


def bond_messages_reference(
    pattern: Pattern, x: Tensor, table: Tensor, code: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Σ_e w_e ReLU(x_j + T[c_e]) of each row. x [N, D], table [C, D], code [E] -> [N, D]"""
    message = torch.relu(x[pattern.col.long()] + table[code.long()])  # [E, D]
    if weight is not None:
        message = message * weight.to(x.dtype)[:, None]
    return torch.zeros_like(x).index_add(0, pattern.rows, message)
