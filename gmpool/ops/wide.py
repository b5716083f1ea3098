"""The precision that operators sum in."""

import torch
from torch import Tensor


def wide(x: Tensor) -> Tensor:
    """Sums of half-precision rows are accumulated in float32. Detached: inside an operator, what
    looks at requires_grad (embedding_bag does) would prepare for a backward that is ours."""
    x = x.detach()
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
