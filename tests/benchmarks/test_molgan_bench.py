"""The yardstick of `gmpool bench molgan` computes the losses of ours, and rows are ratios."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from few_molecules import few_molecules
from tiny_gan import random_molecules

from benchmarks import molgan
from benchmarks.molgan import METHODS, EagerMolGAN, eager_iterations, in_two, job_of, side_by_side
from gmpool.nn.clock import from_uniform, set_clocks
from gmpool.tasks.generate.model import GraphBatch, MolGAN


def model_of(method: str) -> MolGAN:
    job = job_of(random_molecules(), method, 1, 5)
    model = job.task.build(random_molecules(), job.model).double()
    assert isinstance(model, MolGAN)
    return model.train()


@pytest.mark.parametrize("method", METHODS)
def test_both_have_the_same_losses_and_slopes(method: str) -> None:
    ours = model_of(method)
    eager = EagerMolGAN(ours).double()
    real = random_molecules().make(torch.arange(8), ()).graphs
    numbers, zero = torch.arange(8), torch.zeros((), dtype=torch.int64)

    set_clocks(ours, 0)
    with torch.no_grad():
        fake = ours.made(8, real.device)
    set_clocks(ours, 0)
    share = ours.shares(numbers, zero).double()
    set_clocks(ours, 0)
    mine = ours.loss(GraphBatch(real), ours.phases[0])
    theirs = eager.critic_loss(in_two(fake, ours), in_two(real, ours), share)
    torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=0)
    mine.backward()
    theirs.backward()
    for name, head in ours.critic.head.named_parameters():
        twin = dict(eager.critic.head.named_parameters())[name]
        torch.testing.assert_close(head.grad, twin.grad, rtol=1e-6, atol=1e-9)

    set_clocks(ours, 0)
    z = from_uniform(ours.latent(numbers, torch.arange(ours.config.latent_dim))).double()
    set_clocks(ours, 0)
    mine = ours.loss(GraphBatch(real), ours.phases[1])
    torch.testing.assert_close(mine, eager.generator_loss(z), rtol=1e-10, atol=0)


def test_eager_iterations_move_both_networks() -> None:
    molecules = replace(random_molecules(), dtype=torch.float32)
    job = job_of(molecules, "mean", 1, 5)
    model = job.task.build(molecules, job.model)
    assert isinstance(model, MolGAN)
    before = model.generator.bonds.weight.detach().clone()
    eager_iterations(molecules, model, job)(4)
    assert torch.equal(model.generator.bonds.weight, before), "its turn is the fifth iteration"
    eager_iterations(molecules, model, job)(5)
    assert not torch.equal(model.generator.bonds.weight, before)


def test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.setattr(molgan, "in_workers", lambda job, device: None)
    rows = list(side_by_side(few_molecules(), "mean", "cpu", iterations=5, replicas=2, rounds=1))
    assert [row["name"].split(": ")[1] for row in rows] == [
        "one after another vs eager",
        "one after another vs eager, all threads",
        "stacked vs eager",
        "stacked vs eager, all threads",
        "a process per core vs eager",
        "a process per core vs eager, all threads",
        "stacked vs one after another",
    ]
    assert all(row["ratio"] == row["peer"] / row["ours"] for row in rows)
    assert all(row["replicas"] == 2 for row in rows)
