"""Several inputs, one after the other: what is done is not done again, whoever is killed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from killed import ends_before
from small_disk import small_disk

from gmpool.cli.made_rows import Maker
from gmpool.cli.new_data import NewData
from gmpool.cli.unfinished import DONE
from gmpool.errors import UserError
from gmpool.tasks.predictions import Answer, Predictions

PART = 2
ORIGIN = {"model": "m", "version": "1"}
TABLES = {"a.csv": "CC\nCO\nCN\nCF\nCCC\n", "b.csv": "", "c.csv": "?\n=1+1\nC\n"}


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in TABLES.items():
        Path(name).write_text(text)


class Lengths:
    """Says of each line how long it is, in parts of two; what was asked of it is listed."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def __call__(self, source: str, done: int) -> Predictions:
        self.asked.append((source, done))
        lines = Path(source).read_text().split()
        answers = [
            Answer([line], f"{source}:{n}", *((None, "no") if line == "?" else ([len(line)], None)))
            for n, line in enumerate(lines, start=1)
        ]
        parts = [answers[at : at + PART] for at in range(done, len(answers), PART)]
        return Predictions.beside(["smiles"], {"length": float}, parts, len(lines))


def several(folder: str, names: Mapping[str, Any] = TABLES) -> NewData:
    return NewData([(name, Path(folder, name)) for name in names], Path(folder))


def write(folder: str = "out", origin: Mapping[str, Any] = ORIGIN, **more: Any) -> list[Any]:
    """What had to be made: the inputs, and how many rows were done before."""
    make = Lengths()
    Maker(make, origin, "length", **more).write_all(several(folder))
    return make.asked


def outputs(folder: str = "out") -> dict[str, bytes]:
    return {name: Path(folder, name).read_bytes() for name in TABLES}


ALL = [(name, 0) for name in TABLES]


def test_each_input_has_an_output_with_its_rows() -> None:
    assert write() == ALL
    assert outputs() == {
        "a.csv": b"smiles,length,problem\nCC,2,\nCO,2,\nCN,2,\nCF,2,\nCCC,3,\n",
        "b.csv": b"smiles,length,problem\n",
        "c.csv": b"smiles,length,problem\n?,,no\n'=1+1,4,\nC,1,\n",
    }
    assert {path.name for path in Path("out").iterdir()} == {*TABLES, DONE}


def test_what_is_done_is_not_done_again(capsys: pytest.CaptureFixture[str]) -> None:
    write()
    before = outputs()
    capsys.readouterr()
    assert write() == []
    said = capsys.readouterr().err
    assert said == "out/a.csv: done before\nout/b.csv: done before\nout/c.csv: done before\n"
    assert outputs() == before


@pytest.mark.parametrize(
    ("change", "again", "says"),
    [
        (lambda: Path("c.csv").write_text("C\n"), ["c.csv"], "was made with another input"),
        (lambda: Path("out/a.csv").write_text("x"), ["a.csv"], "is not what was made before"),
        (lambda: Path("out/b.csv").unlink(), ["b.csv"], ""),
        (lambda: Path("out", DONE).unlink(), [*TABLES], "is not what was made before"),
    ],
)
def test_what_changed_is_made_again(
    change: Callable[[], Any], again: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write()
    change()
    capsys.readouterr()
    assert write() == [(name, 0) for name in again]
    said = capsys.readouterr().err
    assert (f"out/{again[0]} {says}: it is made again" in said) is bool(says)
    assert outputs() == (write("other") and outputs("other"))
    assert write() == []


def test_another_model_or_option_makes_all_again(capsys: pytest.CaptureFixture[str]) -> None:
    write()
    assert write(origin={**ORIGIN, "model": "n"}) == ALL
    assert "out/a.csv was made with another model: it is made again" in capsys.readouterr().err
    assert write(origin={**ORIGIN, "model": "n"}) == []


@pytest.mark.parametrize("line", ['{"key": "a.csv"}', '{"key": "a.csv", "origin": 3, "bytes": 1}'])
def test_lines_that_nobody_here_wrote_say_nothing(line: str) -> None:
    write()
    with Path("out", DONE).open("a") as file:
        file.write(f"{line}\n")
    assert write() == [("a.csv", 0)]


def test_killed_at_any_step_the_same_command_goes_on() -> None:
    """At every third; all steps of one file are in test_unfinished."""
    write("other")
    expected = outputs("other")
    begun: set[tuple[str, int]] = set()
    for step in range(0, 1000, 3):
        folder = f"out{step}"
        if ends_before(step, lambda folder=folder: write(folder)):  # type: ignore[misc]
            break
        begun.update(write(folder)[:1])
        assert outputs(folder) == expected, f"step {step}"
        assert write(folder) == [], f"step {step}"
    assert {source for source, _ in begun} == {*TABLES}
    assert {done for source, done in begun if source == "a.csv"} >= {0, 2, 4}


def test_rows_that_are_left_out_are_counted_as_done() -> None:
    write("other", leaves_out=True)
    for step in range(0, 1000, 13):
        if ends_before(step, lambda step=step: write(f"out{step}", leaves_out=True)):  # type: ignore[misc]
            break
        write(f"out{step}", leaves_out=True)
        assert outputs(f"out{step}") == outputs("other"), f"step {step}"
    assert outputs("other")["c.csv"] == b"smiles,length,problem\n'=1+1,4,\nC,1,\n"


@pytest.mark.parametrize("size", [60, 200, 300])
def test_a_full_disk_is_one_sentence(size: int) -> None:
    with small_disk(size), pytest.raises(UserError, match="same command goes on") as error:
        write()
    assert "\n" not in str(error.value)
    assert "--store" not in str(error.value)
    write()
    assert outputs() == (write("other") and outputs("other"))


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_one_input_is_made_whenever_it_is_asked_for(name: str) -> None:
    make = Lengths()
    for _ in range(2):
        Maker(make, ORIGIN, "length").write_all(NewData([("a.csv", Path(name))], None))
    assert make.asked == [("a.csv", 0)] * 2
    assert not [path for path in Path().iterdir() if path.name.startswith(f".{name}")]


def test_ctrl_c_among_several_says_where_it_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(source: str, done: int) -> Predictions:
        made = Lengths()(source, done)
        return made._replace(parts=stop(made.parts)) if source == "c.csv" else made

    def stop(parts: Any) -> Any:
        yield next(parts)
        raise KeyboardInterrupt

    with pytest.raises(Exception) as end:  # noqa: PT011
        Maker(interrupted, ORIGIN, "length").write_all(several("out"))
    assert getattr(end.value, "exit_code", None) == 130
    said = capsys.readouterr().err
    assert said.endswith(
        "stopped after 2 rows; out/c.csv is not done, and the same command goes on\n"
    )
    assert write() == [("c.csv", 2)]
    known = [json.loads(line)["key"] for line in Path("out", DONE).read_text().splitlines()]
    assert known == ["a.csv", "b.csv", "c.csv"]
