"""To the edges and back is a product with the matrix, whatever order the edges come in."""

from __future__ import annotations

import pytest
import torch
from every_edges import EVERY

from gmpool.graph.incidence import incidence
from gmpool.ops.sparse import spmm


@pytest.mark.parametrize("name", [name for name in EVERY if "bits" not in name])
def test_incidence_is_the_matrix_in_two_steps(name: str) -> None:
    torch.manual_seed(0)
    case = EVERY[name]()
    edges, n = case.edges, len(case.a)
    from_source, to_target = incidence(edges)
    x = torch.randn(edges.num_nodes, 2, dtype=case.a.dtype, requires_grad=True)
    of_edges = spmm(from_source, x)
    assert torch.equal(of_edges, x.index_select(0, edges.edge_index[0]))
    if edges.edge_weight is not None:
        of_edges = of_edges * edges.edge_weight[:, None].to(x.dtype)
    y = spmm(to_target, of_edges)
    torch.testing.assert_close(y[:n], case.a @ x[:n])
    probe = torch.randn_like(y)
    (grad,) = torch.autograd.grad(y, x, probe)
    torch.testing.assert_close(grad[:n], case.a.t() @ probe[:n])
