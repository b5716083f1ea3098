"""What a task is: all that is particular to it, behind one interface.

A task is a package in `gmpool/tasks` whose `task.py` registers one object, or an entry point of
the group `gmpool.tasks` in another package. The engine, the reports and the command line know tasks
by this interface alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from gmpool.config import TrainConfig
from gmpool.data import Card, Split
from gmpool.errors import UserError, unknown
from gmpool.record import Row
from gmpool.registry import Registry
from gmpool.report.comparison import Cell, compare
from gmpool.report.comparison_grid import comparison_grid
from gmpool.report.grid import Grid
from gmpool.report.summary import summarise, summary_grid
from gmpool.tasks.flags import Flag as Flag
from gmpool.tasks.flags import Key as Key
from gmpool.tasks.predictions import Predictions
from gmpool.tasks.protocols import FixedBatches, Watch
from gmpool.tasks.trainable import Rows, Trainable

TASKS: Registry[Task] = Registry("task", package="gmpool.tasks", group="gmpool.tasks")
DEFAULT = "classify"
"""What a plan is for that does not say."""


class Fitted(NamedTuple):
    """A model that was not trained by steps: how it scored on the parts, and how long it took."""

    model: Any
    valid_loss: float
    valid_metric: float
    test_metric: float
    seconds: float
    outputs: Mapping[str, Rows] = {}
    """Outputs and labels of the parts "valid" and "test", and whatever else `Task.scores` wants."""


class Trainings(NamedTuple):
    """The trainings that a model is joined of: of one configuration, with these seeds on these
    folds (from 1) of a set."""

    model: Any
    dataset: Any
    seeds: tuple[int, ...]
    folds: tuple[int, ...]


class Samples(NamedTuple):
    """What a saved model makes of nothing, a row for each."""

    columns: list[str]
    kinds: list[type]
    """float or str, of each column."""
    rows: list[list[str | float | None]]
    about: list[str]
    """How many were made, and what of them."""
    page: Callable[[], str]
    """They as pictures: HTML."""


@dataclass(frozen=True)
class Asked:
    """What a table is to show: the header of its plan, and each line on each set."""

    name: str
    title: str
    cells: Sequence[Cell]
    seeds: int | None = None
    header: Mapping[str, Any] = field(default_factory=dict)
    """The plan's keys that the task has declared."""
    kept: Callable[[Row], Callable[[], Any] | None] | None = None
    """What loads the model of a run, where it was kept; else None. Without it there are no such
    pictures."""
    datasets: Mapping[str, Any] = field(default_factory=dict)
    """Sets that are open, by name."""

    @property
    def rows(self) -> list[Row]:
        return [row for cell in self.cells for row in cell.rows]


