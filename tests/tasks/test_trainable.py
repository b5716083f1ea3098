"""Phases, and what a model with outputs and labels makes of them."""

from __future__ import annotations

import pytest
import torch
from small_sets import MODEL, classes, split
from torch import Tensor
from trainings import begun

from gmpool.tasks.metrics import metric_of
from gmpool.tasks.trainable import Phase, Supervised, Trainable


def test_which_weights_a_phase_moves() -> None:
    everything, some = Phase(), Phase("some", ("critic", "head.bias"))
    assert everything.moves("encoder.weight")
    assert some.moves("critic.0.weight")
    assert some.moves("head.bias")
    assert not some.moves("head.weight")
    assert not some.moves("critics.0.weight"), "a name is not its beginning"


@pytest.mark.parametrize(("every", "steps"), [(1, [0, 1, 2, 3, 4, 5]), (3, [2, 5]), (4, [3])])
def test_when_a_phase_is_taken(every: int, steps: list[int]) -> None:
    assert [step for step in range(6) if Phase(every=every).taken(step)] == steps


def test_a_model_must_say_what_is_particular_to_it() -> None:
    model = Trainable()
    assert [phase.name for phase in model.phases] == ["all"]
    assert model.num_parameters == 0
    for ask in (lambda: model.loss(None, Phase()), lambda: model.evaluate(None), model.judge):
        with pytest.raises(NotImplementedError):
            ask()


class Doubles(Supervised):
    """Answers twice the question, and has something to say about it."""

    metric = "rmse"

    def forward(self, batch: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return 2 * batch, {"a": torch.tensor(0.5), "b": torch.tensor(0.25)}

    def labels(self, batch: Tensor) -> Tensor:
        return batch

    def distance(self, out: Tensor, y: Tensor) -> Tensor:
        return (out - y).abs().mean()

    def in_label_units(self, out: Tensor) -> Tensor:
        return 10 * out


def test_auxiliary_losses_count_in_training_alone() -> None:
    model, batch = Doubles(), torch.tensor([[1.0], [3.0]])
    assert float(model.loss(batch, Phase())) == 2.0 + 0.75
    loss, score = model.judge(*model.evaluate(batch))
    assert float(loss) == 2.0
    assert float(score) == pytest.approx(metric_of("rmse", 20 * batch, batch))


def test_a_part_is_judged_as_a_whole() -> None:
    graphs = classes()
    model = begun(graphs, split(), MODEL, 0).eval()
    whole = model.evaluate(graphs.batch(range(24)))
    parts = [model.evaluate(graphs.batch(ids)) for ids in (range(5), range(5, 24))]
    together = [torch.cat(rows) for rows in zip(*parts, strict=True)]
    for one, other in zip(model.judge(*whole), model.judge(*together), strict=True):
        torch.testing.assert_close(one, other)
