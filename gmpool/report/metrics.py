"""What a metric is in: its unit, and whether more of it is better."""

from typing import NamedTuple

from gmpool.registry import Registry


class Metric(NamedTuple):
    unit: str
    higher: bool
    """Whether more is better."""


METRICS: Registry[Metric] = Registry("metric")
"""By the name that rows have. A task with a metric of its own registers it here."""

METRICS.register("accuracy")(Metric("%", higher=True))
METRICS.register("roc_auc")(Metric("%", higher=True))
METRICS.register("pr_auc")(Metric("%", higher=True))
METRICS.register("f1")(Metric("%", higher=True))
METRICS.register("rmse")(Metric("", higher=False))
METRICS.register("nrmse")(Metric("", higher=False))
METRICS.register("mae")(Metric("", higher=False))
METRICS.register("r2")(Metric("", higher=True))
METRICS.register("error_x")(Metric("", higher=False))
METRICS.register("error_a")(Metric("", higher=False))
NRMSE = (
    "nrmse: the mean over label columns of their RMSE, each divided by the deviation of the column "
    "in the training part, so that it has no unit"
)
"""For a note below a table that has it."""


def with_unit(metric: str) -> str:
    """accuracy %, rmse"""
    return f"{metric} {METRICS[metric].unit}".strip()
