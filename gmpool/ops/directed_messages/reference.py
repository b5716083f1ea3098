"""What directed_messages means."""

import torch
from torch import Tensor

from gmpool.ops.row_ids import row_ids


def directed_messages_reference(
    own: Tensor, table: Tensor, code: Tensor, g: Tensor | None, rowptr: Tensor, back: Tensor
) -> Tensor:
    """ReLU(own_i + T[c_p] + Σ_{e in row i} g_e - g_back(p)), i the row of back(p), for each p.

    own [N, D], table [C, D], code [E], g [E, D] or None, rowptr [N+1], back [E] -> [E, D]
    """
    rows = row_ids(rowptr, code.shape[0])
    begins = rows[back.long()]
    z = own[begins] + table[code.long()]  # [E, D]
    if g is not None:
        z = z + torch.zeros_like(own).index_add(0, rows, g)[begins] - g[back.long()]
    return torch.relu(z)
