"""A trained model on new graphs, part by part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial

from gmpool.data import PackedGraphs
from gmpool.data.graph_rows import PART_ROWS, packed
from gmpool.data.packed import unseen_categories
from gmpool.errors import UserError
from gmpool.tasks.answering import Answerer, Answers, Read
from gmpool.tasks.classify.ensemble import BATCH, Ensemble
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.predictions import Value


class GraphAnswerer(Answerer):
    """Graphs with something that the model has not seen have no answer."""

    def __init__(
        self,
        model: GraphModel | Ensemble,
        columns: Mapping[str, type],
        device: str,
        batch_size: int | None,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise UserError(f"batch_size must be at least 1, got {batch_size}")
        self.model, self.columns, self.device = model.to(device), columns, device
        self.batch_size = BATCH if batch_size is None else min(batch_size, PART_ROWS)
        self.read = partial(packed, descriptors=model.config.descriptors)

    @abstractmethod
    def values(self, graphs: PackedGraphs) -> list[Sequence[Value] | str]:
        """Of each graph, which are as the model reads them."""

    def answer(self, read: Read) -> Answers:
        graphs, bad = read
        shape = self.model.shape
        unseen = unseen_categories(graphs, shape.cat_sizes, shape.cat_starts)
        if unseen:
            graphs = graphs.select([i for i in range(len(graphs)) if i not in unseen])
        seen = iter(self.values(self.model.prepared(graphs).to(self.device)))
        each = iter([unseen.get(i) or next(seen) for i in range(len(graphs) + len(unseen))])
        return [bad.get(i) or next(each) for i in range(len(read[0]) + len(bad))]
