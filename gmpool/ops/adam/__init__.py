"""Adam for R replicas at once."""

from gmpool.ops.adam.operator import adam_step
from gmpool.ops.adam.pytorch import Pace

__all__ = ["Pace", "adam_step"]
