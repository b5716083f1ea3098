"""New molecules of a saved model: valid, each once, with what is known of them."""

from functools import partial

import torch

from gmpool.options import between
from gmpool.tasks.generate.model import MolGAN
from gmpool.tasks.generate.page import molecule_html
from gmpool.tasks.generate.scores import MEASURES, DrawScorer
from gmpool.tasks.task import Samples

MOST = 10_000_000
FAR, MOST_SEEDS = 2**24, 2**20
"""How far the numbers of one seed's draws lie from those of the next, and how many such seeds are
all different."""


@torch.no_grad()
def molecules_of(model: MolGAN, number: int, seed: int, device: str) -> Samples:
    """Draw so many molecules; a row for each that is valid, the first of equals."""
    between(1, MOST, number=number)
    between(0, MOST_SEEDS - 1, seed=seed)
    scorer = DrawScorer(model.alphabet, frozenset())
    model = model.to(device).eval()
    numbers = seed * FAR + torch.arange(number, device=device)
    (drawn,) = model.sample(numbers)
    valid = [smiles for smiles in scorer.smiles(drawn.cpu().numpy()) if smiles is not None]
    distinct = list(dict.fromkeys(valid))
    learned = model.shape.learned
    new = {} if learned is None else {smiles: smiles not in learned for smiles in distinct}
    columns = ["smiles", *(["new"] if learned is not None else []), *MEASURES]
    rows: list[list[str | float | None]] = [
        [
            smiles,
            *(["yes" if new[smiles] else "no"] if new else []),
            *(scorer.measured(what, smiles) for what in MEASURES),
        ]
        for smiles in distinct
    ]
    about = [f"{number:,} drawn: {len(valid):,} valid, {len(distinct):,} of them different"]
    if learned is None:
        about.append(
            "whether they are new is not known: the model was trained where RDKit is not installed"
        )
    else:
        count = sum(new.values())
        about.append(f"new to the {len(learned):,} molecules it learned from: {count:,}")
    kinds: list[type] = [str if name in ("smiles", "new") else float for name in columns]
    shown = [dict(zip(columns, row, strict=True)) for row in rows]
    return Samples(columns, kinds, rows, about, partial(molecule_html, shown, "Molecules", about))
