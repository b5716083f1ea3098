"""Random sets of molecules with so few kinds of atoms and bonds that much of them looks alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from hypothesis import strategies as st
from torch import Tensor

from gmpool.data import PackedGraphs
from gmpool.data.pack import pack

ATOM_SIZES, BOND_SIZES = (2, 2), (2, 1)


class Molecule(NamedTuple):
    atoms: list[tuple[int, int]]
    bonds: list[tuple[int, int, int]]
    """(atom, atom, kind)"""

    def renumbered(self, order: Sequence[int]) -> Molecule:
        """Atom order[i] becomes atom i."""
        place = {atom: number for number, atom in enumerate(order)}
        bonds = [(place[i], place[j], kind) for i, j, kind in self.bonds]
        return Molecule([self.atoms[atom] for atom in order], bonds)


@st.composite
def molecules(draw: st.DrawFn, most_atoms: int = 7) -> Molecule:
    """Trees, and with more bonds rings; two bonds may join the same two atoms."""
    n, kinds = draw(st.integers(0, most_atoms)), st.integers(0, 1)
    atoms = [(draw(kinds), draw(kinds)) for _ in range(n)]
    bonds = [
        (draw(st.integers(0, i - 1)), i, draw(kinds)) for i in range(1, n) if draw(st.booleans())
    ]
    for _ in range(draw(st.integers(0, 2)) if n > 1 else 0):
        i = draw(st.integers(1, n - 1))
        bonds.append((draw(st.integers(0, i - 1)), i, draw(kinds)))
    return Molecule(atoms, bonds)


@st.composite
def molecule_lists(draw: st.DrawFn) -> list[Molecule]:
    """Some of them more than once, with their atoms in another order."""
    made = draw(st.lists(molecules(), min_size=1, max_size=4))
    for molecule in draw(st.lists(st.sampled_from(made), max_size=3)):
        made.append(molecule.renumbered(draw(st.permutations(range(len(molecule.atoms))))))
    return made


def packed_molecules(made: Sequence[Molecule]) -> PackedGraphs:
    sizes = torch.tensor([len(one.atoms) for one in made])
    first = sizes.cumsum(0) - sizes
    bonds = [
        (start + i, start + j, kind)
        for one, start in zip(made, first.tolist(), strict=True)
        for i, j, kind in one.bonds
    ]
    source, target, kind = torch.tensor(bonds, dtype=torch.int64).view(-1, 3).t()
    atoms = [atom for one in made for atom in one.atoms]
    return pack(
        name="molecules",
        sizes=sizes,
        source=torch.cat([source, target]),
        target=torch.cat([target, source]),
        node_cat=torch.tensor(atoms, dtype=torch.int64).view(-1, 2),
        cat_sizes=ATOM_SIZES,
        edge_cat=torch.stack([kind, 0 * kind], dim=1).repeat(2, 1),
        edge_cat_sizes=BOND_SIZES,
        y=torch.arange(len(made)) % 2,
        task="multiclass",
        class_names=("0", "1"),
    ).validate()


def random_set(count: int = 24, seed: int = 0) -> PackedGraphs:
    """Of 1 to 8 atoms, trees and some with a ring."""
    generator = torch.Generator().manual_seed(seed)

    def number(below: int) -> int:
        return int(torch.randint(below, (), generator=generator))

    made = []
    for _ in range(count):
        n = 1 + number(8)
        bonds = [(number(i), i, number(2)) for i in range(1, n)]
        if n > 4 and number(2):
            bonds.append((0, n - 1, number(2)))
        made.append(Molecule([(number(2), number(2)) for _ in range(n)], bonds))
    return packed_molecules(made)


def chain(n: int, kinds: Tensor) -> Molecule:
    """n atoms in a row, whose bonds have kinds [n - 1]."""
    return Molecule([(0, 0)] * n, [(i, i + 1, int(kind)) for i, kind in enumerate(kinds)])
