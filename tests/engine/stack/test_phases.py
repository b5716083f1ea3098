"""Two phases with a gradient penalty: stacked as alone, in float64."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from marks import DEVICES
from toy_task import TOY, ToyConfig, ToyGAN, ToyTrainConfig

from gmpool import GraphMultisetTransformer
from gmpool.engine.stack.members import Member
from gmpool.engine.stack.turns import train_stacked
from gmpool.engine.train import Trained, train
from gmpool.errors import UserError
from gmpool.nn.input_gradient import input_gradient
from gmpool.tasks.trainable import Phase

CONFIG = ToyTrainConfig(epochs=5)  # 4 steps each with the first split, 3 or 4 with the second
CASES = [
    (0, ToyConfig(), CONFIG, 1),
    (1, ToyConfig(), CONFIG, 1),
    (1, ToyConfig(), replace(CONFIG, critic_lr=1e-3, clip_norm=0.1, weight_decay=1e-2), 2),
    (0, ToyConfig(), replace(CONFIG, lr=3e-3, epochs=7, patience=None), 3),
]


def alone(fold: int, model: ToyConfig, config: Any, seed: int, device: str = "cpu") -> Trained:
    points = TOY.open("circle")
    split = TOY.splits(points)[fold]
    return train(TOY, points, split, model, config, seed=seed, device=device)


@pytest.mark.parametrize("device", DEVICES)
def test_stacked_equals_alone_over_twenty_steps(device: str) -> None:
    points = TOY.open("circle")
    splits = TOY.splits(points)
    members = [Member(splits[fold], model, config, seed) for fold, model, config, seed in CASES]
    together = train_stacked(TOY, points, members, device=device)
    for case, stacked in zip(CASES, together, strict=True):
        single = alone(*case, device=device)
        assert isinstance(stacked, Trained)
        assert len(single.curve) == case[2].epochs
        for mine, theirs in zip(single.curve, stacked.curve, strict=True):
            assert mine.train_loss == pytest.approx(theirs.train_loss, rel=1e-9, abs=1e-12)
            assert mine.valid_metric == pytest.approx(theirs.valid_metric, rel=1e-9, abs=1e-12)
        assert single.best.epoch == stacked.best.epoch
        assert single.test_metric == pytest.approx(stacked.test_metric, rel=1e-9)
        for name, weight in single.model.state_dict().items():
            torch.testing.assert_close(
                weight.cpu(), stacked.model.state_dict()[name].cpu(), rtol=1e-9, atol=1e-12
            )


def test_each_phase_moves_its_own_weights_when_it_is_its_turn() -> None:
    begun = TOY.build(TOY.open("circle"), ToyConfig()).state_dict()
    seen: list[dict[str, Any]] = []

    class Spied(type(TOY)):  # type: ignore[misc]
        def build(self, dataset: Any, model: Any) -> Any:
            made = super().build(dataset, model)
            loss = made.loss

            def spy(batch: Any, phase: Phase) -> Any:
                seen.append(
                    {"phase": phase.name, **{k: v.clone() for k, v in made.state_dict().items()}}
                )
                return loss(batch, phase)

            made.loss = spy
            return made

    points = TOY.open("circle")
    split, config = TOY.splits(points)[0], replace(CONFIG, epochs=2)
    train(Spied(), points, split, ToyConfig(), config, seed=1)
    assert begun.keys() <= seen[0].keys()
    assert [step["phase"] for step in seen] == (
        ["critic"] * 3 + ["generator"] + ["critic"] * 3 + ["generator"] + ["critic"] * 2
    )
    for before, after in pairwise(seen):
        for name in begun:
            moved = not torch.equal(before[name], after[name])
            assert moved == name.startswith(before["phase"]), (name, before["phase"])


def test_the_penalty_counts() -> None:
    """Without second derivatives the critic would not feel it."""
    with_it, without = (
        alone(0, ToyConfig(penalty=penalty), CONFIG, 1).model.state_dict()["critic.2.weight"]
        for penalty in (10.0, 0.0)
    )
    assert not torch.allclose(with_it, without)


def test_input_gradient_through_our_own_operators() -> None:
    """Values and second derivatives of a penalty on GMT, for three replicas at once."""
    edges = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 5, 4]])
    batch = torch.tensor([0, 0, 0, 0, 1, 1, 1])

    class Critic(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.readout = GraphMultisetTransformer(6, 4, num_seeds=2, num_heads=2).double()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.readout(x, edges, batch)

    class Penalty(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.critic = Critic()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y, slope = input_gradient(self.critic, x)
            return y.sum() + (slope.norm(dim=1) - 1).square().sum()

    torch.manual_seed(0)
    penalty, x = Penalty(), torch.randn(3, 7, 6, dtype=torch.float64)
    weights = {
        k: torch.stack([v.detach() * (1 + 0.1 * r) for r in range(3)]).requires_grad_()
        for k, v in penalty.named_parameters()
    }
    call = torch.func.functional_call
    together = torch.vmap(lambda w, x: call(penalty, w, (x,)))(weights, x)
    grads = torch.autograd.grad(together.sum(), list(weights.values()), allow_unused=True)
    for r in range(3):
        mine = {k: v[r].detach().requires_grad_() for k, v in weights.items()}
        loss = call(penalty, mine, (x[r],))
        torch.testing.assert_close(loss, together[r])
        single = torch.autograd.grad(loss, list(mine.values()), allow_unused=True)
        assert sum(g is not None for g in single) > 5
        for g, all_of_them in zip(single, grads, strict=True):
            if g is not None:
                torch.testing.assert_close(g, all_of_them[r])


@pytest.mark.parametrize(
    "phases",
    [
        (Phase("critic", ("critic",)),),
        (Phase("all"), Phase("generator", ("generator",))),
        (Phase("critic", ("critic",), every=2), Phase("generator", ("generator",))),
    ],
    ids=["a weight that nobody moves", "one that two move", "a first phase now and then"],
)
def test_phases_share_the_weights_out(
    phases: tuple[Phase, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToyGAN, "phases", phases)
    points = TOY.open("circle")
    members = [Member(TOY.splits(points)[0], ToyConfig(), CONFIG, 1)]
    with pytest.raises(UserError, match="one phase must move it"):
        alone(0, ToyConfig(), CONFIG, 1)
    with pytest.raises(UserError, match="one phase must move it"):
        train_stacked(TOY, points, members)
