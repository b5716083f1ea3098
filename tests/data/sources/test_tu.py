from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest
import torch
from torch_geometric.datasets import TUDataset
from torch_geometric.utils import degree, one_hot

from gmpool.data import CATALOGUE, read_tu
from gmpool.errors import DataError

TINY = {
    "A": "1, 2\n2, 1\n2, 2\n1, 2\n3, 4\n",
    "graph_indicator": "1\n1\n2\n2\n",
    "graph_labels": "7\n-1\n",
    "node_labels": "5\n6\n5\n8\n",
    "node_attributes": "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n",
    "edge_labels": "0\n1\n0\n2\n1\n",
}


def write_tiny(folder: Path, leave_out: tuple[str, ...] = (), **changed: str) -> Path:
    folder.mkdir(exist_ok=True)
    for part, text in (TINY | changed).items():
        if part not in leave_out:
            (folder / f"TINY_{part}.txt").write_text(text)
    return folder


def test_a_small_set(tmp_path: Path) -> None:
    graphs = read_tu(write_tiny(tmp_path)).validate()
    assert graphs.name == "TINY"
    assert graphs.class_names == ("-1", "7")
    assert graphs.y.tolist() == [1, 0]
    batch = graphs.batch([0, 1])
    # The loop 2,2 and the second 1,2 are gone; features are attributes, then labels from 5.
    assert batch.edge_index.tolist() == [[1, 0, 2], [0, 1, 3]]
    assert batch.x[3].tolist() == [3.5, 4.0, 0.0, 0.0, 0.0, 1.0]
    assert batch.edge_attr is None
    assert not graphs.symmetric


def test_options(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path)
    with_edges = read_tu(folder, edge_features=True)
    assert with_edges.batch([0]).edge_attr.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert read_tu(folder, degree_features=True).num_features == 6 + 2
    (folder / "TINY_graph_labels.txt").unlink()
    unlabelled = read_tu(folder, labelled=False)
    assert unlabelled.y is None
    assert len(unlabelled) == 2
    bare = read_tu(write_tiny(tmp_path / "bare", leave_out=("node_labels", "node_attributes")))
    assert bare.batch([0, 1]).x.tolist() == [[0, 1], [0, 1], [1, 0], [0, 1]]


