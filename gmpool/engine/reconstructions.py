"""Reconstructions through the run store: methods × ratios × seeds on one set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gmpool.config import AutoencoderConfig, ReconstructTrainConfig, RunSpec
from gmpool.data import Dataset, PackedGraphs, Split
from gmpool.engine.checkpoint import save_model
from gmpool.engine.cross_validate import Watcher
from gmpool.engine.predictions import pack_predictions
from gmpool.engine.rows import curve_of, run_row
from gmpool.engine.stack import Run
from gmpool.engine.stack_size import largest_stack
from gmpool.engine.stacked import Stacking, cannot_stack, train_together
from gmpool.engine.store import Row, RunStore
from gmpool.engine.train import Trained, train
from gmpool.errors import UserError
from gmpool.tasks.chemistry import molecule_scores
from gmpool.tasks.rebuild import rebuild
from gmpool.tasks.reconstruct import Autoencoder, metric_name
from gmpool.tasks.reconstruct_data import reconstruct_split
from gmpool.tasks.reconstruct_settings import reconstruct_settings

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


def run_reconstructions(
    jobs: Sequence[ReconstructJob],
    store: RunStore,
    *,
    device: str = "cpu",
    watcher: Watcher | None = None,
    replicas: int | None = 1,
    keep_models: Path | None = None,
    on_failure: Callable[[ReconstructJob, RunSpec, UserError], None] | None = None,
) -> list[Row]:
    """Do the runs that the store does not hold yet; the rows of all, job by job.

    replicas: how many seeds are one program; None: as many as the memory holds. On a GPU the
    programs of all jobs overlap.
    keep_models: also keep the weights of each run in a folder of its key there; a run whose
    weights are not there is done again, with equal result.
    on_failure: told of a run that ended with a user's error, after which the others go on and the
    run has no row; without it the error is raised.
    """
    finished = store.finished()

    def is_done(spec: RunSpec) -> bool:
        kept = keep_models is None or (keep_models / spec.key).is_dir()
        return spec.key in finished and kept

    to_do = [(job, [s for s in job.specs() if not is_done(s)]) for job in jobs]
    if watcher:
        for job in jobs:
            for spec in job.specs():
                if is_done(spec):
                    watcher.run_finished(spec, finished[spec.key], reused=True)
    left = [(job, specs) for job, specs in to_do if specs]
    for job, spec, outcome in _outcomes(left, device, watcher, replicas):
        if isinstance(outcome, UserError):
            if on_failure is None:
                raise outcome
            on_failure(job, spec, outcome)
            continue
        row = _row(job, spec, outcome, device)
        if spec.key not in finished:
            store.record(row)
            finished[spec.key] = row
        if keep_models is not None:
            about = {key: row[key] for key in ("key", "dataset", "method", "seed", "scores")}
            save_model(outcome.model, keep_models / spec.key, about)
        if watcher:
            watcher.run_finished(spec, row, reused=False)
    return [finished[s.key] for job in jobs for s in job.specs() if s.key in finished]


ToDo = Sequence[tuple[ReconstructJob, list[RunSpec]]]
Outcomes = Iterator[tuple[ReconstructJob, RunSpec, Trained | UserError]]


def _outcomes(to_do: ToDo, device: str, watcher: Watcher | None, replicas: int | None) -> Outcomes:
    """The result of each run as it comes: in stacks, or one by one."""
    stacked: list[tuple[ReconstructJob, list[RunSpec]]] = []
    for job, specs in to_do:
        why = None if replicas == 1 else cannot_stack(job.dataset.graphs, job.model)
        if why and watcher:
            watcher.note(f"{job.model.method} on {job.dataset.name} runs one at a time: {why}")
        if replicas == 1 or why:
            for spec in specs:
                yield job, spec, _train_one(job, spec, device, watcher)
        else:
            stacked += _stacks(job, specs, device, replicas, len(to_do))
    # On a CPU turns would only delay the first results.
    together = len(stacked) if device.startswith("cuda") else 1
    for start in range(0, len(stacked), max(together, 1)):
        part = stacked[start : start + together]
        stackings = [
            Stacking(
                job.dataset.graphs,
                _runs(job, specs),
                job.metric,
                watcher.stack_started(specs) if watcher else None,
            )
            for job, specs in part
        ]
        for number, results in train_together(stackings, device=device):
            job, specs = part[number]
            for spec, outcome in zip(specs, results, strict=True):
                yield job, spec, outcome


def _runs(job: ReconstructJob, specs: Sequence[RunSpec]) -> list[Run]:
    return [Run(job.split, job.model, job.train, spec.seed) for spec in specs]


def _stacks(
    job: ReconstructJob, specs: list[RunSpec], device: str, replicas: int | None, jobs: int
) -> list[tuple[ReconstructJob, list[RunSpec]]]:
    """The runs of a job in stacks, of a size that leaves room for the other jobs."""
    size = replicas
    if size is None:
        fits = largest_stack(job.dataset.graphs, _runs(job, specs), device)
        size = fits if fits == len(specs) else max(1, fits // jobs)
    return [(job, specs[start : start + size]) for start in range(0, len(specs), size)]


def _train_one(
    job: ReconstructJob, spec: RunSpec, device: str, watcher: Watcher | None
) -> Trained | UserError:
    try:
        return train(
            job.dataset.graphs,
            job.split,
            job.model,
            job.train,
            metric=job.metric,
            seed=spec.seed,
            device=device,
            on_epoch=watcher.run_started(spec) if watcher else None,
        )
    except UserError as error:
        return error


def _row(job: ReconstructJob, spec: RunSpec, trained: Trained, device: str) -> Row:
    assert isinstance(trained.model, Autoencoder)
    graphs, ids = job.dataset.graphs, job.split.test
    made = rebuild(trained.model, graphs.to(device), ids, batch_size=job.train.batch_size)
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
    row = run_row(spec, trained, job.metric, device)
    return {**row, "scores": scores, "curve": curve, **more}


def has_molecules(graphs: PackedGraphs) -> bool:
    """Whether atom types and bonds are known, so that chemists have something to say."""
    return bool(graphs.node_type_names) and graphs.edge_cat is not None
