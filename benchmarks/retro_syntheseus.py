"""A saved model by the evaluation of syntheseus: top-k, MRR and seconds, with all that templates
make and with each set of reactants once.

python -m benchmarks.retro_syntheseus MODEL USPTO-50k --out evaluated.json

A prepared file knows the truth of a reaction by its number among the candidates. Where no template
makes it, it is not in the file, and counts as missed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from gmpool.atomic_files import write_atomically
from gmpool.engine.checkpoint import load_model
from gmpool.engine.provenance import commit, device_name, versions
from gmpool.errors import UserError
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.predict import Prediction, Predictor
from gmpool.tasks.retrosynthesis.top_k import K
from gmpool.tasks.task import TASKS

BATCH = 16
_ALL = 10**6
_NEVER = "[Rn]"
"""Is made by no template."""


class Known(NamedTuple):
    """product and reactants as SMILES, the class of the reaction."""

    product: str
    reactants: tuple[str, ...]
    group: str | None


def known_reactions(reactions: Reactions, count: int | None = None) -> list[Known]:
    """The first so many of the test part."""
    prepared, lists = reactions.prepared, reactions.lists
    smiles, arrays = prepared.smiles, prepared.arrays
    groups = prepared.library.groups
    found = []
    for number in reactions.split.test.tolist()[:count]:
        molecule = smiles[int(lists.product[number])]
        truth, group = int(lists.truth[number]), int(arrays["reactions.group"][number])
        reactants: tuple[str, ...] = (_NEVER,)
        if truth >= 0:
            outcome = int(lists.outcomes[int(lists.outcome_ptr[number]) + truth])
            part = lists.molecules[lists.molecule_ptr[outcome] : lists.molecule_ptr[outcome + 1]]
            reactants = tuple(smiles[each] for each in part.tolist())
        found.append(Known(molecule, reactants, groups[group] if group >= 0 else None))
    return found


class Remembering(Predictor):
    """Is asked for the same products twice, and runs templates once."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._known: dict[tuple[str, str | None], list[Prediction]] = {}

    def predict_many(
        self,
        smiles: Sequence[str],
        top: int = 10,
        group: str | None = None,
        *,
        merged: bool = True,
    ) -> list[list[Prediction]]:
        new = [each for each in dict.fromkeys(smiles) if (each, group) not in self._known]
        made = super().predict_many(new, _ALL, group, merged=False)
        self._known |= {(each, group): found for each, found in zip(new, made, strict=True)}
        listed = [self._known[each, group] for each in smiles]
        return [(_merged(each) if merged else each)[:top] for each in listed]


def _merged(found: Sequence[Prediction]) -> list[Prediction]:
    first: dict[tuple[str, ...], Prediction] = {}
    for each in found:
        first.setdefault(each.reactants, each)
    return list(first.values())


def evaluate(
    model: Any, reactions: Reactions, *, count: int | None = None, device: str = "cpu",
    workers: int = 1, top: int = max(K),
) -> dict[str, Any]:  # fmt: skip
    """What syntheseus finds, as JSON. Reactions of a model with classes are asked class by class,
    and those of a class that was not learned are missed."""
    listed = known_reactions(reactions, count)
    predictor = Remembering(model, device)
    given = model.shape.given
    groups = predictor.library.groups if given else [None]
    parts = {g: [each for each in listed if not given or each.group == g] for g in groups}
    found: dict[str, Any] = {}
    with predictor.in_processes(workers) if workers > 1 else nullcontext():
        for name, merged in (("with duplicates", False), ("deduplicated", True)):
            results = [
                _metrics(predictor, group, part, merged, top)
                for group, part in parts.items()
                if part
            ]
            found[name] = _joined(results, len(listed))
    seconds = found["with duplicates"]["seconds"]  # the second time nothing is run
    del found["deduplicated"]["seconds"]
    return {
        "reactions": len(listed),
        "reached": sum(each.reactants != (_NEVER,) for each in listed) / max(len(listed), 1),
        **found,
        "products_a_second": len(listed) / seconds,
    }


def _metrics(
    predictor: Predictor, group: str | None, part: Sequence[Known], merged: bool, top: int
) -> Any:
    """As syntheseus computes them."""
    from syntheseus.cli.eval_single_step import compute_metrics
    from syntheseus.interface.bag import Bag
    from syntheseus.interface.molecule import Molecule
    from syntheseus.reaction_prediction.data.dataset import DataFold, ReactionDataset
    from syntheseus.reaction_prediction.data.reaction_sample import ReactionSample

    from gmpool.tasks.retrosynthesis.syntheseus_model import GLNModel

    class Part(ReactionDataset[ReactionSample]):
        def __getitem__(self, fold: DataFold) -> Iterator[ReactionSample]:
            for each in part:
                reactants = Bag(Molecule(smiles) for smiles in each.reactants)
                yield ReactionSample(reactants=reactants, products=Bag([Molecule(each.product)]))

        def get_num_samples(self, fold: DataFold) -> int:
            return len(part)

    model = GLNModel(predictor, group=group, remove_duplicates=merged)
    return compute_metrics(
        model, Part(), None, top, fold=DataFold.TEST, batch_size=BATCH, include_predictions=False
    )


def _joined(results: Sequence[Any], reactions: int) -> dict[str, Any]:
    """Means over all reactions; those that are in no result are missed."""
    shares = [result.num_samples / reactions for result in results]
    top = [sum(s * r.top_k[k - 1] for s, r in zip(shares, results, strict=True)) for k in K]
    numbers = sum(s * r.mean_num_predictions for s, r in zip(shares, results, strict=True))
    return {
        "top": dict(zip(map(str, K), top, strict=True)),
        "mrr": sum(s * r.mrr for s, r in zip(shares, results, strict=True)),
        "mean_predictions": numbers,
        "seconds": sum(r.model_time_total.time_model_call for r in results),
        "parameters": results[0].num_params,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder from gmpool retro train --save-model")
    parser.add_argument("dataset", help="a prepared file, or USPTO-50k")
    parser.add_argument("--data", type=Path, help="folder with dataset files")
    parser.add_argument("--out", type=Path, required=True, help="JSON to write")
    parser.add_argument("--count", type=int, help="so many reactions of the test part")
    parser.add_argument("--workers", type=int, default=1, help="processes that run templates")
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    saved = load_model(asked.model)
    shape = saved.model.shape
    reactions = TASKS["retrosynthesis"].open(
        asked.dataset, asked.data, class_given=shape.given, queries=shape.queries
    )
    if reactions.prepared.library.digest != TemplateLibrary.from_json(shape.library).digest:
        raise UserError(f"{asked.dataset} has other templates than {asked.model} was trained on")
    found = evaluate(
        saved.model, reactions, count=asked.count, device=asked.device, workers=asked.workers
    )
    origin = {
        "model": saved.description["model"], "about": saved.description["about"],
        "dataset": reactions.name, "digest": reactions.digest,
        "device": device_name(asked.device), "versions": versions(), "commit": commit(),
    }  # fmt: skip
    write_atomically({asked.out: json.dumps({**found, **origin}, indent=1).encode() + b"\n"})


if __name__ == "__main__":
    main()
