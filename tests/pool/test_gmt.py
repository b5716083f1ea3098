"""GraphMultisetTransformer as a user of PyG meets it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from graphs import random_batch
from paper_equations import BLOCK_OPTIONS, TOLERANCE, arr, gmt, graphs_of, shake
from torch.func import functional_call, stack_module_state

from gmpool import GraphMultisetTransformer, seeds_for
from gmpool.errors import UserError
from gmpool.pool.gmt import PRESETS

DIM = 6
ORDERS = (
    "GMPool_G-SelfAtt-GMPool_I",
    "GMPool_I-GMPool_G",
    "SelfAtt-GMPool_G",
    "GMPool_G",
    "GMPool_G-SelfAtt-SelfAtt-GMPool_I-GMPool_I",
)


def a_model(**options: object) -> GraphMultisetTransformer:
    torch.manual_seed(0)
    return GraphMultisetTransformer(DIM, 4, **{"num_seeds": 3, "num_heads": 2, **options})


@pytest.mark.parametrize("later", ["identity", "coarsened"])
@pytest.mark.parametrize("conv", ["gcn", "gin", None])
@pytest.mark.parametrize("blocks", ORDERS)
def test_it_is_the_equations(blocks: str, conv: str | None, later: str) -> None:
    if later == "coarsened" and blocks.count("GMPool") < 2:
        with pytest.raises(UserError, match="has no effect"):
            GraphMultisetTransformer(4, 2, num_seeds=3, blocks=blocks, later_adjacency=later)
        return
    torch.manual_seed(0)
    batch = random_batch([4, 1, 3, 0, 2], 4)
    graphs = graphs_of(batch)
    for number, options in enumerate(BLOCK_OPTIONS):
        model = shake(
            GraphMultisetTransformer(
                4,
                2,
                num_seeds=3,
                ratio=0.5,
                conv=conv,
                blocks=blocks,
                later_adjacency=later,
                final_linear=bool(number % 2),
                **options,
            )
        )
        out = model(batch.x, batch.edge_index, batch.batch, batch.size)
        assert out.shape == (batch.size, 2)
        for b, (rows, A) in enumerate(graphs):
            np.testing.assert_allclose(arr(out[b]), gmt(model, rows, A), atol=TOLERANCE, rtol=1e-10)


def test_one_import_and_one_call() -> None:
    batch = random_batch([5, 3], DIM, dtype=torch.float32)
    out = a_model()(batch.x, batch.edge_index, batch.batch)
    assert out.shape == (2, 4)
    assert out.dtype == torch.float32


@pytest.mark.parametrize("softmax", ["seeds", "nodes"])
@pytest.mark.parametrize("conv", ["gcn", "gin", None])
def test_odd_graphs_have_finite_values_and_gradients(conv: str | None, softmax: str) -> None:
    """No edges, one node, isolated nodes, an empty graph first, in the middle and last."""
    batch = random_batch([0, 4, 0, 1, 3, 0], DIM, density=0.3, dtype=torch.float32)
    x = batch.x.requires_grad_()
    model = a_model(conv=conv, softmax=softmax, layer_norm=True, later_adjacency="coarsened")
    for edge_index in (batch.edge_index, torch.empty(2, 0, dtype=torch.long)):
        out = model(x, edge_index, batch.batch, 6)
        assert out.shape == (6, 4)
        assert torch.isfinite(out).all()
        torch.testing.assert_close(out[0], out[2])
        out.square().sum().backward()
        assert all(
            torch.isfinite(p.grad).all() for p in (x, *model.parameters()) if p.grad is not None
        )


def test_no_nodes_at_all() -> None:
    empty = torch.empty(2, 0, dtype=torch.long)
    assert a_model()(torch.empty(0, DIM), empty, torch.empty(0, dtype=torch.long)).shape == (0, 4)
    out = a_model()(torch.empty(0, DIM), empty, torch.empty(0, dtype=torch.long), 2)
    assert torch.isfinite(out).all()


def test_without_a_batch_vector_there_is_one_graph() -> None:
    batch = random_batch([5], DIM, dtype=torch.float32)
    model = a_model()
    assert torch.equal(
        model(batch.x, batch.edge_index), model(batch.x, batch.edge_index, batch.batch)
    )


def test_edge_weights_matter_and_get_gradients() -> None:
    batch = random_batch([5, 4], DIM, weighted=True)
    model = a_model().double()
    weight = batch.weight.requires_grad_()
    args = (batch.x, batch.edge_index, batch.batch, 2)
    assert torch.autograd.gradcheck(lambda w: model(*args, edge_weight=w), weight)
    assert not torch.allclose(model(*args), model(*args, edge_weight=weight))


def test_assign_is_the_first_pooling() -> None:
    batch = random_batch([5, 3], DIM)
    model = a_model().double()
    pooled = model.assign(batch.x, batch.edge_index, batch.batch)
    assert pooled.assignment.shape == (8, 3)
    assert pooled.x.shape == (2, 3, DIM)
    torch.testing.assert_close(pooled.x, model.blocks[0](batch.x, batch.edge_index, batch.batch).x)


@pytest.mark.parametrize(
    ("name", "mean_nodes", "seeds"),
    [("DD", 284.32, 72), ("PROTEINS", 39.06, 10), ("MUTAG", 17.93, 5), ("COLLAB", 74.49, 19)],
)
def test_number_of_seeds(name: str, mean_nodes: float, seeds: int) -> None:
    """ceil(0.25 · ceil(mean nodes)), as the authors' table has it."""
    assert seeds_for(mean_nodes) == seeds
    model = GraphMultisetTransformer(
        DIM, 4, mean_nodes=mean_nodes, blocks="GMPool_G-GMPool_I-GMPool_I"
    )
    later = -(-seeds // 4)
    assert [len(block.seeds) for block in model.blocks] == [seeds, later, 1]


def test_widths_narrow_at_self_attention_unless_the_residual_forbids_it() -> None:
    authors = GraphMultisetTransformer.from_preset("authors", 12, 4, num_seeds=3)
    assert [type(b).__name__ for b in authors.blocks] == ["GMPool", "SelfAtt", "GMPool"]
    assert authors.blocks[1].after.linear.out_features == 4
    paper = GraphMultisetTransformer.from_preset("paper", 12, 4, num_seeds=3)
    assert paper.blocks[1].after.linear.out_features == 12
    assert isinstance(paper.final, torch.nn.Linear)
    same = GraphMultisetTransformer.from_preset("paper", 12, 12, num_seeds=3)
    assert isinstance(same.final, torch.nn.Identity)
    assert set(PRESETS) == {"authors", "paper"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"blocks": "GMPool_G-SelfAtt"}, "must end in a GMPool"),
        (
            {"blocks": "GMPool_G-SelfAt-GMPool_I"},
            "unknown block in blocks 'SelfAt'; did you mean 'SelfAtt'",
        ),
        ({"conv": "gcm"}, "unknown convolution 'gcm'"),
        ({"later_adjacency": "coarse"}, "unknown later_adjacency 'coarse'"),
        ({"residual": "quary"}, "unknown residual 'quary'; did you mean 'query'"),
        ({"num_seeds": 0}, "num_seeds must lie between 1 and 10,000, got 0"),
        ({"mean_nodes": 3.0}, "either num_seeds, or mean_nodes"),
        ({"num_seeds": None}, "either num_seeds, or mean_nodes"),
        ({"num_seeds": None, "mean_nodes": 3.0, "ratio": 2.0}, r"ratio must lie in \(0, 1\]"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\)"),
    ],
)
def test_options_are_checked(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        a_model(**options)


def test_a_misspelt_option_raises() -> None:
    with pytest.raises(TypeError, match="num_sedes"):
        a_model(num_sedes=3)


def test_inputs_are_checked() -> None:
    batch = random_batch([5], DIM, dtype=torch.float32)
    with pytest.raises(UserError, match=r"edge_index must be \[2, E\], got \(3, 4\)"):
        a_model()(batch.x, torch.zeros(3, 4, dtype=torch.long))
    with pytest.raises(UserError, match="edge_weight must have one entry per edge"):
        a_model()(batch.x, batch.edge_index, edge_weight=torch.ones(1))


def test_dropout_acts_in_training_only() -> None:
    batch = random_batch([5], DIM, dtype=torch.float32)
    model = a_model(dropout=0.5)
    first, second = (model(batch.x, batch.edge_index) for _ in range(2))
    assert not torch.equal(first, second)
    model.eval()
    first, second = (model(batch.x, batch.edge_index) for _ in range(2))
    assert torch.equal(first, second)


def test_state_round_trip() -> None:
    batch = random_batch([5], DIM, dtype=torch.float32)
    one, other = a_model(), GraphMultisetTransformer(DIM, 4, num_seeds=3, num_heads=2)
    assert not torch.equal(one(batch.x, batch.edge_index), other(batch.x, batch.edge_index))
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(batch.x, batch.edge_index), other(batch.x, batch.edge_index))


