"""SMILES with wrong, odd, deep and endless molecules in them."""

from __future__ import annotations

import random
from pathlib import Path

from gmpool.data import from_smiles, load
from tests.campaign.inputs.batches import Inputs, accepted, claim, materials
from tests.campaign.materials import MOLECULES, REBUILD

REAL = (
    *MOLECULES, "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C[C@H](N)C(=O)O",
    "F/C=C/F", "[Na+].[Cl-]", "[2H]O[2H]", "c1ccc2ccccc2c1", "O=S(=O)(O)O", "[Fe+2]", "[nH]1cccc1",
    "B(O)(O)O", "C1CC2CCC1C2", "[O-][N+](=O)c1ccccc1",
)  # fmt: skip
ATOMS = (
    "[#119]", "[#0]", "*", "[*:1]", "[C@@H]", "[13CH4]", "[CH9]", "[C+99]", "[C-20]", "[H]", "[HH]",
    "[Xx]", "[999C]", "[Og]", "[U]", "[C:999999999]", "%99", "%(100)", "~", "$", "->", ">>",
    "|^1:0|",
    "[R1]", "[a]", "[!C]", "[C;R]", "$(CC)", "{-}", "\u00b2", "\x00", " ", "\t", "name",
)  # fmt: skip


def one(rng: random.Random) -> str:
    text = rng.choice(REAL)
    way = rng.random()
    if way < 0.04:
        n = rng.choice((50, 500, 3000, 20000))
        return rng.choice(
            ("C" * n, "C(" * n + ")" * n, "(" * n, "[" * n, "C1" * n, "C.C" * n, "c1ccccc1" * n)
        )
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(5):
            case 0:
                text = text[:at] + text[at + 1 :]
            case 1:
                text = (
                    text[:at] + rng.choice("CNOSPFIBrcnos123456789%()[]=#$@+-\\/.*:~H0") + text[at:]
                )
            case 2:
                text = text[:at] + rng.choice(ATOMS) + text[at:]
            case 3:
                text = text[:at] + rng.choice(REAL) + text[at:]
            case _:
                text = text[:at]
    return text


def make(rng: random.Random, folder: Path) -> None:
    lines = [
        one(rng).replace("\n", " ").replace("\r", " ") for _ in range(rng.choice((1, 1, 4, 8)))
    ]
    (folder / "smiles.txt").write_text("\n".join(lines), encoding="utf-8")


def attempt(rng: random.Random, folder: Path) -> None:
    smiles = (folder / "smiles.txt").read_text(encoding="utf-8").split("\n")
    way = rng.random()
    if way < 0.6:
        graphs = from_smiles(smiles)
        graphs.validate()
        claim(graphs.num_graphs == len(smiles), f"{len(smiles)} SMILES, {graphs.num_graphs} graphs")
        return
    quoted = [f'"{text}"' for text in smiles]
    Path("t.csv").write_text("smiles\n" + "\n".join(quoted) + "\n", encoding="utf-8")
    if way < 0.8:
        dataset = load("t.csv", atoms="types", skip_bad_rows=rng.random() < 0.5)
        dataset.graphs.validate()
        claim(len(dataset) + len(dataset.skipped) == len(smiles), "rows are lost")
    elif way < 0.85:
        accepted("reconstruct", "t.csv", *REBUILD, "--skip-bad-rows")
    else:
        skip = ["--skip-bad-rows"] if rng.random() < 0.6 else []
        accepted("predict", materials() / "model", "t.csv", *skip)


SMILES = Inputs("smiles", make, attempt)
