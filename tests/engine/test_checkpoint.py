"""Trained models on disk: what is saved is loaded, and what cannot be loaded says why."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import toy_task  # noqa: F401 -- a task whose models cannot be saved
from safetensors.torch import load_file, save_file
from small_graphs import atoms
from small_sets import MODEL, TEN_MOLECULES, classes, with_labels
from trainings import as_set, begun

from gmpool.data import PackedGraphs, Split, from_smiles
from gmpool.engine import checkpoint
from gmpool.engine.checkpoint import load_model, save_model
from gmpool.errors import CheckpointError
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.predict import predict
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.reconstruct.settings import AutoencoderConfig
from gmpool.tasks.shape import DataShape
from gmpool.tasks.task import TASKS

CLASSIFY = TASKS["classify"]


def fresh(graphs: PackedGraphs, config: ModelConfig = MODEL, seed: int = 0) -> GraphModel:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return GraphModel(DataShape.of(graphs), config)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    save_model(CLASSIFY, fresh(classes()), folder, about={"dataset": "shapes"})
    return folder


SETS = {
    "classes": classes,
    "regression": lambda: with_labels(torch.arange(24.0).unsqueeze(1) * 7, "regression"),
    "molecules": lambda: from_smiles(
        TEN_MOLECULES, torch.tensor([[0.0], [1.0]] * 5), task="binary"
    ),
}
CONFIGS = {
    "gmt": ModelConfig(hidden_dim=8, pool={"num_heads": 2, "layer_norm": True}),
    "mean": ModelConfig(method="mean", hidden_dim=8, conv="gin", num_layers=2),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
@pytest.mark.parametrize("make", SETS.values(), ids=list(SETS))
def test_a_loaded_model_predicts_the_same(make, config: ModelConfig, tmp_path: Path) -> None:
    graphs = make()
    model = fresh(graphs, config)
    model.begin(as_set(graphs), torch.arange(graphs.num_graphs))
    save_model(CLASSIFY, model, tmp_path / "m", about={"note": "n"})
    task, again, description = load_model(tmp_path / "m")
    assert task is CLASSIFY
    assert torch.equal(predict(again, graphs), predict(model, graphs))
    assert (again.shape, again.config) == (model.shape, model.config)
    assert description["about"] == {"note": "n"}


def test_a_model_knows_of_which_task_it_is(tmp_path: Path) -> None:
    graphs, config = atoms(), AutoencoderConfig(method="random", hidden_dim=8)
    everything = torch.arange(24)
    model = begun(graphs, Split(everything, everything, everything), config, 0).eval()
    save_model(TASKS["reconstruct"], model, tmp_path, about={})
    task, again, _ = load_model(str(tmp_path))
    assert task is TASKS["reconstruct"]
    assert again.config == config
    batch = graphs.batch(range(24))
    assert torch.equal(again.eval()(batch)[0], model(batch)[0]), "its random clusters as well"


def test_a_model_from_before_tasks_is_one_of_classification(saved: Path) -> None:
    describe(saved, format=2, task=None)
    assert load_model(saved).task is CLASSIFY


def test_a_checkpoint_is_safetensors_and_json_alone(saved: Path) -> None:
    assert sorted(p.name for p in saved.iterdir()) == ["model.json", "model.safetensors"]
    assert load_file(saved / "model.safetensors").keys() == fresh(classes()).state_dict().keys()
    assert json.loads((saved / "model.json").read_text())["format"] == 3
    umask = os.umask(0)
    os.umask(umask)
    modes = {p.stat().st_mode & 0o777 for p in saved.iterdir()}
    assert modes == {0o666 & ~umask}, "as readable as any other file of the user"


def test_no_file_of_ours_is_a_pickle() -> None:
    """Only workers are sent such bytes, by the process that started them, and none are kept."""
    package = Path(checkpoint.__file__).parents[1]
    sources = {p.relative_to(package).as_posix(): p.read_text() for p in package.rglob("*.py")}
    workers = sources.pop("engine/executors/processes.py")
    for word in ("import pickle", "torch.load(", "torch.save(", "allow_pickle=True", "joblib"):
        assert [name for name, text in sources.items() if word in text] == [], word
    for word in ("open(", "Path", "read_bytes", "write_bytes", "torch.load(", "torch.save("):
        assert word not in workers, word


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_missing_file_is_named(name: str, saved: Path) -> None:
    (saved / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name} is missing.*gmpool train --save-model"):
        load_model(saved)


def describe(folder: Path, **changes: object) -> None:
    path = folder / "model.json"
    values = json.loads(path.read_text())
    for key, value in changes.items():
        part, _, name = key.partition("__")
        if name:
            values[part][name] = value
        elif value is None:
            del values[part]
        else:
            values[part] = value
    path.write_text(json.dumps(values))


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-40])


def other_weights(folder: Path) -> None:
    wider = fresh(classes(), ModelConfig(hidden_dim=16, num_layers=1))
    save_file(wider.state_dict(), folder / "model.safetensors")


BROKEN = {
    "cut off": (cut, r"model\.safetensors cannot be read \(.*cut off.*train again"),
    "not safetensors": (
        lambda f: (f / "model.safetensors").write_bytes(b"\x80\x04pickle"),
        r"model\.safetensors cannot be read",
    ),
    "empty": (lambda f: (f / "model.safetensors").write_bytes(b""), r"safetensors cannot be read"),
    "other shapes": (
        other_weights,
        r"does not fit the model: head\S+ is \(16\S* .*in the file and \(8.*tensors differ",
    ),
    "other format": (
        lambda f: describe(f, format=4, shape=None),
        r"model\.json has format 4, this version of gmpool reads 3",
    ),
    "no format": (lambda f: describe(f, format=None), r"'format' is missing"),
    "no shape": (lambda f: describe(f, shape=None), r"'shape' is missing"),
    "broken JSON": (lambda f: (f / "model.json").write_text("{"), r"model\.json cannot be read"),
    "not an object": (lambda f: (f / "model.json").write_text("[]"), r"model\.json cannot be"),
    "unknown field": (lambda f: describe(f, model__colour=1), r"model\.json cannot.*colour"),
    "unknown task": (lambda f: describe(f, task="clasify"), r"did you mean 'classify'"),
    "task without models": (lambda f: describe(f, task="toy"), r"models of toy cannot be saved"),
    "unknown method": (lambda f: describe(f, model__method="gmtt"), r"did you mean 'gmt'"),
    "negative width": (lambda f: describe(f, model__hidden_dim=-8), r"model\.json cannot be read"),
}


@pytest.mark.parametrize(("damage", "text"), BROKEN.values(), ids=list(BROKEN))
def test_what_cannot_be_loaded_says_why(damage, text: str, saved: Path) -> None:
    damage(saved)
    with pytest.raises(CheckpointError, match=text):
        load_model(saved)


@pytest.mark.parametrize("full_at", [1, 2])
def test_a_full_disk_leaves_the_model_before_it_as_it_was(
    full_at: int, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the weights or the description is the file that finds no room."""
    before = {p.name: p.read_bytes() for p in saved.iterdir()}
    calls = 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == full_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    other = fresh(classes(), ModelConfig(hidden_dim=16), seed=1)
    with pytest.raises(CheckpointError, match=r"No space left.*before is untouched.*Free some"):
        save_model(CLASSIFY, other, saved, about={})
    assert {p.name: p.read_bytes() for p in saved.iterdir()} == before
    load_model(saved)


LIMITED = """
import resource, sys
from pathlib import Path
from gmpool.engine.checkpoint import load_model, save_model
from gmpool.errors import CheckpointError
folder = Path(sys.argv[1])
task, model, _ = load_model(folder)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
try:
    save_model(task, model, folder, about={"second": True})
except CheckpointError as error:
    print(error)
"""


def test_a_real_short_write_leaves_the_model_before_it_as_it_was(saved: Path) -> None:
    before = {p.name: p.read_bytes() for p in saved.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(saved)], capture_output=True, text=True, check=True
    )
    assert f"could not be saved in {saved}" in done.stdout
    assert {p.name: p.read_bytes() for p in saved.iterdir()} == before
