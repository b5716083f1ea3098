"""A model for syntheseus: its reactions, its evaluation, its search for routes."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
from reactions import small_set
from small_gln import each_in_all_parts, small_gln

from gmpool.engine.checkpoint import save_model
from gmpool.errors import MissingPackage, UserError
from gmpool.tasks.retrosynthesis import syntheseus_model
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.predict import Predictor
from gmpool.tasks.retrosynthesis.prepared import Prepared
from gmpool.tasks.retrosynthesis.top_k import MERGED, PUBLISHED, K, rank_scores
from gmpool.tasks.task import TASKS

pytest.importorskip("rdkit")
pytest.importorskip("rdchiral")
syntheseus = pytest.importorskip("syntheseus")
GLNModel, Molecule = syntheseus_model.GLNModel, syntheseus.Molecule
SEVERAL = "CCOc1ccc(CC(=O)OC)cc1NC(C)=O"
EXAMPLE = Path(__file__).parents[3] / "examples" / "retro_star.py"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return small_set(tmp_path_factory.mktemp("small"), copies=3)


@pytest.fixture(scope="module")
def predictor(prepared: Prepared) -> Predictor:
    return Predictor(small_gln(Reactions.of(prepared)))


def test_reactions_with_probabilities_and_templates(predictor: Predictor) -> None:
    model = GLNModel(predictor.model)
    assert isinstance(model, syntheseus.BackwardReactionModel)
    assert not model.is_forward()
    found, none = model([Molecule(SEVERAL), Molecule("C")], num_results=2)
    expected = predictor.predict(SEVERAL, 2)
    assert none == []
    assert len(found) == 2
    for reaction, each in zip(found, expected, strict=True):
        assert reaction.product == Molecule(SEVERAL)
        assert {molecule.smiles for molecule in reaction.reactants} == {*each.reactants}
        assert reaction.metadata == {
            "probability": pytest.approx(each.probability),
            "log_probability": pytest.approx(math.log(each.probability)),
            "score": pytest.approx(each.score),
            "template": each.template,
        }
    assert sum(p.numel() for p in model.get_parameters()) == predictor.model.num_parameters
    assert model.get_model_info() == {"method": "mean", "templates": 16}


def test_what_is_no_product_has_no_reactions(predictor: Predictor) -> None:
    found = GLNModel(predictor)([Molecule("CCO.Cl"), Molecule(SEVERAL)], num_results=1)
    assert [len(each) for each in found] == [0, 1]


def test_duplicates_and_the_cache(predictor: Predictor) -> None:
    once, often = GLNModel(predictor, use_cache=True), GLNModel(predictor, remove_duplicates=False)
    product = Molecule(SEVERAL)
    assert len(once([product])[0]) == len(predictor.predict(SEVERAL, 100))
    assert len(often([product])[0]) == len(predictor.predict(SEVERAL, 100, merged=False))
    once([product, product])
    assert (once.num_calls(count_cache=False), once.num_calls(count_cache=True)) == (1, 3)


def test_models_with_classes(prepared: Prepared) -> None:
    model = small_gln(Reactions.of(prepared, given=True))
    with pytest.raises(UserError, match="say which one the reaction has"):
        GLNModel(model)
    (found,) = GLNModel(model, group="1")([Molecule(SEVERAL)])
    assert [str(reaction) for reaction in found] == [
        "CCBr.COC(=O)Cc1ccc(O)c(NC(C)=O)c1>>CCOc1ccc(CC(=O)OC)cc1NC(C)=O"
    ]


def test_without_syntheseus_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "syntheseus", None)
    syntheseus_model._syntheseus.cache_clear()
    syntheseus_model._model_class.cache_clear()
    with pytest.raises(MissingPackage, match=r"'syntheseus', which is not .*gmpool\[retro\]"):
        _ = syntheseus_model.GLNModel
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        _ = syntheseus_model.Other


# -- evaluation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [False, True])
def test_its_metrics_are_those_of_the_task(given: bool, prepared: Prepared) -> None:
    evaluation = pytest.importorskip("benchmarks.retro_syntheseus")
    reactions = Reactions.of(each_in_all_parts(prepared), given=given)
    model = small_gln(reactions, seed=5).eval()
    (batch,) = reactions.batches(reactions.split.test, 100)
    published, merged, _ = (rows.numpy() for rows in model.evaluate(batch))
    groups = reactions.prepared.arrays["reactions.group"][reactions.split.test.numpy()]
    expected = rank_scores({PUBLISHED: published, MERGED: merged}, groups, [])
    found = evaluation.evaluate(model, reactions)
    assert (found["reactions"], found["reached"]) == (len(published), 1)
    for name, decoding in (("with duplicates", PUBLISHED), ("deduplicated", MERGED)):
        top = [100 * found[name]["top"][str(k)] for k in K]
        assert top == pytest.approx(expected["top"][decoding], abs=1e-3)
        assert found[name]["mrr"] == pytest.approx(expected["mrr"][decoding], abs=1e-5)
    assert found["products_a_second"] > 0


def test_reactions_that_no_template_makes_are_missed(prepared: Prepared) -> None:
    evaluation = pytest.importorskip("benchmarks.retro_syntheseus")
    arrays = dict(prepared.arrays)
    arrays["reactions.truth"] = arrays["reactions.truth"] * 0 - 1
    reactions = Reactions.of(Prepared(prepared.library, prepared.about, arrays))
    found = evaluation.evaluate(small_gln(reactions), reactions, count=4)
    assert (found["reactions"], found["reached"]) == (4, 0)
    assert set(found["deduplicated"]["top"].values()) == {0.0}


def test_the_script_writes_json(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = pytest.importorskip("benchmarks.retro_syntheseus")
    prepared.save(tmp_path / "small.retro")
    reactions = Reactions.of(prepared)
    save_model(TASKS["retrosynthesis"], small_gln(reactions).float(), tmp_path / "m", {"key": "k"})
    words = [tmp_path / "m", tmp_path / "small.retro", "--out", tmp_path / "a.json", "--count", 3]
    monkeypatch.setattr(sys, "argv", ["retro_syntheseus", *map(str, words)])
    evaluation.main()
    found = json.loads((tmp_path / "a.json").read_text())
    assert (found["reactions"], found["dataset"], found["about"]) == (3, "small", {"key": "k"})
    assert found["model"]["method"] == "mean"


# -- routes ---------------------------------------------------------------------------------------


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retro_star", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(prepared: Prepared, tmp_path: Path) -> Path:
    model = small_gln(Reactions.of(prepared)).float()
    save_model(TASKS["retrosynthesis"], model, tmp_path / "m", {"key": "k"})
    return tmp_path / "m"


def test_a_route_by_retro_star(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = example().main(folder)
    assert len(steps) == 2
    assert steps[0].endswith(">>CCOc1ccc(NC(C)=O)cc1")
    stock = set(example().STOCK.read_text().split())
    made = {step.split(">>")[1] for step in steps}
    used = {smiles for step in steps for smiles in step.split(">>")[0].split(".")}
    assert used <= stock | made
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("steps: 2; molecules that the model was asked about: ")
    assert len(said) == 3


def test_no_route(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stock.smi").write_text("CCO\n")
    assert example().main(folder, stock=tmp_path / "stock.smi", calls=5) == []
    assert capsys.readouterr().out.startswith("no route to CCOc1ccc(NC(C)=O)cc1 from ")


def test_what_is_in_stock_is_canonical() -> None:
    from rdkit import Chem

    listed = example().STOCK.read_text().split()
    assert [Chem.MolToSmiles(Chem.MolFromSmiles(smiles)) for smiles in listed] == listed
    assert len({*listed}) == len(listed)
