"""The fenced blocks of a page, and a process that does what they say, in their order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from other_package import an_entry_point

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


class Block(NamedTuple):
    """language: what stands behind the fence."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """Where it belongs, if its first line says so: # gmpool/pool/degree_sum.py"""
        found = re.match(r"# (\S+\.(?:py|toml))\n", self.text)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(*found) for found in re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)]


def commands(page: Path) -> list[list[str]]:
    """The words of every gmpool command, in blocks and in sentences; comments are left out."""
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"^(?: {4}|\$ )(gmpool .*)$", text, flags=re.MULTILINE)
    lines += re.findall(r"`(gmpool [a-z][^`…]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [shlex.split(line, comments=True)[1:] for line in lines]


def write_files(page: Path, folder: Path) -> None:
    """What the page shows as files; at the end of those that are there already."""
    for block in blocks(page):
        if block.file is None:
            continue
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(block.text)
        points = tomllib.loads(block.text) if path.name == "pyproject.toml" else {}
        for group, named in points.get("project", {}).get("entry-points", {}).items():
            an_entry_point(folder, group, *(f"{name} = {what}" for name, what in named.items()))


DRIVER = """
import shlex, sys
from pathlib import Path
sys.path.append({helpers!r})
from doc_blocks import blocks
for block in blocks(Path({page!r})):
    if block.language == "python" and block.file is None:
        exec(compile(block.text, {page!r}, "exec"), {{"__name__": "__main__"}})
    if block.language == "console":
        from gmpool.cli import app
        for line in block.text.splitlines():
            print(line, flush=True)
            app(shlex.split(line)[2:], standalone_mode=False)
"""


def do_what_it_says(page: Path, folder: Path, environment: Mapping[str, str]) -> str:
    """Run the page's Python, each block by itself, and its console commands, in a folder with a
    package of its own; what they print."""
    driver = DRIVER.format(helpers=str(Path(__file__).parent), page=str(page))
    names = {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONPATH": str(folder)}
    ended = subprocess.run(
        [sys.executable, "-c", driver],
        cwd=folder,
        env={**os.environ, **names, **environment},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
    return ended.stdout
