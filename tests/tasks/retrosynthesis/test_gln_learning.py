"""GLN learns what it is shown; killed and started again it ends with the same rows; templates by
their frequency, which it must beat, are what a loop finds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_reactions import made_up
from reactions import small_set
from small_gln import each_in_all_parts

from gmpool.engine.job import Job
from gmpool.engine.train import Trained, train
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.frequency import frequency_ranks
from gmpool.tasks.retrosynthesis.top_k import MERGED, PUBLISHED, top_k

pytest.importorskip("rdkit")

SMALL = {"message_dim": 32, "embed_dim": 32, "lr": 5e-3}


def trained(data: Reactions, method: str, **options: Any) -> Trained:
    job = Job.make("retrosynthesis", data, method, options=options)
    return train(job.task, data, job.split(job.runs[0]), job.model, job.train, seed=42)


def test_thirty_reactions_are_learned() -> None:
    """Of up to twenty outcomes each, which frequency does not tell apart."""
    found = made_up(4, reactions=32, products=32, reachable=1.0)
    data = Reactions.of(each_in_all_parts(found.prepared))
    assert len(data.split.train) == 30
    floor = trained(data, "frequency").test_metric
    assert floor < 50
    run = trained(data, "gmpool", batch_size=30, epochs=7, epoch_steps=60, other_pooling="sum",
                  **SMALL)  # fmt: skip
    assert run.curve[0].valid_metric < 90
    assert run.best.valid_metric == run.test_metric == 100.0
    assert run.curve[-1].train_loss < 0.4 * run.curve[0].train_loss


def test_real_reactions_are_learned(tmp_path: Path) -> None:
    pytest.importorskip("rdchiral")
    data = Reactions.of(each_in_all_parts(small_set(tmp_path)), queries=True)
    run = trained(data, "mean", batch_size=32, epochs=5, epoch_steps=40, **SMALL)
    assert run.test_metric == 100.0
    published, merged, real = run.outputs["test"]
    assert real.all()
    assert published.eq(1).all()
    assert merged.eq(1).all()


SEEDS = 6
WORDS = [
    "--method", "gmpool", "--seeds", str(SEEDS), "--device", "cpu", "--json", "-o", "epochs=2",
    "-o", "epoch_steps=8", "-o", "batch_size=8", "-o", "message_dim=8", "-o", "embed_dim=8",
]  # fmt: skip


def rows(store: Path) -> list[dict[str, Any]]:
    """Without what differs between any two runs."""
    path = store / "rows.jsonl"
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith(b"}\n")]
    own = ("seconds", "commit", "source")
    return [{key: value for key, value in row.items() if key not in own} for row in found]


def test_killed_and_started_again_it_ends_with_the_same_rows(
    tmp_path: Path, gmpool_cli: Callable[..., Any]
) -> None:
    path = tmp_path / "set.retro"
    made_up(9, reactions=40, products=12).prepared.save(path)
    words = ["retro", "train", str(path), *WORDS]
    assert gmpool_cli(*words, "--store", tmp_path / "whole").code == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "gmpool", *words, "--store", str(tmp_path / "killed")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    limit = time.monotonic() + 60
    while not rows(tmp_path / "killed"):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < limit, "no row appears"
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "it finished before it could be killed"
    before = rows(tmp_path / "killed")
    assert len(before) < SEEDS
    said = gmpool_cli(*words, "--store", tmp_path / "killed")
    assert said.code == 0, said.err
    after = rows(tmp_path / "killed")
    assert after[: len(before)] == before
    assert after == rows(tmp_path / "whole")
    assert len(after) == SEEDS
    assert all(row["retrosynthesis"]["ranks"]["published"] for row in after)


@pytest.mark.parametrize("given_", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_frequency_by_a_loop(seed: int, given_: bool) -> None:
    found = made_up(seed, reactions=24)
    data, library = found.dataset(given=given_), found.library
    ranks = frequency_ranks(data, np.arange(24))
    for number, reaction in enumerate(found.table.reactions):
        seen = {
            template: counts.get(reaction.group, 0) if given_ else sum(counts.values())
            for template, counts in enumerate(library.counts)
        }
        candidates = found.candidates_of(number)
        outcomes = [
            candidates.outcomes[at]
            for template, made in sorted(candidates.runs, key=lambda run: -seen[run[0]])
            if seen[template]
            for at in made
        ]
        wanted = (0, 0)
        if reaction.reactants in outcomes:
            at = outcomes.index(reaction.reactants)
            wanted = at + 1, len(set(outcomes[:at])) + 1
        assert (ranks[PUBLISHED][number], ranks[MERGED][number]) == wanted


def test_frequency_is_a_method_whose_rows_say_the_same() -> None:
    data = made_up(2, reactions=40).dataset()
    run = trained(data, "frequency")
    test = data.split.test.numpy()
    assert run.test_metric == top_k(frequency_ranks(data, test)[PUBLISHED])[0]
    assert run.outputs["test"][0].tolist() == frequency_ranks(data, test)[PUBLISHED].tolist()
