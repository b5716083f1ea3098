"""ASAP against PyG's, against a loop, and its laws."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from coarse import matrix, run
from graphs import Batch, random_batch
from hypothesis import given, settings
from torch_geometric.nn import ASAPooling
from torch_geometric.utils import to_dense_adj

from gmpool.errors import UserError
from gmpool.pool.asap import ASAPool

DIM = 5


def pool_with(**options: object) -> ASAPool:
    torch.manual_seed(1)
    return ASAPool(DIM, 8, **options).double()


def as_pyg(pool: ASAPool, ratio: float) -> ASAPooling:
    theirs = ASAPooling(DIM, ratio=ratio, add_self_loops=pool.add_self_loops).double()
    theirs.lin.load_state_dict(pool.query.state_dict())
    theirs.att.load_state_dict(pool.attention.state_dict())
    with torch.no_grad():  # PyG's LEConv is lin3(x_i) + Σ (lin1(x_j) − lin2(x_i))
        theirs.gnn_score.lin1.weight.copy_(-pool.fit_there.weight)
        theirs.gnn_score.lin1.bias.copy_(-pool.fit_there.bias)
        theirs.gnn_score.lin2.weight.copy_(-pool.fit_here.weight)
        theirs.gnn_score.lin3.weight.copy_(pool.fit_own.weight)
        theirs.gnn_score.lin3.bias.copy_(pool.fit_own.bias)
        # PyG multiplies fitness by a learned number, which may be negative and keep the worst.
        theirs.select.weight.fill_(1.0)
    return theirs


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("ratio", [0.25, 0.6])
def test_equals_pyg(ratio: float, directed: bool, loops: bool) -> None:
    pool = pool_with(ratio=ratio, add_self_loops=loops)
    batch = random_batch([9, 1, 6, 12], DIM, directed=directed)
    pooled = run(pool, batch)
    ones = torch.ones(batch.edge_index.shape[1], dtype=torch.float64)
    theirs = as_pyg(pool, ratio)
    x, edge_index, weight, graph, kept = theirs(batch.x, batch.edge_index, ones, batch.batch)
    place = kept.argsort()  # PyG's rows are in order of fitness, ours of nodes
    assert torch.equal(pooled.kept, kept[place])
    torch.testing.assert_close(pooled.x, x[place])
    assert torch.equal(pooled.batch, graph[place])
    dense = to_dense_adj(edge_index, edge_attr=weight, max_num_nodes=len(x))[0]
    torch.testing.assert_close(matrix(pooled), dense.t()[place][:, place])


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_gradients_equal_pyg() -> None:
    """Of the rows: PyG has no gradient of A'."""
    pool = pool_with()
    theirs = as_pyg(pool, 0.25)
    batch = random_batch([9, 1, 6, 12], DIM)
    grads = []
    for ours in (True, False):
        x = batch.x.clone().requires_grad_()
        if ours:
            rows = pool(x, batch.edge_index, batch.batch).x
        else:
            ones = torch.ones(batch.edge_index.shape[1], dtype=torch.float64)
            rows, _, _, _, kept = theirs(x, batch.edge_index, ones, batch.batch)
            rows = rows[kept.argsort()]
        grads.append(torch.autograd.grad(rows.sin().sum(), x)[0])
    torch.testing.assert_close(*grads)


