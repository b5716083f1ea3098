"""A route to a molecule from what is in stock: Retro* of syntheseus, with a model of gmpool.

gmpool retro prepare USPTO-50k
gmpool retro train USPTO-50k --save-model my-model
python examples/retro_star.py my-model "CCOc1ccc(NC(C)=O)cc1"
"""

from __future__ import annotations

import argparse
from pathlib import Path

from syntheseus import Molecule
from syntheseus.search.algorithms.best_first.retro_star import RetroStarSearch
from syntheseus.search.analysis.route_extraction import iter_routes_cost_order
from syntheseus.search.graph.and_or import AndNode
from syntheseus.search.mol_inventory import SmilesListInventory
from syntheseus.search.node_evaluation.common import (
    ConstantNodeEvaluator,
    ReactionModelLogProbCost,
)

from gmpool import load_model
from gmpool.tasks.retrosynthesis.syntheseus_model import GLNModel

STOCK = Path(__file__).with_name("stock.smi")
TARGET = "CCOc1ccc(NC(C)=O)cc1"


def main(
    model: str | Path,
    target: str = TARGET,
    stock: str | Path = STOCK,
    *,
    group: str | None = None,
    calls: int = 100,
    seconds: float = 300.0,
) -> list[str]:
    """The steps of the best route that was found, the last reaction first.

    model: a folder from `gmpool retro train --save-model`. stock: a SMILES on each line. group: the
    class of reactions, for a model that was trained with classes. calls: products that the model is
    asked about, at most.
    """
    search = RetroStarSearch(
        reaction_model=GLNModel(load_model(model).model, group=group, use_cache=True),
        mol_inventory=SmilesListInventory.load_from_file(stock),
        and_node_cost_fn=ReactionModelLogProbCost(),
        value_function=ConstantNodeEvaluator(0.0),
        limit_reaction_model_calls=calls,
        time_limit_s=seconds,
        max_expansion_depth=8,
        prevent_repeat_mol_in_trees=True,
        expand_purchasable_target=True,
    )
    graph, _ = search.run_from_mol(Molecule(target))
    for node in graph.nodes():
        node.data["route_cost"] = node.data.get("retro_star_rxn_cost", 0.0)
    asked = search.reaction_model.num_calls()
    for route in iter_routes_cost_order(graph, max_routes=1):
        steps = sorted((n for n in route if isinstance(n, AndNode)), key=lambda node: node.depth)
        found = [f"{100 * s.reaction.metadata['probability']:5.1f} %  {s.reaction}" for s in steps]
        print(f"steps: {len(steps)}; molecules that the model was asked about: {asked}")
        print("\n".join(found))
        return [str(step.reaction) for step in steps]
    print(f"no route to {target} from {stock}; molecules that were asked about: {asked}")
    return []


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model", help="folder from gmpool retro train --save-model")
    parser.add_argument("target", nargs="?", default=TARGET, help="SMILES of what is to be made")
    parser.add_argument("--stock", default=STOCK, help="file with a SMILES on each line")
    parser.add_argument("--class", dest="group", help="for a model that was trained with classes")
    parser.add_argument("--calls", type=int, default=100, help="molecules it may ask about")
    main(**vars(parser.parse_args()))
