"""On a CUDA device everything gives what it gives on the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from dense_sets import dense_set
from graphs import random_batch
from marks import CUDA
from molecule_sets import random_set
from small_graphs import atoms
from small_sets import QUICK, classes, ring_molecule, split
from trainings import alone, as_set, begun, fixed_batches, stacked, stacking

from gmpool import GraphMultisetTransformer
from gmpool.config import TrainConfig
from gmpool.data import Split, from_pyg, load
from gmpool.data.fixed_batch import FixedBatches
from gmpool.engine.stack import program
from gmpool.engine.stack.members import Member
from gmpool.engine.stack.replicas import Replicas
from gmpool.engine.stack.stack import EPOCHS_AHEAD, ROWS_LIKE_MAKING, Stack
from gmpool.engine.stack.turns import train_together
from gmpool.engine.train import Trained
from gmpool.graph.batch_edges import BatchEdges
from gmpool.nn import molecule
from gmpool.nn.encoder import MoleculeEncoder
from gmpool.ops.grouped import pytorch as grouped
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.reconstruct.settings import AutoencoderConfig, ReconstructTrainConfig
from gmpool.tasks.task import TASKS

pytestmark = CUDA


@pytest.fixture(params=["embedding_bag", "matrix products"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(grouped, "LARGE_GRAPH", 10**12 if request.param == "embedding_bag" else 0)
    return request.param


@pytest.mark.parametrize("softmax", ["seeds", "nodes"])
@pytest.mark.parametrize("conv", ["gcn", "gin", None])
def test_readout_and_gradients(conv: str | None, softmax: str, path: str) -> None:
    torch.manual_seed(0)
    batch = random_batch([50, 1, 0, 37, 12], 16, weighted=True)
    model = GraphMultisetTransformer(
        16, 8, num_seeds=4, num_heads=2, conv=conv, softmax=softmax, later_adjacency="coarsened"
    ).double()
    found = []
    for device in ("cpu", "cuda"):
        model.to(device).zero_grad()
        x = batch.x.to(device).detach().requires_grad_()
        out = model(
            x,
            batch.edge_index.to(device),
            batch.batch.to(device),
            batch.size,
            edge_weight=batch.weight.to(device),
        )
        (grad,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        (penalty,) = torch.autograd.grad(grad.square().sum(), x)
        found.append([t.detach().cpu() for t in (out, grad, penalty)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-8)


@pytest.mark.data
def test_training_follows_the_cpu(data_root: Path) -> None:
    dataset = load("MUTAG", data_root)
    model = ModelConfig(hidden_dim=32, dropout=0.0, pool={"num_heads": 4, "layer_norm": True})
    config = TrainConfig(epochs=3, warmup_epochs=1)
    member = Member(dataset.folds[0], model, config, seed=0)
    curves = [alone(dataset.graphs, member, device=d).curve for d in ("cpu", "cuda")]
    for a, b in zip(*curves, strict=True):
        assert a.train_loss == pytest.approx(b.train_loss, rel=1e-3)
        assert a.valid_loss == pytest.approx(b.valid_loss, rel=1e-3)


@pytest.mark.parametrize("conv", ["gcn", "gin"])
def test_bonds_by_kind_are_bonds_by_features(conv: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of training with the fused messages, and with the composed ones."""
    torch.manual_seed(0)
    graphs = from_pyg([ring_molecule(n) for n in (3, 6, 1, 40, 7, 12)]).to("cuda")
    sizes = graphs.cat_sizes, graphs.edge_cat_sizes
    encoder = MoleculeEncoder(*sizes, 128, conv=conv).cuda()
    found = []
    for fused in (True, False):
        if not fused:
            monkeypatch.setattr(molecule, "by_kind", lambda x: False)
        batch = graphs.batch(range(6))
        out = encoder(batch.x, BatchEdges(batch)).x
        found.append([out, *torch.autograd.grad(out.square().sum(), encoder.parameters())])
        assert ("edge_attr" in vars(batch)) != fused
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


def test_directed_messages_are_those_of_the_cpu() -> None:
    """Of one batch, where the CPU makes each distinct state once, and of two replicas."""
    graphs, config = random_set(), ModelConfig(conv="dmpnn", state_dim=40, dropout=0.0)
    part, ids = split(), torch.tensor([[7, 0, 3, 4], [6, 1, 24, 24]])
    found: list[list[torch.Tensor]] = []
    for device in ("cpu", "cuda"):
        models = [begun(graphs, part, config, seed).to(device) for seed in range(2)]
        there = graphs.to(device)
        loss = models[0].loss(there.batch(range(24)), *models[0].phases)
        grads = torch.autograd.grad(loss, models[0].network.encoder.parameters())
        batches = fixed_batches(there, models[0])
        batch = batches.make(ids.to(device), batches.bounds(ids))
        found.append([loss, *grads, *Replicas(models, torch.device(device)).gradients(batch, 0)])
    for a, b in zip(*found, strict=True):
        assert (a - b.cpu()).norm() <= 1e-4 * a.norm()