def test_equals_a_loop() -> None:
    """Directed, weighted, with loops, one-node and empty graphs, in a mixed order."""
    pool = pool_with(ratio=0.4)
    batch = random_batch([7, 1, 0, 9, 2], DIM, directed=True, weighted=True)
    batch.edge_index = torch.cat([batch.edge_index, torch.tensor([[2, 7], [2, 7]])], 1)
    batch.weight = torch.cat([batch.weight, torch.full((2,), 0.7, dtype=torch.float64)])
    N, E = len(batch.x), batch.edge_index.shape[1]
    batch = batch.permuted(torch.randperm(N), torch.randperm(E))
    A, x = torch.from_numpy(batch.dense()), batch.x
    A = A + torch.diag((A.diagonal() == 0).double())
    alpha = torch.zeros(N, N, dtype=torch.float64)
    for i in range(N):
        near = A[i].nonzero()[:, 0]
        query = pool.query(x[near].amax(0))
        pairs = torch.cat([query.expand(len(near), -1), x[near]], 1)
        score = torch.nn.functional.leaky_relu(pool.attention(pairs)[:, 0], 0.2)
        alpha[i, near] = score.softmax(0)
    clusters = alpha @ x
    fitness = torch.zeros(N, dtype=torch.float64)
    for i in range(N):
        fitness[i] = pool.fit_own(clusters[i]) + sum(
            A[i, j] * (pool.fit_here(clusters[i]) - pool.fit_there(clusters[j])) for j in range(N)
        )
    kept = []
    for b in range(batch.size):
        mine = (batch.batch == b).nonzero()[:, 0]
        best = fitness[mine].argsort(descending=True)[: -(-4 * len(mine) // 10)]
        kept += mine[best].tolist()
    kept = sorted(kept)
    pooled = run(pool, batch)
    assert pooled.kept.tolist() == kept
    torch.testing.assert_close(pooled.x, fitness[kept].sigmoid()[:, None] * clusters[kept])
    coarse = alpha[kept] @ A @ alpha[kept].t()
    torch.testing.assert_close(matrix(pooled), coarse.fill_diagonal_(0))
    assert pooled.segments.counts.tolist() == [3, 1, 0, 4, 1]


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(0, 7), min_size=1, max_size=5).filter(any),
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    ratio=st.sampled_from([0.25, 0.5, 1.0]),
)
def test_order_and_batch_mates_do_not_matter(
    sizes: list[int], seed: int, directed: bool, ratio: float
) -> None:
    pool = pool_with(ratio=ratio)
    # Without weights two nodes with the same closed neighbourhood have the same cluster, and tie.
    batch = random_batch(sizes, DIM, seed=seed, directed=directed, weighted=True)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(batch.x), generator=generator)
    edge_order = torch.randperm(batch.edge_index.shape[1], generator=generator)
    together, moved = run(pool, batch), run(pool, batch.permuted(order, edge_order))
    # Row k of the moved graph was node order[kept[k]].
    place = order[moved.kept].argsort()
    assert torch.equal(order[moved.kept][place], together.kept)
    torch.testing.assert_close(moved.x[place], together.x)
    torch.testing.assert_close(matrix(moved)[place][:, place], matrix(together))
    for b in range(batch.size):
        mine, alone = (together.batch == b).nonzero()[:, 0], run(pool, batch.alone(b))
        torch.testing.assert_close(alone.x, together.x[mine])
        torch.testing.assert_close(matrix(alone), matrix(together)[mine][:, mine])


def test_gradients_of_rows_and_weights() -> None:
    pool = pool_with(ratio=0.5)
    batch = random_batch([5, 1, 4], DIM, weighted=True)
    weight = batch.weight.clone().requires_grad_()
    x = batch.x.clone().requires_grad_()

    def pooled(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
        out = run(pool, Batch(x, batch.edge_index, batch.batch, 3, weight))
        return out.x, out.edge_weight, out.edges.gcn.matmul(out.x)

    assert torch.autograd.gradcheck(pooled, (x, weight))


def test_every_parameter_learns_through_two_poolings() -> None:
    first, second = pool_with(), pool_with(ratio=0.5)
    batch = random_batch([12, 1, 0, 17], DIM)
    pooled = run(first, batch)
    again = second(pooled.edges.gcn.matmul(pooled.x), pooled.edges, pooled.segments)
    again.x.square().sum().backward()
    for parameter in [*first.parameters(), *second.parameters()]:
        assert torch.isfinite(parameter.grad).all()
    # A constant in the attention of a row cancels where LeakyReLU is linear: it need not learn.
    assert all(p.grad.abs().sum() > 0 for n, p in first.named_parameters() if "bias" not in n)


@pytest.mark.parametrize("sizes", [[0], [1, 1], [0, 1, 0]])
def test_graphs_without_edges(sizes: list[int]) -> None:
    batch = random_batch(sizes, DIM)
    batch.x.requires_grad_()
    pool = pool_with()
    pooled = run(pool, batch)
    assert pooled.kept.tolist() == list(range(len(batch.x)))
    assert pooled.edge_index.shape == (2, 0)
    pooled.x.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in [batch.x, *pool.parameters()])


def test_autocast_keeps_the_scores() -> None:
    pool = pool_with().float()
    batch = random_batch([9, 14], DIM, dtype=torch.float32)
    x = batch.x.bfloat16().requires_grad_()
    expected = pool(x.float(), batch.edge_index, batch.batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = pool(x, batch.edge_index, batch.batch)
        mixed = found.edges.gcn.matmul(found.x)
    assert found.x.dtype == mixed.dtype == torch.bfloat16
    assert torch.equal(found.kept, expected.kept)
    torch.testing.assert_close(found.x, expected.x.bfloat16())
    mixed.float().sum().backward()
    assert torch.isfinite(x.grad).all()


def test_dropout_is_for_training_alone() -> None:
    pool, batch = pool_with(dropout=0.5), random_batch([9], DIM)
    assert not torch.equal(run(pool, batch).x, run(pool, batch).x)
    pool.eval()
    assert torch.equal(run(pool, batch).x, run(pool, batch).x)


def test_ratio_out_of_range() -> None:
    with pytest.raises(UserError, match="ratio must lie in"):
        ASAPool(DIM, 8, ratio=1.5)
