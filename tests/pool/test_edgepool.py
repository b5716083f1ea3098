"""EdgePool against PyG's, against a loop, and its laws."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from coarse import matrix, run
from graphs import Batch, random_batch
from hypothesis import given, settings
from torch_geometric.nn import EdgePooling
from torch_geometric.utils import to_dense_adj

from gmpool.errors import UserError
from gmpool.ops.matching import contract_reference
from gmpool.pool.edgepool import SCORES, EdgePool
from gmpool.pool.method import Pooled

DIM = 5


def pool_with(**options: object) -> EdgePool:
    torch.manual_seed(1)
    return EdgePool(DIM, 8, **options).double()


def by_node(pooled: Pooled) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and weights as the old nodes see them: [N, D], [N, N]"""
    c = pooled.cluster
    return pooled.x[c], matrix(pooled)[c][:, c]


@pytest.mark.parametrize("score", SCORES)
def test_equals_pyg(score: str) -> None:
    pool = pool_with(score=score)
    kind = getattr(EdgePooling, f"compute_edge_score_{score}")
    theirs = EdgePooling(DIM, edge_score_method=kind).double()
    theirs.lin.load_state_dict(pool.raw.state_dict())
    batch = random_batch([9, 6, 12], DIM, density=0.6)
    pooled = run(pool, batch)
    x, edge_index, graph, info = theirs(batch.x, batch.edge_index, batch.batch)
    adjacency = to_dense_adj(edge_index, max_num_nodes=len(x))[0].double().fill_diagonal_(0)
    c = info.cluster
    rows, weights = by_node(pooled)
    torch.testing.assert_close(rows, x[c])
    assert torch.equal(weights, adjacency.t()[c][:, c])
    assert torch.equal(pooled.batch[pooled.cluster], graph[c])


@pytest.mark.parametrize("score", SCORES)
def test_equals_a_loop(score: str) -> None:
    """Directed, weighted, with loops, one-node and empty graphs, in a mixed order."""
    pool = pool_with(score=score)
    batch = random_batch([7, 1, 0, 9, 2], DIM, directed=True, weighted=True)
    loops = torch.tensor([[2, 7], [2, 7]])
    batch.edge_index = torch.cat([batch.edge_index, loops], 1)
    batch.weight = torch.cat([batch.weight, torch.ones(2, dtype=torch.float64)])
    N, E = len(batch.x), batch.edge_index.shape[1]
    batch = batch.permuted(torch.randperm(N), torch.randperm(E))
    source, target = batch.edge_index
    raw = pool.raw(torch.cat([batch.x[source], batch.x[target]], 1))[:, 0]
    if score == "softmax":
        s = torch.empty_like(raw)
        for i in range(N):
            s[target == i] = raw[target == i].softmax(0)
    else:
        s = getattr(torch, score)(raw)
    s = s + 0.5
    rows = {i: ((i,), 1.0) for i in range(N)}
    for e in contract_reference(source, target, s, N, then=raw).tolist():
        i, j = sorted((int(source[e]), int(target[e])))
        rows[i] = ((i, j), s[e])
        del rows[j]
    pooled = run(pool, batch)
    assert len(pooled.x) == len(rows)
    for r, (members, scale) in enumerate(rows[i] for i in sorted(rows)):
        assert (pooled.cluster == r).nonzero()[:, 0].tolist() == list(members)
        expected = scale * batch.x[list(members)].sum(0)
        torch.testing.assert_close(pooled.x[r], expected)
    member = torch.nn.functional.one_hot(pooled.cluster).double()
    coarse = member.t() @ torch.from_numpy(batch.dense()) @ member
    torch.testing.assert_close(matrix(pooled), coarse.fill_diagonal_(0))
    assert torch.equal(pooled.batch[pooled.cluster], batch.batch)
    assert pooled.segments.num_graphs == batch.size


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(0, 7), min_size=1, max_size=5).filter(any),
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    weighted=st.booleans(),
    score=st.sampled_from(SCORES),
)
def test_order_and_batch_mates_do_not_matter(
    sizes: list[int], seed: int, directed: bool, weighted: bool, score: str
) -> None:
    pool = pool_with(score=score)
    batch = random_batch(sizes, DIM, seed=seed, directed=directed, weighted=weighted)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(batch.x), generator=generator)
    edge_order = torch.randperm(batch.edge_index.shape[1], generator=generator)
    together = run(pool, batch)
    rows, weights = by_node(together)
    if score == "softmax":
        # Ties are exact, and raw scores decide, where equal neighbourhoods are summed in one order.
        edge_order = order.argsort()[batch.edge_index[0]].argsort(stable=True)
    moved_rows, moved_weights = by_node(run(pool, batch.permuted(order, edge_order)))
    torch.testing.assert_close(rows[order], moved_rows)
    torch.testing.assert_close(weights[order][:, order], moved_weights)
    for b in range(batch.size):
        mine = (batch.batch == b).nonzero()[:, 0]
        alone = run(pool, batch.alone(b))
        torch.testing.assert_close(by_node(alone)[0], rows[mine])
        torch.testing.assert_close(
            matrix(alone), matrix(together)[together.batch == b][:, together.batch == b]
        )


