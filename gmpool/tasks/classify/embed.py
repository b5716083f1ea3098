"""The vectors that a trained model makes of new graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gmpool.atomic_files import PathLike
from gmpool.data import PackedGraphs
from gmpool.data.graph_rows import graph_rows
from gmpool.tasks.answering import answered
from gmpool.tasks.classify.answerer import GraphAnswerer
from gmpool.tasks.classify.ensemble import Ensemble
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.predict import NOT_FINITE
from gmpool.tasks.predictions import Predictions, Value


def embeddings(
    model: GraphModel | Ensemble,
    source: Any,
    root: PathLike | None = None,
    *,
    device: str = "cpu",
    batch_size: int | None = None,
    workers: int = 1,
    done: int = 0,
    **options: Any,
) -> Predictions:
    """As `gmpool.tasks.classify.predict.predictions`: e0, e1, … are what the pooling gives, of all
    members side by side."""
    given = graph_rows(source, root, **options)
    model.shape.fit(given.like)
    return answered(given, Embedder(model, device, batch_size), workers=workers, done=done)


class Embedder(GraphAnswerer):
    """Vectors."""

    def __init__(
        self, model: GraphModel | Ensemble, device: str = "cpu", batch_size: int | None = None
    ) -> None:
        columns = {f"e{i}": float for i in range(vector_width(model))}
        super().__init__(model, columns, device, batch_size)

    def values(self, graphs: PackedGraphs) -> list[Sequence[Value] | str]:
        vectors = as_ensemble(self.model).embed(graphs, batch_size=self.batch_size)  # [G, M · D]
        finite: list[bool] = vectors.isfinite().all(1).tolist()
        rows = zip(vectors.tolist(), finite, strict=True)
        return [row if fine else NOT_FINITE for row, fine in rows]


def vector_width(model: GraphModel | Ensemble) -> int:
    members: list[Any] = list(as_ensemble(model).members)
    return sum(int(member.network.out_dim) for member in members)


def as_ensemble(model: GraphModel | Ensemble) -> Ensemble:
    return model if isinstance(model, Ensemble) else Ensemble.of([model], model.config, 0)
