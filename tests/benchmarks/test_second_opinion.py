"""The networks of others: the authors' whole network is ours, and both can be trained."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import typer
from small_sets import ring_molecule

from benchmarks import second_opinion
from benchmarks.padded import copy_weights
from benchmarks.second_opinion import AUTHORS, NETWORKS, OGB, AuthorsGMT, main, score, train
from gmpool.data import CATALOGUE, Dataset, GraphBatch, Split, from_pyg
from gmpool.engine.job import Job
from gmpool.engine.train import first_model
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.settings import AUTHORS as PUBLISHED

SET = "ogbg-moltox21"


@pytest.fixture
def molecules(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    for name in PUBLISHED.keys() & CATALOGUE.keys():  # whose settings these rings shall have
        monkeypatch.setitem(CATALOGUE, name, replace(CATALOGUE[name], content=""))
    torch.manual_seed(0)
    rings = [ring_molecule(n) for n in (3, 5, 8, 4, 12, 7, 6, 9)]
    for k, ring in enumerate(rings):
        ring.y = torch.tensor([[k % 2, float("nan") if k == 2 else 1 - k % 2]])
    ids = torch.arange(8)
    graphs = from_pyg(rings)
    return Dataset(SET, graphs, (Split(ids[:4], ids[4:6], ids[6:]),), "roc_auc")


def ours_and_theirs(dataset: Dataset, name: str) -> tuple[GraphModel, AuthorsGMT]:
    """With the same weights."""
    job = Job.make("classify", replace(dataset, name=name), "gmt")
    ours = first_model(job.task, dataset, dataset.folds[0], job.model, seed=0)
    assert isinstance(ours, GraphModel)
    theirs = AuthorsGMT(dataset.graphs, name)
    encoder, readout = ours.network.encoder, ours.network.pool.readout
    copy_weights(readout, theirs.readout)
    with torch.no_grad():
        theirs.atoms.copy_(encoder.atoms.weight)
        for mine, conv in zip(encoder.convs, theirs.convs, strict=True):
            conv.linear.load_state_dict(mine.linear.state_dict())
            conv.root.copy_(mine.root)
            conv.bonds.copy_(mine.bonds.weight)
    theirs.head.load_state_dict(ours.head.state_dict())
    return ours.double().eval(), theirs.double().eval()


@pytest.mark.parametrize("name", ["ogbg-moltox21", "ogbg-moltoxcast", "ogbg-molbbbp"])
def test_the_authors_network_is_ours(name: str, molecules: Dataset) -> None:
    """Atoms, bonds, layers, readout and classifier: values, and gradients of what comes first."""
    ours, theirs = ours_and_theirs(molecules, name)
    batch = GraphBatch(molecules.graphs, range(8))
    batch.x, batch.edge_attr = batch.x.double(), batch.edge_attr.double()
    found, expected = ours(batch)[0], theirs(batch)
    torch.testing.assert_close(found, expected)
    assert _size(ours) == _size(theirs)
    pairs = ((found, ours.network.encoder.atoms.weight), (expected, theirs.atoms))
    grads = [torch.autograd.grad(out.square().sum(), weights)[0] for out, weights in pairs]
    torch.testing.assert_close(*grads)


def _size(model: torch.nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("name", list(NETWORKS))
def test_they_learn(name: str, molecules: Dataset) -> None:
    kind, protocol = NETWORKS[name]
    torch.manual_seed(0)
    network = kind(molecules.graphs, SET)
    quick = protocol._replace(batch_size=4, warmup=None)
    for _ in train(molecules, network, quick, seed=0, epochs=100):
        pass
    assert score(network, [GraphBatch(molecules.graphs, range(4))]) == 100


def test_the_authors_schedule() -> None:
    rates = [AUTHORS.rate(epoch) for epoch in (0, 25, 50, 275, 500)]
    assert rates == pytest.approx([0, 0.5, 1, 0.5, 0])
    assert OGB.rate(99) == 1


def test_a_row_is_added(
    molecules: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_opinion, "load", lambda _: molecules)
    out = tmp_path / "rows.jsonl"
    for seed in (1, 2):
        main("ogb-gcn", SET, seed=seed, epochs=2, out=out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["seed"] for row in rows] == [1, 2]
    assert all(row["best"]["valid"] == max(row["curve"]["valid"]) for row in rows)
    assert all(row["versions"]["torch"] == torch.__version__ for row in rows)


@pytest.mark.parametrize(("name", "size"), [("ogbg-molhiv", 512), ("ogbg-moltox21", 128)])
def test_the_authors_batches(
    name: str, size: int, molecules: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_opinion, "load", lambda _: molecules)
    main("gmt", name, epochs=1, out=tmp_path / "rows.jsonl")
    assert json.loads((tmp_path / "rows.jsonl").read_text())["batch_size"] == size


@pytest.mark.parametrize(
    ("name", "labels", "said"),
    [("gnt", 1.0, "no network 'gnt', only gmt, ogb-gcn"), ("gmt", 0.5, "no set of molecules")],
)
def test_what_cannot_be_is_refused(
    name: str, labels: float, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rings = [ring_molecule(n) for n in (3, 4)]
    for ring in rings:
        ring.y = torch.tensor([[labels]])
    other = Dataset("other", from_pyg(rings), (), "mae")
    monkeypatch.setattr(second_opinion, "load", lambda _: other)
    with pytest.raises(typer.BadParameter, match=said):
        main(name, "other")
