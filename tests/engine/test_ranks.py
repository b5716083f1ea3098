"""One training by two processes is that of one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from in_ranks import by_two
from small_sets import MODEL, QUICK, classes, rings_and_paths, split, with_labels
from torch import nn
from trainings import as_set, begun
from twenty_steps import in_doubles

from gmpool.config import TrainConfig
from gmpool.data import PackedGraphs, Split, from_pyg
from gmpool.engine.group import Group
from gmpool.engine.hands import ALONE, Hands
from gmpool.engine.mover import Mover
from gmpool.engine.ranks import Ranks, cannot_be_shared
from gmpool.engine.training import Training
from gmpool.errors import StoreError
from gmpool.nn.batch_norm import BatchNorm
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.reconstruct.settings import AutoencoderConfig

STEPS = 20


class Case(NamedTuple):
    """What is trained, and by which settings."""

    graphs: PackedGraphs
    model: Any
    config: TrainConfig = QUICK


def labelled() -> PackedGraphs:
    """Numbers with gaps, which lie unevenly, and graphs that count for more."""
    y = torch.randn(24, 2, generator=torch.Generator().manual_seed(3))
    y[4:15, 0] = torch.nan
    graphs = with_labels(y, "regression")
    weight = torch.rand(24, generator=torch.Generator().manual_seed(4)) + 0.1
    return replace(graphs, graph_weight=weight)


def one_large() -> PackedGraphs:
    """Of which a single graph has most of the nodes, so that its part of a batch is it alone."""
    graphs = rings_and_paths(24)
    large = rings_and_paths(1)[0]
    size = 200
    start = torch.arange(size - 1)
    large.x = torch.randn(size, 3, generator=torch.Generator().manual_seed(5))
    large.edge_index = torch.stack([torch.cat([start, start + 1]), torch.cat([start + 1, start])])
    return from_pyg([*graphs[:5], large, *graphs[6:]], name="one large")


def of(method: str, **options: Any) -> ModelConfig:
    return replace(MODEL, method=method, **options)


CASES = {
    "gmt, dropout": Case(classes(), of("gmt", dropout=0.5, pool={"dropout": 0.3})),
    "gmt, an attention first": Case(
        classes(), of("gmt", pool={"blocks": "SelfAtt-GMPool_G", "dropout": 0.3})
    ),
    "losses of the pooling": Case(classes(), of("diffpool")),
    "losses of another": Case(classes(), of("mincut")),
    "nodes that are left out": Case(classes(), of("topk", dropout=0.5)),
    "gaps and weights": Case(labelled(), of("gmt")),
    "classes that count for as much": Case(classes(), of("mean", class_weight="balanced")),
    "batches of one graph": Case(classes(), of("gmt", dropout=0.5), replace(QUICK, batch_size=1)),
    "one large graph": Case(one_large(), of("gmt", dropout=0.5)),
    "rows of nodes": Case(classes(), AutoencoderConfig(method="mincut", hidden_dim=8)),
}


def losses(hands: Hands, case: Case) -> list[float]:
    """Of the first steps, in float64."""
    part = split()
    model = in_doubles(begun(case.graphs, part, case.model, 7)).train()
    hands.take_up(model)
    (phase,) = model.phases
    mover = Mover(model, phase, case.config, 3, hands)
    shuffle, found = torch.Generator().manual_seed(1), list[float]()
    while len(found) < STEPS:
        size = case.config.batch_size
        for batch in hands.batches(as_set(case.graphs), part.train, size, shuffle):
            found.append(float(mover.step(batch)))
    return found[:STEPS]


def all_losses(group: Group, cases: dict[str, Case]) -> dict[str, list[float]]:
    return {name: losses(Ranks(group), case) for name, case in cases.items()}


def test_losses_are_those_of_one_process(tmp_path: Path) -> None:
    """Twenty steps in float64, to 1e-10, with dropout, gaps, weights and losses of poolings."""
    found = by_two(all_losses, CASES, tmp_path)
    assert found[0] == found[1]
    for name, case in CASES.items():
        expected = losses(ALONE, case)
        assert len(set(expected)) > 2, "it learns"
        assert found[0][name] == pytest.approx(expected, rel=1e-10), name


def training(hands: Hands, part: Split) -> Training:
    config = of("gmt", dropout=0.5)
    model = begun(classes(), part, config, 7)
    hands.take_up(model)
    return Training(model, as_set(classes()), part, QUICK, "accuracy", 7, hands)


def epochs(group: Group, parts: list[Split]) -> list[tuple[Any, ...]]:
    """Curves and outputs. The last part has a validation of one graph, which one process has."""
    found = []
    for part in parts:
        done = training(Ranks(group), part)
        curve = [done.epoch() for _ in range(3)]
        tested = done.tested()
        found.append((curve, tested, [rows.tolist() for rows in done.test.rows]))
    return found


def test_parts_are_evaluated_whole(tmp_path: Path) -> None:
    parts = [split(), replace(split(), valid=torch.tensor([3]), test=torch.tensor([4, 5]))]
    first, second = by_two(epochs, parts, tmp_path)
    assert first == second
    for part, (curve, tested, rows) in zip(parts, first, strict=True):
        alone = training(ALONE, part)
        for there, here in zip(curve, [alone.epoch() for _ in range(3)], strict=True):
            assert tuple(vars(there).values()) == pytest.approx(tuple(vars(here).values()), 1e-4)
        assert tested == pytest.approx(alone.tested(), rel=1e-4)
        for there, here in zip(rows, alone.test.rows, strict=True):
            torch.testing.assert_close(torch.tensor(there), here.float(), check_dtype=False)


class Other(nn.Module):
    """Of another task."""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: Other(), "Other has a loss that is no mean"),
        (lambda model: model.append(BatchNorm(3)), "the model has batch norms"),
        (lambda model: model.append(nn.BatchNorm1d(3)), "the model has batch norms"),
        (lambda model: model.append(nn.Dropout(0.1)), "dropout draws for whole batches"),
        (lambda model: model, None),
    ],
)
def test_what_cannot_be_shared_is_said(change: Any, said: str | None) -> None:
    model = begun(classes(), split(), of("gmt"), 0)
    model.append = lambda part: (model.add_module("more", part), model)[1]
    why = cannot_be_shared(change(model))
    assert (why is None) if said is None else (why is not None and said in why)


def with_a_full_disk(group: Group, _: None) -> str:
    """The first finds no room for what it keeps."""

    def write(state: Any) -> None:
        raise StoreError("no room")

    hands = Ranks(group, write=write if group.is_first else None)
    try:
        hands.keep(dict)
    except StoreError as error:
        return str(error)
    return "went on"


def test_a_disk_that_is_full_is_told_to_all(tmp_path: Path) -> None:
    assert by_two(with_a_full_disk, None, tmp_path) == ["no room", "no room"]
