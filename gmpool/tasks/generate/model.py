"""MolGAN (De Cao & Kipf, 2018) as a model that can be trained alone and stacked.

    critic     D(fake) − D(real) + penalty · (‖∂D/∂graph‖ − 1)² on mixtures of both
    generator  −D(fake), with rewards λ (−D(fake)) + (1 − λ) |D(fake) / V(fake)| (−V(fake))
    reward     (V(graph) − reward)² , of real and of fake graphs
All noise is a function of seed and step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gmpool.nn.clock import Clocked, from_uniform, uniform
from gmpool.nn.input_gradient import input_gradient
from gmpool.tasks.generate.alphabet import Alphabet
from gmpool.tasks.generate.learned import Learned
from gmpool.tasks.generate.networks import Critic, Generator
from gmpool.tasks.generate.rewards import rewards
from gmpool.tasks.generate.scores import DrawScorer
from gmpool.tasks.generate.settings import MolGANConfig
from gmpool.tasks.trainable import Phase, Rows, Trainable

BETAS = (0.5, 0.999)
ROOM = 2**20
"""Numbers that one graph may need; graphs lie that far apart."""
AT_ONCE = 1024
"""Molecules that are made at a time: more would take much memory in a stack."""


@dataclass(frozen=True)
class GraphBatch:
    """graphs: those of the data. [B, F]"""

    graphs: Tensor

    def tensors(self) -> dict[str, Tensor]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def with_(self, tensors: dict[str, Tensor]) -> "GraphBatch":
        return GraphBatch(**tensors)


@dataclass(frozen=True)
class Shape:
    """What a model must know of its data; saved with it.

    learned: of the molecules that it has learned from, so that it knows what is new; none: not
        known.
    """

    alphabet: Alphabet
    learned: Learned | None = None

    def to_json(self) -> dict[str, Any]:
        learned = {} if self.learned is None else {"learned": self.learned.to_json()}
        return {**self.alphabet.to_json(), **learned}

    @classmethod
    def from_json(cls, values: object) -> "Shape":
        """From a file that anybody may have written."""
        rest = dict(values) if isinstance(values, Mapping) else values
        learned = rest.pop("learned", None) if isinstance(rest, dict) else None
        alphabet = Alphabet.from_json(rest)
        return cls(alphabet, None if learned is None else Learned.from_json(learned))


class Noise(Clocked):
    """Numbers in (0, 1), other ones in every step of a training, and always the same of the same
    graph in evaluation. It is drawn from once in each phase."""

    def __init__(self) -> None:
        super().__init__(keep_seed=True)

    def forward(self, graphs: Tensor, places: Tensor) -> Tensor:
        """Of graphs with these numbers [B], one at each place [...]; equal places have equal ones.
        [B, ...]"""
        key = self.tick() if self.training else self.seed
        first = graphs.view(-1, *[1] * places.dim()) * ROOM
        return uniform(key, first + places)


class MolGAN(Trainable):
    """Generator, critic and, where rewards count, a network that learns what they will be."""

    penalty: Tensor
    temperature: Tensor
    bond_places: Tensor
    atom_places: Tensor
    upper: Tensor

    shape: Shape

    def __init__(self, shape: Shape, config: MolGANConfig) -> None:
        super().__init__()
        self.shape, self.config, alphabet = shape, config, shape.alphabet
        self.alphabet = alphabet
        self.generator = Generator(alphabet, config)
        self.critic = Critic(alphabet, config)
        self.latent, self.choices, self.shares = Noise(), Noise(), Noise()
        self.phases = _phases(config)
        if config.imitation < 1:
            self.reward = Critic(alphabet, config)
        # Replicas of a stack may have their own.
        for name in ("penalty", "temperature"):
            value = torch.tensor(float(getattr(config, name)))
            self.register_buffer(name, value, persistent=False)
        for name, places in _places(alphabet).items():
            self.register_buffer(name, places, persistent=False)

    # -- making graphs ---------------------------------------------------------------------------

    def _scores(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """Of the bonds and atoms of the graphs with these numbers. [B, n, n, T], [B, n, E]"""
        dtype = self.generator.bonds.weight.dtype
        place = torch.arange(self.config.latent_dim, device=numbers.device)
        z = from_uniform(self.latent(numbers, place)).to(dtype)
        scores: tuple[Tensor, Tensor] = self.generator(z)
        return scores

    def _with_gumbel(self, numbers: Tensor, scores: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Plus what makes the largest one a draw. Both ends of a pair have one draw."""
        bonds, atoms = scores
        places = torch.cat([self.bond_places.flatten(), self.atom_places.flatten()])
        u = self.choices(numbers, places) + 2.0**-25  # never 0
        gumbel = (-(-u.log()).log()).to(bonds.dtype)
        count = self.bond_places.numel()
        return (
            bonds + gumbel[:, :count].view_as(bonds),
            atoms + gumbel[:, count:].view_as(atoms),
        )

    def made(self, count: int, device: torch.device) -> Tensor:
        """So many graphs as the critic sees them. [B, F]"""
        numbers = torch.arange(count, device=device)
        scores = self._scores(numbers)
        if self.config.output != "softmax":
            scores = self._with_gumbel(numbers, scores)
            tau = self.temperature.to(scores[0].dtype)
            scores = scores[0] / tau, scores[1] / tau
        bonds, atoms = (each.softmax(-1) for each in scores)
        if self.config.output == "hard":
            bonds, atoms = _hard(bonds), _hard(atoms)
        n = self.alphabet.places
        loop = torch.eye(n, dtype=torch.bool, device=device)[:, :, None]
        none = torch.zeros_like(bonds[:1, :1, :1])
        none[..., 0] = 1
        bonds = torch.where(loop, none, bonds)
        return torch.cat([bonds.flatten(1), atoms.flatten(1)], dim=1)

    def sample(self, numbers: Tensor) -> Rows:
        """Molecules as rows of an alphabet, each drawn by its scores. [M] -> uint8 [M, width]"""
        return (torch.cat([self._drawn(part) for part in numbers.split(AT_ONCE)]),)

    def _drawn(self, numbers: Tensor) -> Tensor:
        bonds, atoms = self._with_gumbel(numbers, self._scores(numbers))
        kinds = bonds.argmax(-1).flatten(1).index_select(1, self.upper)
        return torch.cat([atoms.argmax(-1), kinds], dim=1).to(torch.uint8)

    # -- losses ----------------------------------------------------------------------------------

    def loss(self, batch: GraphBatch, phase: Phase) -> Tensor:
        real = batch.graphs
        if phase.name == "generator":
            return self._generator_loss(self.made(real.shape[0], real.device))
        with torch.no_grad():
            fake = self.made(real.shape[0], real.device)
        if phase.name == "reward":
            return self._reward_loss(torch.cat([fake, real]))
        return self._critic_loss(fake, real)

    def _critic_loss(self, fake: Tensor, real: Tensor) -> Tensor:
        B = real.shape[0]
        counted = torch.arange(2 * B, device=real.device).ge(B).to(real.dtype)
        scores, losses = self.critic.scored(torch.cat([fake, real]), counted)
        gap = scores[:B].mean() - scores[B:].mean()
        place = torch.zeros((), dtype=torch.int64, device=real.device)
        share = self.shares(torch.arange(B, device=real.device), place).to(real.dtype)[:, None]
        _, slope = input_gradient(self.critic, share * real + (1 - share) * fake)
        steep = (slope.square().sum(1) + 1e-12).sqrt() - 1  # of the whole graph: [B]
        return gap + sum(losses.values()) + self.penalty.to(real.dtype) * steep.square().mean()

    def _generator_loss(self, fake: Tensor) -> Tensor:
        imitation = -self.critic(fake).mean()
        if self.config.imitation == 1:
            return imitation
        worth = -torch.sigmoid(self.reward(fake)).mean()
        scale = (imitation / worth).abs().detach()  # both then count by λ alone
        share = self.config.imitation
        return share * imitation + (1 - share) * scale * worth

    def _reward_loss(self, graphs: Tensor) -> Tensor:
        names = self.config.rewards.split("-")
        found = torch.from_numpy(rewards(self._scorer, self._rows(graphs), names))
        guessed = torch.sigmoid(self.reward(graphs))
        return (guessed - found.to(guessed)).square().mean()

    @cached_property
    def _scorer(self) -> DrawScorer:
        return DrawScorer(self.alphabet, frozenset())

    def _rows(self, graphs: Tensor) -> np.ndarray:
        """The most likely molecule of each graph, as a row of the alphabet. uint8 [B, width]"""
        n, pairs = self.alphabet.places, self.bond_places.numel()
        bonds = graphs[:, :pairs].unflatten(1, (n * n, -1)).argmax(-1).index_select(1, self.upper)
        atoms = graphs[:, pairs:].unflatten(1, (n, -1)).argmax(-1)
        return torch.cat([atoms, bonds], dim=1).to(torch.uint8).cpu().numpy()


