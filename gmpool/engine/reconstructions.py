"""Reconstructions through the run store: methods × ratios × seeds on one set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gmpool.config import AutoencoderConfig, ReconstructTrainConfig, RunSpec
from gmpool.data import Dataset, Split
from gmpool.engine.checkpoint import save_model
from gmpool.engine.jobs import Watcher, run_jobs, train_run
from gmpool.engine.rows import curve_of, run_row
from gmpool.engine.store import Row, RunStore
from gmpool.engine.train import Epoch, Trained
from gmpool.errors import UserError
from gmpool.tasks.kernel.fit import Fitted
from gmpool.tasks.reconstruct.chemistry import has_molecules, molecule_scores
from gmpool.tasks.reconstruct.data import reconstruct_split
from gmpool.tasks.reconstruct.model import Autoencoder, metric_name
from gmpool.tasks.reconstruct.packed_types import pack_predictions
from gmpool.tasks.reconstruct.rebuild import rebuild
from gmpool.tasks.reconstruct.settings import reconstruct_settings

MOST_POINTS = 500
"""Of a recorded learning curve: a graph alone has up to 10,000 epochs."""


@dataclass(frozen=True)
class ReconstructJob:
    """One method with one ratio and objective on one set, with all its seeds."""

    dataset: Dataset
    model: AutoencoderConfig
    train: ReconstructTrainConfig
    seeds: tuple[int, ...]

    @classmethod
    def make(
        cls,
        dataset: Dataset,
        method: str,
        *,
        seeds: int,
        first_seed: int = 42,
        options: Mapping[str, Any] | None = None,
    ) -> ReconstructJob:
        if seeds < 1:
            raise UserError(f"seeds must be at least 1, got {seeds}")
        one_graph = dataset.graphs.num_graphs == 1
        model, config = reconstruct_settings(method, options or {}, one_graph=one_graph)
        return cls(dataset, model, config, tuple(range(first_seed, first_seed + seeds)))

    @cached_property
    def split(self) -> Split:
        return reconstruct_split(self.dataset)

    @property
    def metric(self) -> str:
        return metric_name(self.dataset.graphs, self.model.objective)

    def specs(self) -> list[RunSpec]:
        return [
            RunSpec(
                task="reconstruct",
                dataset=self.dataset.name,
                data_digest=self.dataset.graphs.digest,
                model=self.model,
                train=self.train,
                seed=seed,
                fold=1,
                split_digest=self.split.digest,
            )
            for seed in self.seeds
        ]

    def split_of(self, spec: RunSpec) -> Split:
        return self.split

    def train_alone(
        self, spec: RunSpec, device: str, on_epoch: Callable[[Epoch], None] | None
    ) -> Trained:
        return train_run(self, spec, device, on_epoch)

    def row(self, spec: RunSpec, trained: Trained | Fitted, device: str) -> Row:
        assert isinstance(trained.model, Autoencoder)
        graphs, ids = self.dataset.graphs, self.split.test
        made = rebuild(trained.model, graphs.to(device), ids, batch_size=self.train.batch_size)
        scores, more = made.scores, {}
        if trained.model.shape.is_one_category:
            true = graphs.batch(ids).node_cat
            assert true is not None
            categories = graphs.cat_sizes[0]
            more["predicted"] = pack_predictions(made.nodes, true[:, 0], categories)
            if has_molecules(graphs) and find_spec("rdkit"):
                scores = scores | vars(molecule_scores(graphs, ids, made.nodes))
        every = -(-len(trained.curve) // MOST_POINTS)
        curve = {"every": every, **curve_of(trained.curve[::every])}
        row = run_row(spec, trained, self.metric, device)
        return {**row, "scores": scores, "curve": curve, **more}


def run_reconstructions(
    jobs: Sequence[ReconstructJob],
    store: RunStore,
    *,
    device: str = "cpu",
    watcher: Watcher | None = None,
    replicas: int | None = 1,
    at_once: int | None = None,
    workers: int = 1,
    keep_models: Path | None = None,
    on_failure: Callable[[ReconstructJob, RunSpec, UserError], None] | None = None,
) -> list[Row]:
    """Do the runs that the store does not hold yet (`run_jobs`); the rows of all, job by job.

    keep_models: also keep the weights of each run in a folder of its key there; a run whose
    weights are not there is done again, with equal result.
    """

    def is_missing(spec: RunSpec) -> bool:
        return keep_models is not None and not (keep_models / spec.key).is_dir()

    def keep(_: ReconstructJob, spec: RunSpec, trained: Trained | Fitted, row: Row) -> None:
        assert keep_models is not None
        assert isinstance(trained.model, Autoencoder)
        about = {key: row[key] for key in ("key", "dataset", "method", "seed", "scores")}
        save_model(trained.model, keep_models / spec.key, about)

    return run_jobs(
        jobs,
        store,
        device=device,
        watcher=watcher,
        replicas=replicas,
        at_once=at_once,
        workers=workers,
        again=is_missing,
        on_trained=None if keep_models is None else keep,
        on_failure=on_failure,
    )