def test_autocast() -> None:
    batch = random_batch([15, 20], DIM, dtype=torch.float32)
    model = a_model()
    exact = model(batch.x, batch.edge_index, batch.batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = model(batch.x, batch.edge_index, batch.batch)
        low.float().square().sum().backward()
    assert low.dtype == torch.bfloat16
    assert (low - exact).norm() < 0.03 * exact.norm()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("softmax", ["seeds", "nodes"])
@pytest.mark.parametrize("later", ["identity", "coarsened"])
def test_replicas_of_one_definition(softmax: str, later: str) -> None:
    """R models with weights of their own, on batches of their own, as one program: vmap over
    functional_call gives each model's stand-alone output and gradients."""
    R = 3
    torch.manual_seed(0)
    options = {"num_seeds": 3, "num_heads": 2, "softmax": softmax, "later_adjacency": later}
    models = [GraphMultisetTransformer(DIM, 4, **options).double() for _ in range(R)]
    batches = [random_batch([5, 0, 3], DIM, seed=r, density=1.0) for r in range(R)]
    x, edges, batch = (
        torch.stack([getattr(b, name) for b in batches]) for name in ("x", "edge_index", "batch")
    )
    parameters, buffers = stack_module_state(models)
    shell = GraphMultisetTransformer(DIM, 4, **options).double()

    def one(p: dict, x: torch.Tensor, edges: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        return functional_call(shell, (p, buffers), (x, edges, batch, 3))

    stacked = torch.vmap(one)(parameters, x, edges, batch)
    stacked.square().sum().backward()
    for r, model in enumerate(models):
        alone = model(x[r], edges[r], batch[r], 3)
        torch.testing.assert_close(stacked[r], alone, atol=1e-12, rtol=1e-12)
        alone.square().sum().backward()
        for name, p in model.named_parameters():
            stacked_grad = parameters[name].grad
            assert (p.grad is None) == (stacked_grad is None)  # keys of a single seed are not used
            if p.grad is not None:
                torch.testing.assert_close(stacked_grad[r], p.grad, atol=1e-10, rtol=1e-9)
