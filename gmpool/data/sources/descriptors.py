"""Numbers that RDKit computes of a whole molecule, beside its graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.molecules import BadSmiles, MoleculePacker
from gmpool.errors import DataError, MissingPackage, unknown

KINDS = ("quick", "rdkit")
"""quick: what takes RDKit about as long as reading the molecule: lipophilicity, polar surface,
counts, connectivity. rdkit: all its descriptors, which take some ten times as long."""
_LARGEST = 1e30  # what is larger says nothing of the molecule, and does not fit into float32
_VECTORS = (
    ("SlogP_VSA", "SlogP_VSA_", 12), ("SMR_VSA", "SMR_VSA_", 10), ("PEOE_VSA", "PEOE_VSA_", 14),
    ("MQN", "MQNs_", 42),
)  # fmt: skip
_NUMBERS = (
    "TPSA", "LabuteASA", "FractionCSP3", "ExactMolWt", "HallKierAlpha", "Phi",
    "Kappa1", "Kappa2", "Kappa3", "NumHBD", "NumHBA", "NumHeteroatoms", "NumAmideBonds",
    "NumRotatableBonds", "NumRings", "NumHeterocycles", "NumAromaticRings",
    "NumAromaticCarbocycles", "NumAromaticHeterocycles", "NumSaturatedRings",
    "NumSaturatedCarbocycles", "NumSaturatedHeterocycles", "NumAliphaticRings",
    "NumAliphaticCarbocycles", "NumAliphaticHeterocycles", "NumSpiroAtoms", "NumBridgeheadAtoms",
    "NumAtomStereoCenters", *(f"Chi{order}{kind}" for kind in "vn" for order in range(5)),
)  # fmt: skip


class Descriptors:
    """Computes one kind of them, molecule by molecule."""

    def __init__(self, kind: str) -> None:
        if kind not in KINDS:
            raise unknown("kind of descriptors", kind, KINDS)
        self.kind = kind
        self._parts = _quick_parts() if kind == "quick" else _all_parts()
        self.names = names_of(kind)

    def __call__(self, molecule: Any) -> list[float]:
        """In the order of the names; NaN where one cannot be computed."""
        found: list[float] = []
        for width, compute in self._parts:
            try:
                made = compute(molecule)
            except (RuntimeError, ValueError, ZeroDivisionError, OverflowError):
                made = [math.nan] * width
            values = made if width > 1 else [made] if not isinstance(made, Sequence) else made
            found += [_number(value) for value in values]
        return found


def names_of(kind: str) -> tuple[str, ...]:
    """Of the numbers of a kind. All that RDKit has are known where it is."""
    if kind == "rdkit":
        return tuple(name for name, _ in _descriptors().descList)
    vectors = [f"{name}{i + 1}" for name, _, width in _VECTORS for i in range(width)]
    return ("LogP", "MR", *vectors, *_NUMBERS)


def with_descriptors(graphs: PackedGraphs, kind: str | None) -> PackedGraphs:
    """The molecules with their descriptors as features of graphs, computed once in a process.

    They are computed from the SMILES that the graphs are called; those that a set has are taken.
    """
    if kind is None or graphs.graph_float_names == names_of(kind):
        return graphs
    known = _known.setdefault(graphs, {})
    if kind not in known:
        known[kind] = _described(graphs, kind)
    return known[kind]


_known: WeakKeyDictionary[PackedGraphs, dict[str, PackedGraphs]] = WeakKeyDictionary()


def _described(graphs: PackedGraphs, kind: str) -> PackedGraphs:
    if graphs.graph_names is None:
        raise DataError(
            f"{graphs.name}: descriptors are computed of molecules, and these graphs are not named "
            f"by their SMILES; leave descriptors={kind} out"
        )
    read, compute = MoleculePacker().read, Descriptors(kind)
    rows = []
    for number, smiles in enumerate(graphs.graph_names):
        try:
            rows.append(compute(read(smiles)))
        except BadSmiles as error:
            raise DataError(
                f"{graphs.name}: graph {number} is called {smiles[:60]!r}, of which there are no "
                f"descriptors: {error}"
            ) from error
    made = torch.from_numpy(np.array(rows, dtype=np.float32).reshape(len(rows), -1))
    return replace(graphs, graph_float=made, graph_float_names=compute.names)


def _number(value: Any) -> float:
    number = float(value)
    return number if abs(number) < _LARGEST else math.nan


Part = tuple[int, Callable[[Any], Any]]
"""How many numbers, and what computes them."""


def _quick_parts() -> list[Part]:
    try:
        from rdkit.Chem import rdMolDescriptors
    except ImportError as error:
        raise MissingPackage("rdkit", "chem", "descriptors") from error
    one: list[Part] = [
        (1, getattr(rdMolDescriptors, name if name.startswith("Calc") else f"Calc{name}"))
        for name in _NUMBERS
    ]
    many: list[Part] = [(width, getattr(rdMolDescriptors, name)) for _, name, width in _VECTORS]
    return [(2, rdMolDescriptors.CalcCrippenDescriptors), *many, *one]


def _all_parts() -> list[Part]:
    return [(1, compute) for _, compute in _descriptors().descList]


def _descriptors() -> Any:
    try:
        from rdkit.Chem import Descriptors as found
    except ImportError as error:
        raise MissingPackage("rdkit", "chem", "descriptors") from error
    return found
