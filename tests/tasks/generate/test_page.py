from __future__ import annotations

import base64
import re
import sys
from dataclasses import replace
from typing import Any

import pytest
from generation_rows import SMILES, bare_row, cell, generation_row, invented_cells
from html_outline import NAME, Outline
from matplotlib.axes import Axes
from pictures import clear_edge, pixels

from gmpool.errors import MissingPackage, UserError
from gmpool.tasks.generate import page
from gmpool.tasks.generate.page import MOST, molecule_html, sampled_page


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The SMILES of each panel."""
    found: list[list[str]] = []
    true = page._together

    def spy(smiles: list[str]) -> bytes:
        found.append(smiles)
        return true(smiles)

    monkeypatch.setattr(page, "_together", spy)
    return found


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written in, above, below and left of panels."""
    texts: list[str] = []
    for name in ("set_xlabel", "set_ylabel", "set_title", "text"):
        true = getattr(Axes, name)

        def spy(self: Axes, *args: Any, _true: Any = true, **style: Any) -> Any:
            texts.append(args[-1])
            return _true(self, *args, **style)

        monkeypatch.setattr(Axes, name, spy)
    return texts


def row(seed: int, smiles: list[list[str]]) -> Any:
    many = len(smiles)
    curves = {"strict": [float(n) for n in range(many)], "distinct": [2.0 * n for n in range(many)]}
    return generation_row("mean", curves, seed=seed, more={"smiles": smiles})


def test_the_first_draws_of_the_lowest_seed_at_fixed_iterations(
    together: list[list[str]], said: list[str]
) -> None:
    drawn = [["C" * (n + 1), *SMILES] for n in range(20)]
    one = cell("mean", [row(9, [["N"]] * 20), row(7, drawn)])
    assert clear_edge(pixels(sampled_page([one])))
    assert together == [["C" * n, *SMILES[:3]] for n in (2, 5, 10, 20)]
    assert [text for text in said if text.startswith("iteration")] == [
        "iteration 1,000", "iteration 2,500", "iteration 5,000", "iteration 10,000",
    ]  # fmt: skip
    assert "19.0 % valid, 38 distinct" in said
    assert "mean\nseed 7" in said
    together.clear()
    sampled_page([one], [700, 99999])
    assert [smiles[0] for smiles in together] == ["C", "C" * 20]


def test_nothing_valid_is_said(said: list[str], together: list[list[str]]) -> None:
    one = cell("mean", [row(1, [[], ["C"], [], ["CC", "N"]])])
    assert clear_edge(pixels(sampled_page([one], [500, 1000, 1500, 2000])))
    assert said.count("none valid") == 2
    assert together == [["C"], ["CC", "N"]]
    old = generation_row("mean", {"strict": [1.0]})
    del old.more["generated"]["smiles"]
    sampled_page([cell("mean", [old])], [500])
    assert said.count("none valid") == 3


def test_a_smiles_that_cannot_be_read_leaves_its_place_empty() -> None:
    assert sampled_page([cell("mean", [row(1, [["CCO", "no molecule", "CN"]])])], [500])


def test_a_row_per_line_and_pages_differ() -> None:
    one, two = invented_cells(2, 4, lines=2)
    small, large = pixels(sampled_page([one])), pixels(sampled_page([one, two]))
    assert large.shape[0] > 1.6 * small.shape[0]
    other = cell("mean", [row(1, [["CC"]] * 4)])
    assert sampled_page([one]) != sampled_page([other])
    sets = sampled_page([one, replace(one, dataset="mine")])
    assert pixels(sets).shape == large.shape


def test_nothing_to_draw() -> None:
    with pytest.raises(UserError, match="no scored runs to draw"):
        sampled_page([cell("mean", [bare_row("mean", drawn={})])])


def test_html_has_a_drawing_and_properties_of_each() -> None:
    rows = [{"smiles": "CCO", "QED": 0.406812, "new": True, "SA": None},
            {"smiles": "c1ccccc1", "QED": float("nan"), "rings": 1}]  # fmt: skip
    text = molecule_html(rows, "New molecules", ["2 of 100 draws"])
    found = Outline(text)
    assert found.tags.count("figure") == 2
    assert {"New molecules", "2 of 100 draws", "CCO", "0.4068", "yes", "–", "1"} <= set(found.text)
    pictures = [base64.b64decode(link.partition("base64,")[2]) for link in found.links]
    assert [picture.count(b"<svg") for picture in pictures] == [1, 1]
    assert pictures[0] != pictures[1]


def test_html_needs_nothing_else_and_escapes_what_it_is_given() -> None:
    label = "CC |$<script>alert(1)</script>;$|"  # which RDKit draws as the label of an atom
    rows = [{"smiles": NAME, NAME: NAME}, {"smiles": label}, {"smiles": "C\x1b"}, {"smiles": None}]
    text = molecule_html(rows, NAME, [NAME])
    found = Outline(text)
    assert "script" not in found.tags
    assert "<script" not in text
    assert found.text.count(NAME) == 6, "in two titles, a note, a SMILES, a name and its value"
    assert all(link.startswith("data:image/svg+xml;base64,") for link in found.links)
    assert not re.search("https?:|url\\(|@import", text)
    assert found.text.count("cannot be drawn") == 2
    assert "\x1b" not in text


def test_html_shows_the_first_and_says_so() -> None:
    text = molecule_html([{"smiles": "C"}] * (MOST + 50), "many", [])
    assert Outline(text).tags.count("figure") == MOST
    assert "the first 200 of 250 molecules are shown" in text
    assert Outline(molecule_html([], "none", [])).tags.count("figure") == 0


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rdkit", "rdkit.Chem", "rdkit.Chem.Draw"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match="drawing molecules needs the package 'rdkit'"):
        molecule_html([{"smiles": "C"}], "t", [])
    with pytest.raises(MissingPackage):
        sampled_page(invented_cells(1, 1, lines=1))
