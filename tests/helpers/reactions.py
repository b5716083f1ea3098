"""A few simple reactions whose atoms have numbers, as a table and as a prepared set."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.pack import pack
from gmpool.tasks.retrosynthesis.prepared import Prepared
from gmpool.tasks.retrosynthesis.reactions import chunks, reaction_table, read_chunk, read_rows
from gmpool.tasks.retrosynthesis.shards import Shards

REACTIONS: list[str] = [
    # amides
    "[CH3:1][C:2](=[O:3])O.[NH2:4][CH2:5][CH3:6]>>[CH3:1][C:2](=[O:3])[NH:4][CH2:5][CH3:6]",
    "[CH3:1][CH2:7][C:2](=[O:3])Cl.[NH2:4][CH2:5][CH3:6]>>"
    "[CH3:1][CH2:7][C:2](=[O:3])[NH:4][CH2:5][CH3:6]",
    "[CH3:1][C:2](=[O:3])O.[NH2:4][c:5]1[cH:6][cH:7][cH:8][cH:10][cH:11]1>>"
    "[CH3:1][C:2](=[O:3])[NH:4][c:5]1[cH:6][cH:7][cH:8][cH:10][cH:11]1",
    # esters
    "[CH3:1][C:2](=[O:3])O.[OH:4][CH2:5][CH3:6]>>[CH3:1][C:2](=[O:3])[O:4][CH2:5][CH3:6]",
    "[CH3:1][CH2:7][C:2](=[O:3])Cl.[OH:4][CH3:5]>>[CH3:1][CH2:7][C:2](=[O:3])[O:4][CH3:5]",
    # acids of esters
    "[CH3:1][CH2:2][C:3](=[O:4])[O:5][CH3:6]>>[CH3:1][CH2:2][C:3](=[O:4])[OH:5]",
    # ethers
    "[CH3:1][CH2:2]Br.[OH:3][c:4]1[cH:5][cH:6][cH:7][cH:8][cH:10]1>>"
    "[CH3:1][CH2:2][O:3][c:4]1[cH:5][cH:6][cH:7][cH:8][cH:10]1",
    "[CH3:1]I.[OH:3][c:4]1[cH:5][cH:6][c:7]([CH3:11])[cH:8][cH:10]1>>"
    "[CH3:1][O:3][c:4]1[cH:5][cH:6][c:7]([CH3:11])[cH:8][cH:10]1",
    # two rings, by Suzuki
    "Br[c:1]1[cH:2][cH:3][cH:4][cH:5][cH:6]1.OB(O)[c:7]1[cH:8][cH:9][cH:10][cH:11][cH:12]1>>"
    "[c:1]1(-[c:7]2[cH:8][cH:9][cH:10][cH:11][cH:12]2)[cH:2][cH:3][cH:4][cH:5][cH:6]1",
    "I[c:1]1[cH:2][cH:3][n:4][cH:5][cH:6]1.OB(O)[c:7]1[cH:8][cH:9][cH:10][cH:11][cH:12]1>>"
    "[c:1]1(-[c:7]2[cH:8][cH:9][cH:10][cH:11][cH:12]2)[cH:2][cH:3][n:4][cH:5][cH:6]1",
    # Boc on, and off
    "[CH3:1][C:2]([CH3:3])([CH3:4])[O:5][C:6](=[O:7])OC(=O)OC(C)(C)C.[NH2:8][CH2:9][CH3:10]>>"
    "[CH3:1][C:2]([CH3:3])([CH3:4])[O:5][C:6](=[O:7])[NH:8][CH2:9][CH3:10]",
    "CC(C)(C)OC(=O)[NH:1][CH2:2][c:3]1[cH:4][cH:5][cH:6][cH:7][cH:8]1>>"
    "[NH2:1][CH2:2][c:3]1[cH:4][cH:5][cH:6][cH:7][cH:8]1",
    # alcohols of ketones and aldehydes, amines of nitro groups
    "[CH3:1][C:2](=[O:3])[c:4]1[cH:5][cH:6][cH:7][cH:8][cH:9]1>>"
    "[CH3:1][CH:2]([OH:3])[c:4]1[cH:5][cH:6][cH:7][cH:8][cH:9]1",
    "[O:1]=[CH:2][c:3]1[cH:4][cH:5][cH:6][cH:7][cH:8]1>>"
    "[OH:1][CH2:2][c:3]1[cH:4][cH:5][cH:6][cH:7][cH:8]1",
    "O=[N+:1]([O-])[c:2]1[cH:3][cH:4][c:5]([CH3:8])[cH:6][cH:7]1>>"
    "[NH2:1][c:2]1[cH:3][cH:4][c:5]([CH3:8])[cH:6][cH:7]1",
    # a product with stereo
    "[CH3:1][C@H:2]([OH:3])[CH2:4][CH3:5].[CH3:6][C:7](=[O:8])Cl>>"
    "[CH3:1][C@H:2]([O:3][C:7]([CH3:6])=[O:8])[CH2:4][CH3:5]",
    # products with several groups that templates match
    "[CH3:1][C:2](=[O:3])O.[NH2:4][c:5]1[cH:6][cH:7][c:8]([O:12][CH3:13])[cH:10][cH:11]1>>"
    "[CH3:1][C:2](=[O:3])[NH:4][c:5]1[cH:6][cH:7][c:8]([O:12][CH3:13])[cH:10][cH:11]1",
    "[CH3:1][CH2:2]Br.[OH:3][c:4]1[cH:5][cH:6][c:7]([C:11](=[O:12])[O:13][CH3:14])[cH:8][c:10]1"
    "[NH:15][C:16](=[O:17])[CH3:18]>>"
    "[CH3:1][CH2:2][O:3][c:4]1[cH:5][cH:6][c:7]([C:11](=[O:12])[O:13][CH3:14])[cH:8][c:10]1"
    "[NH:15][C:16](=[O:17])[CH3:18]",
    "I[c:1]1[cH:2][cH:3][n:4][cH:5][cH:6]1.OB(O)[c:7]1[cH:8][cH:9][c:10]([O:13][CH2:14][CH3:15])"
    "[c:11]([CH2:16][OH:17])[cH:12]1>>"
    "[c:1]1(-[c:7]2[cH:8][cH:9][c:10]([O:13][CH2:14][CH3:15])[c:11]([CH2:16][OH:17])[cH:12]2)"
    "[cH:2][cH:3][n:4][cH:5][cH:6]1",
]
"""Reactants and product; rdchiral takes a template from each. What leaves has no numbers."""
CLASSES = [2, 2, 2, 2, 2, 6, 1, 1, 3, 3, 5, 6, 7, 7, 7, 2, 2, 1, 3]
"""Of the reactions, numbered as USPTO-50k does."""
PARTS = ("train", "train", "train", "valid", "train", "test")
"""Of rows, in turn."""


def write_csv(
    path: Path | str,
    reactions: Sequence[str] = REACTIONS,
    *,
    copies: int = 1,
    classes: bool = True,
    parts: bool = True,
) -> Path:
    """copies: how often each stands there, in turn; more copies are in other parts."""
    found = Path(path)
    header = ["reaction", *(["class"] if classes else []), *(["split"] if parts else [])]
    with found.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in range(len(reactions) * copies):
            at = row % len(reactions)
            words: list[object] = [reactions[at]]
            words += [CLASSES[at % len(CLASSES)]] if classes else []
            words += [PARTS[(row + row // len(reactions)) % len(PARTS)]] if parts else []
            writer.writerow(words)
    return found


def small_set(folder: Path, copies: int = 3, reactions: Sequence[str] = REACTIONS) -> Prepared:
    """The reactions as a prepared set; its table and candidates lie in the folder."""
    path = write_csv(folder / "reactions.csv", reactions, copies=copies)
    table, rows = read_rows(path)
    read = [found for chunk in chunks(rows) for found in read_chunk(chunk)]
    made = reaction_table("small", table, rows, read)
    seen = [made.reactions[at] for at in made.split.train.tolist()]
    library = TemplateLibrary.of((each.group, each.template) for each in seen)
    products = list(dict.fromkeys(each.product for each in made.reactions))
    shards = Shards(folder / "candidates", library, products)
    shards.make()
    return pack(made, library, products, shards)
