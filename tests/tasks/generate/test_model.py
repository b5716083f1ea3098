"""MolGAN's losses, what it shows its critic, what it draws, and that stacked is as alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from marks import DEVICES
from tiny_gan import (
    ALPHABET,
    LINES,
    TRAIN,
    DoubleGenerate,
    config_of,
    graphs,
    random_molecules,
    tiny_gan,
)
from torch import Tensor, nn

from gmpool.engine.stack.members import Member
from gmpool.engine.stack.turns import train_stacked
from gmpool.engine.train import Trained, train
from gmpool.nn.clock import set_clocks
from gmpool.tasks.generate.model import GraphBatch, MolGAN

N, T, E = ALPHABET.places, ALPHABET.bond_kinds, ALPHABET.atom_kinds


class Plane(nn.Module):
    """A critic whose score is linear: its gradient is known."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, given: Tensor) -> Tensor:
        return given @ self.weight

    def scored(self, given: Tensor, counted: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        assert counted.tolist() == [0.0] * 6 + [1.0] * 6, "losses of the pooling are of real ones"
        return self(given), {"own": torch.tensor(0.25, dtype=torch.float64)}


def with_plane(**settings: Any) -> tuple[MolGAN, Tensor]:
    model = tiny_gan(**settings)
    weight = torch.linspace(-1, 1, N * N * T + N * E, dtype=torch.float64)
    model.critic = Plane(weight)  # type: ignore[assignment]
    return model.train(), weight


def shown(model: MolGAN, clock: int = 0) -> Tensor:
    set_clocks(model, clock)
    with torch.no_grad():
        return model.made(6, torch.device("cpu"))


def test_the_critics_loss_by_hand() -> None:
    model, weight = with_plane(penalty=3.0)
    real, fake = graphs(), shown(model)
    set_clocks(model, 0)
    found = model.loss(GraphBatch(real), model.phases[0])
    gap = (fake @ weight).mean() - (real @ weight).mean()
    steep = float(weight.norm()) - 1  # of all bonds and atoms together, whatever the mixture
    assert float(found.detach()) == pytest.approx(float(gap) + 0.25 + 3.0 * steep**2, rel=1e-12)


def test_the_generators_loss_by_hand() -> None:
    model, weight = with_plane()
    fake = shown(model, clock=1)
    set_clocks(model, 1)
    found = model.loss(GraphBatch(graphs()), model.phases[1])
    assert float(found.detach()) == pytest.approx(-float((fake @ weight).mean()), rel=1e-12)
    assert not torch.equal(fake, shown(model, clock=3)), "noise is that of the step"


def test_mixtures_lie_between_real_and_made_graphs() -> None:
    """The penalty of a critic that is quadratic depends on them."""
    model = tiny_gan(penalty=1.0).train()
    seen: list[Tensor] = []

    class Spy(Plane):
        def forward(self, given: Tensor) -> Tensor:
            seen.append(given.detach())
            return given.square() @ self.weight

    model.critic = Spy(torch.ones(N * N * T + N * E, dtype=torch.float64))  # type: ignore[assignment]
    real, fake = graphs(), shown(model)
    set_clocks(model, 0)
    model.loss(GraphBatch(real), model.phases[0])
    mixed = seen[-1]
    share = ((mixed - fake) * (real - fake)).sum(1) / (real - fake).square().sum(1)
    assert bool(((share > 0) & (share < 1)).all())
    assert len(set(share.tolist())) == 6, "each graph has its own share"
    torch.testing.assert_close(mixed, share[:, None] * real + (1 - share)[:, None] * fake)


@pytest.mark.parametrize("output", ["softmax", "gumbel", "hard"])
def test_what_the_critic_sees(output: str) -> None:
    model = tiny_gan(output=output, temperature=0.5).train()
    given = shown(model)
    bonds = given[:, : N * N * T].unflatten(1, (N, N, T))
    atoms = given[:, N * N * T :].unflatten(1, (N, E))
    for shares in (bonds, atoms):
        torch.testing.assert_close(shares.sum(-1), torch.ones_like(shares[..., 0]))
        assert float(shares.min()) >= -1e-12
    torch.testing.assert_close(bonds, bonds.transpose(1, 2))
    assert bool((bonds.diagonal(dim1=1, dim2=2)[:, 0] == 1).all()), "no place is bound to itself"
    whole = bool(((given.round() - given).abs() < 1e-12).all())
    assert whole == (output == "hard")


def test_hard_ones_have_the_gradient_of_soft_ones() -> None:
    hard, soft = (tiny_gan(output=output).train() for output in ("hard", "gumbel"))
    weight = torch.randn(N * N * T + N * E, dtype=torch.float64)
    slopes = []
    for model in (hard, soft):
        set_clocks(model, 4)
        (model.made(6, torch.device("cpu")) @ weight).sum().backward()
        slopes.append(model.generator.bonds.weight.grad)
    assert slopes[0].abs().sum() > 0
    torch.testing.assert_close(*slopes)


def test_molecules_are_drawn_by_the_scores() -> None:
    """Of one graph's scores, as often as its softmax says; the same number is the same molecule."""
    model = tiny_gan().eval()
    with torch.no_grad():
        model.generator.layers[-2].weight.zero_()  # so that all have the same scores
        (rows,) = model.sample(torch.arange(6000))
        bonds, atoms = model._scores(torch.arange(1))
    counts = torch.stack([(rows[:, :N] == kind).double().mean(0) for kind in range(E)], dim=1)
    torch.testing.assert_close(counts, atoms[0].softmax(-1), atol=0.03, rtol=0)
    pair = (rows[:, N:] == 0).double().mean(0)
    low, high = torch.triu_indices(N, N, 1)
    torch.testing.assert_close(pair, bonds[0].softmax(-1)[low, high, 0], atol=0.03, rtol=0)
    again = model.sample(torch.tensor([5000, 17]))[0]
    assert torch.equal(again, rows[[5000, 17]])
    assert rows.dtype == torch.uint8
    assert rows.shape == (6000, ALPHABET.width)


def runs(lines: list[dict[str, Any]]) -> list[Member]:
    molecules = random_molecules()
    settings = [replace(TRAIN, lr=1e-2), replace(TRAIN, lr=3e-3)]
    return [
        Member(molecules.split, config_of(**line), settings[seed % 2], seed)
        for seed, line in enumerate(lines)
    ]


def assert_stacked_as_alone(members: list[Member], device: str) -> None:
    task, molecules = DoubleGenerate(), random_molecules()
    together = train_stacked(task, molecules, members, device=device)
    for (split, model, config, seed), stacked in zip(members, together, strict=True):
        single = train(task, molecules, split, model, config, seed=seed, device=device)
        assert isinstance(stacked, Trained)
        for mine, theirs in zip(single.curve, stacked.curve, strict=True):
            assert mine.train_loss == pytest.approx(theirs.train_loss, rel=1e-8)
        moved = dict(single.model.named_parameters())
        for name, weight in stacked.model.named_parameters():
            torch.testing.assert_close(weight.cpu(), moved[name].cpu(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_stacked_equals_alone_over_twenty_steps(line: dict[str, Any], device: str) -> None:
    """Twenty of the critic and four of the generator, in float64."""
    assert TRAIN.epochs * (TRAIN.epoch_steps or 0) == 20
    assert_stacked_as_alone(runs([line, line, {**line, "penalty": 2.0}]), device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("output", ["gumbel", "hard"])
def test_other_outputs_stacked(output: str, device: str) -> None:
    lines = [
        {"method": "mean", "output": output, "temperature": temperature}
        for temperature in (1.0, 0.5)
    ]
    assert_stacked_as_alone(runs(lines), device)


def test_mean_sum_and_maximum_are_one_stack() -> None:
    assert_stacked_as_alone(runs([{"method": name} for name in ("mean", "sum", "max")]), "cpu")


def test_a_run_again_has_the_same_bits() -> None:
    task, molecules = DoubleGenerate(), random_molecules()
    split, model, config, seed = runs([LINES["gmt"]])[0]
    one, two = (train(task, molecules, split, model, config, seed=seed) for _ in range(2))
    assert one.curve[-1].train_loss == two.curve[-1].train_loss
    for name, weight in one.model.state_dict().items():
        assert torch.equal(weight, two.model.state_dict()[name]), name


def test_seeds_share_nothing_and_poolings_share_the_generator() -> None:
    """So that runs of one seed can be compared pair by pair."""
    mean, gmpool, other = (
        tiny_gan(0, method="mean"),
        tiny_gan(0, method="gmpool", pool={"num_heads": 2}),
        tiny_gan(1, method="mean"),
    )
    assert torch.equal(mean.generator.bonds.weight, gmpool.generator.bonds.weight)
    assert not torch.equal(mean.generator.bonds.weight, other.generator.bonds.weight)
    assert not math.isclose(float(mean.latent.seed), float(other.latent.seed))
