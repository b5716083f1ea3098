"""Models of one architecture as one: weights there and back, and outputs of each one's own."""

from __future__ import annotations

from dataclasses import replace

import torch
from small_sets import MODEL, classes, split
from torch import Tensor
from toy_task import TOY, ToyConfig
from trainings import begun, fixed_batches

from gmpool.data import GraphBatch, PackedGraphs
from gmpool.engine.stack.replicas import ALIGNED, Block, Replicas
from gmpool.nn.batch_norm import running_of


def test_weights_go_there_and_back() -> None:
    graphs = classes()
    models = [begun(graphs, split(), MODEL, seed) for seed in range(3)]
    replicas = Replicas(models, torch.device("cpu"))
    for r, model in enumerate(models):
        filled = replicas.filled(models[0], [weights[r] for weights in replicas.weights])
        state = filled.state_dict()
        assert state.keys() == model.state_dict().keys()
        assert all(torch.equal(state[name], p) for name, p in model.named_parameters())


def test_each_phase_has_a_block_whose_tensors_begin_where_they_are_read_fast() -> None:
    model = TOY.build(TOY.open("circle"), ToyConfig())
    critic, generator = (Block(model, phase) for phase in model.phases)
    assert {name.split(".")[0] for name in critic.shapes} == {"critic"}
    assert {name.split(".")[0] for name in generator.shapes} == {"generator"}
    row = critic.row(model)
    starts = [view.storage_offset() for view in critic.by_name(row).values()]
    assert all(start % ALIGNED == 0 for start in starts)
    assert row.numel() == sum(critic.room)
    for name, view in critic.by_name(row).items():
        assert torch.equal(view, dict(model.named_parameters())[name])


def test_gradients_of_no_use_are_zeros() -> None:
    model = TOY.build(TOY.open("circle"), ToyConfig())
    block = Block(model, model.phases[0])
    weights = torch.stack([block.row(model)] * 2)
    grads = [None, *(torch.ones(2, *shape) for shape in list(block.shapes.values())[1:])]
    flat = block.flat(grads, weights)
    assert flat.shape == weights.shape
    by_name = list(block.by_name(flat).values())
    assert not by_name[0].any()
    assert all(view.eq(1).all() for view in by_name[1:])
    assert flat.sum() == sum(view.sum() for view in by_name), "and nothing in between"


def test_losses_rows_and_scores_are_each_ones_own() -> None:
    graphs = classes()
    models = [begun(graphs, split(), MODEL, seed).eval() for seed in range(2)]
    replicas, batches = Replicas(models, torch.device("cpu")), fixed_batches(graphs, models[0])
    ids = torch.tensor([[0, 1, 2, 3], [5, 7, batches.empty, batches.empty]])
    batch = batches.make(ids, batches.bounds(ids))
    losses, _ = replicas.gradients(batch, 0)
    judged = replicas.judge(list(replicas.evaluate(batch)))
    for r, model in enumerate(models):
        plain = graphs.batch(ids[r][ids[r] != batches.empty])
        torch.testing.assert_close(losses[r], model.loss(plain, *model.phases))
        loss, score = model.judge(*model.evaluate(plain))
        torch.testing.assert_close(judged[0][r].float(), loss)
        torch.testing.assert_close(judged[1][r].float(), score.float())


def doubles(graphs: PackedGraphs, ids: Tensor) -> GraphBatch:
    batch = graphs.batch(ids)
    batch.x = batch.x.double()
    return batch


def test_running_statistics_are_each_ones_own() -> None:
    """Of the rows that count: the second batch has fewer of them, and both are filled up."""
    graphs, config = classes(), replace(MODEL, method="gin", conv="gin", batch_norm="both")
    models = [begun(graphs, split(), config, seed).double() for seed in range(2)]
    replicas, batches = Replicas(models, torch.device("cpu")), fixed_batches(graphs, models[0])
    batches.x = batches.x.double()
    ids = torch.tensor([[0, 1, 2, 3], [5, 7, batches.empty, batches.empty]])
    batch = batches.make(ids, batches.bounds(ids))
    replicas.gradients(batch, 0)
    replicas.gradients(batch, 0)
    rows = replicas.evaluate(batch)
    assert len(replicas.statistics) == len(running_of(models[0])) > 0
    for r, model in enumerate(models):
        there = ids[r][ids[r] != batches.empty]
        model.train()
        for _ in range(2):
            model.loss(doubles(graphs, there), *model.phases)
        filled = replicas.filled(models[0], [each[r] for each in replicas.learned])
        for name in running_of(model):
            assert model.get_buffer(name).std() != 0, "it has moved"
            torch.testing.assert_close(filled.get_buffer(name), model.get_buffer(name))
        model.eval()
        expected = model.evaluate(doubles(graphs, there))[0]
        torch.testing.assert_close(rows[0][r][: len(there)], expected)


def test_replicas_that_begin_alike_share_a_model_until_they_part() -> None:
    graphs = classes()
    models = [begun(graphs, split(), MODEL, seed) for seed in range(2)]
    replicas = Replicas(models, torch.device("cpu"), [0, 1, 0])
    (weights,) = replicas.weights
    assert replicas.count == 3
    assert torch.equal(weights[0], weights[2])
    assert not torch.equal(weights[0], weights[1])
    weights[0] += 1
    assert not torch.equal(weights[0], weights[2])
    replicas.keep(torch.tensor([1]))
    assert torch.equal(replicas.weights[0], weights[1:2])
