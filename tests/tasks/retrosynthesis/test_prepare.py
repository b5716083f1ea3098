"""A table of reactions becomes a prepared set, whatever stops it in between."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from reactions import REACTIONS, small_set, write_csv

from gmpool.data.sources.table_columns import Table
from gmpool.errors import DataError
from gmpool.tasks.retrosynthesis.prepare import FINDING, PACKING, READING, prepare
from gmpool.tasks.retrosynthesis.prepared import Prepared

pytest.importorskip("rdkit")
pytest.importorskip("rdchiral")
Tell = Callable[[str, int, int], None]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "mine.csv", copies=3)


def rewritten(path: Path, line: int, **cells: str) -> None:
    """Change cells of the row on a line."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[line - 2] |= cells
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)


def test_what_is_written_is_the_set_and_what_is_said(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.retro"
    done = prepare(str(table), None, out)
    (tmp_path / "other").mkdir()
    assert done.prepared.digest == small_set(tmp_path / "other", copies=3).digest
    again = Prepared.load(out)
    assert (again.digest, again.name) == (done.prepared.digest, "mine")
    assert len(again.smiles) == len(again.arrays["molecules.sizes"])
    assert done.folder == tmp_path / "mine.shards"
    assert done.said == [
        "57 reactions, 19 products, 6 classes",
        "templates of the 39 for training: 16, with 15 centers and 19 fragments",
        "candidates of a product, in the mean: 1.4 centers, 1.5 templates that make something, "
        "1.6 outcomes",
        "training: 39 reactions, 100.0 % reached by a template",
        "validation: 9 reactions, 100.0 % reached by a template",
        "test: 9 reactions, 100.0 % reached by a template",
        f"{out} is all that is needed; {done.folder} may be deleted",
    ]


def test_it_is_told_how_far_it_is(table: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    prepare(str(table), None, tmp_path / "a.retro", tell=lambda *each: told.append(each))
    assert (told[0], told[1]) == ((READING, 0, 57), (READING, 57, 57))
    found = [(done, of) for what, done, of in told if what == FINDING]
    assert found == [(done, 19) for done in range(20)], "few products are shared out one by one"
    assert {what for what, _, _ in told} <= {READING, FINDING, PACKING}
    told.clear()
    prepare(str(table), None, tmp_path / "a.retro", tell=lambda *each: told.append(each))
    assert [(done, of) for what, done, of in told if what == FINDING] == [(19, 19)]


def stops_after(products: int) -> Tell:
    def tell(what: str, done: int, of: int) -> None:
        if what == FINDING and done == products:
            raise KeyboardInterrupt

    return tell


@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_and_begun_again_it_ends_with_the_same_bytes(
    workers: int, table: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.retro"
    digest = prepare(str(table), None, whole).prepared.digest
    out, shards = tmp_path / "mine.retro", tmp_path / "mine.shards"
    for products in (5, 11):
        with pytest.raises(KeyboardInterrupt):
            prepare(str(table), None, out, workers=workers, tell=stops_after(products))
        kept = {path: path.stat().st_mtime_ns for path in shards.glob("*.xz")}
        assert len(kept) == products
        assert not out.exists()
    done = prepare(str(table), None, out, workers=workers)
    assert done.prepared.digest == digest
    assert len(list(shards.glob("*.xz"))) == 19
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "what was found is not sought"
    assert out.read_bytes() == whole.read_bytes()


def test_a_folder_of_other_templates_is_not_gone_on_with(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.retro"
    prepare(str(table), None, out)
    before = out.read_bytes()
    write_csv(table, REACTIONS[1:], copies=3)
    with pytest.raises(DataError, match=r"mine\.shards: holds candidates of other templates"):
        prepare(str(table), None, out)
    assert out.read_bytes() == before
    other = prepare(str(table), None, out, folder=tmp_path / "others")
    assert other.folder == tmp_path / "others"
    assert out.read_bytes() != before


def test_products_that_take_too_long_are_listed(table: Path, tmp_path: Path) -> None:
    done = prepare(str(table), None, tmp_path / "slow.retro", seconds=1e-9)
    slow = [line for line in done.said if line.startswith("too slow, and so without candidates: ")]
    assert len(slow) == 19
    assert slow[0].endswith(": CCNC(C)=O")
    assert "test: 9 reactions, 0.0 % reached by a template" in done.said
    with pytest.raises(DataError, match="may take more than 0 seconds, got 0"):
        prepare(str(table), None, tmp_path / "slow.retro", seconds=0)


def test_without_smiles_it_is_smaller_and_the_same_set(table: Path, tmp_path: Path) -> None:
    a, b = tmp_path / "a.retro", tmp_path / "b.retro"
    prepare(str(table), None, a)
    prepare(str(table), None, b, smiles=False)
    assert b.stat().st_size < a.stat().st_size
    assert Prepared.load(a).digest == Prepared.load(b).digest
    with pytest.raises(DataError, match="was prepared without SMILES"):
        _ = Prepared.load(b).smiles


def test_rows_that_are_broken_are_named_by_their_line(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.retro"
    rewritten(table, 4, reaction="CC(=O)O.NCC>>CC(=O)NCC")
    rewritten(table, 6, reaction="CC(C>>CC")
    rewritten(table, 7, reaction="not a reaction")
    rewritten(table, 8, reaction="[CH3:1][OH:2]>>[CH3:1][OH:2].[CH4:3]")
    with pytest.raises(DataError) as error:
        prepare(str(table), None, out)
    assert str(error.value).splitlines() == [
        f"{table}:4: no template can be taken from it: are its atoms numbered?",
        f"{table}:6: RDKit cannot read 'CC(C'",
        f"{table}:7: 'not a reaction' is not reactants>>product",
        f"{table}:8: 2 products, and templates are for one",
        "correct these rows, or leave them out with --skip-bad-rows",
    ]
    assert not out.exists()
    done = prepare(str(table), None, out, skip_bad_rows=True)
    assert done.said[0].startswith("53 reactions, ")
    assert f"left out: {table}:6: RDKit cannot read 'CC(C'" in done.said


def test_many_broken_rows_are_counted(table: Path, tmp_path: Path) -> None:
    for line in range(2, 12):
        rewritten(table, line, reaction="CC(C>>CC")
    done = prepare(str(table), None, tmp_path / "a.retro", skip_bad_rows=True)
    assert "… and 5 more rows left out" in done.said


def test_templates_of_a_column_need_no_numbers(table: Path, tmp_path: Path) -> None:
    made = prepare(str(table), None, tmp_path / "a.retro").prepared
    template = "[CH3;D1;+0:1]-[O;H0;D2;+0:2]-[c:3]>>I-[CH3;D1;+0:1].[OH;D1;+0:2]-[c:3]"
    assert template in made.library.templates
    path = tmp_path / "given.csv"
    path.write_text(
        f"reaction,template\nCI.Oc1ccccc1>>COc1ccccc1,{template}\n"
        + f"CI.Oc1ccncc1>>COc1ccncc1,{template}\n" * 9
    )
    done = prepare(str(path), None, tmp_path / "given.retro")
    assert done.prepared.library.templates == (template,)
    assert done.said[0] == "10 reactions, 2 products, no classes"
    assert any("100.0 % reached" in line for line in done.said)
    rewritten(path, 3, template="[C:1>>[C:1]")
    with pytest.raises(DataError, match=r"given\.csv:3: RDKit cannot read the pattern '\[C:1'"):
        prepare(str(path), None, tmp_path / "given.retro")
    rewritten(path, 3, template="[C:1]>[C:1]")
    with pytest.raises(DataError, match=r"given\.csv:3: the template .* is not product>>reactants"):
        prepare(str(path), None, tmp_path / "given.retro")
    with pytest.raises(DataError, match=r"given\.csv:2: no template can be taken from it"):
        prepare(str(path), None, tmp_path / "given.retro", template_column="none")


def test_columns_by_name(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "mine.csv", copies=3)
    text = path.read_text().replace("reaction,class,split", "what,kind,when", 1)
    path.write_text(text)
    with pytest.raises(DataError, match="name the one that holds reactions with --reaction-column"):
        prepare(str(path), None, tmp_path / "a.retro")
    done = prepare(
        str(path),
        None,
        tmp_path / "a.retro",
        reaction_column="what",
        class_column="kind",
        split_column="when",
    )
    assert done.said[0] == "57 reactions, 19 products, 6 classes"
    with pytest.raises(DataError, match=r"unknown column 'group' \(known: kind, what, when\)"):
        prepare(str(path), None, tmp_path / "b.retro", reaction_column="what", class_column="group")
    without = prepare(str(path), None, tmp_path / "b.retro", reaction_column="what")
    assert without.said[0] == "57 reactions, 19 products, no classes"
    assert without.prepared.library.groups == ("",)


def test_sources_that_are_none(tmp_path: Path) -> None:
    out = tmp_path / "a.retro"
    with pytest.raises(DataError, match=r"nowhere\.csv: no such file; names of sets of reactions"):
        prepare("nowhere.csv", None, out)
    with pytest.raises(DataError, match=r"'USPTO-50k': no file uspto50k\.csv\.xz"):
        prepare("USPTO-50k", None, out)
    empty = tmp_path / "empty.csv"
    empty.write_text("reaction,class\n")
    with pytest.raises(DataError, match="there is a header but no row below it"):
        prepare(str(empty), None, out)
    empty.write_text("")
    with pytest.raises(DataError, match="the file is empty"):
        prepare(str(empty), None, out)
    path = write_csv(tmp_path / "mine.csv")
    (tmp_path / "a.shards").write_text("mine")
    with pytest.raises(DataError, match=r"a\.shards: is a file, and a folder of that name is need"):
        prepare(str(path), None, out)
    rows = "".join(f"{reaction},test\n" for reaction in REACTIONS)
    path.write_text("reaction,split\n" + rows + f"{REACTIONS[0]},valid\n")
    with pytest.raises(DataError, match="no row is for training, so there are no templates"):
        prepare(str(path), None, tmp_path / "b.retro")


@pytest.mark.data
def test_reactions_of_uspto(data_root: Path, tmp_path: Path) -> None:
    table = Table.read(data_root / "uspto50k.csv.xz")
    path = tmp_path / "some.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.header)
        writer.writerows(table.rows[:: len(table.rows) // 40][:40])
    done = prepare(str(path), None, tmp_path / "some.retro")
    assert done.said[0].startswith("40 reactions, 40 products, ")
    part, truth = (done.prepared.arrays[f"reactions.{name}"] for name in ("part", "truth"))
    assert (truth[part == 0] >= 0).mean() > 0.95, "a template makes the reaction it is taken from"
