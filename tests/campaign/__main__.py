"""`python -m tests.campaign`: kills, full disks, processes side by side, mutated inputs, numbers
that are none. Anything but success or one of our errors is kept in campaign-failures/.

    make campaign                                  some minutes
    make campaign MINUTES=120 SEED=7               hours, by the clock
    make campaign KILLS=1000 INPUTS=10000 SEED=7   by number
    python -m tests.campaign --replay campaign-failures/table-7-123
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.campaign import one_thread  # noqa: F401  (before torch)
from tests.campaign.campaign import FAILURES, Amounts, replay, run_campaign
from tests.campaign.scenes import SCENES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another campaign")
    parser.add_argument("--kills", type=int, default=250)
    parser.add_argument("--inputs", type=int, default=2500)
    parser.add_argument("--minutes", type=float, help="as many of each as fit, instead of numbers")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", action="append", help="only this kind; may be repeated")
    parser.add_argument("--scene", action="append", help="kill only this; may be repeated")
    parser.add_argument("--failures", type=Path, default=FAILURES, help="what failed is kept here")
    parser.add_argument("--record", action="store_true", help="add the counts to results/campaign")
    parser.add_argument("--replay", help="a folder of campaign-failures, or KIND-SEED-NUMBER")
    given = parser.parse_args()
    shared = Path("/dev/shm")
    where = shared if shared.is_dir() and os.access(shared, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="campaign-", dir=where) as scratch:
        if given.replay:
            return replay(given.replay, Path(scratch))
        for scene in set(SCENES) - set(given.scene or SCENES):
            del SCENES[scene]
        amounts = Amounts(given.kills, given.inputs, given.minutes)
        return run_campaign(
            given.seed, amounts, Path(scratch), processes=given.processes,
            only=given.only, record=given.record, failures=given.failures,
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