@pytest.mark.parametrize(("method", "conv"), [("gmt", "gcn"), ("gin", "gin")])
def test_dense_graphs_as_bits_are_those_as_lists(method: str, conv: str) -> None:
    """Losses and gradients of two replicas with batches of different sizes."""
    graphs, part = dense_set(), torch.arange(8)
    config = ModelConfig(method=method, conv=conv, hidden_dim=128, dropout=0.0)
    models = [begun(graphs, Split(part, part, part), config, seed) for seed in range(2)]
    graphs = graphs.to("cuda")
    bits, lists = fixed_batches(graphs, models[0]), FixedBatches(graphs, plain=True)
    assert bits.bits is not None
    replicas = Replicas(models, torch.device("cuda"))
    ids = torch.tensor([[7, 0, 3, 4], [6, 1, bits.empty, bits.empty]])
    each = [b.make(ids.cuda(), b.bounds(ids)) for b in (bits, lists)]
    for a, b in zip(*(replicas.gradients(batch, 0) for batch in each), strict=True):
        assert (a - b).norm() <= 1e-4 * b.norm()


@pytest.mark.parametrize("place", ["inside", "after"])
def test_a_stack_with_batch_norms_is_what_each_gives_on_the_cpu(place: str) -> None:
    """As one captured program, whose steps move running statistics where they lie."""
    config = ModelConfig(
        method="gin", conv="gin", hidden_dim=8, num_layers=2, dropout=0.0, batch_norm=place
    )
    graphs, train = classes(), replace(QUICK, epochs=5)
    runs = [Member(split(), config, train, seed) for seed in range(3)]
    for run, found in zip(runs, stacked(graphs, runs, device="cuda"), strict=True):
        assert isinstance(found, Trained)
        for a, b in zip(found.curve, alone(graphs, run).curve, strict=True):
            assert a.train_loss == pytest.approx(b.train_loss, rel=1e-3)
            assert a.valid_loss == pytest.approx(b.valid_loss, rel=1e-2)


@pytest.mark.parametrize("objective", ["x", "a"])
def test_stacks_side_by_side_give_what_each_gives_alone(objective: str) -> None:
    """Each on a stream of its own, with replicas that stop at different epochs."""
    graphs, ids = atoms(), torch.arange(24)
    parts = [Split(ids[: 8 + 3 * k], ids[-6:], ids[-6:]) for k in range(3)]
    base = AutoencoderConfig(hidden_dim=8, objective=objective)
    config = ReconstructTrainConfig(epochs=60, batch_size=8, lr=0.02)
    stackings = [
        stacking(
            graphs,
            [
                Member(
                    part, replace(base, method=method, ratio=ratio), replace(config, patience=k), k
                )
                for k, part in enumerate(parts, start=2)
            ],
        )
        for method in ("gmt", "mincut")
        for ratio in (0.4, 0.7)
    ]
    by_themselves = [stacked(graphs, one.members, device="cuda") for one in stackings]
    for stack, member, a in train_together(stackings, device="cuda"):
        b = by_themselves[stack][member]
        assert isinstance(a, Trained)
        assert isinstance(b, Trained)
        assert [e.valid_loss for e in a.curve][:20] == pytest.approx(
            [e.valid_loss for e in b.curve][:20], rel=1e-3
        )


@pytest.mark.parametrize("method", ["gmt", "topk", "sortpool", "diffpool"])
def test_a_smaller_program_needs_no_rehearsal(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicas stop one after the other, and each time the program is made anew."""
    assert program.loads_while_capturing()
    config = ModelConfig(method=method, hidden_dim=8, num_layers=2, dropout=0.3)
    members = members_that_stop_one_after_the_other(config)
    losses = []
    for needs_none in (True, False):
        monkeypatch.setattr(program, "loads_while_capturing", lambda value=needs_none: value)
        losses.append(losses_of_a_stack_that_shrinks(members, monkeypatch))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_the_same_stack_twice_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    config = ModelConfig(hidden_dim=8, num_layers=2, dropout=0.3)
    members = members_that_stop_one_after_the_other(config)
    once, again = (losses_of_a_stack_that_shrinks(members, monkeypatch) for _ in range(2))
    assert once == again


def members_that_stop_one_after_the_other(config: ModelConfig) -> list[Member]:
    return [
        Member(split(), config, replace(QUICK, epochs=epochs, patience=None), seed=epochs)
        for epochs in (3, 3 + EPOCHS_AHEAD, 3 + 2 * EPOCHS_AHEAD)
    ]


def losses_of_a_stack_that_shrinks(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> list[float]:
    """Whenever it may."""
    monkeypatch.setitem(ROWS_LIKE_MAKING, "cuda", 0)
    there = as_set(classes()).to("cuda")
    stack = Stack(TASKS["classify"], there, members, torch.device("cuda"))
    assert {len(stack.alive) for _ in stack.run(None)} == {0, 1, 2, 3}
    return [epoch.valid_loss for done in stack.progress for epoch in done.curve]
