"""Canonical molecules, matching centers, and what templates make: as RDKit and rdchiral have it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactions import REACTIONS
from uspto_sample import uspto_sample

from gmpool.tasks.retrosynthesis.candidates import Finder
from gmpool.tasks.retrosynthesis.chemistry import (
    BadReaction,
    Clock,
    Matcher,
    Product,
    Reactor,
    TooSlow,
    canonical,
    canonical_set,
    center_of,
    extracted_template,
    pattern_text,
    rdchiral,
    rdkit,
    read_reaction,
)
from gmpool.tasks.retrosynthesis.library import TemplateLibrary

pytest.importorskip("rdchiral")

READ = [read_reaction(text) for text in REACTIONS]
PRODUCTS = [product for product, _ in READ]
TEMPLATES = [extracted_template(text) for text in REACTIONS]
STEREO = ["C[C@H](O)CC", "C/C=C/C", "C/C=C\\Cl", "N[C@@H](C)C(=O)O", "C[C@H]1CC[C@@H](O)CC1"]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("OCC", "CCO"),
        ("[CH3:7][OH:1]", "CO"),
        ("[H]C([H])([H])O[H]", "CO"),
        ("[2H]C", "[2H]C"),
        ("C1=CC=CC=C1", "c1ccccc1"),
        ("[CH3:1][C@H:2]([OH:3])[CH2:4][CH3:5]", "CC[C@H](C)O"),
        ("[CH3:1][C@H:2]([CH3:3])[OH:4]", "CC(C)O"),  # numbers alone made it stereo
        ("[CH3:1]/[C:2]([CH3:3])=[CH:4]/[CH3:5]", "CC=C(C)C"),
        ("C/C=C\\C", "C/C=C\\C"),
        ("[NH4+:1]", "[NH4+]"),
        ("C1CC", None),
        ("C(C)(C)(C)(C)C", None),
        ("", ""),
    ],
)
def test_one_molecule_has_one_text(given: str, wanted: str | None) -> None:
    assert canonical(given) == wanted


@given(st.sampled_from([*STEREO, *PRODUCTS]), st.randoms(use_true_random=False))
def test_neither_the_order_of_atoms_nor_their_numbers_count(
    smiles: str, source: random.Random
) -> None:
    molecule = rdkit().MolFromSmiles(smiles)
    order = list(range(molecule.GetNumAtoms()))
    source.shuffle(order)
    other = rdkit().RenumberAtoms(molecule, order)
    for atom, number in zip(other.GetAtoms(), order, strict=True):
        atom.SetAtomMapNum(number + 1)
    assert canonical(rdkit().MolToSmiles(other, canonical=False)) == canonical(smiles)


def test_a_set_of_molecules_is_sorted_and_keeps_repeats() -> None:
    assert canonical_set("OC.C.CO") == ("C", "CO", "CO")
    assert canonical_set("C.CO.OC") == canonical_set("OC.C.CO")
    assert canonical_set("CO.C1C") is None


def test_a_reaction_is_its_product_and_its_reactants() -> None:
    assert read_reaction(" CCBr.[OH:3]C>>CCO[CH3:1] \n") == ("CCOC", ("CCBr", "CO"))
    assert read_reaction("CBr.CO>[Na+].[OH-]>COC") == ("COC", ("CBr", "CO")), "reagents are no part"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CCO", "'CCO' is not reactants>>product"),
        ("CO>>", "'CO>>' is not reactants>>product"),
        (">>CO", "'>>CO' is not reactants>>product"),
        ("C>>O>>N", "'C>>O>>N' is not reactants>>product"),
        ("C1C>>CO", "RDKit cannot read 'C1C'"),
        ("CO>>C1C", "RDKit cannot read 'C1C'"),
        ("CO>>C.O", "2 products, and templates are for one"),
    ],
)
def test_what_is_no_reaction_is_said(text: str, message: str) -> None:
    with pytest.raises(BadReaction) as error:
        read_reaction(text)
    assert str(error.value) == message


def test_centers_have_no_numbers() -> None:
    one, two = "[C:1]-[NH;D2;+0:2]-[C:3]>>Cl-[C:1].[NH2:2]-[C:3]", "[C:5]-[NH;D2;+0:7]-[C:6]>>O"
    assert center_of(one) == center_of(two) == "C-[N&H1&D2&+0]-C"
    assert center_of("([C:1].[O:2]-[C:3](=[O:4]))>>C") == "C.O-C=O", "both lie in one molecule"
    with pytest.raises(BadReaction, match=r"RDKit cannot read the pattern '\[C:1'"):
        pattern_text("[C:1")


def test_templates_are_taken_from_numbered_reactions() -> None:
    for text, (product, reactants) in zip(REACTIONS, READ, strict=True):
        made = Reactor([extracted_template(text)]).run(0, Product(product))
        assert reactants in made, "a template makes what it was taken from"
    with pytest.raises(BadReaction, match="are its atoms numbered"):
        extracted_template("CBr.CO>>COC")


def matching(centers: tuple[str, ...], product: str) -> list[int]:
    molecule = rdkit().MolFromSmiles(product)
    return [
        at
        for at, center in enumerate(centers)
        if molecule.HasSubstructMatch(rdkit().MolFromSmarts(center))
    ]


def assert_matches(library: TemplateLibrary, products: list[str]) -> None:
    match = Matcher(library.centers)
    found = [match(product) for product in products]
    assert found == [matching(library.centers, product) for product in products]
    assert 0 < sum(map(len, found)) < len(products) * len(library.centers)


def by_rdchiral(template: str, product: str) -> set[tuple[str, ...]]:
    """As its own manual does it."""
    main, begin = rdchiral().main, rdchiral().initialization
    reactants = begin.rdchiralReactants(product)
    made = main.rdchiralRun(begin.rdchiralReaction(template), reactants)
    return {found for text in made if (found := canonical_set(text)) is not None}


def assert_makes_what_rdchiral_makes(templates: tuple[str, ...], products: list[str]) -> None:
    reactor, count = Reactor(templates), 0
    for product in products:
        for number, template in enumerate(templates):
            made = reactor.run(number, Product(product))
            assert set(made) == by_rdchiral(template, product), (template, product)
            assert made == sorted(set(made))
            count += len(made)
    assert count >= len(products)


def small_library() -> TemplateLibrary:
    return TemplateLibrary.of(("", template) for template in TEMPLATES)


def test_fingerprints_leave_no_match_out() -> None:
    assert_matches(small_library(), [*PRODUCTS, *STEREO])


def test_small_products_by_rdkit_are_as_by_rdchiral() -> None:
    assert_makes_what_rdchiral_makes(small_library().templates, PRODUCTS)


@pytest.mark.data
def test_real_products_have_their_centers(data_root: Path) -> None:
    assert_matches(*uspto_sample(data_root))


@pytest.mark.data
def test_real_products_by_rdkit_are_as_by_rdchiral(data_root: Path) -> None:
    library, products = uspto_sample(data_root)
    assert_makes_what_rdchiral_makes(library.templates, products)


def test_a_template_that_cannot_be_read_or_run_makes_nothing() -> None:
    reactor = Reactor(["[C:1", "[C:1]-[O:2]>>[C:1](C)(C)(C)(C)(C)C.[O:2]"])
    assert reactor.run(0, Product("CO")) == []
    assert reactor.run(1, Product("CO")) == []


@pytest.mark.parametrize("center", ["[C:1]-[Cl:2].[C:3]-[Br:4]", "([C:1]-[Cl:2].[C:3]-[Br:4])"])
def test_parts_of_a_center_may_be_anywhere_in_the_one_product(center: str) -> None:
    """rdchiral wants them without brackets: with them it makes nothing."""
    reactor = Reactor([f"{center}>>[C:1](-[Cl:2])-[C:3]-[Br:4]"])
    assert reactor.run(0, Product("ClCCCBr")) == [("ClC1CC1Br",)]
    assert reactor.run(0, Product("ClCCC")) == []


def test_a_product_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(TooSlow):
        Finder(small_library())(PRODUCTS[0], seconds=-1.0)
    with pytest.raises(TooSlow):
        Clock(-1.0).check()
    Clock(60.0).check()


@pytest.mark.parametrize("leaving", ["[Cl;H0;D1;+0:9]", "Cl"])
def test_atoms_that_leave_may_be_numbered(leaving: str) -> None:
    template = f"[C:2]-[O;H0;D2;+0:1]-[C:3]=[O:4]>>[C:2]-[OH;D1;+0:1].{leaving}-[C:3]=[O:4]"
    (outcome,) = Reactor([template]).run(0, Product("CC[C@H](C)OC(C)=O"))
    assert outcome == ("CC(=O)Cl", "CC[C@H](C)O")
