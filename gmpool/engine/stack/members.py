"""The trainings of a stack, and the models that they begin as."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from gmpool.config import TrainConfig
from gmpool.data import Split
from gmpool.engine.train import first_model
from gmpool.tasks.task import Task
from gmpool.tasks.trainable import Trainable


class Member(NamedTuple):
    """One training of a stack."""

    split: Split
    model: Any
    train: TrainConfig
    seed: int


def first_models(
    task: Task, dataset: Any, members: Sequence[Member]
) -> tuple[list[Trainable], list[int]]:
    """(models, the number of the one that each member begins as). Members of one seed begin alike,
    whatever their fold, unless the model takes something from its training part."""
    numbers: dict[tuple[int, str, int], int] = {}
    models, begins_as = list[Trainable](), []
    by_split = False
    for at, member in enumerate(members):
        which = member.seed, repr(member.model), at if by_split else 0
        if which not in numbers:
            numbers[which] = len(models)
            models.append(first_model(task, dataset, member.split, member.model, member.seed))
            by_split = models[-1].begins_by_split
        begins_as.append(numbers[which])
    return models, begins_as
