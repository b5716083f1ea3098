"""docs/extending.md: each thing is added to a copy of the package as the page says, and works."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doc_blocks import ROOT, blocks, do_what_it_says, write_files

PAGE = ROOT / "docs" / "extending.md"


def a_tu_folder(folder: Path, name: str) -> None:
    """Thirty rings of three classes, in the text files of a TU set."""
    folder = folder / name
    folder.mkdir(parents=True)
    edges, graph_of, node = [], [], 1
    for graph in range(30):
        size = 3 + graph % 3
        for i in range(size):
            edges += [
                f"{node + i}, {node + (i + 1) % size}",
                f"{node + (i + 1) % size}, {node + i}",
            ]
        graph_of += [str(graph + 1)] * size
        node += size
    texts = {
        "A": edges,
        "graph_indicator": graph_of,
        "graph_labels": [str(g % 3) for g in range(30)],
    }
    for which, lines in texts.items():
        (folder / f"{name}_{which}.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("extended")
    shutil.copytree(
        ROOT / "gmpool", folder / "gmpool", ignore=shutil.ignore_patterns("__pycache__")
    )
    write_files(PAGE, folder)
    a_tu_folder(folder / "data", "ENZYMES")
    places = {"GMPOOL_DATA": folder / "data", "XDG_CACHE_HOME": folder / "cache"}
    return do_what_it_says(PAGE, folder, {name: str(path) for name, path in places.items()})


def after(said: str, command: str) -> str:
    """What a command printed."""
    return said.split(f"$ gmpool {command}", 1)[1].split("\n$ gmpool", 1)[0]


def test_every_kind_of_thing_is_shown() -> None:
    folders = {str(Path(block.file).parent) for block in blocks(PAGE) if block.file}
    assert folders >= {"gmpool/pool", "gmpool/tasks/size", "gmpool/data/sources", "gmpool/ops/cube"}


def test_a_method_in_one_file(said: str) -> None:
    assert "degree-sum" in after(said, "list methods")
    assert "degree-sum" in after(said, "train MUTAG --method degree-sum")
    assert "tensor([[6., 6., 6., 6.]]" in said


def test_a_task_in_one_folder(said: str) -> None:
    assert "guess-size" in after(said, "list tasks")
    assert "rmse" in after(said, "guess-size")
    assert "Which pooling can count?" in after(said, "table size.toml")


def test_a_set_in_one_entry(said: str) -> None:
    assert "ENZYMES" in after(said, "list datasets")
    assert "ENZYMES" in after(said, "train ENZYMES")


def test_a_source_in_one_file(said: str) -> None:
    assert "20 graphs, 10 folds, accuracy" in said
    assert "shapes" in after(said, "train shapes.json")


def test_a_method_of_another_package(said: str) -> None:
    assert "twice-the-mean" in after(said, "train MUTAG --method twice-the-mean")


def test_a_kernel_beside_its_operator(said: str) -> None:
    pytest.importorskip("triton")
    assert "served by gmpool.ops.cube.triton" in said
