"""Messages on directed bonds (D-MPNN) on the molecules of ogbg-molbbbp.

epoch    on a CPU: a training epoch of the encoder with a mean over atoms, each distinct state of a
         batch made once beside a state for each bond (`gmpool/graph/distinct_bonds.py`)
kernels  on a GPU: messages of many replicas, each with a batch of its own, by one kernel for each
         pass beside PyTorch's operators
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.epoch import Epoch, step
from benchmarks.gpu import OURS, PLAIN, Runs, events, on_plain, without_kernels
from benchmarks.timing import interleaved, versus, where
from gmpool.data import Dataset, load
from gmpool.data.fixed_batch import FixedBatches
from gmpool.engine.job import Job
from gmpool.nn.directed import DirectedEncoder
from gmpool.ops.directed_messages import directed_messages

NAME, BATCH, WIDTH, LAYERS, REPLICAS = "ogbg-molbbbp", 64, 300, 3, 30
ONCE, EACH = "each distinct state once", "a state for each bond"


def measure(root: Path | None = None, rounds: int = 5) -> Iterator[dict[str, Any]]:
    dataset = load(NAME, root)
    yield from epochs(dataset, rounds)
    if torch.cuda.is_available():
        yield from kernels(dataset.to("cuda"), events)


def epochs(dataset: Dataset, rounds: int) -> list[dict[str, Any]]:
    contestants = {ONCE: epoch(dataset), EACH: epoch(dataset, each=True)}
    times = interleaved(contestants, rounds=rounds)
    facts = {"threads": torch.get_num_threads(), **where("cpu")}
    return versus(times, ONCE, f"training epoch of {dataset.name}", **facts)


def epoch(dataset: Dataset, *, each: bool = False, width: int = WIDTH) -> Epoch:
    """All molecules once, in new batches; each: whether every bond has a state of its own."""
    options = {"conv": "dmpnn", "hidden_dim": width, "num_layers": LAYERS, "dropout": 0.0}
    job = Job.make("classify", dataset, "mean", options=options)
    torch.manual_seed(0)
    model = job.task.build(dataset, job.model)
    (encoder,) = (part for part in model.modules() if isinstance(part, DirectedEncoder))
    if each:
        encoder.forward = encoder._each  # type: ignore[method-assign]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    ids, shuffle = torch.arange(len(dataset)), torch.Generator().manual_seed(0)

    def run() -> None:
        for batch in dataset.batches(ids, BATCH, shuffle):
            step(model, optimizer, model.loss(batch, model.phases[0]))

    return run


def kernels(
    dataset: Dataset,
    timed: Callable[[Runs], dict[str, float]],
    *,
    replicas: int = REPLICAS,
    width: int = WIDTH,
) -> Iterator[dict[str, Any]]:
    """A step of messages: forward, and backward of what that gave."""
    inputs, structure = stacked(dataset, replicas, width)

    def forward() -> Tensor:
        return torch.vmap(directed_messages)(*inputs[:2], structure[0], inputs[2], *structure[1:])

    def no_grad() -> Tensor:
        with torch.no_grad():
            return forward()

    def backward() -> Callable[[], object]:
        h = forward()
        return partial(torch.autograd.grad, h, inputs, torch.randn_like(h), retain_graph=True)

    ours = backward()
    with without_kernels():
        plain = backward()
    device = inputs[0].device.type
    facts = {"replicas": replicas, "entries": structure[0].numel(), "width": width, **where(device)}
    for name, runs in {
        "forward": {OURS: no_grad, PLAIN: on_plain(no_grad)},
        "backward": {OURS: ours, PLAIN: on_plain(plain)},
    }.items():
        yield from versus(timed(runs), OURS, f"messages on directed bonds, {name}", **facts)


def stacked(
    dataset: Dataset, replicas: int, width: int
) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]:
    """((own, table, g), (code, rowptr, back)), each with a leading replica axis."""
    graphs = dataset.graphs
    batches = FixedBatches(graphs, plain=True, attr=False, codes=True, normalised=False, back=True)
    torch.manual_seed(0)
    ids = torch.stack([torch.randperm(graphs.num_graphs)[:BATCH] for _ in range(replicas)])
    made = batches.make(ids.to(graphs.device), batches.bounds(ids))
    assert made.graph is not None
    assert made.graph.t_perm is not None
    assert made.graph_code is not None
    assert made.bond_kinds is not None

    def rows(count: int) -> Tensor:
        return torch.randn(replicas, count, width, device=graphs.device, requires_grad=True)

    inputs = rows(made.num_nodes), rows(made.bond_kinds.shape[1]), rows(made.graph_code.shape[1])
    return inputs, (made.graph_code, made.graph.rowptr, made.graph.t_perm)
