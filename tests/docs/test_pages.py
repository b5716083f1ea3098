"""What pages name exists: links, files, commands with their options, and keys of plans."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from doc_blocks import PAGES, ROOT, blocks, commands

from gmpool.cli import app
from gmpool.engine.plan import read_plan
from gmpool.engine.plan_file import KEYS, LINE_KEYS
from gmpool.tasks.task import TASKS

ALL = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "results" / "README.md"]
page = pytest.mark.parametrize("page", ALL, ids=lambda path: str(path.relative_to(ROOT)))


@page
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not link.startswith("http"):
            file, _, heading = link.partition("#")
            target = page.parent / file if file else page
            assert target.exists(), link
            assert not heading or heading in headings(target), link


def headings(page: Path) -> set[str]:
    """As anchors."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in found}


@page
def test_files_that_are_named_are_there(page: Path) -> None:
    """`gmpool/ops/choice.py`, `tests/ops/` and the like; what a page makes itself counts."""
    made = {block.file for block in blocks(page)}
    for name in re.findall(
        r"`((?:gmpool|tests|benchmarks|docs|results|examples)/[\w./-]+)`",
        page.read_text(encoding="utf-8"),
    ):
        assert (ROOT / name).exists() or name in made or ignored(name), name


def ignored(name: str) -> bool:
    return name.endswith("/models/")


@page
def test_commands_have_the_options_that_are_given(page: Path) -> None:
    for words in commands(page):
        group: Any = typer.main.get_command(app)
        verb, *rest = words
        if verb == "guess-size":  # of the task that the page itself adds
            continue
        command = group.get_command(None, verb)
        assert command is not None, words
        try:
            command.make_context(verb, rest)
        except Exception as error:  # of click, or of the copy of it that newer typer brings
            if type(error).__name__ != "MissingParameter":  # a sentence may leave a word out
                raise


def test_the_plan_that_is_shown_is_read(tmp_path: Path) -> None:
    shown = [b for b in blocks(ROOT / "docs" / "plans.md") if b.language == "toml"]
    assert len(shown) >= 2
    for number, block in enumerate(shown):
        path = tmp_path / f"plan{number}.toml"
        path.write_text(block.text, encoding="utf-8")
        (tmp_path / "molecules.csv").write_text("smiles,y\n" + "CCO,1\nCCN,0\n" * 5)
        (tmp_path / "assays").mkdir(exist_ok=True)
        for name in ("first", "second"):
            rows = "CCO,1,2.5,3.5,train\nC1CC1,0,1.5,0.5,test\nC1CCC1,1,0.5,1.5,valid\n" * 5
            table = f"structure,active,ic50,solubility,part\n{rows}"
            (tmp_path / "assays" / f"{name}.csv").write_text(table)
        assert read_plan(path).jobs()


def test_every_key_of_a_plan_is_explained() -> None:
    text = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
    keys = {*KEYS, *LINE_KEYS, *(key for name in TASKS for key in TASKS[name].plan_keys)}
    assert not {key for key in keys if f"| `{key}` |" not in text}
