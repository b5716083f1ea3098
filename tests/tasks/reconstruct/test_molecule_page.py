from __future__ import annotations

import pytest
import torch
from matplotlib.axes import Axes
from pictures import clear_edge, pixels

from gmpool.data import PackedGraphs
from gmpool.data.sources.atom_types import AtomTypePacker
from gmpool.errors import DataError, UserError
from gmpool.tasks.reconstruct.molecule_page import RebuiltMolecules, cases, molecule_page

SMILES = ("CCO", "c1ccccc1N", "C[NH2+]C", "CC(=O)[O-]", "C1CC1F", "O")


def packed() -> PackedGraphs:
    packer = AtomTypePacker()
    for text in SMILES:
        packer.add(text)
    return packer.finish("mine")


def rebuilt(label: str, *, wrong: tuple[int, ...] = ()) -> RebuiltMolecules:
    graphs = packed()
    assert graphs.node_cat is not None
    types = graphs.node_cat[:, 0].long()
    predicted = types.clone()
    predicted[list(wrong)] = (types[list(wrong)] + 1) % len(graphs.node_type_names)
    return RebuiltMolecules(label, predicted, types % 3 - 1)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written below and left of panels, and the rings."""
    texts: list[str] = []
    for name in ("set_xlabel", "set_ylabel", "add_patch"):
        true = getattr(Axes, name)

        def spy(self: Axes, thing: object, _true=true, **style):
            texts.append(thing if isinstance(thing, str) else "ring")
            return _true(self, thing, **style)

        monkeypatch.setattr(Axes, name, spy)
    return texts


def test_cases_are_chosen_by_share_then_size_then_position() -> None:
    shares = [1.0, 0.5, 1.0, 0.2, 0.2, 0.9, 1.0]
    sizes = [5, 5, 9, 4, 3, 2, 9]
    assert cases(shares, sizes, 1) == [("best", 6), ("median", 5), ("worst", 4)]
    assert cases(shares, sizes, 2) == [
        ("best", 6), ("best", 2), ("median", 1), ("median", 5), ("worst", 4), ("worst", 3),
    ]  # fmt: skip
    assert cases([1.0, 0.0], [1, 1], 2) == [("best", 0), ("best", 1)], "none comes twice"


def test_wrong_atoms_are_ringed_and_named(said: list[str]) -> None:
    graphs = packed()
    page = molecule_page(graphs, range(len(SMILES)), [rebuilt("GMT", wrong=(0, 1))], each=1)
    assert clear_edge(pixels(page))
    assert [text for text in said if text in ("best", "median", "worst")] == [
        "best", "median", "worst",
    ]  # fmt: skip
    assert said.count("ring") == 2
    assert "7 of 7 atoms right" in said, "the largest of those that are right"
    assert "1 of 3 atoms right\nO for C × 2" in said
    assert "7 atoms, 1 of the clusters" in said, "nitrogen has one, and carbon none"


def test_an_impossible_molecule_is_drawn_and_said_to_be_one(said: list[str]) -> None:
    packer = AtomTypePacker()
    for text in ("C=CF", "CC"):
        packer.add(text)
    graphs = packer.finish("mine")
    predicted = torch.tensor([0, 1, 1, 0, 0])  # fluorine with three bonds
    method = RebuiltMolecules("GMT", predicted, predicted - 1)
    page = molecule_page(graphs, [0, 1], [method], each=1)
    assert page.startswith(b"\x89PNG")
    assert "2 of 3 atoms right, not a possible molecule\nF for C" in said
    assert "2 atoms, 0 of the clusters" in said, "below 0 is no cluster"


def test_two_methods_show_the_same_molecules(said: list[str]) -> None:
    graphs = packed()
    one = pixels(molecule_page(graphs, range(6), [rebuilt("GMT")], each=1))
    two = pixels(molecule_page(graphs, range(6), [rebuilt("GMT"), rebuilt("TopKPool")], each=1))
    assert two.shape[1] == 2 * one.shape[1]
    assert said.count("7 of 7 atoms right") == 3


def test_mistakes() -> None:
    graphs, ids = packed(), range(6)
    with pytest.raises(UserError, match="no method to draw"):
        molecule_page(graphs, ids, [])
    with pytest.raises(UserError, match="each must be at least 1, got 0"):
        molecule_page(graphs, ids, [rebuilt("GMT")], each=0)
    with pytest.raises(DataError, match="these 2 molecules have 10 atoms"):
        molecule_page(graphs, [0, 1], [rebuilt("GMT")])
    label, predicted, clusters = rebuilt("GMT")
    with pytest.raises(DataError, match="GMT: clusters"):
        molecule_page(graphs, ids, [RebuiltMolecules(label, predicted, clusters[:-1])])
