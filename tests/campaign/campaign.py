"""All kinds of trials, shared among a few processes; a table of what came out."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from gmpool.engine.provenance import commit, source_digest, versions
from tests.campaign.forks import in_a_child
from tests.campaign.inputs.batches import Inputs
from tests.campaign.inputs.plans_and_rows import PLANS, ROWS
from tests.campaign.inputs.saved_files import MODELS, PACKED
from tests.campaign.inputs.smiles import SMILES
from tests.campaign.inputs.tables import TABLES
from tests.campaign.inputs.tu_sets import TU_SETS
from tests.campaign.kills import FullDisks, Kills
from tests.campaign.kinds import FAILED, PASSED, REFUSED, Kind, Workshop
from tests.campaign.materials import make_materials
from tests.campaign.numerics import NUMERICS
from tests.campaign.together import RECORD, RealProcesses, SharedStore

ROOT = Path(__file__).resolve().parents[2]
FAILURES = ROOT / "campaign-failures"
RESULTS = ROOT / "results" / "campaign" / "counts.jsonl"
KILLED: dict[str, tuple[Kind, float]] = {
    kind.name: (kind, share)
    for kind, share in (
        (Kills(), 0.62), (RECORD, 0.25), (SharedStore(), 0.1), (RealProcesses(), 0.03),
        (FullDisks(), 0.5),
    )
}  # fmt: skip
"""And how many trials of each there are per kill that was asked for; a full disk is no kill."""
INPUTS: dict[str, tuple[Kind, float]] = {
    kind.name: (kind, share)
    for kind, share in (
        (TABLES, 0.25), (SMILES, 0.1), (TU_SETS, 0.2), (PACKED, 0.12), (MODELS, 0.12), (PLANS, 0.1),
        (ROWS, 0.11), (NUMERICS, 0.1),
    )
}  # fmt: skip
KILLS_A_ROUND = 10
ENDLESS = 10**9


@dataclass(frozen=True)
class Amounts:
    """How many kills and inputs; or so many minutes, half of them for each."""

    kills: int
    inputs: int
    minutes: float | None = None

    def of(self, name: str) -> int:
        if self.minutes is not None:
            return ENDLESS
        number, share = (
            (self.kills, KILLED[name][1]) if name in KILLED else (self.inputs, INPUTS[name][1])
        )
        return max(1, -(-int(number * share * 1000) // 1000))


def every_kind() -> dict[str, Kind]:
    return {name: kind for kinds in (KILLED, INPUTS) for name, (kind, _) in kinds.items()}


def run_campaign(
    seed: int,
    amounts: Amounts,
    scratch: Path,
    *,
    processes: int,
    failures: Path,
    only: Sequence[str] | None = None,
    record: bool = False,
) -> int:
    """The exit code: 1 where something failed."""
    began = time.monotonic()
    kinds = {name: kind for name, kind in every_kind().items() if not only or name in only}
    workshop = prepared(kinds, seed, scratch, failures)
    print(f"seed {seed}, prepared after {time.monotonic() - began:.0f} s", flush=True)
    until = None if amounts.minutes is None else began + amounts.minutes * 60
    lanes = [
        _start_lane(lane, processes, kinds, amounts, workshop, until) for lane in range(processes)
    ]
    for pid in lanes:
        os.waitpid(pid, 0)
    results = [
        json.loads(line)
        for lane in range(processes)
        for line in (scratch / f"lane-{lane}.jsonl").read_text().splitlines()
    ]
    rows = summary(kinds, results)
    seconds = time.monotonic() - began
    print(table(rows, seconds))
    if record:
        _record(rows, seed, seconds, processes)
    failed = [result for result in results if result["end"] == FAILED]
    for result in failed[:20]:
        print(f"\n{result['seed']}: {last_words(result['report'])}")
    if failed:
        print(f"\n{len(failed)} failures in {failures}; --replay FOLDER tries one again")
    return 1 if failed else 0


def prepared(kinds: dict[str, Kind], seed: int, scratch: Path, failures: Path) -> Workshop:
    """Everything is imported and made, and nothing has been computed in this process."""
    torch.set_num_threads(1)
    for fact in (commit, source_digest, versions):
        fact()  # remembered, so that no trial asks git
    workshop = Workshop(seed, scratch, scratch / "materials", failures)

    def make() -> list[str]:
        make_materials(workshop.materials)
        return list(sys.modules)

    made = in_a_child(make, scratch / "log", seconds=300)
    if made.wrong:
        raise RuntimeError(f"the materials cannot be made:\n{made.wrong}")
    for name in made.value:
        if name not in sys.modules and not name.startswith("__"):
            try:
                importlib.import_module(name)
            except Exception:
                continue  # no module of its own, as some are put there by others
    for kind in kinds.values():
        kind.prepare(workshop)
    return workshop


def _start_lane(
    lane: int,
    lanes: int,
    kinds: dict[str, Kind],
    amounts: Amounts,
    workshop: Workshop,
    until: float | None,
) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        scratch = workshop.scratch / f"lane-{lane}"
        scratch.mkdir()
        mine = Workshop(workshop.seed, scratch, workshop.materials, workshop.failures)
        told = time.monotonic()
        counts: Counter[str] = Counter()
        with open(workshop.scratch / f"lane-{lane}.jsonl", "w", encoding="utf-8") as file:
            for name, numbers in _chunks(lane, lanes, kinds, amounts):
                if until is not None and time.monotonic() > until:
                    break
                for result in kinds[name].trials(numbers, mine):
                    file.write(json.dumps(asdict(result)) + "\n")
                    file.flush()
                    counts[result.end] += 1
                    if result.end == FAILED:
                        print(f"failed: {result.seed}", flush=True)
                if lane == 0 and time.monotonic() - told > 60:
                    told = time.monotonic()
                    print(f"process 0: {dict(counts)}", flush=True)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _chunks(
    lane: int, lanes: int, kinds: dict[str, Kind], amounts: Amounts
) -> Iterator[tuple[str, list[int]]]:
    """The kinds in turn, each with as many numbers as are its share."""
    turn = rounds = 0
    at = dict.fromkeys(kinds, 0)
    while at:
        rounds += 1
        for name in list(at):
            share = KILLED[name][1] if name in KILLED else 10 * INPUTS[name][1]
            end = amounts.of(name)
            to = min(end, int(rounds * share * KILLS_A_ROUND))
            if to > at[name]:
                if turn % lanes == lane:
                    yield name, list(range(at[name], to))
                turn += 1
            at[name] = to
            if to >= end:
                del at[name]


def summary(kinds: dict[str, Kind], results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for name in kinds:
        mine = [result for result in results if result["kind"] == name]
        ends = Counter(result["end"] for result in mine)
        row: dict[str, Any] = {"kind": name, "tried": len(mine)}
        row |= {end: ends[end] for end in (PASSED, REFUSED, FAILED)}
        if name in KILLED:
            row["kills"] = sum(result["about"].get("kills", 0) for result in mine)
        rows.append(row)
    return rows


def table(rows: Sequence[dict[str, Any]], seconds: float) -> str:
    columns = ("kind", "tried", PASSED, REFUSED, "kills", FAILED)
    total = {"kind": "all"} | {c: sum(row.get(c, 0) for row in rows) for c in columns[1:]}
    lines = ["".join(f"{column:>11}" for column in columns)]
    lines += ["".join(f"{row.get(c, '')!s:>11}" for c in columns) for row in (*rows, total)]
    return "\n".join([*lines, f"{seconds:.0f} s"])


def last_words(report: str) -> str:
    return "\n".join(report.strip().splitlines()[-4:])[:1000]


def _record(rows: Sequence[dict[str, Any]], seed: int, seconds: float, processes: int) -> None:
    """One row per kind."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    facts = {
        "seed": seed, "commit": commit(), "source": source_digest(), "versions": versions(),
        "processes": processes, "seconds": round(seconds),
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip
    with RESULTS.open("a", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"campaign": row["kind"], **row, **facts}) + "\n")


def replay(what: str, scratch: Path) -> int:
    """A trial again, by the name of its folder or by that alone; inputs from the files that were
    kept, where they were."""
    folder = Path(what)
    name, seed, number = folder.name.rsplit("-", 2)
    kind = every_kind()[name]
    workshop = prepared({name: kind}, int(seed), scratch, scratch / "failures")
    files = folder / "files"
    if isinstance(kind, Inputs) and files.is_dir():
        done = in_a_child(
            lambda: kind.one(folder.name, files.resolve(), workshop.materials, make=False),
            scratch / "log",
        )
        end, report = (FAILED, done.wrong) if done.wrong else done.value
        print(f"{end}\n{report}")
        return int(end == FAILED)
    (result,) = kind.trials([int(number)], workshop)
    print(f"{result.end}\n{result.report}")
    return int(result.end == FAILED)
