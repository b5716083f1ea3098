"""`gmpool pack`, and training from what it makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_sets import FLAGS, TEN_MOLECULES

pytest.importorskip("rdkit")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "own.csv"
    rows = [f"{smiles},{n / 2}" for n, smiles in enumerate(TEN_MOLECULES * 2)]
    path.write_text("\n".join(["smiles,logp", *rows]) + "\n")
    return path


def test_it_says_what_is_in_the_file_which_is_then_trained_from(
    gmpool_cli: Callable[..., Any], table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "own.safetensors"
    said = gmpool_cli("pack", table, "--label", "logp", "--out", out, "--workers", "1")
    assert said.code == 0, said.err
    assert "own.csv: 20 rows" in said.err
    assert "labels: 'logp' (regression: 0 to 9.5)" in said.err
    assert "split: 16 train, 2 valid, 2 test (random 80/10/10, seed 0)" in said.err
    assert "own.safetensors: 20 graphs, " in said.err
    said = gmpool_cli("train", out, *FLAGS, "--store", tmp_path / "runs")
    assert said.code == 0, said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "own.csv"], "a packed file ends in .safetensors"),
        (["--out", "o.safetensors", "--label", "logP"], "did you mean 'logp'"),
        (["--out", "o.safetensors", "--task", "binry"], "unknown task 'binry'"),
        (["--out", "o.safetensors", "--split-sizes", "80,30,10"], "split"),
    ],
)
def test_mistakes(words: list[str], said: str, gmpool_cli: Callable[..., Any], table: Path) -> None:
    found = gmpool_cli("pack", table, *words)
    assert found.code == 2
    assert said in found.err
