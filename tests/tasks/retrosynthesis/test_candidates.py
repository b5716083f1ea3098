"""Candidates of products are what a loop over all templates finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from reactions import REACTIONS
from uspto_sample import uspto_sample

from gmpool.tasks.retrosynthesis.candidates import Candidates, Finder
from gmpool.tasks.retrosynthesis.chemistry import (
    Product,
    Reactor,
    extracted_template,
    rdkit,
    read_reaction,
)
from gmpool.tasks.retrosynthesis.library import TemplateLibrary

pytest.importorskip("rdchiral")


def by_force(library: TemplateLibrary, product: str) -> Candidates:
    """Every template is run by rdchiral, whatever matches."""
    molecule, reactor = rdkit().MolFromSmiles(product), Reactor(library.templates, plain=False)
    centers = [
        at
        for at, text in enumerate(library.centers)
        if molecule.HasSubstructMatch(rdkit().MolFromSmarts(text))
    ]
    runs, outcomes = [], []
    for template in range(len(library.templates)):
        made = reactor.run(template, Product(product))
        outcomes += [outcome for outcome in made if outcome not in outcomes]
        if made:
            runs.append((template, [outcomes.index(outcome) for outcome in made]))
    return Candidates(centers, runs, outcomes)


def assert_found(library: TemplateLibrary, products: list[str]) -> None:
    find = Finder(library)
    for product in products:
        found = find(product)
        assert found == by_force(library, product)
        centers = {library.center_of[template] for template, _ in found.runs}
        assert centers <= set(found.centers), "what does not match makes nothing"


def test_candidates_of_small_products() -> None:
    seen = [("", extracted_template(text)) for text in REACTIONS]
    assert_found(TemplateLibrary.of(seen), [read_reaction(text)[0] for text in REACTIONS])


@pytest.mark.data
def test_candidates_of_real_products(data_root: Path) -> None:
    assert_found(*uspto_sample(data_root))


def test_a_product_that_nothing_matches_has_none() -> None:
    library = TemplateLibrary.of([("", extracted_template(REACTIONS[0]))])
    assert Finder(library)("CCCC") == Candidates([], [], [])
