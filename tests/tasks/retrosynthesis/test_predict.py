"""Predictions for products: the order and scores of batches with all candidates, with less work."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from marks import on_cuda
from reactions import small_set
from small_gln import LINES, small_gln

from gmpool.data.sources.table_columns import Table
from gmpool.errors import CheckpointError, UserError
from gmpool.tasks.retrosynthesis import decode, predict
from gmpool.tasks.retrosynthesis.answers import NOTHING, Asked, answers, products_of
from gmpool.tasks.retrosynthesis.chemist import Chemist, Made
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.model import GLN
from gmpool.tasks.retrosynthesis.predict import BadProduct, Prediction, Predictor, read_product
from gmpool.tasks.retrosynthesis.prepare import prepare
from gmpool.tasks.retrosynthesis.prepared import Prepared

pytest.importorskip("rdkit")
pytest.importorskip("rdchiral")
ALL = 1000
SEVERAL = "CCOc1ccc(CC(=O)OC)cc1NC(C)=O"
"""Has an ethyl ether, a methyl ester and an amide."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return small_set(tmp_path_factory.mktemp("small"), copies=3)


@pytest.fixture(scope="module")
def predictor(prepared: Prepared) -> Predictor:
    return Predictor(small_gln(Reactions.of(prepared)))


def whole(reactions: Reactions) -> Reactions:
    """With all reactions in the test part, so that all their candidates are in batches."""
    arrays = dict(reactions.prepared.arrays)
    arrays["reactions.part"] = np.full_like(arrays["reactions.part"], 2)
    made = replace(reactions.prepared, arrays=arrays)
    return Reactions.of(made, given=reactions.given, queries=reactions.queries)


def product_of(reactions: Reactions, number: int) -> str:
    return reactions.prepared.smiles[int(reactions.lists.product[number])]


def truth_of(reactions: Reactions, number: int) -> tuple[str, ...] | None:
    lists, smiles = reactions.lists, reactions.prepared.smiles
    if (truth := int(lists.truth[number])) < 0:
        return None
    outcome = int(lists.outcomes[int(lists.outcome_ptr[number]) + truth])
    part = lists.molecules[lists.molecule_ptr[outcome] : lists.molecule_ptr[outcome + 1]]
    return tuple(sorted(smiles[each] for each in part.tolist()))


def rank(found: Sequence[Prediction], truth: tuple[str, ...] | None) -> int:
    listed = [each.reactants for each in found]
    return listed.index(truth) + 1 if truth in listed else 0


def group_of(reactions: Reactions, number: int) -> str | None:
    at = int(reactions.prepared.arrays["reactions.group"][number])
    return reactions.prepared.library.groups[at] if reactions.given else None


def compare(model: GLN, reactions: Reactions) -> tuple[list[int], list[int]]:
    """Predictions beside batches; the ranks of all reactions, as published and merged."""
    model.eval()
    ids, predictor = torch.arange(len(reactions)), Predictor(model)
    with torch.no_grad():
        (batch,) = reactions.batches(ids, len(ids))
        ranked = model.ranked(batch)
    published, merged = [], []
    for number in ids.tolist():
        product, group = product_of(reactions, number), group_of(reactions, number)
        found = predictor.predict(product, ALL, group, merged=False)
        once = predictor.predict(product, ALL, group)
        truth = truth_of(reactions, number)
        published.append(rank(found, truth))
        merged.append(rank(once, truth))
        pairs = slice(int(batch.pair_rows[number]), int(batch.pair_rows[number + 1]))
        totals = ranked.totals[pairs][ranked.places[pairs].argsort()]
        totals = totals[totals.isfinite()]
        scores = torch.tensor([each.score for each in found], dtype=totals.dtype)
        torch.testing.assert_close(scores, totals, rtol=1e-9, atol=1e-9)
        assert [each.reactants for each in once] == list(dict.fromkeys(p.reactants for p in found))
    assert published == ranked.published.tolist()
    assert merged == ranked.merged.tolist()
    return published, merged


@pytest.mark.parametrize("line", LINES)
def test_the_order_and_scores_are_those_of_batches(line: str, prepared: Prepared) -> None:
    reactions = whole(Reactions.of(prepared))
    published, _ = compare(small_gln(reactions, seed=1, **LINES[line]), reactions)
    assert max(published) > 1
    assert min(published) > 0, "all are reached"


@pytest.mark.parametrize("queries", [False, True])
def test_with_classes_and_with_what_patterns_ask(queries: bool, prepared: Prepared) -> None:
    reactions = whole(Reactions.of(prepared, given=True, queries=queries))
    compare(small_gln(reactions, seed=2), reactions)