def _phases(config: MolGANConfig) -> Sequence[Phase]:
    critic = Phase("critic", ("critic",), betas=BETAS)
    reward = Phase("reward", ("reward",), betas=BETAS)
    generator = Phase("generator", ("generator",), every=config.critic_steps, betas=BETAS)
    return (critic, generator) if config.imitation == 1 else (critic, reward, generator)


def _places(alphabet: Alphabet) -> dict[str, Tensor]:
    """Where the noise of a graph lies, and which of its ordered pairs are pairs of a row."""
    n, T, E = alphabet.places, alphabet.bond_kinds, alphabet.atom_kinds
    low, high = np.triu_indices(n, 1)
    pair = np.zeros((n, n), dtype=np.int64)  # the diagonal has that of the first pair: no bond
    pair[low, high] = pair[high, low] = np.arange(len(low))
    bonds = pair[:, :, None] * T + np.arange(T)
    atoms = len(low) * T + np.arange(n * E).reshape(n, E)
    found = {"bond_places": bonds, "atom_places": atoms, "upper": low * n + high}
    return {name: torch.from_numpy(places) for name, places in found.items()}


def _hard(shares: Tensor) -> Tensor:
    """One-hot at the largest, with the gradient of the shares."""
    kinds = torch.arange(shares.shape[-1], device=shares.device)
    top = (shares.argmax(-1, keepdim=True) == kinds).to(shares.dtype)
    return top + shares - shares.detach()
