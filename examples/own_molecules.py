"""From a CSV of molecules to predictions, in Python. The command line does the same:

gmpool train molecules.csv --save-model my-model
gmpool predict my-model molecules.csv --out predictions.csv
"""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

from gmpool.data import load_table
from gmpool.engine.job import Job
from gmpool.engine.train import train
from gmpool.tasks.classify.predict import predict

# Chains of carbons with one group each, and whether that group makes an alcohol.
GROUPS = {"{}O": 1, "CC(O){}": 1, "{}OC": 0, "CC(N){}": 0, "{}C=O": 0, "{}Cl": 0}
MOLECULES = [
    (group.format("C" * length), label)
    for length in range(1, 21)
    for group, label in GROUPS.items()
]


def main(folder: Path, epochs: int = 60) -> float:
    """Learn which molecules are alcohols; returns the share of right answers on the table."""
    path = folder / "molecules.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", "alcohol"])
        writer.writerows(MOLECULES)
    dataset = load_table(path)
    training = {"epochs": epochs, "warmup_epochs": 5, "batch_size": 16, "lr": 2e-3}
    options = {"hidden_dim": 32, "dropout": 0.0, **training}
    job = Job.make("classify", dataset, "gmt", options=options)
    trained = train(job.task, dataset, dataset.folds[0], job.model, job.train, seed=0)
    scores = predict(trained.model, dataset.graphs)[:, 0]
    labels = dataset.graphs.y
    assert labels is not None
    right = ((scores > 0.5) == (labels[:, 0] > 0.5)).float().mean().item()
    for (smiles, _), score in list(zip(MOLECULES, scores.tolist(), strict=True))[-6:]:
        print(f"{smiles:24s} {score:.2f}")
    print(f"right: {right:.0%}")
    return right


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
