from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gmpool.data import PackedGraphs, load, load_packed, load_table, save
from gmpool.data.sources.atom_types import BOND_TYPES, ZINC_TYPES, AtomType, AtomTypePacker
from gmpool.errors import DataError, UserError


def packed(*smiles: str, types: tuple[str, ...] | None = None) -> PackedGraphs:
    packer = AtomTypePacker(types)
    for text in smiles:
        packer.add(text)
    return packer.finish("mine").validate()


@pytest.mark.parametrize(
    ("smiles", "types"),
    [
        ("c1cc[nH]c1", ["C", "C", "C", "N", "C"]),  # no bracket is left in the Kekulé form
        ("C[C@@H](F)Cl", ["C", "C H1", "F", "Cl"]),
        ("C[NH2+]C", ["C", "N H2 +", "C"]),
        ("C[N+](=O)[O-]", ["C", "N +", "O", "O -"]),
        ("[Fe+2]", ["Fe +2"]),
    ],
)
def test_types_follow_the_atoms_of_the_smiles(smiles: str, types: list[str]) -> None:
    graphs = packed(smiles)
    assert graphs.node_cat is not None
    assert [graphs.node_type_names[i] for i in graphs.node_cat[:, 0].tolist()] == types
    assert graphs.graph_names == (smiles,)


def test_bonds_are_kekulised() -> None:
    graphs = packed("C#N", "c1ccccc1")
    assert graphs.edge_cat is not None
    assert graphs.edge_cat_sizes == (len(BOND_TYPES),)
    assert graphs.edge_cat[:2].tolist() == [[2], [2]]
    assert graphs.edge_cat[2:].sum() == 6  # three double bonds, both ways
    assert graphs.symmetric


@pytest.mark.parametrize("name", [*ZINC_TYPES, "Fe +2", "O -2", "*", "Se H1"])
def test_names_of_types_go_both_ways(name: str) -> None:
    assert AtomType.parse(name).name == name


def test_what_is_no_type_is_an_error() -> None:
    with pytest.raises(DataError, match="'c1' is no atom type"):
        AtomType.parse("c1")


def test_types_outside_a_fixed_list_are_refused() -> None:
    assert packed("CO", types=ZINC_TYPES).cat_sizes == (28,)
    with pytest.raises(ValueError, match="atom type 'B' is none of C, O, N"):
        packed("CB", types=ZINC_TYPES)
    with pytest.raises(ValueError, match="a bond is DATIVE"):
        packed("[NH3]->[Fe]")


def test_names_are_kept_checked_and_change_no_other_digest(tmp_path: Path) -> None:
    graphs = packed("CCO", "CN")
    save(graphs, tmp_path / "mine.safetensors")
    again = load_packed(tmp_path / "mine.safetensors")
    assert again.node_type_names == ("C", "O", "N")
    assert graphs.select([1]).node_type_names == ("C", "O", "N")
    unnamed = replace(graphs, node_type_names=())
    assert graphs.digest != unnamed.digest
    assert graphs.with_degree_features().validate().node_type_names == ()
    with pytest.raises(DataError, match="2 node type names for columns of sizes"):
        replace(graphs, node_type_names=("C", "O")).validate()


def test_a_table_of_ones_own_molecules(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("smiles,note,price\n" + "".join(f"{'C' * i}O,x,{i}\n" for i in range(1, 11)))
    data = load_table(path, atoms="types")
    assert (data.graphs.y, data.metric, data.graphs.node_type_names) == (None, None, ("C", "O"))
    assert [p.numel() for p in (data.folds[0].train, data.folds[0].valid)] == [8, 1]
    with pytest.raises(UserError, match="unknown kind of atoms 'type'"):
        load_table(path, atoms="type")  # type: ignore[arg-type]


@pytest.mark.data
def test_zinc(data_root: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = load("ZINC", data_root)
    graphs = data.graphs
    known = json.loads((data_root / "zinc_atom_types.json").read_text())
    assert [t["type"] for t in known["node_types"]] == list(graphs.node_type_names)
    assert [known["bond_types"][str(i + 1)] for i in range(3)] == list(BOND_TYPES)
    assert (len(graphs), graphs.y, data.metric) == (12000, None, None)
    (split,) = data.folds
    assert [p.numel() for p in (split.train, split.valid, split.test)] == [10000, 1000, 1000]
    assert graphs.graph_names is not None
    assert graphs.graph_names[0] == "COc1ccc([S@](=O)Cc2nc3cc(N)ccc3o2)cc1"
    sizes = [float(graphs.sizes[part].double().mean()) for part in (split.train, split.test)]
    assert sizes == pytest.approx([23.15, 23.12], abs=0.005)
    monkeypatch.setitem(sys.modules, "rdkit", None)  # packed once, it is read without RDKit
    again = load("ZINC", data_root)
    assert again.graphs.digest == graphs.digest
    assert torch.equal(again.folds[0].test, split.test)
