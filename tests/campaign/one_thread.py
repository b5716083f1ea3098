"""Before torch is imported: one thread, because a copy of a process has none of its others; and
helpers of the tests by their bare names, as the tests import them."""

import os
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
sys.path.append(str(Path(__file__).resolve().parents[1] / "helpers"))
