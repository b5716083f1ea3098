"""Trained models on disk: what is saved is loaded, and what cannot be loaded says why."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import toy_task  # noqa: F401 -- a task whose models cannot be saved
from killed import ends_before
from safetensors.torch import load_file, save
from saved_models import as_format_3, description_of, rewrite
from small_graphs import atoms
from small_sets import MODEL, TEN_MOLECULES, classes, with_labels
from torch import Tensor
from trainings import as_set, begun

from gmpool.data import PackedGraphs, Split, from_smiles
from gmpool.engine import checkpoint
from gmpool.engine.checkpoint import load_model, save_model, saved_key
from gmpool.errors import CheckpointError
from gmpool.nn.batch_norm import running_of
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
    save_model(CLASSIFY, fresh(classes()), folder, about={"key": "k"})
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


def test_running_statistics_are_saved(tmp_path: Path) -> None:
    graphs = classes()
    model = fresh(graphs, replace(CONFIGS["mean"], method="gin", batch_norm="both"))
    model.train()
    model.loss(graphs.batch(range(24)), *model.phases)
    model.eval()
    save_model(CLASSIFY, model, tmp_path / "m", about={})
    again = load_model(tmp_path / "m")[1]
    assert running_of(again)
    assert torch.equal(predict(again, graphs), predict(model, graphs))


def test_a_saved_model_predicts_row_by_row(tmp_path: Path) -> None:
    graphs = SETS["classes"]()
    model = fresh(graphs, CONFIGS["mean"])
    save_model(CLASSIFY, model, tmp_path, about={})
    made = load_model(str(tmp_path)).predict(graphs, device="cpu")
    rows = [row.cells for row in made.rows]
    assert len(rows) == graphs.num_graphs
    width = model.shape.num_outputs
    found = torch.tensor([row[-1 - width : -1] for row in rows])
    torch.testing.assert_close(found, predict(model, graphs))


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


def test_models_of_older_versions_are_read(saved: Path) -> None:
    """They were two files; the oldest did not say the task, which was classification."""
    model = load_model(saved).model
    as_format_3(saved)
    assert saved_key(saved) == "k"
    for changes in ({}, {"format": 2, "task": None}):
        if changes:
            save_model(CLASSIFY, model, saved, about={"key": "k"})
            as_format_3(saved, **changes)
        task, again, description = load_model(saved)
        assert task is CLASSIFY
        assert description["about"]["key"] == "k"
        assert torch.equal(predict(again, classes()), predict(model, classes()))


def test_the_copy_for_people_is_not_read(saved: Path) -> None:
    copy = json.loads((saved / "model.json").read_text())
    assert copy == description_of(saved)
    assert copy["format"] == 4
    (saved / "model.json").write_text("{")
    load_model(saved)
    (saved / "model.json").unlink()
    load_model(saved)


def test_a_checkpoint_is_safetensors_and_json_alone(saved: Path) -> None:
    assert sorted(p.name for p in saved.iterdir()) == ["model.json", "model.safetensors"]
    assert load_file(saved / "model.safetensors").keys() == fresh(classes()).state_dict().keys()
    umask = os.umask(0)
    os.umask(umask)
    modes = {p.stat().st_mode & 0o777 for p in saved.iterdir()}
    assert modes == {0o666 & ~umask}, "as readable as any other file of the user"


def test_no_file_of_ours_is_a_pickle() -> None:
    """Only workers are sent such bytes, by the process that started them, and none are kept."""
    package = Path(checkpoint.__file__).parents[1]
    sources = {p.relative_to(package).as_posix(): p.read_text() for p in package.rglob("*.py")}
    executors = [f"engine/executors/{name}.py" for name in ("processes", "on_ray", "ray_tasks")]
    named = (*executors, "tasks/crew.py", "worker_process.py")
    workers = "".join(sources.pop(name) for name in named)
    for word in ("import pickle", "torch.load(", "torch.save(", "allow_pickle=True", "joblib"):
        assert [name for name, text in sources.items() if word in text] == [], word
    for word in ("open(", "Path", "read_bytes", "write_bytes", "torch.load(", "torch.save("):
        assert word not in workers, word


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_missing_file_is_named(name: str, saved: Path) -> None:
    as_format_3(saved)
    (saved / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name} is missing.*--save-model"):
        load_model(saved)
    assert saved_key(saved) is None


def describe(folder: Path, **changes: object) -> None:
    """Another description of the same weights. part__name: inside a part; ...: without it."""

    def change(values: dict[str, Any]) -> None:
        for key, value in changes.items():
            *outer, name = key.split("__")
            inside = values
            for part in outer:
                inside = inside[part]
            if value is ...:
                del inside[name]
            else:
                inside[name] = value

    rewrite(folder, change)


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-40])


def with_weights(change: Callable[[dict[str, Tensor]], object]) -> Callable[[Path], None]:
    """Somebody has changed the weights, and the digest with them."""

    def damage(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        numbers = save(weights)
        data = numbers[8 + int.from_bytes(numbers[:8], "little") :]
        digest = hashlib.sha256(data).hexdigest()
        rewrite(folder, lambda values: values.update(digest=digest), weights)

    return damage


def other_weights(weights: dict[str, Tensor]) -> None:
    weights.update(fresh(classes(), ModelConfig(hidden_dim=16, num_layers=1)).state_dict())


def one_bit(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


DEEP = "[" * 200_000
BROKEN = {
    "cut off": (cut, r"model\.safetensors cannot be read \(.*cut off.*train again"),
    "one bit": (one_bit, r"safetensors: the weights are not those that were saved"),
    "other weights than described": (
        lambda f: rewrite(f, weights=fresh(classes(), seed=1).state_dict()),
        r"the weights are not those that were saved",
    ),
    "not safetensors": (
        lambda f: (f / "model.safetensors").write_bytes(b"\x80\x04pickle"),
        r"model\.safetensors cannot be read",
    ),
    "header without end": (
        lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 7 + b"\x00{}"),
        r"cannot be read \(a header of \d+ bytes in a file of 10",
    ),
    "deep header": (
        lambda f: (f / "model.safetensors").write_bytes(
            len(DEEP).to_bytes(8, "little") + DEEP.encode()
        ),
        r"model\.safetensors cannot be read",
    ),
    "empty": (lambda f: (f / "model.safetensors").write_bytes(b""), r"safetensors cannot be read"),
    "other shapes": (
        with_weights(other_weights),
        r"does not fit the model: head\S+ is \(16\S* .*in the file and \(8.*tensors differ",
    ),
    "other type": (
        with_weights(lambda w: w.update({k: v.bool() for k, v in w.items()})),
        r"is \(\S+ BOOL in the file and \(\S+ F32 in the model",
    ),
    "NaN": (
        with_weights(lambda w: w["target_mean"].fill_(torch.nan)),
        r"target_mean holds NaN or infinity",
    ),
    "other format": (
        lambda f: describe(f, format=5, shape=...),
        r"has format 5, this version of gmpool reads 4",
    ),
    "no format": (lambda f: describe(f, format=...), r"'format' is missing"),
    "no shape": (lambda f: describe(f, shape=...), r"'shape' is missing"),
    "broken JSON": (lambda f: rewrite(f, text="{"), r"model\.safetensors cannot be read"),
    "deep JSON": (lambda f: rewrite(f, text=DEEP), r"model\.safetensors cannot be read"),
    "long number": (
        lambda f: rewrite(f, text='{"format": 1' + "0" * 5000 + "}"), r"safetensors cannot be read"
    ),
    "not an object": (lambda f: rewrite(f, text="[]"), r"description must be an object"),
    "unknown field": (lambda f: describe(f, model__colour=1), r"unknown setting.*colour"),
    "unknown option": (
        lambda f: describe(f, model__pool={"heads": 1}), r"unknown option of gmt 'heads'"
    ),
    "option of another type": (
        lambda f: describe(f, model__pool={"num_heads": [1]}), r"num_heads must be a number"
    ),
    "unknown task": (lambda f: describe(f, task="clasify"), r"did you mean 'classify'"),
    "task of another type": (lambda f: describe(f, task=[1]), r"task is \[1\]"),
    "task without models": (lambda f: describe(f, task="toy"), r"models of toy cannot be saved"),
    "unknown method": (lambda f: describe(f, model__method="gmtt"), r"did you mean 'gmt'"),
    "negative width": (lambda f: describe(f, model__hidden_dim=-8), r"hidden_dim must be at least"),
    "many layers": (lambda f: describe(f, model__num_layers=10**9), r"num_layers must lie within"),
    "no outputs": (lambda f: describe(f, shape__num_outputs=...), r"shape.num_outputs is missing"),
    "text for a number": (
        lambda f: describe(f, shape__mean_nodes="many"), r"shape.mean_nodes must be a number"
    ),
    "a number that has no end": (
        lambda f: describe(f, shape__num_features=10**4000), r"shape.num_features must be a number"
    ),
    "a category of nothing": (
        lambda f: describe(f, shape__cat_sizes=[0]), r"shape.cat_sizes \(0,\) do not fit"
    ),
    "more class names than outputs": (
        lambda f: describe(f, shape__class_names=["a", "b", "c", "d"]),
        r"shape has 4 class_names for 2 num_outputs",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "text"), BROKEN.values(), ids=list(BROKEN))
def test_what_cannot_be_loaded_says_why(damage, text: str, saved: Path) -> None:
    damage(saved)
    with pytest.raises(CheckpointError, match=text):
        load_model(saved)


def test_a_width_that_does_not_fit_takes_no_memory(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is compared with the header before a model of 3 GB is made."""
    describe(saved, model__hidden_dim=15_000)
    made = []

    def spy(shape: Any, model: Any, _: Any = CLASSIFY.rebuild) -> Any:
        made.append(_(shape, model))
        return made[-1]

    monkeypatch.setattr(CLASSIFY, "rebuild", spy)
    with pytest.raises(CheckpointError, match=r"is \(8.*in the file and \(15000.*in the model"):
        load_model(saved)
    assert {p.device.type for model in made for p in model.parameters()} == {"meta"}


