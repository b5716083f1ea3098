"""Graph reconstruction, as a task."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from gmpool.data import Card, Dataset, Split, generate
from gmpool.data.dataset import source_of
from gmpool.data.sources.generated import PAPER_GRAPHS, may_be_made
from gmpool.errors import UserError
from gmpool.options import parse_value, settings_from
from gmpool.pool import method_summary
from gmpool.record import Row
from gmpool.report.grid import Grid
from gmpool.tasks.graph_task import TABLE_FLAGS, GraphTask, declared_types
from gmpool.tasks.reconstruct.chemistry import has_molecules, molecule_scores
from gmpool.tasks.reconstruct.compress import (
    COMPRESSIONS,
    GMPoolClusters,
    RandomClusters,
    StructPoolClusters,
    compression_options,
)
from gmpool.tasks.reconstruct.data import (
    is_made_beside_a_folder,
    named_dataset,
    reconstruct_split,
)
from gmpool.tasks.reconstruct.late_scores import pack_predictions, with_molecule_scores
from gmpool.tasks.reconstruct.model import Autoencoder, metric_name, rebuild
from gmpool.tasks.reconstruct.plots import pictures
from gmpool.tasks.reconstruct.scores import tallies
from gmpool.tasks.reconstruct.settings import (
    AutoencoderConfig,
    ReconstructTrainConfig,
    check_model,
    reconstruct_settings,
)
from gmpool.tasks.reconstruct.table import grids
from gmpool.tasks.saved_settings import read_settings
from gmpool.tasks.shape import DataShape
from gmpool.tasks.task import TASKS, Asked, Flag, Key

SHARES = Key(
    lambda v: type(v) is list and all(type(r) is float and 0 < r <= 1 for r in v) and v != [],
    "a list of shares such as [0.05, 0.25]",
)
WORDS = Key(
    lambda v: type(v) is list and all(type(word) is str for word in v), 'a list such as ["x", "a"]'
)


class Reconstruct(GraphTask):
    """Compress each graph to a few rows, rebuild it, and see what was lost."""

    name = family = "reconstruct"
    verb = "reconstruct"
    help = "Compress graphs to a few nodes, rebuild them, and show what was lost."
    flags = (
        Flag("ratio", float, "Rows left of a graph, as a share of its nodes.", 0.25, True, "lines"),
        Flag("objective", str, "x (node features) or a (adjacency).", "x", True, "lines"),
        Flag("parameter", str, "KEY=VALUE of a graph that is made, such as n=100.", None, True,
             short="p"),
        *TABLE_FLAGS,
    )  # fmt: skip
    plan_keys: ClassVar[Mapping[str, Key]] = {"ratios": SHARES, "objectives": WORDS}
    varied: ClassVar[Mapping[str, tuple[str, str]]] = {
        "ratios": ("ratio", "{:.0%}"),
        "objectives": ("objective", "min {}"),
    }
    at_once = None
    draws_models = True
    model_config = AutoencoderConfig
    train_config = ReconstructTrainConfig

    def open(self, source: str, root: Path | None = None, **options: Any) -> Dataset:
        """parameter: of a graph that is made; the others are of a table."""
        given = settings_from(options.pop("parameter", None) or (), "--parameter")
        parameters = {key: parse_value(value) for key, value in given.items()}
        unknown_word = source_of(source) is None and may_be_made(Path(source))
        if unknown_word or is_made_beside_a_folder(source):
            return generate(source, **parameters)  # which says what it lacks
        how = {"parameters": parameters, "atoms": "types", "labelled": False}
        return self.read(source, root, **how, **options)

    def card(self, name: str) -> Card | None:
        """One split, whatever folds the set has."""
        found = super().card(name)
        return found and found._replace(split_digests=found.split_digests[:1])

    def _place(self, text: str, folder: Path) -> str:
        """The name of a graph that is made on the spot is one too."""
        return text if text in PAPER_GRAPHS else super()._place(text, folder)

    def splits(self, dataset: Dataset) -> Sequence[Split]:
        split = reconstruct_split(dataset)
        if not len(split.test):
            raise UserError(
                f"the test part of the split of {dataset.name} is empty; name some graphs as test, "
                "or take a random split of a table with --split-column none"
            )
        return (split,)

    def methods(self) -> Sequence[str]:
        return COMPRESSIONS

    def options(self, method: str) -> Mapping[str, inspect.Parameter]:
        return compression_options(method)

    def about(self, method: str) -> str:
        made = {"gmt": GMPoolClusters, "structpool": StructPoolClusters, "random": RandomClusters}
        if method in made:
            return (made[method].__doc__ or "").splitlines()[0]
        return method_summary(method)

    def settings(
        self, card: Card, method: str, options: Mapping[str, Any]
    ) -> tuple[AutoencoderConfig, ReconstructTrainConfig]:
        types = declared_types(self.options(method))
        return reconstruct_settings(method, options, types, one_graph=card.graphs == 1)

    def label(self, model: AutoencoderConfig) -> str:
        return f"{model.method} {model.ratio:.0%} min {model.objective}"

    def build(self, dataset: Dataset, model: AutoencoderConfig) -> Autoencoder:
        return Autoencoder(DataShape.of(dataset.graphs, labelled=False), model)

    def rebuild(self, shape: Mapping[str, Any], model: Mapping[str, Any]) -> Autoencoder:
        config = read_settings(AutoencoderConfig, model, self.options)
        check_model(config)
        return Autoencoder(DataShape.from_json(shape), config)

    def metric(self, dataset: Dataset, model: AutoencoderConfig) -> str:
        return metric_name(DataShape.of(dataset.graphs, labelled=False), model.objective)

    def finish(
        self, model: Autoencoder, dataset: Dataset, split: Split, device: str
    ) -> dict[str, Any]:
        """Both errors, whatever was learned; of atom types what was predicted, and what that is
        worth to a chemist where RDKit is installed."""
        graphs, ids = dataset.graphs, split.test
        made = rebuild(model, graphs.to(device), ids)
        if not model.shape.is_one_category:
            return {"scores": made.scores}
        true = graphs.batch(ids).node_cat
        assert true is not None
        predicted = pack_predictions(made.nodes, true[:, 0], graphs.cat_sizes[0])
        scores = made.scores
        if has_molecules(graphs) and find_spec("rdkit"):
            scores = scores | vars(molecule_scores(graphs, ids, made.nodes))
        return {"scores": scores, "predicted": predicted}

    def complete(self, rows: Sequence[Row], folder: Path) -> list[Row]:
        return with_molecule_scores(rows, folder)

    def grids(self, asked: Asked) -> list[Grid]:
        tallied = tallies(asked.rows, seeds=asked.seeds)
        made = grids(tallied, asked.rows)
        if asked.kept is not None:
            kept = {row.key: load for row in asked.rows if (load := asked.kept(row))}
            rows = [row for row in asked.rows if row.key in kept]
            names = dict.fromkeys(row.dataset for row in rows)
            opened = {name: asked.datasets.get(name) or named_dataset(name) for name in names}
            found = {name: data for name, data in opened.items() if data}
            drawn = pictures(rows, tallied, found, lambda row: kept[row.key]())
            made[-1] = replace(made[-1], pictures=drawn)
        return made

    def summary(self, rows: Sequence[Row]) -> list[Grid]:
        return grids(tallies(rows), rows)


TASKS.register(Reconstruct.name)(Reconstruct())
