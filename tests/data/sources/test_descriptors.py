"""Descriptors of molecules: whose they are, which they are, and where there are none."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from chains import CHAINS, chain_job, chain_set

from gmpool.data import from_pyg, from_smiles
from gmpool.data.sources.descriptors import KINDS, Descriptors, names_of, with_descriptors
from gmpool.engine.checkpoint import load_model
from gmpool.engine.executors.executor import Alone
from gmpool.engine.keep import KeepBest
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import DataError, MissingPackage, UserError
from gmpool.tasks.classify.predict import predict

pytest.importorskip("rdkit")
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def of(smiles: str, kind: str) -> dict[str, float]:
    from rdkit import Chem

    compute = Descriptors(kind)
    return dict(zip(compute.names, compute(Chem.MolFromSmiles(smiles)), strict=True))


def test_they_are_those_of_rdkit() -> None:
    from rdkit import Chem
    from rdkit.Chem import Crippen, rdMolDescriptors
    from rdkit.Chem import Descriptors as theirs

    molecule = Chem.MolFromSmiles(ASPIRIN)
    quick, every = of(ASPIRIN, "quick"), of(ASPIRIN, "rdkit")
    assert quick["LogP"] == pytest.approx(Crippen.MolLogP(molecule))
    assert quick["TPSA"] == pytest.approx(63.6)
    assert (quick["NumHBD"], quick["NumHBA"], quick["NumAromaticRings"]) == (1, 3, 1)
    found = [quick[f"MQN{i + 1}"] for i in range(42)]
    assert found == list(rdMolDescriptors.MQNs_(molecule))
    for name, value in theirs.CalcMolDescriptors(molecule).items():
        assert every[name] == pytest.approx(value), name


@pytest.mark.parametrize("kind", KINDS)
def test_each_molecule_has_all_in_the_order_of_their_names(kind: str) -> None:
    graphs = with_descriptors(from_smiles([*CHAINS, ASPIRIN]), kind)
    assert graphs.graph_float is not None
    assert graphs.graph_float_names == names_of(kind)
    assert len(set(names_of(kind))) == len(names_of(kind))
    expected = torch.tensor(list(of(ASPIRIN, kind).values()))
    torch.testing.assert_close(graphs.graph_float[-1], expected, equal_nan=True)
    chosen = graphs.select([len(CHAINS), 0])
    assert chosen.graph_float is not None
    torch.testing.assert_close(chosen.graph_float[0], expected, equal_nan=True)


def test_they_are_computed_once_and_those_of_a_set_are_taken() -> None:
    graphs = from_smiles(CHAINS)
    once = with_descriptors(graphs, "quick")
    assert with_descriptors(graphs, "quick") is once
    assert with_descriptors(once, "quick") is once
    assert with_descriptors(graphs, None) is graphs


def test_what_has_no_number_or_too_large_a_one_is_a_gap() -> None:
    charge = of("[Na+].[Cl-]", "rdkit")
    assert all(np.isnan(value) or abs(value) < 1e30 for value in charge.values())

    def fails(molecule: Any) -> float:
        raise ZeroDivisionError

    compute = Descriptors("quick")
    compute._parts = [(1, fails), (1, lambda molecule: 1e40), (2, lambda molecule: (1.0, 2.0))]
    said = compute(None)
    assert np.isnan(said[:2]).all()
    assert said[2:] == [1.0, 2.0]


def test_without_molecules_or_rdkit_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_geometric.data import Data

    ring = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(DataError, match="leave descriptors=quick out"):
        with_descriptors(from_pyg([ring]), "quick")
    named = from_smiles(["CC"])
    with pytest.raises(UserError, match="unknown kind of descriptors 'mordred'"):
        with_descriptors(named, "mordred")
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingPackage, match="descriptors"):
        with_descriptors(named, "quick")


def test_a_model_reads_them_of_new_molecules_too(tmp_path: Any) -> None:
    """A head that hears nothing but the descriptors tells by their number of carbons."""
    job = chain_job(descriptors="quick")
    run_jobs([job], RunStore(tmp_path / "runs"), Alone(), keep=KeepBest(tmp_path / "m"))
    model = load_model(tmp_path / "m").model
    (member,) = model.members
    assert member.shape.graph_features == len(names_of("quick"))
    fitted = member.features
    described = with_descriptors(chain_set().graphs, "quick").graph_float
    assert described is not None
    train = described[chain_set().folds[0].train].double()
    assert torch.equal(fitted.low <= fitted.high, torch.ones(len(fitted.low), dtype=torch.bool))
    at = names_of("quick").index("ExactMolWt")
    assert fitted.low[at] >= train[:, at].min() - 1e-3
    with torch.no_grad():
        first = member.head[0]
        first.weight[:, : member.network.out_dim] = 0  # deaf to the graph
    said = predict(model, from_smiles(["CCCCO", "OCCCC", "CCCCCCCCCl"]))
    torch.testing.assert_close(said[0], said[1])
    assert not torch.allclose(said[0], said[2])
