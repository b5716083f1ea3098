"""Graph classification and regression."""

from gmpool.tasks.classify.task import Classify
from gmpool.tasks.task import TASKS

TASKS.register(Classify.name)(Classify())
