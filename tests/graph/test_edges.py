"""Edges in every form are the dense matrix that they stand for: values, gradients, coarsened."""

from __future__ import annotations

import pytest
import torch
from every_edges import EVERY, Case, from_edge_index
from torch import Tensor

from gmpool.errors import UserError
from gmpool.graph import AnyEdges, Edges
from gmpool.graph.edges import DerivedEdges, gcn_edges, incidence
from gmpool.ops.sparse import spmm

MEMBERS = sorted(name for name in vars(AnyEdges) if not name.startswith("_"))
LISTED = [name for name in EVERY if name != "fixed batch of bits"]


@pytest.fixture(params=EVERY)
def case(request: pytest.FixtureRequest) -> Case:
    return EVERY[request.param]()


@pytest.fixture(params=LISTED)
def listed(request: pytest.FixtureRequest) -> Case:
    return EVERY[request.param]()


def rows_for(case: Case, width: int) -> Tensor:
    """One for each node, made-up ones included."""
    return torch.randn(case.edges.num_nodes, width, dtype=case.a.dtype)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected.to(found.dtype), atol=1e-5, rtol=1e-5)


def test_each_has_the_whole_interface(listed: Case) -> None:
    assert {"plain", "gcn", "entries", "coarsened"} < set(MEMBERS)
    for name in MEMBERS:
        getattr(listed.edges, name)


@pytest.mark.parametrize("which", ["plain", "gcn"])
def test_product_and_gradient(case: Case, which: str) -> None:
    torch.manual_seed(0)
    matrix, n = getattr(case.edges, which), len(case.a)
    dense = case.a if which == "plain" else case.gcn
    x = rows_for(case, 3).requires_grad_()
    y = matrix.matmul(x)
    close(y[:n], dense @ x[:n])
    probe = torch.zeros_like(y)
    probe[:n] = torch.randn(n, 3)
    (grad,) = torch.autograd.grad(y, x, probe)
    close(grad[:n], dense.t() @ probe[:n])
    assert grad[n:].eq(0).all(), "no node has to do with those that are made up"
    close(matrix.transposed.matmul(probe), grad)
    close(matrix.transposed.transposed.matmul(x)[:n], y[:n])


def test_entries_are_those_of_the_matrix(listed: Case) -> None:
    entries, n = listed.edges.entries, len(listed.a)
    eye = torch.eye(listed.edges.num_nodes, dtype=listed.a.dtype)
    close(entries.matmul(eye)[:n, :n], listed.a)
    close(listed.edges.plain.matmul(eye), entries.matmul(eye))


def test_edges_are_listed_as_pyg_does(listed: Case) -> None:
    edges, n = listed.edges, len(listed.a)
    source, target = edges.edge_index
    weight = torch.ones(len(source)) if edges.edge_weight is None else edges.edge_weight
    N = edges.num_nodes
    a = torch.zeros(N, N, dtype=listed.a.dtype)
    a.index_put_((target, source), weight.to(a.dtype), accumulate=True)
    close(a[:n, :n], listed.a)
    p = edges.entries.pattern
    order = torch.arange(len(source)) if edges.order is None else edges.order
    assert torch.equal(source[order], p.col.long())
    assert torch.equal(target[order], p.rows)


def test_squared_sum(case: Case) -> None:
    found = case.edges.squared_sum(case.segments)[: case.graphs]
    each = [case.a[i][:, i].square().sum() for i in map(case.of_graph, range(case.graphs))]
    # Entries of the same place count one by one, and none of these lists has two.
    close(found, torch.stack(each))


def test_coarsened_is_the_product_of_three(case: Case) -> None:
    torch.manual_seed(0)
    c = rows_for(case, 2).softmax(1).requires_grad_()
    blocks = case.edges.coarsened(c, case.segments).blocks[: case.graphs]
    nodes = [case.of_graph(b) for b in range(case.graphs)]
    expected = torch.stack([c[i].t() @ case.a[i][:, i] @ c[i] for i in nodes])
    close(blocks, expected)
    probe = torch.randn_like(blocks)
    found, exact = (torch.autograd.grad(y, c, probe)[0] for y in (blocks, expected))
    close(found, exact)


def test_weights_learn_through_both_matrices() -> None:
    case = from_edge_index(weighted=True)
    weight = case.edges.edge_weight.clone().requires_grad_()
    source, target = case.edges.edge_index
    edges = Edges(case.edges.edge_index, 10, edge_weight=weight, dtype=torch.float64)
    assert edges.plain.learns
    assert edges.gcn.learns
    assert not case.edges.gcn.learns
    x = torch.randn(10, 2, dtype=torch.float64)
    dense = torch.zeros(10, 10, dtype=torch.float64).index_put((target, source), weight)
    looped = dense + torch.diag((dense.diagonal() == 0).double())
    scale = looped.sum(1).rsqrt()
    for found, expected in (
        (edges.plain, dense),
        (edges.gcn, scale[:, None] * looped * scale),
    ):
        outs = found.matmul(x), expected @ x
        grads = [torch.autograd.grad(y.square().sum(), weight, retain_graph=True) for y in outs]
        close(grads[0][0], grads[1][0])


def test_each_form_is_made_once() -> None:
    for name in LISTED:
        edges = EVERY[name]().edges
        if name != "coarse":
            assert edges.entries is edges.entries
            assert edges.gcn is edges.gcn


def test_gcn_edges_keep_loops() -> None:
    edge_index = torch.tensor([[0, 1, 1], [1, 0, 1]])
    both, weight = gcn_edges(edge_index, 2, torch.tensor([1.0, 1.0, 3.0]), torch.float32)
    dense = torch.zeros(2, 2).index_put((both[1], both[0]), weight, accumulate=True)
    torch.testing.assert_close(dense, torch.tensor([[0.5, 8**-0.5], [8**-0.5, 0.75]]))


def test_what_a_user_passes() -> None:
    edge_index = torch.tensor([[0, 1], [1, 0]])
    made = Edges.of(edge_index, 2, torch.float64)
    assert isinstance(made, Edges)
    assert made.dtype == torch.float64
    assert Edges.of(made, 2, torch.float32) is made
    with pytest.raises(UserError, match="belong inside Edges"):
        Edges.of(made, 2, torch.float32, edge_weight=torch.ones(2))
    with pytest.raises(UserError, match=r"edge_index must be \[2, E\], got \(3, 2\)"):
        Edges.of(torch.zeros(3, 2, dtype=torch.long), 2, torch.float32)
    with pytest.raises(UserError, match=r"edge_weight must have one entry per edge, shape \(2,\)"):
        Edges.of(edge_index, 2, torch.float32, edge_weight=torch.ones(3))


def test_entries_are_the_edges() -> None:
    loose = from_edge_index(weighted=True).edges
    attr = torch.arange(loose.edge_index.shape[1])[:, None]
    edges = DerivedEdges(loose.entries, dtype=loose.dtype, edge_attr=attr[loose.order])
    assert edges.plain is edges.entries is loose.entries
    assert edges.num_nodes == loose.num_nodes
    assert torch.equal(edges.edge_index, loose.edge_index[:, edges.edge_attr[:, 0]])
    assert torch.equal(edges.edge_weight, loose.edge_weight[edges.edge_attr[:, 0]])


def test_scaling_is_what_the_weights_of_a_list_are() -> None:
    for weighted in (False, True):
        loose = from_edge_index(weighted=weighted).edges
        x = torch.randn(10, 3, dtype=torch.float64)
        scaled = DerivedEdges(loose.entries, dtype=loose.dtype).gcn
        torch.testing.assert_close(scaled.matmul(x), loose.gcn.matmul(x))


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
