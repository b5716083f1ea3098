"""The distinct states of directed bonds by definition: as nested tuples."""

from __future__ import annotations

from typing import Any

from molecule_sets import Molecule

Tree = tuple[Any, ...]


class Trees:
    """What a bond knows after t steps is the tree of what lies behind it."""

    def __init__(self, molecules: list[Molecule], layers: int) -> None:
        bonds, first = [], 0
        atoms: list[tuple[int, int]] = []
        for one in molecules:
            for i, j, kind in one.bonds:
                bonds += [(first + i, first + j, kind), (first + j, first + i, kind)]
            atoms += one.atoms
            first += len(one.atoms)
        incoming = [[b for b, (_, j, _) in enumerate(bonds) if j == v] for v in range(len(atoms))]
        states: list[Tree] = [(atoms[i], kind) for i, _, kind in bonds]
        self.levels = [set(states)]
        for _ in range(layers - 1):
            states = [
                (atoms[i], kind, tuple(sorted(states[k] for k in incoming[i] if k != b ^ 1)))
                for b, (i, _, kind) in enumerate(bonds)
            ]
            self.levels.append(set(states))
        self.nodes = {
            (atoms[v], tuple(sorted(states[k] for k in incoming[v]))) for v in range(len(atoms))
        }

    def needed(self) -> list[int]:
        """How many states of each level some node hears, or some state of the next level."""
        heard = {state for _, states in self.nodes for state in states}
        counts, begins = [len(heard)], {state[:2] for state in heard}
        for _ in self.levels[1:]:
            heard = {state for tree in heard for state in tree[2]}
            begins |= {state[:2] for state in heard}
            counts.append(len(heard))
        return [len(begins), *reversed(counts[:-1])]