def test_zip_with_lzma_and_windows_line_ends(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "TINY")
    with zipfile.ZipFile(tmp_path / "tiny.zip", "w", zipfile.ZIP_LZMA) as archive:
        for path in folder.iterdir():
            archive.writestr(f"TINY/{path.name}", path.read_text().replace("\n", "\r\n"))
    assert read_tu(tmp_path / "tiny.zip").digest == read_tu(folder).digest


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("A", "", r"TINY_A\.txt: the file is empty"),
        ("A", "1, 2\n2, x\n", r"TINY_A\.txt:2: 'x' is not a whole number"),
        ("A", "1, 2\n1.5, 2\n", r"TINY_A\.txt:2: '1.5' is not a whole number"),
        ("A", "1, 2\n\n2, 1\n", r"TINY_A\.txt:2: the line is blank"),
        ("A", "1, 2\n2, 1, 2\n", r"TINY_A\.txt:2: 3 values, expected 2"),
        ("A", "1, 2\n2, 5\n", r"TINY_A\.txt:2: edge 2, 5 names a missing node \(nodes are 1..4"),
        ("A", "0, 2\n", r"TINY_A\.txt:1: edge 0, 2 names a missing node"),
        ("A", "1, 2\n2, 3\n", r"TINY_A\.txt:2: edge between graph 1 and graph 2"),
        ("graph_indicator", "1\n2\n1\n2\n", r"graph_indicator\.txt:3: graph numbers must not fall"),
        ("graph_indicator", "1\n1\n2\n3\n", r"_labels\.txt: 2 labels, but the last graph .* is 3;"),
        ("graph_indicator", "0\n1\n2\n2\n", r"indicator\.txt:1: graph 0 is not a number from 1"),
        ("graph_indicator", "1, 1\n" * 4, r"graph_indicator\.txt:1: 2 values, expected 1"),
        ("graph_labels", "7, 1\n-1, 1\n", r"graph_labels\.txt:1: 2 values, expected 1"),
        ("graph_labels", "7\n-1\n-1\n", r"labels\.txt: 3 labels, but the last graph .* is 2;"),
        ("A", "4294967298, 1\n", r"A\.txt:1: '4294967298' is beyond the range of int32"),
        ("A", "1, 2\n3\n4, 3, 4\n", r"A\.txt:2: 1 values, expected 2"),
        ("node_attributes", "1\n1\n1e39\n1\n", r"txt:3: '1e39' is beyond the range of float32"),
        ("node_labels", "5\n6\n100000000\n8\n", r"labels\.txt:3: labels from 5 to 100000000 make"),
        ("node_labels", "-9223372036854775806\n0\n9223372036854775806\n0\n", "without gaps"),
        ("node_labels", "5\n6\n", r"node_labels\.txt: 2 lines, expected 4"),
        (
            "node_attributes",
            "1, 2\n1, nan\n1, 2\n1, 2\n",
            r"txt:2: 'nan' is not a finite number",
        ),
        ("node_attributes", "1, 2\n1\n1, 2\n1, 2\n", r"attributes\.txt:2: 1 values, expected 2"),
        ("graph_labels", "1\nyes\n", r"graph_labels\.txt:2: 'yes' is not a whole number"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, part: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_tu(write_tiny(tmp_path, **{part: text}))


def test_lines_are_counted_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_tiny(tmp_path)
    want = read_tu(folder).digest
    monkeypatch.setattr("gmpool.data.sources.number_lines._BLOCK", 7)
    assert read_tu(folder).digest == want
    with pytest.raises(DataError, match=r"TINY_A\.txt:4: 'x' is not"):
        read_tu(write_tiny(tmp_path, A="1, 2\n2, 1\n1, 2\n2, x\n3, 4\n"))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        read_tu(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"expected one file NAME_A\.txt, found none"):
        read_tu(tmp_path)
    folder = write_tiny(tmp_path / "a", leave_out=("graph_labels",))
    with pytest.raises(DataError, match=r"TINY_graph_labels\.txt: no such file"):
        read_tu(folder)
    (tmp_path / "bad.zip").write_text("no zip")
    with pytest.raises(DataError, match="not a readable zip file"):
        read_tu(tmp_path / "bad.zip")


def test_graphs_without_nodes_may_lie_between_others(tmp_path: Path) -> None:
    changed = {"graph_indicator": "1\n1\n3\n3\n", "graph_labels": "7\n-1\n7\n"}
    graphs = read_tu(write_tiny(tmp_path, **changed))
    assert graphs.sizes.tolist() == [2, 0, 2]
    assert graphs.y.tolist() == [1, 0, 1]
    with pytest.raises(DataError, match=r"indicator\.txt:3: graph 1000000000000, but the set has"):
        read_tu(
            write_tiny(tmp_path, graph_indicator="1\n1\n1000000000000\n1000000000000\n"),
            labelled=False,
        )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "set", leave_out=("node_labels", "graph_labels"))
    os.mkfifo(folder / "TINY_node_labels.txt")
    (folder / "TINY_graph_labels.txt").mkdir()
    with pytest.raises(DataError, match=r"TINY_graph_labels\.txt: no such file"):
        read_tu(folder)
    assert read_tu(folder, labelled=False).cat_sizes == ()
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(DataError, match="no such file or folder"):
        read_tu(tmp_path / "pipe.zip")


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    ["MUTAG", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", pytest.param("DD", marks=pytest.mark.slow)],
)
def test_same_graphs_as_pyg(name: str, data_root: Path, tmp_path: Path) -> None:
    raw = tmp_path / name / "raw"
    with zipfile.ZipFile(data_root / f"{name}.zip") as archive:
        archive.extractall(tmp_path / "unzipped")
    shutil.copytree(tmp_path / "unzipped" / name, raw)
    theirs = TUDataset(str(tmp_path), name, use_node_attr=True)
    graphs = read_tu(data_root / f"{name}.zip").validate()
    data = theirs._data
    batch = graphs.batch(range(len(graphs)))
    assert len(theirs) == len(graphs) == CATALOGUE[name].graphs
    assert graphs.mean_nodes == pytest.approx(CATALOGUE[name].mean_nodes, abs=0.005)
    assert torch.equal(data.y, graphs.y)
    offsets = torch.repeat_interleave(graphs.node_ptr[:-1], theirs.slices["edge_index"].diff())
    edges = data.edge_index + offsets  # sorted by source; ours by target
    order = (edges[1] * graphs.num_nodes + edges[0]).argsort()
    assert torch.equal(edges[:, order], batch.edge_index)
    if data.x is None:
        degrees = degree(edges[0], graphs.num_nodes).long()
        assert torch.equal(one_hot(degrees), batch.x)
    else:
        assert torch.equal(data.x, batch.x)
    assert graphs.symmetric
