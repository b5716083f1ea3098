from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_sets import classes, dataset, with_labels
from small_tu import write_tu

from gmpool.data import (
    CATALOGUE,
    SOURCES,
    Dataset,
    Source,
    epoch_batches,
    load,
    load_table,
    random_split,
    save,
    stratified_folds,
)
from gmpool.data.dataset import source_of
from gmpool.errors import DataError, UserError


def test_a_labelled_set_without_splits_gets_stratified_folds() -> None:
    for count, folds in ((24, 10), (6, 6)):
        graphs = classes(count)
        data = Dataset.of(graphs)
        assert graphs.y is not None
        want = [fold.digest for fold in stratified_folds(graphs.y, folds)]
        assert [fold.digest for fold in data.folds] == want
        assert (data.name, data.metric, len(data)) == ("shapes", "accuracy", count)
    assert Dataset.of(classes(2)).folds == ()
    split = random_split(6)
    assert Dataset.of(classes(6), (split,)).folds == (split,)


@pytest.mark.parametrize(("task", "metric"), [("binary", "roc_auc"), ("regression", "rmse")])
def test_the_metric_is_that_of_the_labels(task: str, metric: str) -> None:
    assert Dataset.of(with_labels(torch.ones(4, 1), task)).metric == metric


def test_unlabelled_graphs_have_neither_folds_nor_metric() -> None:
    bare = replace(classes(6), y=None, task=None, class_names=(), task_names=())
    data = Dataset.of(bare, skipped=("mine.csv:3: bad",))
    assert (data.folds, data.metric, data.skipped) == ((), None, ("mine.csv:3: bad",))


def test_what_is_asked_of_a_dataset() -> None:
    data = Dataset.of(classes(6))
    moved = data.to("cpu")
    assert moved.digest == data.digest == data.graphs.digest
    assert moved.folds is data.folds
    ids = data.folds[0].train
    for shuffle in (False, True):
        found, want = (
            [batch.ids.tolist() for batch in make(torch.Generator() if shuffle else None)]
            for make in (
                lambda generator: data.batches(ids, 3, generator),
                lambda generator: epoch_batches(data.graphs, ids, 3, generator),
            )
        )
        assert found == want


def test_the_sources_are_found_where_they_lie() -> None:
    assert set(SOURCES) == {"generated", "molecule-set", "packed", "table", "tu", "tu-set"}


def test_every_name_has_one_source() -> None:
    names = [name for source in SOURCES for name in SOURCES[source].names()]
    assert len(names) == len(set(names))
    assert set(names) == {*CATALOGUE, "ring", "grid"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MUTAG", "tu-set"),
        ("ZINC", "molecule-set"),
        ("ring", "generated"),
        ("x.csv", "table"),
        ("x.tsv.xz", "table"),
        ("x.zip", "tu"),
        ("x.safetensors", "packed"),
        ("folder", "tu"),
        ("folder.csv", "tu"),
        ("folder.safetensors", "tu"),
        ("MUTAGG", None),
        ("x.pdf", None),
    ],
)
def test_whose_kind_a_name_or_path_is(
    name: str, kind: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("folder", "folder.csv", "folder.safetensors"):
        (tmp_path / folder).mkdir()
    assert source_of(name) is (None if kind is None else SOURCES[kind])
    accepting = [each for each in SOURCES if SOURCES[each].accepts(Path(name))]
    assert len(accepting) <= 1, "which of them came first must not matter"


def test_a_new_source_serves_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    list(SOURCES)  # they are looked for once
    monkeypatch.setattr(SOURCES, "_items", dict(SOURCES._items))
    SOURCES.register("shapes")(
        Source(
            load=lambda name, root: dataset(),
            names=lambda: ("shapes",),
            accepts=lambda path: path.suffix == ".shapes",
            files=".shapes",
        )
    )
    assert load("shapes").name == load(tmp_path / "mine.shapes").name == "shapes"
    (tmp_path / "x.pdf").touch()
    with pytest.raises(DataError, match=r"\.safetensors.*\.shapes"):
        load(tmp_path / "x.pdf")
    with pytest.raises(UserError, match="did you mean 'shapes'"):
        load("shape")


def test_paths(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("smiles,y\n" + "".join(f"{'C' * i},{i / 2}\n" for i in range(1, 13)))
    data = load(table)
    assert (data.name, data.metric, len(data.folds)) == ("mine", "rmse", 1)
    assert data.folds[0].digest == random_split(12).digest
    packed = tmp_path / "mine.safetensors"
    save(data.graphs, packed)
    assert len(load(packed).folds) == 10
    save(data.graphs, packed, data.folds[0])
    assert load(packed).folds[0].digest == data.folds[0].digest
    few = load_table(table, label_columns=())
    assert (few.folds, few.metric, few.graphs.y) == ((), None, None)
    table.write_text("smiles,y\nC,1\nC(,0\n")
    partial = load_table(table, skip_bad_rows=True)
    assert len(partial.skipped) == 1
    assert partial.metric == "roc_auc"


def test_tu_folder_of_a_user(tmp_path: Path) -> None:
    data = load(write_tu(tmp_path / "own", "own", graphs=6, nodes=2))
    assert data.metric == "accuracy"
    assert len(data.folds) == 6
    assert torch.equal(data.graphs.sizes, torch.full((6,), 2))


def test_names_and_paths_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown dataset 'PROTEIN'; did you mean 'PROTEINS'"):
        load("PROTEIN")
    with pytest.raises(DataError, match="no such file or folder"):
        load(tmp_path / "nowhere" / "set")
    with pytest.raises(DataError, match=r"x\.csv: no such file"):
        load("x.csv")
    (tmp_path / "x.pdf").touch()
    with pytest.raises(DataError, match=r"x\.pdf: not a kind of file that can be read"):
        load(tmp_path / "x.pdf")


def test_a_name_goes_before_a_folder_that_is_called_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring").mkdir()
    assert load("ring").graphs.num_nodes == 200
    with pytest.raises(DataError, match=r"expected one file NAME_A\.txt, found none"):
        load("./ring")


def test_options_are_those_of_the_source(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("s,y\nC,1.5\nCC,2.5\nCCC,3.5\n")
    assert load(table, smiles_column="s", label_columns=(), labelled=False).metric is None
    assert load("ring", parameters={"n": 7}, atoms="types").graphs.num_nodes == 7
    assert load("cycle_graph", parameters={"n": 5}).graphs.num_nodes == 5
    assert load("ring", smiles_column=None, skip_bad_rows=False).name == "ring"
    with pytest.raises(UserError, match="--smiles-column is for a CSV, and 'ring' is not one"):
        load("ring", smiles_column="s")
    with pytest.raises(UserError, match="--parameter is for a graph that is made on the spot"):
        load(table, parameters={"n": 3})
    with pytest.raises(UserError, match="unknown option of data 'smile_column'"):
        load(table, smile_column="s")
