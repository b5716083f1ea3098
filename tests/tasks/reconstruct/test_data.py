"""Sets to reconstruct: those with a name, and the split of any."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_graphs import points

from gmpool.data import Dataset
from gmpool.errors import UserError
from gmpool.tasks.reconstruct.data import named_dataset, reconstruct_split
from gmpool.tasks.task import TASKS


def test_the_split_of_a_set_without_one() -> None:
    one = Dataset("one", points(1), (), None)
    split = reconstruct_split(one)
    assert split.train.tolist() == split.valid.tolist() == split.test.tolist() == [0]
    with pytest.raises(UserError, match="has 2 graphs, too few"):
        reconstruct_split(Dataset("two", points(2), (), None))
    many = reconstruct_split(Dataset("many", points(20), (), None))
    assert [len(part) for part in (many.train, many.valid, many.test)] == [16, 2, 2]


def test_a_set_that_is_not_at_hand_is_named(caplog: pytest.LogCaptureFixture) -> None:
    assert named_dataset("ZINC") is None
    assert "ZINC is not at hand" in caplog.text
    assert named_dataset("somebody's own") is None
    ring = named_dataset("ring")
    assert ring is not None
    assert ring.graphs.num_graphs == 1


def test_a_graph_that_is_made_goes_before_a_folder_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the store that the first run with it left behind."""
    pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)
    task = TASKS["reconstruct"]
    for name, parameters in (("ring", ["n=8"]), ("cycle_graph", ["n=9"])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.jsonl").touch()
        assert task.open(name, parameter=parameters).name == f"{name}({parameters[0]})"
        with pytest.raises(UserError, match=r"NAME_A\.txt|for a graph that is made"):
            task.open(f"./{name}", parameter=parameters)
    (tmp_path / "path_graph").mkdir()
    (tmp_path / "path_graph" / "S_A.txt").touch()
    with pytest.raises(UserError, match="--parameter is for a graph that is made"):
        task.open("path_graph", parameter=["n=9"])


@pytest.mark.data
def test_a_named_set_goes_before_a_folder_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_root: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MUTAG").mkdir()
    assert len(TASKS["classify"].open("MUTAG", data_root)) == 188
    with pytest.raises(UserError, match="MUTAG"):
        TASKS["classify"].open("./MUTAG", data_root)
