"""Jobs of one architecture that are given together are one program, and each run stays its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from few_molecules import OPTIONS, few_molecules
from small_jobs import job
from small_sets import dataset

from gmpool.data import Dataset
from gmpool.engine.executors.executor import Alone, Done, Work
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job, Run
from gmpool.engine.training import Epoch
from gmpool.record import Row
from gmpool.tasks.generate.data import SmallMolecules

Started = list[tuple[list[Job], int]]


class Watcher:
    """Writes down which jobs were begun as one stack, with how many runs."""

    def __init__(self) -> None:
        self.stacks: Started = []
        self.notes: list[str] = []

    def run_started(self, job: Job, run: Run) -> Callable[[Epoch], None]:
        return lambda epoch: None

    def stack_started(self, jobs: Sequence[Job], runs: int) -> Callable[[int, int], None]:
        self.stacks.append((list(jobs), runs))
        return lambda number, running: None

    def run_finished(self, job: Job, run: Run, row: Row, *, reused: bool) -> None:
        raise AssertionError("an executor records nothing")

    def note(self, text: str) -> None:
        self.notes.append(text)


def together(jobs: Sequence[Job], **how: Any) -> tuple[Started, dict[str, tuple[Job, Done]]]:
    """The stacks that were begun, and what came of each run by its key."""
    watcher, found = Watcher(), dict[str, tuple[Job, Done]]()
    for mine, run, done in Stacked(**how).run([Work(j, j.runs) for j in jobs], watcher):
        assert isinstance(done, Done), done
        assert run in mine.runs
        assert run.key not in found
        found[run.key] = mine, done
    assert found.keys() == {run.key for j in jobs for run in j.runs}
    return watcher.stacks, found


def assert_as_alone(jobs: Sequence[Job], found: dict[str, tuple[Job, Done]]) -> None:
    for mine, run, done in Alone().run([Work(j, j.runs) for j in jobs], None):
        assert isinstance(done, Done)
        whose, other = found[run.key]
        assert whose is mine, "each outcome belongs to its job"
        assert other.row.config == mine.config
        assert (other.row.method, other.row.seed) == (mine.model.method, run.seed)
        for curve in ("train_loss", "valid_loss"):
            expected = [getattr(e, curve) for e in done.trained.curve]
            got = [getattr(e, curve) for e in other.trained.curve]
            assert got == pytest.approx(expected, rel=1e-5, abs=1e-5, nan_ok=True)
        assert other.row.best_epoch == done.row.best_epoch


@pytest.fixture(scope="module")
def molecules() -> SmallMolecules:
    return few_molecules()


@pytest.fixture(scope="module")
def shapes() -> Dataset:
    return dataset()


def gan(data: SmallMolecules, method: str, seeds: int = 2, **options: Any) -> Job:
    return Job.make("generate", data, method, seeds=seeds, options={**OPTIONS, **options})


def test_mean_sum_and_maximum_with_other_weights_are_one_stack(molecules: SmallMolecules) -> None:
    jobs = [
        gan(molecules, "mean"),
        gan(molecules, "sum", penalty=1.0, lr=1e-3),
        gan(molecules, "max", penalty=3.0, epochs=1),
    ]
    stacks, found = together(jobs)
    assert stacks == [(jobs, 6)]
    assert {done.row.replicas for _, done in found.values()} == {6}
    assert [len(found[j.runs[0].key][1].trained.curve) for j in jobs] == [2, 2, 1]
    assert_as_alone(jobs, found)
    alone = {run.key: done for _, run, done in Alone().run([Work(j, j.runs) for j in jobs], None)}
    for key, (_, done) in found.items():
        assert done.row.more["generated"] == alone[key].row.more["generated"]  # type: ignore[union-attr]


def test_lines_of_a_classification_that_differ_in_numbers(shapes: Dataset) -> None:
    jobs = [
        job("mean", shapes, seeds=1),
        job("mean", shapes, seeds=1, dropout=0.3),
        job("mean", shapes, seeds=1, lr=0.02, weight_decay=0.0, epochs=2),
    ]
    stacks, found = together(jobs)
    assert stacks == [(jobs, 6)]
    assert_as_alone(jobs, found)
    losses = {done.trained.curve[-1].train_loss for _, done in found.values()}
    assert len(losses) == 6, "each has settings, seed and fold of its own"


def test_a_stack_has_so_many_runs_of_whatever_jobs(molecules: SmallMolecules) -> None:
    jobs = [gan(molecules, "mean", 2), gan(molecules, "sum", 3)]
    stacks, found = together(jobs, replicas=3)
    assert stacks == [(jobs, 3), ([jobs[1]], 2)]
    assert_as_alone(jobs, found)


@pytest.mark.parametrize(
    "change",
    [
        {"conv_dim": 6}, {"pool_dim": 4}, {"generator_dim": 4}, {"latent_dim": 4},
        {"batch_size": 3}, {"epoch_steps": 4}, {"critic_steps": 2}, {"output": "hard"},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_what_is_another_program_is_another_stack(
    molecules: SmallMolecules, change: dict[str, Any]
) -> None:
    jobs = [gan(molecules, "mean", 1), gan(molecules, "mean", 1, **change)]
    stacks, found = together(jobs)
    assert stacks == [([jobs[0]], 1), ([jobs[1]], 1)]
    assert_as_alone(jobs[1:], found)


def test_other_widths_and_batches_of_a_classification(shapes: Dataset) -> None:
    changes: list[dict[str, Any]] = [{}, {"hidden_dim": 4}, {"batch_size": 4}, {"num_layers": 2}]
    jobs = [job("mean", shapes, seeds=1, folds=1, **change) for change in changes]
    stacks, found = together(jobs)
    assert stacks == [([one], 1) for one in jobs]
    assert_as_alone(jobs, found)


def test_jobs_on_sets_of_their_own_are_stacks_of_their_own(molecules: SmallMolecules) -> None:
    jobs = [gan(molecules, "mean", 1), gan(few_molecules(["CC", "CN", "NN"]), "mean", 1)]
    stacks, _ = together(jobs)
    assert stacks == [([jobs[0]], 1), ([jobs[1]], 1)]


def test_runs_that_somebody_else_does_are_left_out(molecules: SmallMolecules) -> None:
    jobs = [gan(molecules, "mean"), gan(molecules, "max")]
    watcher, theirs = Watcher(), {run.key for run in jobs[0].runs}
    work = [Work(j, j.runs) for j in jobs]
    done = list(Stacked().run(work, watcher, lambda run: run.key not in theirs))
    assert watcher.stacks == [([jobs[1]], 2)]
    assert [(mine, run) for mine, run, _ in done] == [(jobs[1], run) for run in jobs[1].runs]


def test_what_cannot_be_stacked_runs_beside_what_can(molecules: SmallMolecules) -> None:
    pytest.importorskip("rdkit")
    jobs = [gan(molecules, "mean", 1, imitation=0.5), gan(molecules, "mean", 1)]
    watcher = Watcher()
    done = list(Stacked().run([Work(j, j.runs) for j in jobs], watcher))
    assert [(mine, len(runs.trained.curve)) for mine, _, runs in done] == [
        (jobs[0], 2), (jobs[1], 2)
    ]  # fmt: skip
    assert watcher.stacks == [([jobs[1]], 1)]
    assert watcher.notes == ["mean on few runs one at a time: rewards are found by RDKit"]


def test_each_run_draws_as_many_as_it_was_told(molecules: SmallMolecules) -> None:
    jobs = [gan(molecules, "mean", 1), gan(molecules, "sum", 1, draws=30)]
    _, found = together(jobs)
    draws = [found[j.runs[0].key][1].row.more["generated"]["draws"] for j in jobs]
    assert draws == [20, 30]
