"""MolGANs on QM9: ours beside one written in the usual way, in plain PyTorch on dense tensors.

eager              a linear map for each kind of bond, keys and values of every place, three passes
                   of the critic, one GAN at a time; on a CPU with one thread
eager, all threads the same with as many threads as PyTorch takes
one after another  ours, one GAN at a time (`gmpool.engine.train`); on a CPU with one thread
a process per core ours on a CPU, one GAN in each (`--workers auto`)
stacked            ours, so many GANs as one program, with as many threads as PyTorch takes

Times are seconds of one iteration of one GAN: a step of the critic, and in every fifth iteration
one of the generator. All compute the same losses (tests/benchmarks/test_molgan_bench.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.stacked import in_workers, members_of
from benchmarks.timing import interleaved, row, where
from gmpool.engine.job import Job
from gmpool.engine.stack.stack import Stack
from gmpool.engine.train import train
from gmpool.tasks.generate.data import SmallMolecules
from gmpool.tasks.generate.model import BETAS, MolGAN
from gmpool.tasks.readouts import OneSeed
from gmpool.tasks.task import TASKS

METHODS = ("mean", "gmpool")
LEARNED = 2000
EAGER, THREADED = "eager", "eager, all threads"
ALONE, PROCESSES, STACKED = "one after another", "a process per core", "stacked"


class EagerRelationalConv(nn.Module):
    """W_s h + Σ_t A_t W_t h, bond by bond."""

    def __init__(self, in_dim: int, out_dim: int, relations: int) -> None:
        super().__init__()
        self.own = nn.Linear(in_dim, out_dim)
        self.of_bond = nn.ModuleList(
            nn.Linear(in_dim, out_dim, bias=False) for _ in range(relations)
        )

    def forward(self, h: Tensor, bonds: Tensor) -> Tensor:
        """h [B, n, D], bonds [B, n, n, T]"""
        out = self.own(h)
        for t, linear in enumerate(self.of_bond):
            out = out + bonds[..., t] @ linear(h)
        return out


class EagerPool(nn.Module):
    """GMPool_1 over places, with keys and values for each."""

    def __init__(self, dim: int, relations: int, heads: int) -> None:
        super().__init__()
        self.heads, self.dim = heads, dim
        self.seed = nn.Parameter(torch.randn(1, dim))
        self.query, self.after = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.key = EagerRelationalConv(dim, dim, relations)
        self.value = EagerRelationalConv(dim, dim, relations)

    def forward(self, g: Tensor, bonds: Tensor) -> Tensor:
        q = self.query(self.seed).unflatten(1, (self.heads, -1))[0]  # [H, d]
        k = self.key(g, bonds).unflatten(2, (self.heads, -1))  # [B, n, H, d]
        v = self.value(g, bonds).unflatten(2, (self.heads, -1))
        scores = torch.einsum("hd,bnhd->bnh", q, k) / self.dim**0.5
        gathered = torch.einsum("bnh,bnhd->bhd", scores.softmax(1), v).flatten(1)
        z = q.flatten() + gathered
        return z + torch.relu(self.after(z))


class EagerCritic(nn.Module):
    def __init__(self, ours: MolGAN) -> None:
        super().__init__()
        config, alphabet = ours.config, ours.alphabet
        E, T, d, w = alphabet.atom_kinds, len(alphabet.bonds), config.conv_dim, config.pool_dim
        self.first = EagerRelationalConv(E, d, T)
        self.second = EagerRelationalConv(d + E, d // 2, T)
        self.gate, self.value = nn.Linear(d // 2 + E, w), nn.Linear(d // 2 + E, w)
        self.pool = EagerPool(w, T, 4) if config.method == "gmpool" else None
        self.head = nn.Sequential(
            nn.Linear(w, 128), nn.Tanh(), nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, 1)
        )

    def forward(self, bonds: Tensor, atoms: Tensor) -> Tensor:
        """bonds [B, n, n, T + 1], atoms [B, n, E]"""
        bonds = bonds[..., 1:]
        h = torch.tanh(self.first(atoms, bonds))
        h = torch.tanh(self.second(torch.cat([h, atoms], 2), bonds))
        h = torch.cat([h, atoms], 2)
        g = torch.sigmoid(self.gate(h)) * torch.tanh(self.value(h))
        pooled = g.mean(1) if self.pool is None else self.pool(g, bonds)
        return self.head(pooled)


class EagerMolGAN(nn.Module):
    """With the weights of ours."""

    def __init__(self, ours: MolGAN) -> None:
        super().__init__()
        self.alphabet, self.latent_dim = ours.alphabet, ours.config.latent_dim
        self.penalty, self.critic_steps = ours.config.penalty, ours.config.critic_steps
        made = ours.generator
        self.layers, self.bonds, self.atoms = made.layers, made.bonds, made.atoms
        self.critic = EagerCritic(ours)
        copy_weights(ours, self.critic)

    def generated(self, z: Tensor) -> tuple[Tensor, Tensor]:
        n, h = self.alphabet.places, self.layers(z)
        bonds = self.bonds(h).view(-1, n, n, self.alphabet.bond_kinds)
        bonds = ((bonds + bonds.transpose(1, 2)) / 2).softmax(-1)
        loop = torch.eye(n, device=z.device)[None, :, :, None]
        none = torch.zeros_like(bonds)
        none[..., 0] = 1
        atoms = self.atoms(h).view(-1, n, self.alphabet.atom_kinds).softmax(-1)
        return bonds * (1 - loop) + none * loop, atoms

    def critic_loss(
        self, fake: tuple[Tensor, Tensor], real: tuple[Tensor, Tensor], share: Tensor
    ) -> Tensor:
        """share [B]"""
        gap = self.critic(*fake).mean() - self.critic(*real).mean()
        by_bond, by_atom = share.view(-1, 1, 1, 1), share.view(-1, 1, 1)
        bonds = (by_bond * real[0] + (1 - by_bond) * fake[0]).requires_grad_()
        atoms = (by_atom * real[1] + (1 - by_atom) * fake[1]).requires_grad_()
        score = self.critic(bonds, atoms).sum()
        slopes = torch.autograd.grad(score, (bonds, atoms), create_graph=True)
        slope = torch.cat([each.flatten(1) for each in slopes], 1)
        return gap + self.penalty * ((slope.norm(dim=1) - 1) ** 2).mean()

    def generator_loss(self, z: Tensor) -> Tensor:
        return -self.critic(*self.generated(z)).mean()


@torch.no_grad()
def copy_weights(ours: MolGAN, to: EagerCritic) -> None:
    critic = ours.critic
    _copy_conv(critic.first, to.first)
    _copy_conv(critic.second, to.second)
    for part, weight, bias in zip(
        (to.gate, to.value),
        critic.gates.weight.chunk(2),
        critic.gates.bias.chunk(2),
        strict=True,
    ):
        part.weight.copy_(weight)
        part.bias.copy_(bias)
    to.head.load_state_dict(critic.head.state_dict())
    if to.pool is not None:
        assert isinstance(critic.pooling, OneSeed)
        pool = critic.pooling.pooling
        to.pool.seed.copy_(pool.seeds)
        to.pool.query.load_state_dict(pool.attention.to_query.state_dict())
        to.pool.after.load_state_dict(pool.after.linear.state_dict())
        _copy_conv(pool.attention.to_key, to.pool.key)
        _copy_conv(pool.attention.to_value, to.pool.value)


def _copy_conv(ours: Any, to: EagerRelationalConv) -> None:
    parts = ours.weight.chunk(1 + len(to.of_bond), dim=1)
    for linear, part in zip((to.own, *to.of_bond), parts, strict=True):
        linear.weight.copy_(part)
    to.own.bias.copy_(ours.bias)


def in_two(graphs: Tensor, model: MolGAN) -> tuple[Tensor, Tensor]:
    """A graph as one row, as bonds and atoms."""
    n, pairs = model.alphabet.places, model.bond_places.numel()
    return graphs[:, :pairs].unflatten(1, (n, n, -1)), graphs[:, pairs:].unflatten(1, (n, -1))


def eager_iterations(molecules: SmallMolecules, ours: MolGAN, job: Job) -> Callable[[int], None]:
    """What does so many of them; data lie on the device."""
    model, device = EagerMolGAN(ours), molecules.rows.device
    model.to(device)
    critic = torch.optim.Adam(model.critic.parameters(), lr=job.train.lr, betas=BETAS)
    made = [*model.layers.parameters(), *model.bonds.parameters(), *model.atoms.parameters()]
    generator = torch.optim.Adam(made, lr=job.train.lr, betas=BETAS)
    size = job.train.batch_size

    def run(iterations: int) -> None:
        for iteration in range(iterations):
            ids = torch.randint(len(molecules), (size,), device=device)
            real = in_two(molecules.make(ids, ()).graphs, ours)
            z = torch.randn(size, model.latent_dim, device=device)
            with torch.no_grad():
                fake = model.generated(z)
            critic.zero_grad()
            model.critic_loss(fake, real, torch.rand(size, device=device)).backward()
            critic.step()
            if (iteration + 1) % model.critic_steps == 0:
                generator.zero_grad()
                z = torch.randn(size, model.latent_dim, device=device)
                model.generator_loss(z).backward()
                generator.step()
        if device.type == "cuda":
            torch.cuda.synchronize()

    return run


def job_of(molecules: SmallMolecules, method: str, seeds: int, iterations: int) -> Job:
    options = {"epochs": 1, "epoch_steps": iterations, "draws": 1}
    return Job.make("generate", molecules, method, seeds=seeds, options=options)


def side_by_side(
    molecules: SmallMolecules,
    method: str,
    device: str,
    *,
    iterations: int = 300,
    replicas: int = 8,
    rounds: int = 3,
) -> Iterator[dict[str, Any]]:
    """replicas: of the stack."""
    job = job_of(molecules, method, replicas, iterations)
    there = molecules.to(device)
    model = job.task.build(there, job.model)
    assert isinstance(model, MolGAN)
    eager = eager_iterations(there, model, job)
    stack = Stack(job.task, there, members_of(job), torch.device(device))
    single = replace(job, seeds=job.seeds[:1])

    def together() -> None:
        stack.train_epoch()
        stack.program.loss_sum.tolist()  # waits for the device

    turns: dict[str, Callable[[], object]] = {
        EAGER: partial(eager, iterations),
        ALONE: partial(_one, single, device),
        STACKED: together,
    }
    if device == "cpu":
        turns = {
            EAGER: partial(_with_threads, 1, turns[EAGER]),
            THREADED: turns[EAGER],
            ALONE: partial(_with_threads, 1, turns[ALONE]),
            STACKED: together,
            PROCESSES: partial(in_workers, job, device),
        }
    times = interleaved(turns, rounds=rounds)
    many = (STACKED, PROCESSES)
    per = {n: s / iterations / (replicas if n in many else 1) for n, s in times.items()}
    facts = {"replicas": replicas, "threads": torch.get_num_threads(), **where(device)}
    peers = [peer for peer in (EAGER, THREADED) if peer in per]
    for ours in (name for name in per if name not in peers):
        for peer in peers:
            yield row(f"MolGAN, {method}: {ours} vs {peer}", per[ours], per[peer], "s", **facts)
    what = f"MolGAN, {method}, {replicas} GANs: {STACKED} vs {ALONE}"
    yield row(what, per[STACKED], per[ALONE], "s", **facts)


def _with_threads(count: int, run: Callable[[], object]) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        run()
    finally:
        torch.set_num_threads(before)


def _one(job: Job, device: str) -> None:
    ((split, model, config, seed),) = members_of(job)
    train(job.task, job.dataset, split, model, config, seed=seed, device=device)


def measure(root: Path | None = None) -> Iterator[dict[str, Any]]:
    whole = TASKS["generate"].open("QM9", root)
    molecules = replace(whole, train=whole.train[:LEARNED])  # scores are not what is measured
    on_gpu = torch.cuda.is_available()
    how = {"iterations": 500, "replicas": 100, "rounds": 1} if on_gpu else {}
    for method in METHODS:
        yield from side_by_side(molecules, method, "cuda" if on_gpu else "cpu", **how)
