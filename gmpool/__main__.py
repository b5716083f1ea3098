"""The command `gmpool`. It answers --version before anything heavy is imported."""

import os
import sys
from importlib import import_module

import gmpool

_INTERRUPTED = 130


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        print(gmpool.__version__)
        return
    if "OMP_WAIT_POLICY" not in os.environ:
        # Threads that wait soon leave their core to others: spinning for long, they hold up the
        # very threads that they wait for when the machine has more to do; not at all, each small
        # product waits for one to wake up. GNU's OpenMP reads it once, when it is loaded.
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        command_line = import_module("gmpool.cli")
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped\n")
        sys.exit(_INTERRUPTED)
    command_line.main()


if __name__ == "__main__":
    main()
