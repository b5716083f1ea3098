"""Ensembles: of which trainings they are made, how they predict, and that members are lost to no
kill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from chains import CHAINS, chain_job, chain_set, labels_for

from gmpool.data import from_smiles
from gmpool.engine.checkpoint import load_model
from gmpool.engine.ensembles import Ensembles, in_memory
from gmpool.engine.executors.executor import Alone, Done, Executor, Work
from gmpool.engine.executors.processes import Processes
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.keep import KeepBest
from gmpool.engine.run_jobs import MEMBERS, run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.tasks.classify.ensemble import Ensemble, say, together
from gmpool.tasks.classify.join import SEED_STEP, calibrated, trainings_of
from gmpool.tasks.classify.predict import predict

TASKS = ("regression", "binary", "multiclass")


def ensemble(task: str, executor: Executor | None = None, **options: Any) -> Done:
    job = chain_job(task, **{"members": 3, **options})
    inner = executor or Alone()
    ((_, _, done),) = Ensembles(inner, in_memory(inner)).run([Work(job, job.runs)], None)
    assert isinstance(done, Done)
    return done


def test_members_by_seeds_share_a_split_and_begin_as_single_models_do() -> None:
    found = trainings_of(chain_set(), 1, chain_job(members=3).model, 42)
    assert found.seeds == (42, 42 + SEED_STEP, 42 + 2 * SEED_STEP)
    assert found.folds == (1,)
    assert found.model == chain_job().model


def test_members_by_folds_hold_out_every_graph_once() -> None:
    data = chain_set()
    found = trainings_of(data, 1, chain_job(members=4, members_by="folds").model, 42)
    assert found.seeds == (42,)
    assert found.folds == (1, 2, 3, 4)
    held = torch.cat([split.valid for split in found.dataset.folds]).sort().values
    pool = torch.cat([data.folds[0].train, data.folds[0].valid]).sort().values
    assert torch.equal(held, pool)
    for split in found.dataset.folds:
        assert torch.equal(split.test, data.folds[0].test)
        assert torch.equal(torch.cat([split.train, split.valid]).sort().values, pool)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("by", ["seeds", "folds"])
def test_it_says_the_mean_of_its_members(task: str, by: str) -> None:
    made = ensemble(task, members_by=by).trained.model
    assert isinstance(made, Ensemble)
    graphs = chain_set(task).graphs
    said = say(made, graphs)
    for member, each in zip(made.members, said, strict=True):
        np.testing.assert_allclose(say(member, graphs)[0], each, rtol=1e-6)
    batch = next(iter(chain_set(task).batches(torch.arange(32), 32)))
    out, y = made.evaluate(batch)
    expected = said.mean(0)
    assert torch.equal(y.nan_to_num(-1), graphs.y.nan_to_num(-1))
    shown = {"regression": out, "binary": out.sigmoid(), "multiclass": out.softmax(1)}[task]
    np.testing.assert_allclose(shown.detach().numpy(), expected, atol=1e-6)
    assert made.num_parameters == 3 * made.members[0].num_parameters


@pytest.mark.parametrize("by", ["seeds", "folds"])
def test_what_its_row_says(by: str) -> None:
    done = ensemble("regression", members_by=by)
    data, model = chain_set(), done.trained.model
    said = say(model, data.graphs, data.folds[0].test).mean(0)
    truth = data.graphs.y[data.folds[0].test].numpy()
    assert done.row.test == pytest.approx(np.sqrt(np.mean((said - truth) ** 2)), rel=1e-5)
    assert len(done.row.more["members"]) == 3
    assert done.row.config["model"]["members"] == 3
    assert done.row.parameters == model.num_parameters
    assert len(done.row.curve["train_loss"]) == 3
    assert model.shape.held_out == (10 if by == "seeds" else 26)
    assert done.row.valid is not None


@pytest.mark.parametrize("executor", [Processes(2), Stacked(replicas=3)])
def test_members_are_the_same_in_whatever_way_they_are_trained(executor: Executor) -> None:
    alone, other = (ensemble("binary", each).trained.model for each in (None, executor))
    graphs = from_smiles(["CCCO", "CCN", "CCCCCl"])
    np.testing.assert_allclose(say(alone, graphs), say(other, graphs), atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_kept_and_read_again(task: str, tmp_path: Path) -> None:
    job = chain_job(task, members=3)
    (row,) = run_jobs([job], RunStore(tmp_path / "runs"), Alone(), keep=KeepBest(tmp_path / "m"))
    saved = load_model(tmp_path / "m")
    assert isinstance(saved.model, Ensemble)
    graphs = from_smiles(CHAINS)
    store = RunStore(tmp_path / "runs" / MEMBERS)
    assert sorted(r.seed for r in store) == [42 + m * SEED_STEP for m in range(3)]
    again = run_jobs([job], RunStore(tmp_path / "runs"), Alone())
    assert again == [row]
    members = {r.seed: tmp_path / "runs" / MEMBERS / "models" / r.key for r in store}
    each = [load_model(members[seed]).model for seed in sorted(members)]
    np.testing.assert_allclose(
        say(saved.model, graphs), np.concatenate([say(one, graphs) for one in each]), rtol=1e-6
    )
    answer = saved.model.sure.answer(say(saved.model, graphs)).value
    np.testing.assert_allclose(predict(saved.model, graphs).numpy(), answer, rtol=1e-5)


def test_members_that_are_there_are_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after two of three members, the same call goes on with the third."""
    from gmpool.engine.executors import executor as module

    trained: list[int] = []
    train = module.train

    def counted(*args: Any, seed: int, **more: Any) -> Any:
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(seed)
        return train(*args, seed=seed, **more)

    monkeypatch.setattr(module, "train", counted)
    job = chain_job(members=3)
    with pytest.raises(KeyboardInterrupt):
        run_jobs([job], RunStore(tmp_path), Alone())
    assert not list(RunStore(tmp_path))
    assert len(list(RunStore(tmp_path / MEMBERS))) == 2
    trained.clear()
    (row,) = run_jobs([job], RunStore(tmp_path), Alone())
    assert trained == [42 + 2 * SEED_STEP]
    assert row.more["members"][2]["seed"] == 42 + 2 * SEED_STEP


