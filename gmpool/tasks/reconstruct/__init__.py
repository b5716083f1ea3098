"""Graph reconstruction: what pooled nodes still know."""

from gmpool.tasks.reconstruct.task import Reconstruct
from gmpool.tasks.task import TASKS

TASKS.register(Reconstruct.name)(Reconstruct())
