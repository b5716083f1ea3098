"""Many inputs on a cluster: each is made once and whole, whoever dies."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from on_nodes import Lengths, nodes, soon
from small_sets import FLAGS, TEN_MOLECULES

from gmpool.cli import rows_on_cluster
from gmpool.cli.made_rows import Maker
from gmpool.cli.new_data import NewData
from gmpool.cli.rows_on_cluster import write_on
from gmpool.cli.unfinished import DONE
from gmpool.engine.executors.ray_tasks import Cluster
from gmpool.errors import UserError

NAMES = [f"part-{n}.csv" for n in range(6)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with nodes(2) as found:
        yield Cluster(found.address)


@pytest.fixture(autouse=True)
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soon(monkeypatch)
    monkeypatch.chdir(tmp_path)
    Path("calls").mkdir()
    Path("out").mkdir()
    for number, name in enumerate(NAMES):
        Path(name).write_text("\n".join("C" * (number + n + 1) for n in range(3)) + "\n")


def several() -> NewData:
    return NewData([(name, Path("out", name)) for name in NAMES], Path("out"))


def maker(deadly: str = "") -> Maker:
    return Maker(Lengths(Path("calls").absolute(), deadly), {"model": "m"}, "length")


def made() -> list[str]:
    """The inputs that were begun, as often as they were."""
    return sorted(path.name.rpartition("-")[0] for path in Path("calls").iterdir())


def check_all_outputs() -> None:
    for number, name in enumerate(NAMES):
        with Path("out", name).open() as file:
            rows = list(csv.DictReader(file))
        assert [int(float(row["length"])) for row in rows] == [number + n + 1 for n in range(3)]
    assert sorted(path.name for path in Path("out").iterdir()) == [DONE, *NAMES]


def test_an_input_whose_worker_dies_is_made_elsewhere_and_nothing_twice(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    write_on(cluster, several(), maker("part-3.csv"))
    check_all_outputs()
    assert made() == sorted([*NAMES, "part-3.csv"])
    said = capsys.readouterr().err
    assert "part-3.csv: lost with its worker or node, made again (time 1)" in said
    assert "6 of 6 inputs are done, 18 rows now" in said
    Path("out/part-1.csv").unlink()
    write_on(cluster, several(), maker())
    check_all_outputs()
    assert made().count("part-1.csv") == 2
    assert len(made()) == 8
    entries = [json.loads(line) for line in Path("out", DONE).read_text().splitlines()]
    assert {entry["key"] for entry in entries} == set(NAMES)


def test_one_that_fails_does_not_stop_the_others(cluster: Cluster) -> None:
    Path("part-2.csv").write_text("C\n?\n")
    with pytest.raises(UserError, match=r"1 of 6 inputs failed, the first: .*part-2\.csv: .*kind"):
        write_on(cluster, several(), maker())
    assert len(list(Path("out").glob("*.csv"))) == 5
    Path("part-2.csv").write_text("CCC\nCCCC\nCCCCC\n")
    write_on(cluster, several(), maker())
    check_all_outputs()


def test_a_folder_that_a_node_does_not_see_is_named() -> None:
    one = rows_on_cluster._Input(Path("part-1.csv").absolute(), Path("/not/there/x.csv"), {})
    with pytest.raises(UserError, match="a node does not see /not/there: on a cluster"):
        rows_on_cluster._write(maker(), one)


def test_one_input_is_for_one_machine() -> None:
    with pytest.raises(UserError, match=r"an input at a time: give several, such as 'parts/\*"):
        write_on(Cluster(), NewData([("part-1.csv", Path("x.csv"))], None), maker())


def test_predictions_are_those_of_one_machine(
    cluster: Cluster, gmpool_cli: Callable[..., Any]
) -> None:
    rows = [f"{smiles},{n}" for n, smiles in enumerate(TEN_MOLECULES * 2)]
    Path("m.csv").write_text("\n".join(["smiles,energy", *rows]) + "\n")
    for n in range(3):
        Path(f"new-{n}.csv").write_text("\n".join(["smiles", *TEN_MOLECULES[n:]]) + "\n")
    trained = gmpool_cli("train", "m.csv", "--label", "energy", *FLAGS, "--save-model", "m")
    assert trained.code == 0
    asked = ("predict", "m", "new-*.csv", "--out")
    assert gmpool_cli(*asked, "here", "--workers", 1).code == 0
    there = gmpool_cli(*asked, "there", "--executor", "ray", "--address", cluster.address)
    assert there.code == 0, there.err
    assert "3 of 3 inputs are done, 27 rows now" in there.err
    for n in range(3):
        assert Path(f"here/new-{n}.csv").read_bytes() == Path(f"there/new-{n}.csv").read_bytes()
    again = gmpool_cli(*asked, "there", "--executor", "ray", "--address", cluster.address)
    assert again.err.count("done before") == 3
    for words, said in (
        (("--workers", 2), "--workers is for this machine"),
        (("--device", "cuda"), "--device cuda is for this machine"),
    ):
        refused = gmpool_cli(*asked, "there", "--executor", "ray", *words)
        assert (refused.code, said in refused.err) == (2, True)
