"""The README is short, and does what it says."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from doc_blocks import ROOT, blocks, commands
from reactions import write_csv
from said import Said
from torch_geometric.data import Batch

PAGE = ROOT / "README.md"
PYTHON = [block.text for block in blocks(PAGE) if block.language == "python"]
WORDS = 960
MOLECULES = ["C" * n + group for n in range(1, 9) for group in ("O", "N", "Cl")]


def test_it_is_a_landing_page() -> None:
    assert len(PAGE.read_text(encoding="utf-8").split()) < WORDS


def test_a_whole_model_learns() -> None:
    (text,) = (text for text in PYTHON if "class Net" in text)
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    exec(text, names)
    batch = Batch.from_data_list(names["graphs"])
    with torch.no_grad():
        right = (names["model"](batch).argmax(1) == batch.y).float().mean().item()
    assert right > 0.7, "always the larger class gives 0.66"


def test_layers_give_the_shapes_that_are_written_beside_them() -> None:
    (text,) = (text for text in PYTHON if "METHODS" in text)
    names: dict[str, Any] = {}
    exec(text, names)
    pooled, kept = names["pooled"], names["kept"]
    assert pooled.x.shape == (2, 4, 16)
    assert pooled.assignment.shape == (5, 4)
    assert kept.batch.tolist() == [0, 0, 1]


def test_no_other_python() -> None:
    assert len(PYTHON) == 2


def test_reactions_become_predictions(
    gmpool_cli: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rdchiral")
    monkeypatch.chdir(tmp_path)
    write_csv(Path("reactions.csv"))
    prepare, train, predict = (words for words in commands(PAGE) if "retro" in words)
    short = ["-o", "epochs=1", "-o", "epoch_steps=2", "-o", "message_dim=8", "-o", "embed_dim=8"]
    for words in ([*prepare, "--workers", "1"], [*train, *short], predict):
        said = gmpool_cli(*words)
        assert said.code == 0, said.err
    assert "CC(=O)O" in said.out


def test_a_csv_becomes_predictions(
    gmpool_cli: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands as they stand, but for shorter trainings."""
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    rows = [f"{smiles},{int(smiles.endswith('O'))}" for smiles in MOLECULES]
    Path("molecules.csv").write_text("\n".join(["smiles,alcohol", *rows]))
    Path("new.csv").write_text("smiles\nCCO\nCCCN\n")
    files = {"molecules.csv", "new.csv", "made.csv"}
    train, predict, imitate, sample = (words for words in commands(PAGE) if files & {*words})
    for words, shorter in (
        (train, "-o epochs=2 -o warmup_epochs=1 -o hidden_dim=8 -o state_dim=8 --workers 1"),
        (predict, ""),
        (imitate, "-o epochs=1 -o epoch_steps=5 -o draws=20"),
        (sample, ""),
    ):
        said = gmpool_cli(*words, *shlex.split(shorter))
        assert said.code == 0, said.err
    with open("made.csv", newline="") as file:
        assert next(csv.reader(file)) == ["smiles", "new", "qed", "logp", "sa"]
    with open("p.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 2
