from __future__ import annotations

from pathlib import Path

import pandas
import pytest
import torch
from small_sets import TEN_MOLECULES, classes
from trainings import as_set

from gmpool.data import PackedGraphs, from_smiles, graph_rows
from gmpool.data import save as save_packed
from gmpool.data.graph_rows import GraphRows, packed
from gmpool.data.sources.descriptors import names_of
from gmpool.data.sources.table_cells import Cells
from gmpool.errors import DataError, UserError, WrongType

TABLE = "id,smiles\n" + "".join(f"{i},{s}\n" for i, s in enumerate(TEN_MOLECULES))


def table(path: Path, text: str = TABLE) -> Path:
    path.write_text(text)
    return path


def graphs_of(given: GraphRows) -> list[PackedGraphs]:
    return [packed(part.given)[0] for part in given.parts]


@pytest.mark.parametrize("most", [1, 3, 10, 99])
def test_parts_are_the_rows_of_the_table(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_rows, "PART_ROWS", most)
    text = TABLE.replace(f"3,{TEN_MOLECULES[3]}", "3,C1CC") + "10\n"
    path = table(tmp_path / "t.csv", text)
    given = graph_rows.graph_rows(path)
    assert (given.columns, given.total) == (["id", "smiles"], 11)
    parts = list(given.parts)
    assert [len(part.rows) for part in parts[:-1]] == [most] * (len(parts) - 1)
    rows = [row for part in parts for row in part.rows]
    assert [",".join(row) for row in rows] == [*text.splitlines()[1:-1], "10,"]
    assert [place for part in parts for place in part.places] == [
        f"{path}:{i + 2}" for i in range(11)
    ]
    problems = [problem for part in parts for problem in part.problems]
    assert [i for i, problem in enumerate(problems) if problem] == [10], "its cells do not fit"
    graphs, bad = zip(*(packed(part.given) for part in parts), strict=True)
    assert [(at, *each) for at, each in enumerate(bad) if each] == [(3 // most, 3 % most)]
    expected = from_smiles([s for i, s in enumerate(TEN_MOLECULES) if i != 3])
    names = [name for each in graphs for name in each.graph_names or ()]
    assert tuple(names) == expected.graph_names
    found = torch.cat([each.node_cat for each in graphs])
    assert torch.equal(found, expected.node_cat)


def test_rows_are_read_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a table of any length needs no more memory than a short one."""
    monkeypatch.setattr(graph_rows, "PART_ROWS", 2)
    read, lines, counts = [], Cells.__iter__, []
    monkeypatch.setattr(
        Cells, "__iter__", lambda cells: (read.append(1) or x for x in lines(cells))
    )
    for _ in graph_rows.graph_rows(table(tmp_path / "t.csv")).parts:
        counts.append(len(read))
    assert counts == [2, 4, 6, 8, 10]


def test_long_molecules_make_short_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_rows, "PART_LETTERS", 50)
    smiles = ["C" * 60, "C" * 20, "C" * 20, "C" * 20, "C"]
    given = graph_rows.graph_rows(table(tmp_path / "t.csv", "smiles\n" + "\n".join(smiles)))
    assert [part.num_graphs for part in graphs_of(given)] == [1, 3, 1]


def test_the_features_are_known_before_the_first_row(tmp_path: Path) -> None:
    given = graph_rows.graph_rows(table(tmp_path / "my table.csv"))
    (graphs,) = graphs_of(given)
    assert given.like.num_graphs == 0
    assert given.like.name == "my table"
    assert given.like.num_features == graphs.num_features
    assert given.like.edge_cat_sizes == graphs.edge_cat_sizes
    own = graph_rows.graph_rows(classes())
    assert own.like.num_features == classes().num_features


def test_frames_lists_and_graphs_are_rows_too(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"n": [1.5, 2.0], "smiles": ["CC", "?"]})
    given = graph_rows.graph_rows(frame)
    (part,) = given.parts
    assert (given.columns, given.total) == (["n", "smiles"], 2)
    assert part.rows == [["1.5", "CC"], ["2.0", "?"]]
    assert (part.problems, list(packed(part.given)[1])) == ([None, None], [1])
    for several in (["CC", "CO"], pandas.Series(["CC", "CO"]), iter(("CC", "CO"))):
        listed = graph_rows.graph_rows(several)
        (part,) = listed.parts
        assert (listed.columns, listed.total, part.given) == (["smiles"], 2, ("CC", "CO"))
        assert part.rows == [["CC"], ["CO"]]
    (part,) = graph_rows.graph_rows(["CC", "CO"]).parts
    names = packed(part.given, "quick")[0].graph_float_names
    assert names == names_of("quick"), "descriptors are made where the molecules are read"
    graphs = from_smiles(["CC", "CO", "CN"])
    save_packed(graphs, tmp_path / "own.safetensors")
    for source in (graphs, as_set(graphs), tmp_path / "own.safetensors"):
        given = graph_rows.graph_rows(source)
        (part,) = given.parts
        assert (given.columns, given.total) == (["graph"], 3)
        assert part.rows == [["CC"], ["CO"], ["CN"]]
    (part,) = graph_rows.graph_rows(classes()).parts
    assert part.rows[:2] == [["0"], ["1"]], "graphs without names are numbered"
    with pytest.raises(WrongType, match="got int at 1"):
        graph_rows.graph_rows(["CC", 7])
    with pytest.raises(WrongType, match=r"new data is a path or name, .* got int"):
        graph_rows.graph_rows(7)
    with pytest.raises(UserError, match="smiles_column: for a table"):
        graph_rows.graph_rows(graphs, smiles_column="x")
    with pytest.raises(DataError, match="no such file"):
        graph_rows.graph_rows(tmp_path / "missing.csv")