class Task:
    """The methods that raise must be written; the others have a meaning for most tasks."""

    name: ClassVar[str]
    family: ClassVar[str]
    """What rows say; tasks of one family share data, scores and tables, and differ in methods."""
    verb: ClassVar[str | None] = None
    """The command `gmpool VERB DATASET`, for one task of a family; of two words the first is that
    of a group."""
    help: ClassVar[str] = ""
    flags: ClassVar[Sequence[Flag]] = ()
    plan_keys: ClassVar[Mapping[str, Key]] = {}
    varied: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Keys of a plan with several values of an option, each a line of its own: the option, and how
    a label says it."""
    draws_models: ClassVar[bool] = False
    """Whether its pictures want the models of runs."""
    has_weights: ClassVar[bool] = True
    """Whether its models can be saved."""
    scores_outputs: ClassVar[bool] = False
    """Whether `scores` wants what models gave of the validation and the test part."""
    alike: ClassVar[Sequence[str]] = ("batch_size", "epoch_steps")
    """Settings of a training that all runs of a stack have in common."""
    at_once: ClassVar[int | None] = 1
    """How many programs of one set and method take turns on a GPU; None: all."""
    makes_samples: ClassVar[bool] = False
    """Whether saved models make something of nothing, by `sample` in the group of its command."""
    default_method: ClassVar[str] = "gmt"
    train_config: ClassVar[type[TrainConfig]] = TrainConfig
    model_config: ClassVar[type]

    # -- data -----------------------------------------------------------------------------------

    def open(self, source: str, root: Path | None = None, **options: Any) -> Any:
        """The dataset of a name or a path; options are those of `flags`."""
        raise NotImplementedError

    def own(self, text: str, folder: Path, **options: Any) -> Any:
        """The user's own data, given in a plan that lies in a folder; options as for `open`."""
        return self.open(str(folder / text), **options)

    def takes(self, text: str, folder: Path) -> Collection[str]:
        """The names of the flags that such data can be opened with."""
        return self.flags_for(text)

    def flags_for(self, source: str) -> Collection[str]:
        """The same of what `open` is given."""
        return [flag.name for flag in self.flags if flag.to == "data"]

    def card(self, name: str) -> Card | None:
        """What is known of a set by its name alone; None where it must be opened."""
        return None

    def card_of(self, dataset: Any) -> Card:
        """The same of a set that is open."""
        splits = tuple(split.digest for split in self.splits(dataset))
        size = len(dataset)
        return Card(dataset.name, dataset.digest, splits, size, round(size * self.size(dataset)))

    def splits(self, dataset: Any) -> Sequence[Split]:
        """The folds; a test or a validation part may be empty."""
        raise NotImplementedError

    # -- settings -------------------------------------------------------------------------------

    def methods(self) -> Sequence[str]:
        raise NotImplementedError

    def options(self, method: str) -> Mapping[str, inspect.Parameter]:
        """What a method can be told, by name."""
        return {}

    def about(self, method: str) -> str:
        """A method in one sentence."""
        return ""

    @property
    def presets(self) -> Mapping[str, Mapping[str, Any]]:
        """Published settings by the name of the set."""
        return {}

    def settings(
        self, card: Card, method: str, options: Mapping[str, Any]
    ) -> tuple[Any, TrainConfig]:
        """(the model's configuration, the training's): published settings, the user's over them."""
        raise NotImplementedError

    def label(self, model: Any) -> str:
        """How a line is called where nobody has named it."""
        return str(model.method)

    def data_for(self, dataset: Any, model: Any) -> Any:
        """The set with all that a model of this configuration reads: the same one each time."""
        return dataset

    # -- models ---------------------------------------------------------------------------------

    def build(self, dataset: Any, model: Any) -> Trainable:
        """A model with random weights, drawn from the current stream."""
        raise NotImplementedError

    def rebuild(self, shape: Mapping[str, Any], model: Mapping[str, Any]) -> Trainable:
        """A model as it was saved, but for its weights."""
        raise UserError(f"models of {self.name} cannot be saved")

    def metric(self, dataset: Any, model: Any) -> str:
        """Which score counts (`gmpool.report.metrics`)."""
        raise NotImplementedError

    def fit(self, dataset: Any, split: Split, model: Any) -> Fitted | None:
        """A classical method is fitted here; None: the engine trains what `build` gives."""
        return None

    def scores(
        self, model: Any, dataset: Any, outputs: Mapping[str, Rows], split: Split
    ) -> dict[str, Any]:
        """What the row of a finished run says of the rows that its model gave, at the weights that
        were chosen, of the parts "valid" and "test" of the split; a part that is empty is not
        there."""
        return {}

    def finish(self, model: Any, dataset: Any, split: Split, device: str) -> dict[str, Any]:
        """What more the row of a finished run says."""
        return {}

    def is_joined(self, model: Any) -> bool:
        """Whether a model with this configuration is joined of several trainings."""
        return False

    def trainings(self, dataset: Any, fold: int, model: Any, seed: int) -> Trainings:
        """Of which, for a seed and a fold; of a model that is joined."""
        raise UserError(f"models of {self.name} cannot be joined")

    def joined(
        self, models: Sequence[Any], dataset: Any, fold: int, model: Any, seed: int
    ) -> Fitted:
        """The models of `trainings`, in the order of seeds and of folds for each, as one."""
        raise UserError(f"models of {self.name} cannot be joined")

    def for_use(self, model: Any, dataset: Any, split: Split, outputs: Mapping[str, Rows]) -> Any:
        """A trained model as it is saved for others: with what was learned of it on the way.
        outputs: what it gave of the parts "valid" and "test", where the task scores that."""
        return model

    def watch(
        self, dataset: Any, split: Split, model: Any, train: TrainConfig, device: str
    ) -> Watch | None:
        """Who sees a run with these settings go by; None: nobody."""
        return None

    def predict(self, model: Any, source: Any, root: Path | None, **options: Any) -> Predictions:
        """A saved model on new data, row by row as they are asked for; what does not fit the model
        at all raises before the first."""
        raise UserError(f"a model of {self.name} makes no predictions")

    def embed(self, model: Any, source: Any, root: Path | None, **options: Any) -> Predictions:
        """The vectors that it makes of new data, in the same way."""
        raise UserError(f"a model of {self.name} makes no vectors of new data")

    def evaluate(self, model: Any, source: Any, root: Path | None, **options: Any) -> list[Grid]:
        """What it is worth on data with labels."""
        raise UserError(f"a model of {self.name} cannot be evaluated on new data")

    def samples(self, model: Any, number: int, seed: int, device: str) -> Samples:
        """So many things that a saved model makes of nothing, others with another seed."""
        raise UserError(f"a model of {self.name} makes nothing of nothing")

    # -- stacks ---------------------------------------------------------------------------------

    def cannot_stack(self, dataset: Any, model: Any) -> str | None:
        """Why runs must be trained one at a time; None if they can be stacked."""
        return f"{self.name} has no batches of fixed shape"

    def architecture(self, model: Any) -> Any:
        """The model without what replicas of one stack may have of their own."""
        return model

    def size(self, dataset: Any) -> float:
        """Rows of an example, of which the time of a step depends; the mean over the set."""
        return 1.0

    def fixed_batches(self, dataset: Any, model: Trainable) -> FixedBatches:
        raise NotImplementedError

    # -- reports --------------------------------------------------------------------------------

    def complete(self, rows: Sequence[Row], folder: Path) -> list[Row]:
        """Rows of a store with what could not be said where they were recorded."""
        return list(rows)

    def grids(self, asked: Asked) -> list[Grid]:
        """The table of a plan, with its pictures."""
        compared = compare(asked.cells, name=asked.name, title=asked.title, **asked.header)
        return [comparison_grid(compared)]

    def summary(self, rows: Sequence[Row]) -> list[Grid]:
        """The table of a store, which knows no plan."""
        return [summary_grid(summarise(rows))]


def task_of(family: str, method: str) -> Task:
    """The task of a family that has the method."""
    tasks = [TASKS[name] for name in TASKS if TASKS[name].family == TASKS[family].family]
    found = next((task for task in tasks if method in task.methods()), None)
    if found is None:
        raise unknown("method", method, [name for task in tasks for name in task.methods()])
    return found