def test_a_member_that_fails_ends_the_ensemble(tmp_path: Path) -> None:
    failures: list[Any] = []
    jobs = [chain_job(members=2, lr=1e30), chain_job(members=2)]
    rows = run_jobs(jobs, RunStore(tmp_path), Alone(), failures=failures)
    assert len(rows) == 1
    assert "try a smaller lr" in str(failures[0])


@pytest.mark.parametrize("task", TASKS)
def test_one_model_is_calibrated_too(task: str, tmp_path: Path) -> None:
    job = chain_job(task)
    run_jobs([job], RunStore(tmp_path / "runs"), Alone(), keep=KeepBest(tmp_path / "m"))
    model = load_model(tmp_path / "m").model
    assert len(model.members) == 1
    assert model.shape.held_out == 10
    data = chain_set(task)
    again = calibrated(model.members[0], data, data.folds[0])
    said = say(model, data.graphs)
    for one, other in zip(model.sure.answer(said), again.sure.answer(said), strict=True):
        np.testing.assert_allclose(one, other)


def test_together_is_a_mean_of_probabilities() -> None:
    said = torch.tensor([[[0.2, 0.8]], [[0.6, 0.4]]])
    torch.testing.assert_close(together("binary", said).sigmoid(), torch.tensor([[0.4, 0.6]]))
    torch.testing.assert_close(together("multiclass", said).exp(), torch.tensor([[0.4, 0.6]]))
    torch.testing.assert_close(together("regression", said), torch.tensor([[0.4, 0.6]]))
    assert together("binary", torch.tensor([[[1.0, 0.0]]])).isfinite().all()


def test_too_few_graphs_for_so_many_folds() -> None:
    with pytest.raises(UserError, match="cannot make 40 inner folds of 26"):
        trainings_of(chain_set(), 1, chain_job(members=40, members_by="folds").model, 0)


def test_labels_of_the_helpers_are_what_they_say() -> None:
    assert labels_for("multiclass")[:4] == [0, 1, 2, 3]