def test_leaves_are_told_apart_by_raw_scores() -> None:
    """In a star every edge into a leaf has softmax 1."""
    pool, x = pool_with(), torch.randn(6, DIM, dtype=torch.float64)
    hub, leaf = torch.zeros(5, dtype=torch.long), torch.arange(1, 6)
    edge_index = torch.stack([torch.cat([hub, leaf]), torch.cat([leaf, hub])])
    batch = Batch(x, edge_index, torch.zeros(6, dtype=torch.long), 1)
    rows, _ = by_node(run(pool, batch))
    for _ in range(5):
        order = torch.randperm(6)
        moved, _ = by_node(run(pool, batch.permuted(order, torch.randperm(10))))
        torch.testing.assert_close(rows[order], moved)


@pytest.mark.parametrize("score", SCORES)
def test_gradients(score: str) -> None:
    pool = pool_with(score=score)
    # With this seed no scores tie, which a small change of x would untie.
    batch = random_batch([6, 1, 5], DIM, weighted=True, seed=7)
    weight = batch.weight.clone().requires_grad_()
    x = batch.x.clone().requires_grad_()

    def pooled(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = run(pool, Batch(x, batch.edge_index, batch.batch, 3, weight))
        return out.x, out.edges.gcn.matmul(out.x)

    assert torch.autograd.gradcheck(pooled, (x, weight))


def test_two_poolings_down_to_one_row_and_beyond() -> None:
    batch = random_batch([2, 1, 0, 3], DIM, density=1.0)
    pooled = run(pool_with(), batch)
    for _ in range(3):
        pooled = pool_with()(pooled.x, pooled.edges, pooled.segments)
    assert pooled.batch.tolist() == [0, 1, 3]
    assert pooled.edge_index.shape == (2, 0)
    assert pooled.edge_weight is None


@pytest.mark.parametrize("sizes", [[0], [1, 1], [0, 1, 0]])
def test_graphs_without_edges_stay_as_they_are(sizes: list[int]) -> None:
    batch = random_batch(sizes, DIM)
    batch.x.requires_grad_()
    pool = pool_with()
    pooled = run(pool, batch)
    assert torch.equal(pooled.x, batch.x)
    pooled.x.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in [batch.x, *pool.parameters()])


def test_autocast_keeps_the_scores() -> None:
    pool = pool_with().float()
    batch = random_batch([9, 14], DIM, dtype=torch.float32)
    x = batch.x.bfloat16().requires_grad_()
    expected = pool(x.float(), batch.edge_index, batch.batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = pool(x, batch.edge_index, batch.batch)
    assert found.x.dtype == torch.bfloat16
    assert torch.equal(found.cluster, expected.cluster)
    torch.testing.assert_close(found.x, expected.x.bfloat16())
    found.x.sum().backward()
    assert torch.isfinite(x.grad).all()


def test_dropout_is_for_training_alone() -> None:
    pool, batch = pool_with(dropout=0.5), random_batch([9], DIM)
    assert not torch.equal(run(pool, batch).x, run(pool, batch).x)
    pool.eval()
    assert torch.equal(run(pool, batch).x, run(pool, batch).x)


def test_unknown_score() -> None:
    with pytest.raises(UserError, match="unknown score 'softmx'; did you mean 'softmax'"):
        EdgePool(DIM, 8, score="softmx")
