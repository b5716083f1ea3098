"""Molecules in a notebook, in scikit-learn's words: learn, predict, and say how sure. The command
line does the same with a CSV:

gmpool train molecules.csv --members 3 --save-model my-model
gmpool predict my-model molecules.csv --out predictions.csv
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from gmpool import GraphClassifier

# Chains of carbons with one group each, and whether that group makes an alcohol.
GROUPS = {"{}O": 1, "CC(O){}": 1, "{}OC": 0, "CC(N){}": 0, "{}C=O": 0, "{}Cl": 0}
MOLECULES = [
    (group.format("C" * length), label)
    for length in range(1, 21)
    for group, label in GROUPS.items()
]


def main(folder: Path, epochs: int = 50) -> float:
    """Learn which molecules are alcohols; returns the share of right answers on new ones."""
    smiles, labels = zip(*MOLECULES, strict=True)
    x, x_new, y, y_new = train_test_split(
        smiles, labels, test_size=0.25, stratify=labels, random_state=0
    )
    model = GraphClassifier(members=3, epochs=epochs, random_state=0)
    model.fit(x, y)
    p, spread = model.predict_proba(x_new, return_std=True)
    sets = model.predict_set(x_new, coverage=0.9)
    for number, text in enumerate(x_new[:6]):
        possible = model.classes_[sets[number]].tolist()
        yes, differ = p[number, 1], spread[number, 1]
        print(f"{text:24s} {yes:.2f} ± {differ:.2f}  cannot be ruled out: {possible}")
    model.save(folder / "model")
    again = GraphClassifier.load(folder / "model")
    assert np.array_equal(again.predict(x_new), model.predict(x_new))
    right = model.score(x_new, y_new)
    print(f"right: {right:.0%}")
    return right


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