@pytest.mark.parametrize("task", ["classify", "reconstruct"])
def test_every_method_can_be_compared_before_it_is_made(task: str, tmp_path: Path) -> None:
    graphs = classes() if task == "classify" else atoms()
    for method in TASKS[task].methods():
        config = TASKS[task].model_config(method=method, hidden_dim=8)
        model = TASKS[task].build(as_set(graphs), config)
        save_model(TASKS[task], model, tmp_path / method, about={})
        again = load_model(tmp_path / method).model
        for name, weight in model.state_dict().items():
            assert torch.equal(again.state_dict()[name], weight), (method, name)


@pytest.mark.parametrize("older", [False, True], ids=["format 4", "format 3"])
def test_killed_anywhere_a_folder_holds_the_model_before_or_the_new_one(
    older: bool, saved: Path
) -> None:
    """Of the same shapes, so that weights of the one could pass for the other's."""
    if older:
        as_format_3(saved)
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    models = {"k": fresh(classes()), "new": fresh(classes(), seed=1)}
    found: list[str | None] = []
    ended = False
    while not ended:
        for path in saved.iterdir():
            path.unlink()
        for name, content in before.items():
            (saved / name).write_bytes(content)
        ended = ends_before(
            len(found), lambda: save_model(CLASSIFY, models["new"], saved, about={"key": "new"})
        )
        found.append(saved_key(saved))
        kept = load_model(saved).model
        assert torch.equal(predict(kept, classes()), predict(models[str(found[-1])], classes()))
        if found[-1] == "new" and not older:
            assert json.loads((saved / "model.json").read_text())["about"]["key"] == "new"
    # Both synced, both put in place, their folder synced; the description of an older one last.
    assert found == (["k"] * 3 + ["new"] * 3 if older else ["k"] * 4 + ["new"] * 2)


@pytest.mark.parametrize("full_at", [1, 2])
def test_a_full_disk_leaves_a_whole_model(
    full_at: int, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one before it, also when only the copy for people or only the weights find no room."""
    calls = 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == full_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    other = fresh(classes(), ModelConfig(hidden_dim=16), seed=1)
    with pytest.raises(CheckpointError, match=r"No space left.*Free some"):
        save_model(CLASSIFY, other, saved, about={"key": "new"})
    assert load_model(saved).description["about"]["key"] == "k"


LIMITED = """
import resource, sys
from dataclasses import replace
from pathlib import Path
from gmpool.engine.checkpoint import load_model, save_model
from gmpool.errors import CheckpointError
from gmpool.nn.batch_norm import running_of
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
