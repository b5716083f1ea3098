"""A file that grows part by part: whoever is killed, at whatever moment, goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from killed import ends_before
from small_disk import small_disk

from gmpool.cli.unfinished import Origin, Unfinished, changed_parts, digest_of
from gmpool.errors import DataError, UserError
from gmpool.exclusive import claim, release

COLUMNS = ["smiles", "p"]
PARTS = [[[f"C{part}{row}", 0.5] for row in range(3)] for part in range(4)]
ORIGIN = {"model": "m", "options": {"coverage": 0.9}, "input": "i"}


def write(path: Path, origin: Origin = ORIGIN, parts: Sequence[Any] = PARTS) -> int:
    """As a command does it: of how many parts it went on behind."""
    file = Unfinished(path, origin)
    done = int(file.counts.get("parts", 0))
    with file.going_on(COLUMNS) as more:
        for number, rows in enumerate(parts[done:], start=done + 1):
            more(rows, lambda changed, number=number: {"parts": number})
    return done


def whole(path: Path, parts: Sequence[Any] = PARTS) -> bytes:
    """What an undisturbed command writes."""
    write(path, parts=parts)
    return path.read_bytes()


def beginning(path: Path, parts: int = 2, origin: Origin = ORIGIN) -> None:
    """So many parts of it, as somebody who was killed leaves them."""
    with suppress(KeyboardInterrupt), Unfinished(path, origin).going_on(COLUMNS) as more:
        for number, rows in enumerate(PARTS[:parts], start=1):
            more(rows, lambda changed, number=number: {"parts": number})
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["new.csv", "new.csv.gz"])
def test_killed_at_any_step_it_goes_on_behind_what_is_whole(name: str, tmp_path: Path) -> None:
    expected = whole(tmp_path / "other" / name)
    gone_on = set()
    for step in range(1000):
        path = tmp_path / str(step) / name
        path.parent.mkdir()
        path.write_bytes(b"before")
        if ends_before(step, lambda path=path: write(path)):  # type: ignore[misc]
            break
        assert path.read_bytes() in (b"before", expected), f"step {step}"
        gone_on.add(write(path))
        assert path.read_bytes() == expected, f"step {step}"
        assert not [*path.parent.glob(f".{name}.part*")]
    assert gone_on == {0, 1, 2, 3, 4}
    assert path.read_bytes() == expected


@pytest.mark.parametrize("behind", [b"C9", b"\x1f\x8b\x08", b"C10,0.5\n" * 9])
@pytest.mark.parametrize("name", ["new.tsv", "new.csv.xz"])
def test_a_torn_line_at_the_end_is_cut_off(name: str, behind: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    beginning(path)
    with (tmp_path / f".{name}.part").open("ab") as file:
        file.write(behind)
    assert write(path) == 2
    assert path.read_bytes() == whole(tmp_path / f"other{name}")


def test_a_part_that_lost_bytes_is_begun_anew(tmp_path: Path) -> None:
    path, part = tmp_path / "new.csv", tmp_path / ".new.csv.part"
    beginning(path)
    part.write_bytes(part.read_bytes()[:-1])
    assert Unfinished(path, ORIGIN).other == f"{part} is damaged: it is begun anew"
    assert write(path) == 0
    assert path.read_bytes() == whole(tmp_path / "other.csv")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", "null", "{}", '{"bytes": 5}', '{"bytes": -1, "counts": {}, "origin": {}}',
     '{"bytes": "9", "counts": {}, "origin": ORIGIN}',
     '{"bytes": 9, "counts": 1, "origin": ORIGIN}',
     '{"bytes": true, "counts": {}, "origin": ORIGIN}',
     '{"bytes": 9, "counts": {}, "origin": 1}'],
)  # fmt: skip
def test_a_record_that_is_none_is_of_no_use(text: str, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    beginning(path)
    record = tmp_path / ".new.csv.part.json"
    record.write_text(text.replace("ORIGIN", json.dumps(ORIGIN)))
    assert write(path) == 0
    assert path.read_bytes() == whole(tmp_path / "other.csv")


@pytest.mark.parametrize("name", ["model", "options", "input", "version"])
def test_what_is_made_of_something_else_is_begun_anew(name: str, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    beginning(path)
    file = Unfinished(path, {**ORIGIN, name: "another"})
    words = "other options" if name == "options" else f"another {name}"
    assert file.other == f"{file.part} was begun with {words}: it is begun anew"
    assert file.counts == {}
    assert write(path, {**ORIGIN, name: "another"}) == 0
    assert path.read_bytes() == whole(tmp_path / "other.csv")


def test_what_one_began_is_never_taken_for_the_beginning_of_another(tmp_path: Path) -> None:
    """Two commands in turn, of which the second is killed at any step."""
    longer = [[[f"N{part}{row}" * 9, 0.1] for row in range(9)] for part in range(2)]
    expected, other = whole(tmp_path / "other.csv"), {**ORIGIN, "model": "another"}
    for step in range(1000):
        path = tmp_path / str(step) / "new.csv"
        beginning(path)
        if ends_before(step, lambda path=path: write(path, other, longer)):  # type: ignore[misc]
            break
        write(path)
        assert path.read_bytes() == expected, f"step {step}"
    assert step > 5


def test_without_rows_there_is_the_header(tmp_path: Path) -> None:
    assert whole(tmp_path / "new.csv", []) == b"smiles,p\n"


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path, part = tmp_path / "new.csv", tmp_path / ".new.csv.part"
    path.write_text("before")
    with Unfinished(path, ORIGIN).going_on(COLUMNS) as more:
        more(PARTS[0], lambda changed: {})
        assert path.read_text() == "before"
        assert part.read_text().startswith("smiles,p\nC00,0.5\n")
    assert path.read_text() == "smiles,p\nC00,0.5\nC01,0.5\nC02,0.5\n"
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link, path = tmp_path / "link.csv", tmp_path / "folder" / "new.csv"
    link.symlink_to(path)
    expected = whole(link)
    assert link.is_symlink()
    assert path.read_bytes() == expected


LONG = [[[f"C{part}{row}" * 30, 0.5] for row in range(3)] for part in range(4)]


@pytest.mark.parametrize(
    ("size", "kept"), [(0, 0), (60, 0), (200, 0), (400, 0), (550, 1), (600, 2), (1000, 3)]
)
def test_a_full_disk_is_one_sentence_and_costs_nothing(
    size: int, kept: int, tmp_path: Path
) -> None:
    """Whatever cannot be written: whose the file is, the rows, or what is known of them."""
    path, origin = tmp_path / "new.csv", {**ORIGIN, "input": "i" * 320}
    path.write_text("before")
    with small_disk(size), pytest.raises(UserError) as error:
        write(path, origin, LONG)
    said = str(error.value)
    assert said.startswith(f"the rows could not be written to {path}: File too large; ")
    assert said.endswith(" same command goes on")
    assert "\n" not in said
    assert path.read_text() == "before"
    assert write(path, origin, LONG) == kept
    assert path.read_bytes() == whole(tmp_path / "other.csv", LONG)


def test_one_process_at_a_time_writes_a_file(tmp_path: Path) -> None:
    path, writer = tmp_path / "new.csv", tmp_path / ".new.csv.writer"
    beginning(path)
    part = (tmp_path / ".new.csv.part").read_bytes()
    assert claim(writer)
    with pytest.raises(UserError, match="being written by another process; let it end first"):
        write(path)
    release(writer)
    assert (tmp_path / ".new.csv.part").read_bytes() == part
    assert write(path) == 2


@pytest.mark.parametrize("ends", [True, False])
def test_what_another_process_has_done_in_between_is_not_overwritten(
    ends: bool, tmp_path: Path
) -> None:
    path = tmp_path / "new.csv"
    beginning(path, 1)
    late = Unfinished(path, ORIGIN)
    if ends:
        write(path)
    else:
        beginning(path, 3, {**ORIGIN, "model": "another"})
    with (
        pytest.raises(UserError, match="another process has written at"),
        late.going_on(COLUMNS),
    ):
        pass
    write(path)
    assert path.read_bytes() == whole(tmp_path / "other.csv")
    assert not (tmp_path / ".new.csv.writer").exists()


def test_what_changed_is_said_in_words() -> None:
    assert changed_parts(ORIGIN, ORIGIN) == ""
    assert changed_parts(json.loads(json.dumps(ORIGIN)), ORIGIN) == ""
    assert changed_parts({**ORIGIN, "model": 1, "options": 2}, ORIGIN) == (
        "another model and other options"
    )
    assert changed_parts({}, {"input": "x"}) == changed_parts({"input": "x"}, {}) == "another input"
    assert changed_parts(None, ORIGIN) == "something else"


def test_the_digest_of_a_folder_is_that_of_what_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    (folder / "raw").mkdir(parents=True)
    (folder / "raw" / "A.txt").write_text("1, 2\n")
    before = digest_of(folder)
    for name in (".out.csv.part", "out.csv", "out.tsv.gz", "done.jsonl"):
        (folder / name).write_text("made of it")
    assert digest_of(folder) == before
    (folder / "raw" / "A.txt").write_text("1, 3\n")
    assert digest_of(folder) != before
    (folder / "raw" / "A.txt").rename(folder / "raw" / "B.txt")
    assert digest_of(folder) != before


def test_an_input_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.symlink_to("/proc/self/mem")
    with pytest.raises(DataError, match=r"new\.csv: cannot be read \(Input/output error\)"):
        digest_of(path)