@pytest.mark.parametrize(("centers", "templates"), [(1, 50), (2, 1), (50, 1)])
def test_few_centers_and_templates(
    centers: int, templates: int, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (decode, predict):
        monkeypatch.setattr(module, "CENTERS", centers)
        monkeypatch.setattr(module, "TEMPLATES", templates)
    reactions = whole(Reactions.of(prepared))
    published, _ = compare(small_gln(reactions, seed=3), reactions)
    assert min(published) == 0, "some are not reached"


def test_equal_scores_are_in_the_order_of_how_often_templates_were_seen(
    prepared: Prepared,
) -> None:
    reactions = whole(Reactions.of(prepared))
    model = small_gln(reactions)
    with torch.no_grad():
        for bilinear in model.bilinear:
            bilinear.weight.zero_()
    compare(model, reactions)
    found = Predictor(model).predict(SEVERAL, ALL, merged=False)
    numbers = [prepared.library.templates.index(each.template) for each in found]
    assert numbers == sorted(numbers)
    assert len(numbers) > 1


@pytest.mark.data
def test_real_reactions(data_root: Path, tmp_path: Path) -> None:
    table = Table.read(data_root / "uspto50k.csv.xz")
    path = tmp_path / "some.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.header)
        writer.writerows(table.rows[:: len(table.rows) // 60][:60])
    reactions = whole(Reactions.of(prepare(str(path), None, tmp_path / "a.retro").prepared))
    published, merged = compare(small_gln(reactions, seed=4), reactions)
    assert max(published) > 2
    assert all(few <= many for few, many in zip(merged, published, strict=True))


# -- work -----------------------------------------------------------------------------------------


class Counted(Chemist):
    """Knows how many templates it was told to run, and how many it ran."""

    def __init__(self, predictor: Predictor) -> None:
        super().__init__(predictor.library)
        self.asked: list[list[int]] = []
        self.ran: list[int] = []
        run = self._reactor.run
        self._reactor.run = lambda number, product: (  # type: ignore[method-assign]
            self.ran.append(number) or run(number, product)  # type: ignore[func-returns-value]
        )

    def run(
        self, products: Sequence[str], templates: Sequence[Sequence[int]], enough: int
    ) -> list[Made]:
        self.asked += [list(each) for each in templates]
        return super().run(products, templates, enough)


def test_no_template_is_run_after_enough_have_made_something(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict, "TEMPLATES", 2)
    predictor = Predictor(small_gln(Reactions.of(prepared)))
    counted = Counted(predictor)
    predictor.chemistry = counted
    found = predictor.predict(SEVERAL, ALL, merged=False)
    (asked,) = counted.asked
    assert len(asked) > 2
    assert counted.ran == asked[: len(counted.ran)]
    templates = {prepared.library.templates.index(each.template) for each in found}
    assert len(templates) == 2
    assert counted.ran[-1] in templates, "the last one made something, and that was enough"
    assert len(asked) < len(prepared.library.templates), "others do not match"


def test_the_library_is_encoded_once(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    model = predictor.model
    for network in (model.centers, model.templates, model.templates.center):
        monkeypatch.setattr(network, "forward", never)
    assert predictor.predict(SEVERAL)


def test_many_are_what_each_is_alone(
    predictor: Predictor, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    smiles = [prepared.smiles[number] for number in prepared.arrays["products.molecule"]]
    assert len(smiles) > predict.AT_ONCE
    alone = [predictor.predict(each, 3) for each in smiles]
    together = predictor.predict_many(smiles, 3)
    for one, other in zip(alone, together, strict=True):
        assert [p.reactants for p in one] == [p.reactants for p in other]
        assert [p.score for p in one] == pytest.approx([p.score for p in other], rel=1e-12)
    monkeypatch.setattr(predict, "AT_ONCE", 3)
    assert [[p.reactants for p in each] for each in predictor.predict_many(smiles, 3)] == [
        [p.reactants for p in each] for each in together
    ]
    assert predictor.predict_many([]) == []


def test_processes_find_the_same(predictor: Predictor) -> None:
    smiles = [SEVERAL, "C", "CC(=O)NCC", "COc1ccc(C)cc1"]
    here, own = predictor.predict_many(smiles), predictor.chemistry
    with predictor.in_processes(2):
        assert predictor.chemistry is not own
        assert predictor.predict_many(smiles) == here
    assert predictor.chemistry is own


@on_cuda
def test_a_gpu_finds_the_same(prepared: Prepared, predictor: Predictor) -> None:
    there = Predictor(small_gln(Reactions.of(prepared)), "cuda").predict(SEVERAL)
    here = predictor.predict(SEVERAL)
    assert [each.reactants for each in there] == [each.reactants for each in here]
    assert [p.score for p in there] == pytest.approx([p.score for p in here], rel=1e-9)


# -- what is said ---------------------------------------------------------------------------------


def test_probabilities_are_a_softmax_over_all_that_was_found(predictor: Predictor) -> None:
    for merged in (True, False):
        found = predictor.predict(SEVERAL, ALL, merged=merged)
        assert len(found) > 1
        scores = torch.tensor([each.score for each in found], dtype=torch.float64)
        expected = scores.softmax(0).tolist()
        assert [each.probability for each in found] == pytest.approx(expected)
        assert predictor.predict(SEVERAL, 2, merged=merged) == found[:2]


def test_reactants_and_templates(predictor: Predictor) -> None:
    ways = {each.reactants: each.template for each in predictor.predict(SEVERAL)}
    template = ways["CCBr", "COC(=O)Cc1ccc(O)c(NC(C)=O)c1"]
    assert template.startswith("[C;D1;H3:2]-[CH2;D2;+0:1]-[O;H0;D2;+0:3]-[c:4]>>Br-")
    same = predictor.predict("c1c(NC(=O)C)c(OCC)ccc1CC(=O)OC")
    assert same == predictor.predict(SEVERAL), "however the product is written"


def test_products_without_ways(predictor: Predictor) -> None:
    assert predictor.predict("C") == []
    assert predictor.predict_many(["C", "CC(=O)NCC"])[0] == []


def test_atoms_that_were_never_seen(predictor: Predictor) -> None:
    for smiles in ("CCOc1ccc([Si](C)(C)C)cc1", "CC(=O)NCC[N+](C)(C)C", "COc1ccc([SeH])cc1"):
        found = predictor.predict(smiles)
        assert found, smiles
        assert np.isfinite([each.score for each in found]).all()


BAD = {
    "CC(C": "RDKit cannot read 'CC(C'",
    "C(C)(C)(C)(C)C": "RDKit cannot read 'C(C)(C)(C)(C)C'",
    "  ": "there is no SMILES",
    "CCO.Cl": "'CCO.Cl' has 2 molecules: give the product alone",
    "C" * 1001: "has 1,001 atoms, and 1,000 are the most",
    "C" * 20_000: "20,000 characters are no product, 10,000 at most",
}


@pytest.mark.parametrize("smiles", BAD, ids=lambda smiles: smiles[:10])
def test_what_is_no_product(smiles: str, predictor: Predictor) -> None:
    with pytest.raises(BadProduct) as error:
        predictor.predict(smiles)
    assert BAD[smiles] in str(error.value)
    assert len(str(error.value)) < 300


def test_products_are_read_without_numbers_of_atoms() -> None:
    assert read_product(" [CH3:1][OH:2]\n") == "CO"


def test_classes(prepared: Prepared, predictor: Predictor) -> None:
    with pytest.raises(UserError, match="without classes and takes none, got class '2'"):
        predictor.predict(SEVERAL, group="2")
    given = Predictor(small_gln(Reactions.of(prepared, given=True)))
    with pytest.raises(UserError, match=r"with classes: say which one .* \(known: 1, 2, 3, 5, 6,"):
        given.predict(SEVERAL)
    with pytest.raises(UserError, match=r"unknown class '9' \(known: 1, 2, 3, 5, 6, 7\)"):
        given.predict(SEVERAL, group="9")
    ethers = given.predict(SEVERAL, group="1")
    assert {each.reactants[0] for each in ethers} == {"CCBr"}
    assert sum(each.probability for each in ethers) == pytest.approx(1)
    assert given.predict(SEVERAL, group="7") == []
    with pytest.raises(UserError, match="top must be at least 1, got 0"):
        predictor.predict(SEVERAL, top=0)


def test_a_model_whose_patterns_cannot_be_read(prepared: Prepared) -> None:
    model = small_gln(Reactions.of(prepared))
    library = dict(model.shape.library)
    model.shape = replace(model.shape, library={**library, "centers": ["[C"] * 15})
    with pytest.raises(CheckpointError, match=r"RDKit cannot read the model's pattern '\[C'"):
        Predictor(model)


# -- tables ---------------------------------------------------------------------------------------


def test_answers_for_a_table(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "products.csv"
    path.write_text("name,smiles\na,CC(=O)NCC\nb,CC(C\nc,C\nd\ne,\n")
    asked = products_of(str(path))
    assert asked == [
        Asked("CC(=O)NCC", 2),
        Asked("CC(C", 3),
        Asked("C", 4),
        Asked("", 5, "1 fields, expected 2"),
        Asked("", 6),
    ]
    found = list(answers(predictor, asked, top=1))
    assert [(each.product, each.line, each.problem) for each in found] == [
        ("CCNC(C)=O", 2, None),
        ("CC(C", 3, "RDKit cannot read 'CC(C'"),
        ("C", 4, NOTHING),
        ("", 5, "1 fields, expected 2"),
        ("", 6, "there is no SMILES"),
    ]
    (best,) = found[0].predictions
    assert found[0].rows == [
        ["2", "CCNC(C)=O", 1, ".".join(best.reactants), best.probability, best.score,
         best.template, ""]
    ]  # fmt: skip
    assert found[2].rows == [["4", "C", None, None, None, None, None, NOTHING]]
    with pytest.raises(UserError, match="takes none, got class '1'"):
        answers(predictor, asked, group="1")
