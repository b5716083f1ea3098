"""What collect, spread and match mean."""

import torch
from torch import Tensor

from gmpool.ops.segment import Segments


def collect_reference(a: Tensor, z: Tensor, segments: Segments) -> Tensor:
    member = torch.nn.functional.one_hot(segments.batch, segments.num_graphs).to(z.dtype)
    return torch.einsum("nb,nhk,nd->hbkd", member, a, z)


def spread_reference(a: Tensor, o: Tensor, segments: Segments) -> Tensor:
    return torch.einsum("nhk,hnkd->nd", a, o[:, segments.batch])


def match_reference(z: Tensor, o: Tensor, segments: Segments) -> Tensor:
    return torch.einsum("nd,hnkd->nhk", z, o[:, segments.batch])
